"""Folders of images: one folder a class, or images side by side where nobody knows their classes yet."""

from __future__ import annotations

import contextlib
import os
import struct
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engram import memory
from engram.errors import BadData
from engram.readers.naming import is_hidden, natural
from engram.readers.sheet import FOLDER, Sheet

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
_GREY = ("1", "L", "LA", "I", "F")
_AT_MOST_16_BITS = ("PNG", "PPM")
_ORIENTATION, _ON_ITS_SIDE = 0x0112, (5, 6, 7, 8)  # as cameras say it
_MODES = {1: "L", 3: "RGB"}
_MOST_PIXELS = 1 << 27  # of one file: a few kilobytes can promise more than any memory holds
_DAMAGE = (  # what Pillow raises, depending on where a file is damaged
    *(OSError, SyntaxError, ValueError, EOFError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(RuntimeError, struct.error),
)

ImageShape = tuple[int, int, int]


class _Found(NamedTuple):
    path: Path
    label: str | None


def read(folder: Path, where: str, shape: ImageShape | None, side: tuple[int, int] | None, labelled: bool) -> Sheet:
    """Images of (channels, height, width) as bytes, in the natural order of their names.

    `shape` is what they become; where there is none they have their own size, or `side` (height, width), and are grey
    if all of them are. Without class folders there are no labels, which is an error where they have to be `labelled`.
    """
    found = _files(folder, where, labelled)
    shape = shape or _common_shape(found, where, side)
    needed = len(found) * shape[0] * shape[1] * shape[2]
    memory.require(needed, f"{where} with {len(found)} images", "say --image-size 32", memory.machine_bytes() // 2)
    x = np.empty((len(found), *shape), np.uint8)
    for number, (path, _) in enumerate(found):
        x[number] = _pixels(path, shape)
    labels = [label for _, label in found if label is not None]
    return Sheet(
        where,
        x=x,
        labels=np.array(labels) if labels else None,
        label=FOLDER,
        place=lambda row: f"the image {os.path.relpath(found[row].path, folder)}",
    )


def is_flat(folder: Path) -> bool:
    """Whether images lie in it, and no folders."""
    inside = _listed(folder)
    return any(_is_image(entry) for entry in inside) and not any(entry.is_dir() for entry in inside)


def _is_image(entry: Path) -> bool:
    return entry.suffix.lower() in SUFFIXES and not entry.is_dir()


def _files(folder: Path, where: str, labelled: bool) -> list[_Found]:
    inside = _listed(folder)
    classes = [entry for entry in inside if entry.is_dir()]
    flat = [entry for entry in inside if _is_image(entry)]
    if classes and flat:
        raise BadData(f"{where} has folders and beside them images such as {flat[0].name}; put each into its class's")
    if flat and labelled:
        raise BadData(f"{where} has images and no folders; give one folder a class, named after it, with its images")
    found = [_Found(path, None) for path in flat]
    for own in classes:
        found += _of_class(own, where)
    if not found:
        raise BadData(f"{where} has no images; give one folder a class with {', '.join(SUFFIXES[:3])} files in it")
    return found


def _of_class(folder: Path, where: str) -> list[_Found]:
    inside = _listed(folder)
    deeper = next((entry for entry in inside if entry.is_dir()), None)
    if deeper is not None:
        raise BadData(
            f"{where}: the class '{folder.name}' has a folder '{deeper.name}' in it; put its images beside it"
        )
    images = [entry for entry in inside if _is_image(entry)]
    if len(images) < len(inside):
        other = next(entry for entry in inside if entry not in images)
        warnings.warn(f"{where}: {folder.name}/{other.name} is no image and left out", stacklevel=2)
    if not images:
        warnings.warn(f"{where}: the folder '{folder.name}' has no images and is left out", stacklevel=2)
    return [_Found(path, folder.name) for path in images]


def _listed(folder: Path) -> list[Path]:
    inside = [entry for entry in folder.iterdir() if not is_hidden(entry.name)]
    return sorted(inside, key=lambda entry: natural(entry.name))


def _common_shape(found: Sequence[_Found], where: str, side: tuple[int, int] | None) -> ImageShape:
    looks = [_look(path) for path, _ in found]
    channels = 1 if all(grey for _, grey in looks) else 3
    if side is not None:
        return channels, *side
    sizes = {size for size, _ in looks}
    if len(sizes) > 1:
        one, other = sorted(sizes)[:2]
        shown = f"{one[0]}x{one[1]} and {other[0]}x{other[1]}"
        raise BadData(f"{where} has images of different sizes ({shown}); say what they become: --image-size 32")
    height, width = sizes.pop()
    return channels, height, width


def _look(path: Path) -> tuple[tuple[int, int], bool]:
    """Height and width, and whether it is grey: known from an image's first bytes."""
    with _opened(path) as image:
        turned = image.getexif().get(_ORIENTATION) in _ON_ITS_SIDE
        size = (image.width, image.height) if turned else (image.height, image.width)
        return size, image.mode in _GREY or image.mode.startswith("I;16")


def _pixels(path: Path, shape: ImageShape) -> np.ndarray:
    from PIL import Image, ImageOps

    channels, height, width = shape
    with _opened(path) as image:
        turned = _of_bytes(ImageOps.exif_transpose(image), image.format, path).convert(_MODES[channels])
    if turned.size != (width, height):
        turned = turned.resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(turned).reshape(height, width, channels).transpose(2, 0, 1)


def _of_bytes(image: Any, kind: str, path: Path) -> Any:
    """The image with 8 bits a channel: Pillow would make everything above 255 white."""
    from PIL import Image

    if image.mode.startswith("I;16") or (image.mode == "I" and kind in _AT_MOST_16_BITS):
        return Image.fromarray((np.asarray(image).astype(np.uint16) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):
        raise BadData(f"{path} has pixels of 32 bits, whose range nobody knows; save it with 8 or 16 bits")
    return image


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """An image to look at; what is wrong with it is said with its name."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # below is a limit of our own
            image = Image.open(path, formats=_FORMATS)
        if image.width * image.height > _MOST_PIXELS:
            raise BadData(f"{path} has {image.width} x {image.height} pixels, too many to be read; make it smaller")
        with image:
            yield image
    except (*_DAMAGE, Image.DecompressionBombError) as error:
        raise BadData(f"{path} is not a whole image ({error}); replace it or leave it out") from error
