"""One array of an .npz file, read block by block into its final number format.

NumPy's own reader would need the memory twice where the format changes, and trusts the sizes in the file.
"""

from __future__ import annotations

import math
import tokenize
import warnings
import zipfile
from collections.abc import Callable
from typing import IO

import numpy as np

from engram.datasets.arrays import rows_of
from engram.errors import BadData

_ALWAYS_ALLOWED_BYTES = 1 << 28
_LARGEST_RATIO = 200


def read(archive: zipfile.ZipFile, name: str, where: str) -> np.ndarray:
    """An array of numbers or text, as it was saved."""
    return _read(archive, name, f"{where}: {name}", lambda dtype: dtype.newbyteorder("="))


def read_samples(archive: zipfile.ZipFile, name: str, where: str) -> np.ndarray:
    """An array of finite numbers: bytes and half-precision numbers as they are, anything else as float32."""
    x = _read(archive, name, f"{where}: {name}", lambda dtype: _sample_format(dtype, f"{where}: {name}"))
    if x.dtype != np.uint8:
        _refuse_not_finite(x, f"{where}: {name}")
    return x


def _read(archive: zipfile.ZipFile, name: str, where: str, choose: Callable[[np.dtype], np.dtype]) -> np.ndarray:
    info = archive.getinfo(f"{name}.npy")
    with archive.open(info) as stream:
        shape, fortran, saved = _header(stream, where)
        if not shape or min(shape) <= 0 or saved.itemsize == 0:
            raise BadData(f"{where} has shape {shape}, so it holds no samples; give at least one")
        _refuse_wrong_size(info, stream.tell() + math.prod(shape) * saved.itemsize, where)
        result = np.empty(shape, choose(saved), order="F" if fortran else "C")
        _fill(result.T if fortran else result, stream, saved, where)
    return np.ascontiguousarray(result)


def _header(stream: IO[bytes], where: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    try:
        version = np.lib.format.read_magic(stream)
        reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # NumPy warns of headers written by Python 2
            shape, fortran, dtype = reader(stream)
    except (ValueError, tokenize.TokenError, SyntaxError) as error:
        raise BadData(
            f"{where} is not a NumPy array ({str(error).splitlines()[0]}); write it with numpy.savez"
        ) from error
    if dtype.hasobject or dtype.kind not in "biufcUS":
        raise BadData(f"{where} holds {dtype} instead of numbers or text, which is not read because it may run code")
    return shape, fortran, dtype


def _refuse_wrong_size(info: zipfile.ZipInfo, promised: int, where: str) -> None:
    if info.file_size != promised:
        raise BadData(f"{where} promises {promised} bytes but its entry holds {info.file_size}; the file is damaged")
    if info.file_size > max(_ALWAYS_ALLOWED_BYTES, _LARGEST_RATIO * info.compress_size):
        raise BadData(
            f"{where} would unpack from {info.compress_size} to {info.file_size} bytes, as only a zip bomb does; "
            "save it with numpy.savez, uncompressed"
        )


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
