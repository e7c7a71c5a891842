"""What a command line of `engram run` asks for: a study, from its options or from an experiment file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from engram.cli.options import check_file, labelled, number, numbers, open_store, pairs, seed_list
from engram.cli.output import warn
from engram.errors import BadSetting

if TYPE_CHECKING:
    from engram.experiment import WrittenStudy
    from engram.runs import Run
    from engram.study import Study

PARTS = ("head", "protocol", "network", "references", "offline", "evaluate", "device")
SHORTCUTS = ("epochs", "batch", "rate", "precision")
MORE = ("learner", "dataset", "label", "tasks", "settings", "seeds", "stream_seed", "curve", "floors", "by")


@dataclass(frozen=True)
class CommandLine:
    """A study, its runs, whether it is one learner `alone`, and how it is written where it is to be kept."""

    study: Study
    runs: list[Run]
    alone: bool
    written: WrittenStudy | None

    def save(self, path: str) -> None:
        """Into a file, which takes the place of none but its like."""
        from engram import files
        from engram.experiment import text_of

        text = text_of(self.study).encode()
        check_file("--save", path)
        if os.path.exists(path) and Path(path).read_bytes() != text:
            raise BadSetting(f"--save '{path}' is there already and asks for something else; choose another place")
        files.write(Path(path), text)

    def keep(self, store: str) -> str:
        """In the store, before anything is trained. Its digest, or nothing."""
        if self.written is None:
            return ""
        place = open_store(store)
        with contextlib.closing(place):
            self.written.keep(place)
        return self.written.digest


def what_is_asked(ctx: typer.Context) -> CommandLine:
    options = ctx.params
    if options["stream"].lower().endswith(".toml"):
        return _from_file(ctx, options["stream"])
    if options["learner"] is None:
        raise BadSetting("missing option '--learner'; 'engram list learners' has their names")
    study = study_of(options)
    if _asks_for_one(study) and not options["save"]:
        return CommandLine(study, study.single().runs(study.seeds), True, None)
    return _asked(study, None)


def _from_file(ctx: typer.Context, path: str) -> CommandLine:
    from engram.experiment import naming, read

    said = (*PARTS, *SHORTCUTS, *MORE)
    given = [name for name in said if getattr(ctx.get_parameter_source(name), "name", "") == "COMMANDLINE"]
    if given:
        option = {"settings": "set"}.get(given[0], given[0].replace("_", "-"))
        raise BadSetting(f"{path} says what is asked for, and --{option} says it too; write it into the file")
    found = read(path)
    with naming(path):
        return _asked(found.study, found)


def _asked(study: Study, written: WrittenStudy | None) -> CommandLine:
    from engram.experiment import WrittenStudy

    alone = _asks_for_one(study)
    for note in [] if alone else study.notes:
        warn(note)
    runs = study.single().runs(study.seeds) if alone else study.runs
    return CommandLine(study, runs, alone, written or WrittenStudy.of(study))


def _asks_for_one(study: Study) -> bool:
    """Whether it is one learner on one stream, as it is set: several values of its settings are a protocol's to choose
    from, unless they were written as its own."""
    several = [value for own in study.own.values() for value in own.values() if isinstance(value, list)]
    return len(study.streams) == len(study.learners) == 1 and not study.floors and not several


def study_of(options: Mapping[str, Any]) -> Study:
    """By the names of the command's parameters."""
    from engram.study import BY, Study

    settings, own = _settings(options)
    streams, dataset = _listed(options["stream"]), options["dataset"]
    for stream in streams:
        dataset, of_stream = labelled(stream, options["dataset"], options["label"])
        settings |= of_stream
    asked = {
        **{name: options[name] for name in PARTS},
        "dataset": dataset,
        "tasks": number("--tasks", options["tasks"]),
        "stream_seed": number("--stream-seed", options["stream_seed"]),
        "curve": numbers("--curve", options["curve"], "-"),
    }
    learners, seeds = _listed(options["learner"]), seed_list(options["seeds"])
    return Study(streams, learners, seeds, settings, own, asked, options["floors"], options["by"] or BY)


def _listed(text: str) -> list[str]:
    """Names between commas, which the name of a folder may have too."""
    return [text] if os.path.exists(text) else [name.strip() for name in text.split(",") if name.strip()]


def _settings(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Those for everybody, and those for one learner each, which are written as ewc.strength=100."""
    shortcuts = [f"{name}={options[name]}" for name in SHORTCUTS if options[name] is not None]
    settings: dict[str, Any] = {}
    own: dict[str, dict[str, Any]] = {}
    for key, value in pairs([*(options["settings"] or []), *shortcuts]).items():
        learner, dot, name = key.rpartition(".")
        (own.setdefault(learner, {}) if dot else settings)[name] = value
    return settings, own
