"""What a model does to rows before it learns from them, as an ONNX graph, and rows to try one out with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engram.estimator.columns import CATEGORY, NUMBER
from engram.estimator.preparation import BYTE, Preparation
from engram.exports.onnx_graph import OnnxGraph

NUMBERS, TEXTS = "numbers", "texts"  # the inputs of a table; any other has only `numbers`


def of(preparation: Preparation, kind: str) -> list[str]:
    """Names of the columns of a table that are of a kind, in the order of the input."""
    return [column["name"] for column in preparation.columns if column["kind"] == kind]


def dtype(preparation: Preparation) -> type[np.generic]:
    """Of the input of numbers. Those of tables and vectors are scaled before they are rounded: time stamps vary in what
    float32 does not hold."""
    if preparation.is_bytes:
        return np.uint8
    return np.float32 if len(preparation.shape) > 1 else np.float64


def prepared(graph: OnnxGraph, preparation: Preparation) -> str:
    """Rows in float32, as they are learned."""
    x = _table(graph, preparation) if preparation.columns else _array(graph, preparation)
    if preparation.scale is not None:
        mean, deviation = preparation.scale
        x = graph.add("Div", graph.add("Sub", x, np.asarray(mean, float)), np.asarray(deviation, float))
    if len(preparation.shape) == 2:  # grey images have one channel
        x = graph.add("Unsqueeze", x, np.array([1], np.int64))
    return graph.add("Cast", x, to=1)


def _array(graph: OnnxGraph, preparation: Preparation) -> str:
    x = graph.as_double(graph.input(NUMBERS, dtype(preparation), preparation.shape))
    return graph.add("Div", x, np.array(BYTE)) if preparation.is_bytes else x


def _table(graph: OnnxGraph, preparation: Preparation) -> str:
    """Medians for what is missing, columns that say where, and a column of 0 and 1 for each text."""
    numbers = [column for column in preparation.columns if column["kind"] == NUMBER]
    texts = [column for column in preparation.columns if column["kind"] == CATEGORY]
    parts = []
    if numbers:
        x = graph.input(NUMBERS, dtype(preparation), (len(numbers),))
        gaps = graph.add("IsNaN", x)
        parts.append(graph.add("Where", gaps, np.array([column["median"] for column in numbers], float), x))
        missed = np.array([place for place, column in enumerate(numbers) if column["missed"]], np.int64)
        if len(missed):
            parts.append(graph.as_double(graph.add("Gather", gaps, missed, axis=1)))
    if texts:
        given = graph.input(TEXTS, np.object_, (len(texts),))
        parts += [_one_hot(graph, given, place, column["categories"]) for place, column in enumerate(texts)]
    return graph.add("Concat", *parts, axis=1)


def _one_hot(graph: OnnxGraph, given: str, place: int, categories: Sequence[str]) -> str:
    column = graph.add("Gather", given, np.array(place, np.int64), axis=1)
    hot = graph.add("OneHotEncoder", column, domain="ai.onnx.ml", cats_strings=list(categories), zeros=1)
    return graph.as_double(hot)


def trial(preparation: Preparation, mean: np.ndarray, deviation: np.ndarray, rows: int = 64) -> dict[str, np.ndarray]:
    """Rows like those that were learned, some with missing numbers, missing texts and texts that were never seen."""
    draw = np.random.default_rng(0)
    if preparation.is_bytes:
        return {NUMBERS: draw.integers(0, 256, (rows, *preparation.shape), dtype=np.uint8)}
    drawn = mean + deviation * draw.standard_normal((rows, len(mean)))
    if not preparation.columns:
        return {NUMBERS: drawn.reshape(rows, *preparation.shape).astype(dtype(preparation))}
    found: dict[str, np.ndarray] = {}
    count = len(of(preparation, NUMBER))
    if count:
        found[NUMBERS] = drawn[:, :count]
        found[NUMBERS][::8, 0] = np.nan
    texts = [[*column["categories"], "", "never seen"] for column in preparation.columns if column["kind"] == CATEGORY]
    if texts:
        found[TEXTS] = np.array([[draw.choice(each) for each in texts] for _ in range(rows)], object)
    return found


def as_learned(preparation: Preparation, inputs: Mapping[str, np.ndarray]) -> Any:
    """The same rows as the classifier takes them: an array, or columns by name."""
    if not preparation.columns:
        return inputs[NUMBERS]
    found = {}
    for kind, name in ((NUMBER, NUMBERS), (CATEGORY, TEXTS)):
        for place, column in enumerate(of(preparation, kind)):
            found[column] = inputs[name][:, place]
    return {column["name"]: found[column["name"]] for column in preparation.columns}
