"""A trained network as a part of an ONNX graph, by torch's own exporter."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import torch
from torch import Tensor, nn

from engram.errors import BadSetting
from engram.estimator.network_mind import NetworkMind
from engram.exports.onnx_graph import OPSET, OnnxGraph
from engram.extras import require

PREFIX = "network_"


class _Answering(nn.Module):
    """The scores of a learner, a column for each class in the order of the model's."""

    def __init__(self, mind: NetworkMind):
        super().__init__()
        self.mind = mind

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.mind.scores(x), 1)


def network_shares(graph: OnnxGraph, x: str, mind: NetworkMind, shape: tuple[int, ...]) -> str:
    """Probabilities of rows that are prepared."""
    import onnx.compose

    made = onnx.compose.add_prefix(_exported(mind, shape), PREFIX)
    graph.nodes.append(graph.helper.make_node("Identity", [x], [made.graph.input[0].name]))
    graph.nodes.extend(made.graph.node)
    graph.constants.extend(made.graph.initializer)
    return graph.as_double(made.graph.output[0].name)


def _exported(mind: NetworkMind, shape: tuple[int, ...]) -> Any:
    require("onnxscript", "onnx")
    rows = torch.zeros(2, *shape)
    sizes = ({0: torch.export.Dim("rows")},)
    noise = logging.getLogger("torch.onnx")
    level = noise.level
    try:
        noise.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                _Answering(mind), (rows,), dynamo=True, opset_version=OPSET, dynamic_shapes=sizes, verbose=False
            )
    except torch.onnx.OnnxExporterError as error:
        raise BadSetting(
            f"learner '{mind.learner}' cannot be exported, because what it computes is no fixed graph; 'finetune', "
            "'ridge' and 'slda' can"
        ) from error
    finally:
        noise.setLevel(level)
    return program.model_proto  # type: ignore[union-attr]
