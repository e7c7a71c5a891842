"""A learner as one file, from which another process rebuilds it: it goes on learning and predicts with the same bits.

The file is a checkpoint (safetensors and JSON behind our own sha256) that also says what the learner is: its name,
settings, network, outline and seed, and if they were given its classes' names and the transform of its samples.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engram import checkpoint, files
from engram.core import Learner, Outline, State
from engram.errors import BadData, BadSetting, BadState, DamagedFile
from engram.learners import LEARNERS, look_ahead
from engram.networks import NETWORKS, Blueprint
from engram.own import Registry
from engram.settings import defaults
from engram.transform import Several, Transform, under

OWNER = "engram.save"  # the key of such files, which is no node's
FORMAT = 1


def save(
    learner: Learner,
    path: str | os.PathLike[str],
    *,
    class_names: Sequence[str] | None = None,
    transform: Transform | Several | None = None,
) -> None:
    """Write a learner to a file, whole or not at all; it may be in the middle of a lesson.

    `class_names` (a stream's) and `transform` (`task.train.transform`) are kept beside it: `load` puts them back onto
    the learner, whose predictions they do not change.
    """
    files.write(Path(path), *checkpoint.parts(packed(learner, class_names=class_names, transform=transform), OWNER))


def packed(
    learner: Learner, class_names: Sequence[str] | None = None, transform: Transform | Several | None = None
) -> State:
    """All that `save` writes, from which `unpacked` makes the learner again."""
    transform = transform or learner.transform
    plain = {
        "format": FORMAT,
        "learner": _named(LEARNERS, type(learner)),
        **described(learner),
        "class_names": list(learner.class_names if class_names is None else class_names),
        "transform": None if transform is None else transform.plain(),
    }
    if plain["network"] is not None:
        plain["network"] = [_named(NETWORKS, plain["network"][0]), plain["network"][1]]
    state = learner.state()
    tensors = {f"state.{name}": value for name, value in state.tensors.items()}
    if transform is not None:
        tensors |= {f"transform.{name}": value for name, value in transform.tensors().items()}
    return State(tensors, {**plain, "state": state.plain})


def load(path: str | os.PathLike[str], *, own: bool = False) -> Learner:
    """The learner that `save` wrote.

    A learner or network that is not the library's own must be known to this process (`engram.register`); with `own` it
    is imported from where it was when it was saved, which runs its code. If it has changed since, it is refused.
    """
    path = Path(path)
    if not path.is_file():
        raise BadData(f"there is no file {path}; give one that engram.save wrote")
    return unpacked(checkpoint.read(path, OWNER), path, own=own)


def unpacked(found: State, path: Path, own: bool = False) -> Learner:
    """The learner that was `packed`, read from this path."""
    if found.plain.get("format") != FORMAT:
        raise BadState(f"{path} has the format {found.plain.get('format')} of a newer Engram; update Engram to read it")
    try:
        return _rebuilt(found, path, own)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError) as error:
        raise DamagedFile(
            f"{path} holds no whole learner ({type(error).__name__}: {error}); it was not used"
        ) from error


def described(learner: Learner) -> dict[str, Any]:
    """What a learner is made with, as plain JSON: outline, seed, network by name, and all settings."""
    args, settings = learner.made_with
    made = inspect.signature(Learner.__init__).bind(None, *args, **settings)
    made.apply_defaults()
    network = made.arguments["network"]
    outline: Outline = made.arguments["outline"]
    return {
        "outline": [list(outline.shape), list(outline.classes)],
        "seed": made.arguments["seed"],
        "network": None if network is None else [network.name, dict(network.settings)],
        "settings": {**defaults(type(learner)), **made.arguments["settings"]},
    }


def remade(cls: type[Learner], plain: Mapping[str, Any]) -> Learner:
    """A fresh learner of this class, made with what `described` says."""
    return cls(_outline(plain), plain["seed"], _network(plain), **plain["settings"])


def _outline(plain: Mapping[str, Any]) -> Outline:
    shape, classes = plain["outline"]
    return Outline(tuple(shape), tuple(classes))


def _network(plain: Mapping[str, Any]) -> Blueprint | None:
    return None if plain["network"] is None else Blueprint.of(plain["network"][0], **plain["network"][1])


def _rebuilt(found: State, path: Path, own: bool) -> Learner:
    plain = dict(found.plain)
    name = _known(LEARNERS, plain["learner"], path, own)
    if plain["network"] is not None:
        plain["network"] = [_known(NETWORKS, plain["network"][0], path, own), plain["network"][1]]
    look_ahead(name, _outline(plain), _network(plain) or Blueprint.of(), [plain["settings"]])
    learner = remade(LEARNERS[name], plain)
    learner.load(State(under("state.", found.tensors), plain["state"]))
    learner.class_names = tuple(plain["class_names"])
    if plain["transform"] is not None:
        learner.transform = Transform.load(under("transform.", found.tensors), plain["transform"])
    return learner


def _named(registry: Registry[Any], thing: Any) -> list[str | None]:
    """The name of a learner or network; and of a user's its place, if another process can find it, and its digest."""
    name = registry.name_of(thing)
    origin = registry.origin(name)
    return [name] if origin is None else [name, origin.place, origin.digest]


def _known(registry: Registry[Any], named: Sequence[Any], path: Path, own: bool) -> str:
    """The name by which this process knows what `_named` named."""
    name, place, digest = [*named, None, None][:3]
    if digest is None:
        return str(name)
    what = f"the {registry.kind} '{name}' of {path}"
    origin = registry.origin(name)
    if place is None and (origin is None or origin.digest != digest):
        raise BadSetting(f"{what} was defined in a running program; register it there and load it in that program")
    if name not in registry.users:
        if not own:
            raise BadSetting(f"{what} is code of {place}; register it, or say own=True to import it from there")
        name = registry.name_of(place)
    origin = registry.origin(name)
    if origin is None or origin.digest != digest:
        raise BadSetting(f"{what} has changed since it was saved; restore its code, or train a learner of the new one")
    return str(name)
