"""The arrays of an .npz file, checked. No code in the file is ever run, and no array takes more than is allowed."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engram import memory
from engram.errors import BadData, DataUnavailable
from engram.readers import labels, npy
from engram.readers.blocks import reorder_axes
from engram.readers.sheet import Sheet

_MOST_SHOWN = 10
# What a file may take in memory: hardly any data that somebody collected is packed more tightly.
_SMALL_BYTES = 1 << 26
_LARGEST_RATIO = 100
# What `zipfile` raises on damaged, encrypted or unusual archives.
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)


def read(path: Path, where: str) -> Sheet:
    """The samples x and, where the file has them, their labels y."""
    found = arrays(path, where, (("x", "y"), ("x",)))
    return Sheet(where, x=found["x"], labels=found.get("y"), label="y")


def arrays(path: Path, where: str, wanted: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The first of the `wanted` sets of arrays that is in the file, and `classes` where it is: x… as samples, y… as
    one label a sample. `where` is what errors call the file."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise DataUnavailable(f"{where} cannot be read: {error.strerror or error}") from error
    try:
        with file, zipfile.ZipFile(file) as archive:
            promises = _promises(archive, path.stat().st_size, where, wanted)
            _check_lengths(promises, where)
            return {name: _read(archive, name, promise) for name, promise in promises.items()}
    except _UNREADABLE as error:
        raise BadData(f"{where} is not a readable .npz file ({error}); write it with numpy.savez_compressed") from error


def _promises(
    archive: zipfile.ZipFile, file_bytes: int, where: str, wanted: Sequence[Sequence[str]]
) -> dict[str, npy.Promise]:
    """The arrays to read. What they will take in memory, all together, is known and allowed."""
    present = {name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")}
    chosen = next((names for names in wanted if set(names) <= present), None)
    if chosen is None:
        shown = ", ".join(sorted(present or archive.namelist())[:_MOST_SHOWN]) or "nothing"
        needed = ", or ".join(" and ".join(", ".join(names).rsplit(", ", 1)) for names in wanted)
        raise BadData(f"{where} holds {shown}; it needs {needed}, each as .npy")
    found = {name: npy.look(archive, name, where) for name in (*chosen, *({"classes"} & present))}
    taken = sum(p.sample_bytes() if name.startswith("x") else p.label_bytes() for name, p in found.items())
    most = min(_SMALL_BYTES + _LARGEST_RATIO * file_bytes, memory.machine_bytes() // 2)
    memory.require(taken, f"{where}, a file of {memory.shown(file_bytes)},", "save fewer samples in it", most)
    return found


def _check_lengths(promises: Mapping[str, npy.Promise], where: str) -> None:
    for name, promise in promises.items():
        own = promises.get(name.replace("x", "y", 1)) if name.startswith("x") else None
        if own is not None and own.shape[0] != promise.shape[0]:
            raise BadData(
                f"{where}: {name} has {promise.shape[0]} samples and {name.replace('x', 'y', 1)} has {own.shape[0]} "
                "labels; give one label a sample"
            )


def _read(archive: zipfile.ZipFile, name: str, promise: npy.Promise) -> Any:
    if name == "classes":
        return labels.class_list(archive, promise)
    if name.startswith("y"):
        return labels.column(npy.read(archive, promise), promise.where)
    return _as_images(npy.read_samples(archive, promise), promise.where)


def _as_images(x: np.ndarray, where: str) -> np.ndarray:
    """Vectors stay as they are; images become (channels, height, width)."""
    if x.ndim == 2:
        return x
    if x.ndim == 3:
        return x[:, None]
    if x.ndim == 4:
        channels_last = x.shape[3] in (1, 3) and x.shape[1] not in (1, 3)
        return reorder_axes(x, 3, 1, 2) if channels_last else x
    raise BadData(f"{where} has shape {x.shape}; give (samples, features), or images with two or three axes")
