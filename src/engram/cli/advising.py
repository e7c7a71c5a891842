"""The command `engram advise`: which method for files of one's own."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from engram.cli import model_options as asked
from engram.cli.options import Json, Seeds, check_file, seed_list
from engram.cli.output import console, others_printing, print_json, say, working
from engram.cli.report import Out, write_report
from engram.errors import BadSetting

if TYPE_CHECKING:
    from engram.advising import Advice

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}

LabelName = Annotated[str | None, typer.Option("--label", metavar="COLUMN", help="The label's column.")]
Memory = Annotated[
    str | None,
    typer.Option("--memory", metavar="10MB", help="What the model may take, with all that it keeps, for undo too."),
]
NoExemplars = Annotated[bool, typer.Option("--no-exemplars", help="No row may be kept.")]
Latency = Annotated[
    str | None, typer.Option("--latency", metavar="1ms", help="What the answer about one row may take.")
]


def advise(
    files: asked.DataPaths,
    label: LabelName = None,
    memory: Memory = None,
    no_exemplars: NoExemplars = False,
    latency: Latency = None,
    without: asked.LeftOut = None,
    image_size: asked.ImageSize = None,
    seeds: Seeds = "0-2",
    out: Out = "advice.html",
    as_json: Json = False,
) -> None:
    """Which method to use: a few are tried on your first sessions.

    Files are sessions, in the order in which they came. What the past would have chosen is judged by the next one.
    """
    from engram.advising import Budget, read_sessions, trials_of
    from engram.estimator.choosing import bytes_of
    from engram.reports.recommendation import command, print_advice

    check_file("--out", out, files)
    budget = Budget(bytes_of(memory), not no_exemplars, seconds_of(latency))
    draws = seed_list(seeds)
    sheets = read_sessions(files, label, asked.names_of(without), asked.side_of(image_size))
    with working("trying methods") as so_far, others_printing():
        found = trials_of(sheets, budget, draws, so_far)
    options = _reading(label, without, image_size)
    page = _page(found, out, shlex.join(["engram", "advise", *files, *options]))
    if as_json:
        print_json(
            {**found.to_dict(), "command": command(found, options) if found.recommended else None, "report": page}
        )
    else:
        print_advice(console(), found, options)
        say(f"report: {page}")


def seconds_of(text: str | None) -> float | None:
    """A time as people write it.

    >>> seconds_of("1ms"), seconds_of("0.5 s"), seconds_of(None)
    (0.001, 0.5, None)
    """
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *(us|ms|s)", text.strip())
    if found is None or not float(found[1]):
        raise BadSetting(f"--latency {text!r} is no time; for example --latency 1ms, or 0.5s")
    return float(found[1]) * UNITS[found[2]]


def _reading(label: str | None, without: str | None, image_size: str | None) -> list[str]:
    given = {"--label": label, "--without": without, "--image-size": image_size}
    return [word for option, value in given.items() if value is not None for word in (option, value)]


def _page(found: Advice, out: str, words: str) -> str:
    from engram.reports.recommendation import HOW, as_records, headline
    from engram.reports.web.methods import Names
    from engram.reports.web.page import Subject

    records, labels = as_records(found)
    subject = Subject("Which method for these sessions", headline(found), Names(labels), protocol=HOW)
    return str(write_report(records, {}, out, words, subject)["report"])
