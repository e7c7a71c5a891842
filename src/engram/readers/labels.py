"""Labels of any integers or text, numbered 0 … classes - 1."""

from __future__ import annotations

import zipfile

import numpy as np

from engram.errors import BadData
from engram.readers import npy


def column(y: np.ndarray, where: str) -> np.ndarray:
    """Labels as one column of int64 or text."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise BadData(f"{where} has shape {y.shape}; give one label a sample")
    if y.dtype.kind == "S":
        return np.char.decode(y, "latin-1")
    if y.dtype.kind == "U":
        return y
    if y.dtype.kind == "c":
        raise BadData(f"{where} holds {y.dtype} instead of labels; give integers or text")
    return _whole(y, where)


def _whole(y: np.ndarray, where: str) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        whole = y.astype(np.int64)
    differs = whole != y
    if y.dtype.kind == "u":
        differs |= whole < 0
    if differs.any():
        row = int(np.argmax(differs))
        raise BadData(f"{where} holds {y[row]} in row {row}; labels must be whole numbers below 2⁶³, or text")
    return whole


def class_list(archive: zipfile.ZipFile, promise: npy.Promise) -> list[str]:
    """The array `classes` of a file."""
    if len(promise.shape) != 1 or promise.saved.kind not in "US":
        raise BadData(f"{promise.where} has shape {promise.shape} and holds {promise.saved}; give one name a class")
    return [str(name) for name in column(npy.read(archive, promise), promise.where)]


def number(
    y_train: np.ndarray, y_test: np.ndarray, names: list[str] | None, where: str
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Both label columns as class numbers, in sorted order of the training labels, and the classes' names."""
    if y_train.dtype.kind != y_test.dtype.kind:
        raise BadData(f"{where}: y_train holds {y_train.dtype} and y_test {y_test.dtype}; label both the same way")
    values, numbers = np.unique(y_train, return_inverse=True)
    if len(values) < 2:
        raise BadData(f"{where}: y_train holds only the class '{values[0]}'; give at least two classes")
    test = np.minimum(np.searchsorted(values, y_test), len(values) - 1)
    unknown = values[test] != y_test
    if unknown.any():
        row = int(np.argmax(unknown))
        raise BadData(f"{where}: y_test holds the class '{y_test[row]}' in row {row}, which y_train does not have")
    return numbers.reshape(-1), test, _names(values, names, where)


def _names(values: np.ndarray, names: list[str] | None, where: str) -> tuple[str, ...]:
    if names is None:
        return tuple(str(value) for value in values)
    known = range(len(names)) if values.dtype.kind == "i" else names
    stranger = next((value for value in values.tolist() if value not in known), None)
    if stranger is not None:
        raise BadData(
            f"{where}: y_train holds the label {stranger!r}, for which there is none of the {len(names)} classes"
        )
    return tuple(names[value] for value in values) if values.dtype.kind == "i" else tuple(map(str, values))
