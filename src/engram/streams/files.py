"""Streams from files of one's own: one task a file, in the order in which people count."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from engram.core import Stream
from engram.errors import BadData, BadSetting
from engram.readers import SUFFIXES, Sheet, images, is_readable, natural, read
from engram.readers.encoding import Encoding, lossy
from engram.readers.naming import is_hidden
from engram.readers.sheet import IDLE
from engram.settings import Setting, resolve
from engram.streams.arrays import from_arrays
from engram.streams.doubts import say_if_in_earlier
from engram.streams.seeding import shuffled
from engram.streams.validation import SHARE

KIND = "files"
VERSION = 1
Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

OPTIONS = {
    "label": Setting("", "the column with the labels (images have their folder's name, .npz files y)"),
    "without": Setting("", "columns to leave out, joined by +"),
    "test": Setting(0.2, "share of every class of a file that is held out as test data, by the seed", above=0, below=1),
    "standardised": Setting(True, "bring every feature to mean 0 and deviation 1, by the first file's training rows"),
    "image_size": Setting(0, "height and width of images (0: their own)", at_least=0, at_most=4096),
}


def from_files(
    paths: Files, *, seed: int = 0, tasks: int | None = None, validation: float = 0.1, **options: Any
) -> Stream:
    """A stream of files: CSV, parquet, .npz, or folders of images with one folder a class; of a folder the files in it.

    One task a file, in natural order where a folder is given (session2 before session10). The same label is the same
    class in every file; the first file decides about its columns, with which later ones are matched by name. Of every
    class of a file a share (`test`, a fifth) is drawn by the seed as test data. Other options: `label`, `without`,
    `standardised`, and for images `image_size`; see `engram.streams.files.OPTIONS`.
    """
    made, sheets = _made(paths, seed, tasks, validation, options)
    say_if_in_earlier(sheets)
    return made


def _made(
    paths: Files, seed: int, tasks: int | None, validation: float, options: Mapping[str, Any]
) -> tuple[Stream, list[Sheet]]:
    values = resolve("a stream of files", OPTIONS, options)
    found, name = _listed(paths), _name(paths)
    if tasks is not None and not 0 < tasks <= len(found):
        raise BadSetting(f"tasks={tasks} is not possible with the {len(found)} files of {name}; leave it out for all")
    sheets = _sheets(found[:tasks], values)
    x = sheets[0].x
    is_scaled = x is not None and x.ndim == 2 and values["standardised"]
    scale = 1 / 255 if x is not None and _is_bytes(x) and not is_scaled else 1.0
    made = from_arrays(_tasks(sheets, seed, values), name=name, seed=seed, validation=validation, scale=scale)
    spec = {
        "kind": KIND,
        "version": VERSION,
        "name": f"{name}@{VERSION}",
        "paths": [os.path.abspath(path) for path in found[:tasks]],
        "digest": made.spec["digest"],
        "seed": made.spec["seed"],
        "tasks": len(made),
        "options": values,
    }
    return replace(made, spec=spec, _built={}), sheets


def is_folder(name: Any) -> bool:
    """Whether this is a stream of the files of a folder."""
    return isinstance(name, (str, os.PathLike)) and os.path.isdir(os.path.expanduser(name))


def rebuild(spec: Mapping[str, Any]) -> Stream:
    """The stream that has this spec, if its files are as they were."""
    made, _ = _made(spec["paths"], spec["seed"], None, SHARE.default, spec["options"])
    if made.spec["digest"] != spec["digest"]:
        raise BadData(
            f"the files of stream '{spec['name']}' ({spec['paths'][0]}, …) are not what they were; restore them or "
            "make a new stream"
        )
    return replace(made, spec=dict(spec), _built={})


def _listed(paths: Files) -> list[str]:
    if not isinstance(paths, (str, os.PathLike)):
        return [os.path.expanduser(path) for path in paths]
    folder = os.path.expanduser(paths)
    if not os.path.isdir(folder):
        raise BadData(f"{paths} is not a folder; give a folder with a file for each task, or a list of files")
    inside = sorted((name for name in os.listdir(folder) if not is_hidden(name)), key=natural)
    found = [os.path.join(folder, name) for name in inside if is_readable(os.path.join(folder, name))]
    for name in inside:
        if os.path.join(folder, name) not in found:
            warnings.warn(f"{os.path.join(folder, name)} holds no samples and is left out", stacklevel=4)
    if found and all(os.path.isdir(path) and images.is_flat(Path(path)) for path in found):
        raise BadData(f"{paths} has one folder a class, which is a dataset: say 'engram run split --dataset {paths}'")
    if not found:
        raise BadData(f"{paths} has no files to learn from; put one into it for each task ({', '.join(SUFFIXES)})")
    return found


def _name(paths: Files) -> str:
    if isinstance(paths, (str, os.PathLike)):
        return os.path.basename(os.path.abspath(os.path.expanduser(paths)))
    return "files"


def _sheets(paths: Sequence[str], values: Mapping[str, Any]) -> list[Sheet]:
    """All files, read as the first one was."""
    left_out = [name for name in values["without"].split("+") if name]
    sheets: list[Sheet] = []
    for path in paths:
        first = sheets[0] if sheets else None
        side = (values["image_size"],) * 2 if values["image_size"] else None
        shape = tuple(first.x.shape[1:]) if first is not None and first.x is not None else None
        kinds = {**dict.fromkeys(left_out, IDLE), **(first.kinds if first is not None else {})}
        sheet = read(path, label=values["label"] or None, kinds=kinds, shape=shape, side=side)
        sheets.append(sheet.without(left_out))
        _require_one_scale(sheets[0], sheets[-1])
    return sheets


def _require_one_scale(first: Sheet, sheet: Sheet) -> None:
    """Bytes are brought to 0 … 1 and other numbers are not: one stream of images has either."""
    if first.x is None or sheet.x is None or sheet.x.ndim < 3 or _is_bytes(first.x) == _is_bytes(sheet.x):
        return
    now, before = ("bytes (0 to 255)" if _is_bytes(x) else f"numbers of {x.dtype}" for x in (sheet.x, first.x))
    raise BadData(
        f"{sheet.where} has images of {now} and {first.where} of {before}; save all of them in one format and scale"
    )


def _is_bytes(x: np.ndarray) -> bool:
    return x.dtype == np.uint8


def _tasks(sheets: Sequence[Sheet], seed: int, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Rows and labels of each file, to train on and to test. The training rows of the first decide what is decided."""
    all_held = [held_out(sheet.known_labels(), values["test"], seed, number) for number, sheet in enumerate(sheets)]
    encoding = Encoding.of(sheets[0].take(~all_held[0])) if sheets[0].columns else None
    tasks, scale = [], None
    for sheet, held in zip(sheets, all_held):
        exact, y = encoding.exact(sheet) if encoding is not None else _samples(sheet), sheet.known_labels()
        x = exact.astype(np.float32) if encoding is not None else exact
        if values["standardised"] and x.ndim == 2:
            scale = scale or _scale(x[~held], exact[~held])
            mean, deviation, lost = scale
            x = np.where(lost, exact, x) if lost.any() else x
            x = ((x - mean) / np.where(deviation > 0, deviation, 1)).astype(np.float32)
        tasks.append((x[~held], y[~held], x[held], y[held]))
    return tasks


def _scale(x: np.ndarray, exact: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, deviation, and which columns vary in what float32 does not hold. These are measured before they are
    rounded, all others after it, so that their streams keep their bits."""
    mean, deviation, lost = x.mean(0, np.float64), x.std(0, dtype=np.float64), lossy(exact)
    for column in np.flatnonzero(lost):
        offset = exact[:, column].min()
        above = exact[:, column] - offset
        mean[column], deviation[column] = offset + above.mean(), above.std()
    return mean, deviation, lost


def _samples(sheet: Sheet) -> np.ndarray:
    if sheet.x is None:
        raise BadData(f"{sheet.where} has columns and the first file has none; give files of one kind")
    return sheet.x


def held_out(labels: np.ndarray, share: float, seed: int, task: int, purpose: str = "test") -> np.ndarray:
    """Which rows: of every class its share, at least one where it has two, by the seed, the task and the label."""
    held = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        count = max(round(share * len(own)), 1) if len(own) > 1 else 0
        held[own[shuffled(len(own), seed, purpose, task, str(label)).numpy()[:count]]] = True
    if not held.any():
        raise BadData(f"file {task + 1} has one row of each class, of which none can be held out as {purpose} data")
    return held
