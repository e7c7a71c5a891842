"""A model as an ONNX file: from rows as people have them to probabilities and labels, tried beside the model itself."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from engram import files
from engram.errors import BadSetting
from engram.estimator import ContinualClassifier
from engram.estimator.closed_mind import ClosedMind
from engram.estimator.columns import CATEGORY, NUMBER
from engram.estimator.knowledge import Knowledge
from engram.estimator.moments import Moments
from engram.exports.onnx_graph import OnnxGraph
from engram.exports.onnx_inputs import NUMBERS, TEXTS, as_learned, of, prepared, trial
from engram.exports.onnx_waves import wave_features
from engram.extras import need

if TYPE_CHECKING:
    from engram.estimator.network_mind import NetworkMind

CLOSE = 1e-5  # what probabilities may differ by


def write_onnx(model: ContinualClassifier, path: Path) -> dict[str, Any]:
    """Write the file if onnxruntime answers with it as the model does: what its inputs are, by how much it differs."""
    runtime = need("onnxruntime", "onnx")
    content = _graph(model).SerializeToString()
    known = model._known()
    inputs = trial(known.preparation, *_usual(model))
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    found, labels = session.run(["probabilities", "label"], inputs)
    expected = model.predict_proba(as_learned(known.preparation, inputs))
    differs = float(np.abs(found - expected).max())
    clear = np.sort(expected, axis=1)[:, -1] - np.sort(expected, axis=1)[:, -2:][:, 0] > CLOSE
    if differs > CLOSE or (labels != model.classes_[expected.argmax(axis=1)])[clear].any():
        raise BadSetting(f"onnxruntime answers otherwise than the model (by {differs:.2g}); it was not written")
    files.write(path, content)
    return {"inputs": _inputs(model), "differs": differs, "bytes": len(content)}


def _inputs(model: ContinualClassifier) -> dict[str, Any]:
    """What each input holds: the columns, or the shape of a row."""
    preparation = model._known().preparation
    if not preparation.columns:
        return {NUMBERS: list(preparation.shape)}
    named = {NUMBERS: of(preparation, NUMBER), TEXTS: of(preparation, CATEGORY)}
    return {name: columns for name, columns in named.items() if columns}


def _usual(model: ContinualClassifier) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of what was learned."""
    known = model._known()
    if known.preparation.scale is not None:
        return known.preparation.scale
    if isinstance(known.mind, ClosedMind) and known.mind.waves is None:
        moments = Moments.of(known.mind.sums)
        return moments.mean, moments.deviation
    width = math.prod(known.preparation.shape)
    return np.zeros(width), np.ones(width)


def _graph(model: ContinualClassifier) -> Any:
    known, graph = model._known(), OnnxGraph()
    shares = _shares(graph, prepared(graph, known.preparation), known)
    classes = model.classes_
    best = graph.add("ArgMax", shares, axis=1, keepdims=0)
    names = classes.astype(object) if classes.dtype.kind == "U" else classes.astype(np.int64)
    graph.output("label", graph.add("Gather", names, best), names.dtype, ())
    graph.output("probabilities", graph.add("Cast", shares, to=1), np.float32, (len(classes),))
    return graph.model({"inputs": json.dumps(_inputs(model)), "classes": json.dumps(classes.tolist())})


def _shares(graph: OnnxGraph, x: str, known: Knowledge) -> str:
    """Probabilities of rows that are prepared, in float64."""
    if isinstance(known.mind, ClosedMind):
        return _solved_shares(graph, x, known.mind)
    from engram.exports.onnx_network import network_shares

    mind = cast("NetworkMind", known.mind)
    width = len(known.preparation.scale[0]) if known.preparation.scale is not None else 0
    return network_shares(graph, x, mind, (width,) if width else known.preparation.shape)


def _solved_shares(graph: OnnxGraph, x: str, mind: ClosedMind) -> str:
    scores, flat = mind.scores, graph.as_double(graph.add("Flatten", x, axis=1))
    features = flat if mind.waves is None else wave_features(graph, x, mind.waves)
    apart = graph.add("Sub", features, np.asarray(scores.mean, float))
    found = graph.add("Add", graph.add("MatMul", apart, np.asarray(scores.weights, float)), scores.offsets)
    if mind.learner == "slda":
        return graph.add("Softmax", found, axis=1)
    positive = graph.add("Max", found, np.array(0.0))
    return graph.add("Div", positive, graph.add("ReduceSum", positive, np.array([1]), keepdims=1))
