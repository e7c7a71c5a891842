"""One array of an .npz file, read block by block into its final number format.

NumPy's own reader would need the memory twice where the format changes, and trusts the sizes in the file.
"""

from __future__ import annotations

import io
import math
import tokenize
import warnings
import zipfile
from typing import IO, NamedTuple

import numpy as np

from engram.errors import BadData
from engram.readers.blocks import rows_of

_LONGEST_HEADER = 1 << 16
_LARGEST_CHARACTER = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)


class Promise(NamedTuple):
    """What an array promises to be, by its first bytes: enough to know what it will take before it is read."""

    info: zipfile.ZipInfo
    start: int
    shape: tuple[int, ...]
    fortran: bool
    saved: np.dtype
    where: str

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def sample_bytes(self) -> int:
        """Memory that it takes as samples. Turning columns into rows takes a second copy."""
        return self.size * _sample_format(self.saved, self.where).itemsize * (1 + self.fortran)

    def label_bytes(self) -> int:
        """Memory that it takes as labels or names: text has four bytes a character, and each label gets a number."""
        text = {"S": 4, "U": 1}.get(self.saved.kind, 0)
        return self.size * (8 + text * self.saved.itemsize)


def look(archive: zipfile.ZipFile, name: str, where: str) -> Promise:
    """The promise of an array, refused where it cannot be kept."""
    where, info = f"{where}: {name}", archive.getinfo(f"{name}.npy")
    with archive.open(info) as stream:
        beginning = io.BytesIO(stream.read(_LONGEST_HEADER))  # no more, whatever length the header claims to have
    found = Promise(info, *_header(beginning, where), where)
    if not found.shape or min(found.shape) <= 0 or found.saved.itemsize == 0:
        raise BadData(f"{where} has shape {found.shape}, so it holds no samples; give at least one")
    promised = found.start + found.size * found.saved.itemsize
    if info.file_size != promised:
        raise BadData(f"{where} promises {promised} bytes but its entry holds {info.file_size}; the file is damaged")
    return found


def read(archive: zipfile.ZipFile, promise: Promise) -> np.ndarray:
    """An array of numbers or text, as it was saved."""
    values = _read(archive, promise, promise.saved.newbyteorder("="))
    if values.dtype.kind == "U":
        _refuse_no_text(values, promise.where)
    return values


def read_samples(archive: zipfile.ZipFile, promise: Promise) -> np.ndarray:
    """An array of finite numbers: bytes and half-precision numbers as they are, anything else as float32."""
    x = _read(archive, promise, _sample_format(promise.saved, promise.where))
    if x.dtype != np.uint8:
        _refuse_not_finite(x, promise.where)
    return x


def _read(archive: zipfile.ZipFile, promise: Promise, wanted: np.dtype) -> np.ndarray:
    result = np.empty(promise.shape, wanted, order="F" if promise.fortran else "C")
    with archive.open(promise.info) as stream:
        stream.read(promise.start)
        _fill(result.T if promise.fortran else result, stream, promise.saved, promise.where)
    return np.ascontiguousarray(result)


def _header(stream: IO[bytes], where: str) -> tuple[int, tuple[int, ...], bool, np.dtype]:
    """Where the values begin, their shape, whether in Fortran's order, and their format."""
    try:
        version = np.lib.format.read_magic(stream)
        reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # NumPy warns of headers written by Python 2
            shape, fortran, dtype = reader(stream)
    except (ValueError, TypeError, tokenize.TokenError, SyntaxError, RecursionError, MemoryError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadData(f"{where} is not a NumPy array ({reason}); write it with numpy.savez") from error
    if any(type(size) is not int for size in shape):
        raise BadData(f"{where} has shape {shape}, which are not all whole numbers; write it with numpy.savez")
    if dtype.hasobject or dtype.kind not in "biufcUS":
        raise BadData(f"{where} holds {dtype} instead of numbers or text, which is not read because it may run code")
    return stream.tell(), shape, fortran, dtype


def _refuse_no_text(values: np.ndarray, where: str) -> None:
    """Numbers that stand for no character make NumPy or the terminal stumble later."""
    codes = values.reshape(-1).view(np.uint32).reshape(len(values), -1)
    wrong = (codes > _LARGEST_CHARACTER) | ((codes >= _SURROGATES[0]) & (codes <= _SURROGATES[1]))
    if wrong.any():
        row = int(np.argmax(wrong.any(1)))
        raise BadData(f"{where} holds the character {hex(codes[row][wrong[row]][0])} in row {row}, which is no text")


def _fill(result: np.ndarray, stream: IO[bytes], saved: np.dtype, where: str) -> None:
    row_bytes = saved.itemsize * (result.size // len(result))
    for rows in rows_of(len(result), row_bytes):
        content = stream.read((rows.stop - rows.start) * row_bytes)
        if len(content) != (rows.stop - rows.start) * row_bytes:
            raise BadData(f"{where} ends after {rows.start} of {len(result)} rows; the file is damaged")
        with np.errstate(over="ignore", invalid="ignore"):
            result[rows] = np.frombuffer(content, saved).reshape(-1, *result.shape[1:])


def _sample_format(saved: np.dtype, where: str) -> np.dtype:
    if saved.kind not in "biuf":
        raise BadData(f"{where} holds {saved} instead of real numbers; convert it to uint8 or float32")
    return np.dtype(saved.type) if saved.type in (np.uint8, np.float16) else np.dtype(np.float32)


def _refuse_not_finite(x: np.ndarray, where: str) -> None:
    for rows in rows_of(len(x), x.nbytes // len(x)):
        finite = np.isfinite(x[rows])
        if not finite.all():
            at = np.argwhere(~finite)[0]
            raise BadData(
                f"{where} holds {x[rows][tuple(at)]} in row {rows.start + at[0]}; "
                "replace what is not a finite float32 number"
            )
