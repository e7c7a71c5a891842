"""An ONNX graph, one operation after another. Numbers are float64 inside: what is exact here is exact there."""

from __future__ import annotations

from typing import Any

import numpy as np

from engram.extras import need

OPSET, OPSET_ML = 18, 3


class OnnxGraph:
    """`add` puts an operation behind the others and gives the name of its result."""

    def __init__(self) -> None:
        self.helper: Any = need("onnx", "onnx").helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def input(self, name: str, dtype: Any, shape: tuple[int, ...]) -> str:
        self.inputs.append(self._value(name, dtype, shape))
        return name

    def output(self, name: str, value: str, dtype: Any, shape: tuple[int, ...]) -> None:
        self.nodes.append(self.helper.make_node("Identity", [value], [name]))
        self.outputs.append(self._value(name, dtype, shape))

    def constant(self, values: Any) -> str:
        from onnx import numpy_helper

        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, operation: str, *inputs: Any, domain: str = "", **attributes: Any) -> str:
        """Inputs are names of results, or arrays."""
        name = f"v{len(self.nodes)}"
        given = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        self.nodes.append(self.helper.make_node(operation, given, [name], domain=domain, **attributes))
        return name

    def as_double(self, value: str) -> str:
        return self.add("Cast", value, to=self._kind(np.float64))

    def model(self, about: dict[str, str]) -> Any:
        graph = self.helper.make_graph(self.nodes, "engram", self.inputs, self.outputs, self.constants)
        sets = [self.helper.make_opsetid("", OPSET), self.helper.make_opsetid("ai.onnx.ml", OPSET_ML)]
        made = self.helper.make_model(graph, opset_imports=sets, producer_name="engram", ir_version=9)
        self.helper.set_model_props(made, about)
        return made

    def _value(self, name: str, dtype: Any, shape: tuple[int, ...]) -> Any:
        return self.helper.make_tensor_value_info(name, self._kind(dtype), ["rows", *shape])

    def _kind(self, dtype: Any) -> int:
        return int(self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
