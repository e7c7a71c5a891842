"""What is being trained in a store right now, by whatever processes: how far, how long still, what failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from engram.execute import notes
from engram.reports.harmless import harmless
from engram.reports.listing import run_row
from engram.reports.words import count, duration
from engram.store import Store

MOST_FAILURES = 5  # on a terminal
Sight = Mapping[str, Any]


def look(store: Store) -> dict[str, Any]:
    """One moment, as plain values. A run that no living process works on waits."""
    working = [_with_time_left(note) for note in notes(store.folder)]
    theirs = {key for note in working for key in note["runs"]}
    rows = [run_row(entry) for entry in store.runs()]
    pending = [row["key"] for row in rows if row["status"] == "pending"]
    counts = {status: sum(row["status"] == status for row in rows) for status in ("done", "failed")}
    counts |= {"running": len(theirs & {*pending}), "waiting": len({*pending} - theirs)}
    about = ("key", "learner", "stream", "seed", "error")
    failures = [{name: row[name] for name in about} for row in rows if row["status"] == "failed"]
    return {"store": str(store.folder), "runs": counts, "processes": working, "failures": failures}


def _with_time_left(note: Mapping[str, Any]) -> dict[str, Any]:
    """What was found in the store took no time, so only what was grown since says how fast it goes."""
    begun = sum(each["share"] for each in note["growing"])
    grown, left = note["count"] - note["found"] + begun, note["total"] - note["count"] - begun
    seconds = (note["now"] - note["began"]) / grown * max(left, 0.0) if grown > 0 else None
    share = (note["count"] + begun) / max(note["total"], 1)
    return {**note, "share": min(share, 1.0), "seconds_left": seconds}


def print_sight(console: Console, sight: Sight) -> None:
    console.print(drawn(sight))


def drawn(sight: Sight) -> RenderableType:
    """For a terminal: a line about all runs, one about each process, one for each lesson that is being learned."""
    parts: list[RenderableType] = [_text(_headline(sight), "bold")]
    for note in sight["processes"]:
        parts.append(_text(_about_process(note)))
        parts.append(_lessons(note["growing"]))
    failures = sight["failures"]
    for row in failures[-MOST_FAILURES:]:
        parts.append(_text(f"failed: {row['learner']} on {row['stream']}, seed {row['seed']}: {row['error']}", "red"))
    if len(failures) > MOST_FAILURES:
        parts.append(_text(f"and {len(failures) - MOST_FAILURES} failures before these; 'engram runs' has all"))
    return Group(*parts)


def _headline(sight: Sight) -> str:
    counts = [f"{number} {status}" for status, number in sight["runs"].items() if number]
    words = [f"runs in {sight['store']}: {', '.join(counts) or 'none'}"]
    if not sight["processes"]:
        words.append("nothing is being trained" + ("; 'engram resume' goes on" if sight["runs"]["waiting"] else ""))
    return " · ".join(words)


def _about_process(note: Mapping[str, Any]) -> str:
    seconds = note["seconds_left"]
    left = "time left not known yet" if seconds is None else f"about {duration(seconds)} left"
    return f"process {note['pid']}: {note['share']:.0%} of {count(note['total'], 'task')} · {left}"


def _lessons(growing: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for each in growing:
        tasks = f"task {each['tasks'][-1]}" if len(each["tasks"]) == 1 else f"{len(each['tasks'])} tasks at once"
        cells = [f"  {each['learner']}", each["stream"], f"seed {each['seed']}", f"{tasks} of {each['of']}"]
        table.add_row(*map(_text, [*cells, f"{each['share']:.0%}"]))
    return table


def _text(text: str, style: str = "") -> Text:
    return Text(harmless(text), style)
