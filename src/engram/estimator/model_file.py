"""A classifier as one file: all that it needs to go on learning and to answer, and what it was before its last session.

A checkpoint (safetensors and JSON behind our own sha256; loading runs no code), written whole or not at all. Who saves
a model that somebody else has saved since it was loaded is refused, so that no session is lost. `updating` holds a lock
from loading to saving. Of the state before the last session only what differs is kept: the file is at most twice as
large as without it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from engram import checkpoint, files
from engram.core import Learner, State
from engram.errors import BadData, BadState, DamagedFile, DamagedModel, ModelInUse
from engram.estimator.classifier import ContinualClassifier
from engram.estimator.knowledge import Knowledge
from engram.learner_file import load as load_learner
from engram.transform import under

OWNER = "engram.model"
FORMAT = 1
NOW, BEFORE = "now.", "before."


def save(model: ContinualClassifier, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write it, in the place of the file that it was loaded from or saved to before; over any other only if asked."""
    path = Path(path)
    with _alone(path):
        _save(model, path, overwrite)


def load(path: str | os.PathLike[str], *, own: bool = False) -> ContinualClassifier | Learner:
    """The classifier that `save` wrote; or the learner that `engram.save` wrote, for which `own` is."""
    path = Path(path)
    return load_model(path) if checkpoint.owner(path) == OWNER else load_learner(path, own=own)


def load_model(path: Path) -> ContinualClassifier:
    if not path.is_file():
        raise BadData(f"there is no file {path}; give one that a model was saved to")
    digest = checkpoint.digest(path)
    try:
        found = checkpoint.read(path, OWNER)
    except DamagedFile as error:
        way_out = f"restore {path} from a copy, or learn its files again"
        if not digest:  # it does not even begin as one
            way_out = f"give a file that 'engram learn' made; if it was one, restore {path} from a copy"
        raise DamagedModel(f"{error}; {way_out}") from error
    version = found.plain.get("format")
    if not isinstance(version, int) or version > FORMAT:
        raise BadState(f"{path} has the format {version} of a newer Engram; update Engram to read it")
    try:
        model = _rebuilt(found, path)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError) as error:
        raise DamagedModel(f"{path} holds no whole model ({type(error).__name__}: {error}); it was not used") from error
    model._file = str(path.resolve()), digest
    return model


@contextlib.contextmanager
def updating(path: str | os.PathLike[str]) -> Iterator[ContinualClassifier]:
    """Load a model, let it be changed, and save it, with nobody else doing so meanwhile. An error saves nothing."""
    path = Path(path)
    with _alone(path):
        model = load_model(path)
        yield model
        _save(model, path, overwrite=False)


def _save(model: ContinualClassifier, path: Path, overwrite: bool) -> None:
    there, name = checkpoint.digest(path), str(path.resolve())
    known = model._file[1] if model._file and model._file[0] == name else None
    if there is not None and not overwrite and there != known:
        what = "was changed by somebody else since this model was loaded" if known else "is there already"
        raise ModelInUse(f"{path} {what}; load it and learn again what is new, or save under another name")
    content = checkpoint.parts(_packed(model), OWNER)
    files.write(path, *content)
    model._file = name, checkpoint.digest(path)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    def refuse() -> None:
        raise ModelInUse(f"{path} is being updated by another process; try again when it is done")

    with files.locked(path.with_name(f".{path.name}.lock"), refuse):
        yield


def _packed(model: ContinualClassifier) -> State:
    known, before = model._known(), model._before
    known.mind.ready()
    now, plain = known.tensors(), {"format": FORMAT, **model._described(), "now": known.plain(), "before": None}
    tensors = {NOW + name: values for name, values in now.items()}
    if before is not None:
        old = before.tensors()
        same = [name for name, values in old.items() if name in now and _equal(values, now[name])]
        plain["before"] = {**before.plain(), "history": None, "same": same}
        tensors |= {BEFORE + name: values for name, values in old.items() if name not in same}
    return State({name: torch.from_numpy(np.ascontiguousarray(values)) for name, values in tensors.items()}, plain)


def _rebuilt(found: State, path: Path) -> ContinualClassifier:
    plain = found.plain
    tensors = {name: values.numpy() for name, values in found.tensors.items()}
    now, before = under(NOW, tensors), None
    known = Knowledge.load(now, plain["now"], path)
    if plain["before"] is not None:
        old = under(BEFORE, tensors) | {name: now[name] for name in plain["before"]["same"]}
        history: Mapping[str, Any] = {"history": plain["now"]["history"][:-1]}
        before = Knowledge.load(old, {**plain["before"], **history}, path)
    return ContinualClassifier._remade(plain, known, before)


def _equal(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and bool((a == b).all())
