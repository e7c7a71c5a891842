"""Random features as an ONNX graph, with the same whole numbers as `Waves` has: the same features."""

from __future__ import annotations

import numpy as np

from engram.estimator.features import BEHIND, CAP, GRID, PIXEL, Waves
from engram.exports.onnx_graph import OnnxGraph

POOL = 4  # side of the squares, which begin two apart, one outside of the edge


def wave_features(graph: OnnxGraph, x: str, waves: Waves) -> str:
    flat = waves._filters is None
    rows = graph.as_double(graph.add("Flatten", x, axis=1)) if flat else _answers(graph, x, waves)
    clipped = graph.add("Min", graph.add("Max", rows, np.array(-CAP)), np.array(CAP))
    whole = graph.add("Round", graph.add("Mul", clipped, np.array(float(1 << BEHIND))))
    products = graph.add("MatMul", whole, waves._directions)
    turned = graph.add("Add", graph.add("Div", products, np.array(waves._unit * (1 << BEHIND))), waves._phases)
    steps = graph.add("Round", graph.add("Div", graph.add("Cos", turned), np.array(GRID)))
    return graph.add("Mul", steps, np.array(GRID))


def _answers(graph: OnnxGraph, x: str, waves: Waves) -> str:
    """Of random filters. Patches are gathered and multiplied, because convolutions there have no float64."""
    filters = np.asarray(waves._filters)
    count, side = len(filters), filters.shape[-1]
    patches, (height, width) = _patches(waves.shape, side, stride=2 if min(waves.shape[1:]) >= 16 else 1)
    whole = graph.add("Round", graph.add("Mul", graph.as_double(x), np.array(float(PIXEL))))
    edge = side // 2
    padded = graph.add("Pad", whole, np.array([0, 0, edge, edge, 0, 0, edge, edge]), np.array(0.0))
    taken = graph.add("Gather", graph.add("Flatten", padded, axis=1), patches.reshape(-1), axis=1)
    columns = graph.add("Reshape", taken, np.array([-1, *patches.shape]))
    found = graph.add("MatMul", columns, filters.reshape(count, -1).T.copy())
    both = graph.add("Concat", graph.add("Relu", found), graph.add("Relu", graph.add("Neg", found)), axis=2)
    sums = graph.add("MatMul", _squares(height, width), both)
    flat = graph.add("Flatten", graph.add("Transpose", sums, perm=[0, 2, 1]), axis=1)
    whole_sum = graph.add("Max", graph.add("ReduceSum", flat, np.array([1]), keepdims=1), np.array(1.0))
    return graph.add("Sqrt", graph.add("Div", flat, whole_sum))


def _patches(shape: tuple[int, ...], side: int, stride: int) -> tuple[np.ndarray, tuple[int, int]]:
    """For each place of a filter the pixels of a padded image below it; and how many places there are."""
    channels, height, width = (shape[0], *(n + 2 * (side // 2) for n in shape[1:]))
    pixels = np.arange(channels * height * width).reshape(channels, height, width)
    windows = np.lib.stride_tricks.sliding_window_view(pixels, (side, side), axis=(1, 2))[:, ::stride, ::stride]
    places = windows.shape[1], windows.shape[2]
    return windows.transpose(1, 2, 0, 3, 4).reshape(places[0] * places[1], -1), places


def _squares(height: int, width: int) -> np.ndarray:
    """A row for each square, with 1 where a place is in it."""
    padded = np.pad(np.arange(height * width).reshape(height, width), 1, constant_values=-1)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (POOL, POOL))[::2, ::2].reshape(-1, POOL * POOL)
    return (windows[:, :, None] == np.arange(height * width)).sum(axis=1).astype(float)
