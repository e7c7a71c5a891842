"""Describable Textures (Cimpoi et al. 2014): the official archive of photographs, as images of 32×32 pixels.

They are made as CTrL makes them (Veniat et al. 2021): the smaller side becomes 32 pixels, and the middle is cut out. Of
the ten official splits it is the first, with its training and validation photographs together.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engram.datasets.archive import members
from engram.datasets.arrays import Arrays
from engram.datasets.catalogue import Entry
from engram.datasets.local import path
from engram.errors import BadData

SIDE = 32
_TRAIN, _TEST = ("train1.txt", "val1.txt"), ("test1.txt",)
_MOST_LABEL_BYTES, _MOST_IMAGE_BYTES = 1 << 20, 1 << 23


def load(entry: Entry) -> Arrays:
    """Training photographs in the order of the official lists, then those to test on."""
    (file,) = entry.files
    archive = path(entry, file)
    train, test = _listed(archive, file.name, _TRAIN), _listed(archive, file.name, _TEST)
    x = _images(archive, file.name, [*train, *test])
    y = np.array([_label(entry, name) for name in (*train, *test)], np.int64)
    cut = len(train)
    if (cut, len(test)) != (entry.train, entry.test):
        raise BadData(f"{file.name} lists {cut} and {len(test)} images, not {entry.train} and {entry.test}")
    return Arrays(x[:cut], y[:cut], x[cut:], y[cut:], entry.labels, 1 / 255)


def _listed(archive: Path, where: str, lists: Sequence[str]) -> list[str]:
    """The names of photographs, such as banded/banded_0002.jpg."""
    wanted = {f"dtd/labels/{name}": _MOST_LABEL_BYTES for name in lists}
    found = {name: stream.read().decode("ascii", "replace") for name, stream in members(archive, wanted, where)}
    return [line for name in wanted for line in found[name].split()]


def _label(entry: Entry, name: str) -> int:
    texture = name.partition("/")[0]
    if texture not in entry.labels:
        raise BadData(f"{entry.name} has an image of a class that nobody knows, {name!r}")
    return entry.labels.index(texture)


def _images(archive: Path, where: str, names: Sequence[str]) -> np.ndarray:
    places = {f"dtd/images/{name}": place for place, name in enumerate(names)}
    if len(places) < len(names):
        raise BadData(f"{where} lists an image twice")
    x = np.empty((len(names), 3, SIDE, SIDE), np.uint8)
    for name, stream in members(archive, dict.fromkeys(places, _MOST_IMAGE_BYTES), where):
        x[places[name]] = _pixels(stream.read(), f"{name} of {where}")
    return x


def _pixels(jpeg: bytes, where: str) -> np.ndarray:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(jpeg), formats=["JPEG"]) as image:
            shorter = min(image.size)
            width, height = (SIDE * side // shorter for side in image.size)
            small = image.convert("RGB").resize((width, height), Image.Resampling.BILINEAR)
    except (OSError, SyntaxError, ValueError) as error:
        raise BadData(f"{where} is not a whole JPEG image: {error}") from error
    left, top = round((width - SIDE) / 2), round((height - SIDE) / 2)
    return np.asarray(small.crop((left, top, left + SIDE, top + SIDE))).transpose(2, 0, 1)
