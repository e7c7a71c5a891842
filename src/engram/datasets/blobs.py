"""Synthetic classes: one Gaussian cloud each, as many and as large as asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from engram import memory
from engram.datasets.arrays import Arrays
from engram.settings import declared, resolve, setting


class Blobs:
    """The settings of `blobs`."""

    classes = setting(10, "number of classes", at_least=2, at_most=1_000_000)
    features = setting(20, "numbers in a sample", at_least=1)
    samples = setting(200, "training samples a class", at_least=1)
    test = setting(50, "test samples a class", at_least=1)
    spread = setting(1.0, "standard deviation within a class; the centres are standard normal", at_least=0, at_most=1e6)
    seed = setting(0, "which centres and samples are drawn", at_least=0, at_most=2**32 - 1)


def options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Checked settings, defaults filled in."""
    values = resolve("dataset 'blobs'", declared(Blobs), given)
    sizes = {name: values[name] for name in ("classes", "samples", "test", "features")}
    memory.require(
        4 * sizes["classes"] * (sizes["samples"] + sizes["test"]) * sizes["features"],
        f"blobs of {', '.join(f'{name}={size}' for name, size in sizes.items())}",
        "make one of them smaller",
    )
    return values


def load(values: Mapping[str, Any]) -> tuple[Arrays, str]:
    """The clouds, class after class, and their digest.

    Drawn with NumPy's legacy generator, whose stream is frozen: the same settings give the same bits everywhere.
    """
    rng = np.random.RandomState(values["seed"])
    centres = rng.standard_normal((values["classes"], values["features"])).astype(np.float32)
    parts = [_draw(rng, centres, values[part], values["spread"]) for part in ("samples", "test")]
    digest = hashlib.sha256(json.dumps(["blobs", dict(values)], sort_keys=True).encode()).hexdigest()
    names = tuple(f"blob {k}" for k in range(values["classes"]))
    return Arrays(*parts[0], *parts[1], names, 1.0), digest


def _draw(rng: np.random.RandomState, centres: np.ndarray, count: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    classes, features = centres.shape
    x = np.empty((classes, count, features), np.float32)
    for label in range(classes):
        x[label] = centres[label] + spread * rng.standard_normal((count, features))
    return x.reshape(-1, features), np.repeat(np.arange(classes), count)
