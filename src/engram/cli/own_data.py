"""Commands that change a model in a file: learn, forget, undo."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from engram.cli import model_options as asked
from engram.cli.options import Json, number, pairs
from engram.cli.output import print_json, say, waiting
from engram.errors import BadSetting, EngramError, of_kind

if TYPE_CHECKING:
    from engram.estimator import ContinualClassifier


def learn(
    model: asked.ModelFile,
    files: asked.DataPaths,
    label: asked.LabelColumn = None,
    learner: asked.ModelLearner = None,
    settings: asked.ModelSettings = None,
    memory: asked.Room = None,
    network: asked.ModelNetwork = None,
    seed: asked.ModelSeed = None,
    without: asked.LeftOut = None,
    image_size: asked.ImageSize = None,
    as_json: Json = False,
) -> None:
    """Learn from files of your own: begin or go on.

    Labels that were never seen before are new classes. Columns are matched by name.
    """
    once = {"learner": learner, "memory": memory, "network": network, "seed": number("--seed", seed)}
    once = {**one_value_each(pairs(settings or [])), **{name: v for name, v in once.items() if v is not None}}
    if not model:
        raise BadSetting("the model's file has no name; for example 'engram learn birds.engram week1.csv'")
    reading = {"without": asked.names_of(without), "side": asked.side_of(image_size)}
    if os.path.exists(model):
        _refuse_late(model, once, reading)
    told: list[dict[str, Any]] = []
    for file in files:
        try:
            known = _learn(model, file, label, once, reading)
        except EngramError as error:
            if not told:
                raise
            raise _after(error, model, files[: len(told)]) from error
        told.append({**known.history_[-1], **now_object(known)})
        if not as_json:
            say(f"{model}: learned {_session(known)}; {_standing(known)}")
            if len(known.history_) == 1:
                say(f"learner {known.choice_['learner']}: {known.choice_['why']}")
    if as_json:
        print_json({"model": model, "sessions": told, "learner": known.choice_})


def forget(model: asked.ModelFile, file: asked.DataPath, as_json: Json = False) -> None:
    """Forget rows exactly: as if they had never been learned.

    Give rows that were learned: not all that never were are noticed.
    """
    from engram.estimator import own_files
    from engram.estimator.model_file import updating

    asked.require_model(model)
    with updating(model) as known, waiting(f"forgetting {file}"):
        own_files.forget(known, own_files.read_for(known, file, labelled=True))
    _tell(model, "forgot", known, as_json)


def undo(model: asked.ModelFile, as_json: Json = False) -> None:
    """Take back the last session."""
    from engram.estimator.model_file import updating

    asked.require_model(model)
    with updating(model) as known:
        last = known.history_[-1]
        known.undo()
    if as_json:
        print_json({"model": model, "undone": last, **now_object(known)})
    else:
        say(f"{model}: took back '{last['kind']}' of {last['rows']} rows; {_standing(known)}")


def one_value_each(settings: dict[str, Any]) -> dict[str, Any]:
    several = next((name for name, value in settings.items() if isinstance(value, list)), None)
    if several is not None:
        raise BadSetting(f"--set {several} has several values, and a model has one; give one of them")
    if "self" in settings:
        raise BadSetting("there is no setting 'self'; 'engram list learners' names those of each learner")
    return settings


def now_object(known: ContinualClassifier) -> dict[str, Any]:
    """How a model stands, for scripts."""
    return {"known_classes": len(known.classes_), "known_rows": int(known.counts_.sum())}


def _learn(
    model: str, file: str, label: str | None, once: dict[str, Any], reading: dict[str, Any]
) -> ContinualClassifier:
    from engram.estimator import own_files

    with waiting(f"learning {file}"):
        if os.path.exists(model):
            return own_files.go_on(model, file, label)
        return own_files.begin(model, file, once, label, **reading)


def _after(error: EngramError, model: str, learned: list[str]) -> EngramError:
    """The error about a file, with those before it that are learned already."""
    return of_kind(type(error).__name__, f"{error}; {model} has learned {', '.join(learned)} already: leave them out")


def _refuse_late(model: str, once: dict[str, Any], reading: dict[str, Any]) -> None:
    """What is decided when a model begins."""
    late = next((name for name, value in {**once, **reading}.items() if value), None)
    if late is not None:
        raise BadSetting(f"{model} has begun already and keeps its {late}; leave it out, or begin another model")


def _tell(model: str, verb: str, known: ContinualClassifier, as_json: bool) -> None:
    if as_json:
        print_json({"model": model, **known.history_[-1], **now_object(known)})
    else:
        say(f"{model}: {verb} {_session(known)}; {_standing(known)}")


def _session(known: ContinualClassifier) -> str:
    """The last one, in words."""
    session = known.history_[-1]
    new, gone = session.get("new", []), session.get("gone", [])
    words = f"{session['rows']:,} rows of {session['file']}"
    words += f", new: {asked.few(new)}" if new else ""
    return words + (f", gone: {asked.few(gone)}" if gone else "")


def _standing(known: ContinualClassifier) -> str:
    classes = len(known.classes_)
    return f"now {classes:,} {'class' if classes == 1 else 'classes'} of {known.counts_.sum():,} rows"
