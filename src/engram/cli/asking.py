"""What the options of `engram run` ask for, as a study."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engram.cli.options import labelled, number, numbers, pairs, seed_list

if TYPE_CHECKING:
    from engram.study import Study

PARTS = ("head", "protocol", "network", "references", "offline", "evaluate", "device")
SHORTCUTS = ("epochs", "batch", "rate", "precision")


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
    return Study(
        streams,
        _listed(options["learner"]),
        seed_list(options["seeds"]),
        settings,
        own,
        asked,
        options["floors"],
        options["by"] or BY,
    )


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
