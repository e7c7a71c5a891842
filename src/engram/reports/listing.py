"""Tables of what a store holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from engram.protocols import Protocol, protocol
from engram.reports.sharing import varying
from engram.reports.tables import print_mapping, print_wrapped, written
from engram.runs import settings_of, warning_of

SHARED = ("stream", "learner", "protocol", "head")  # in the title where all runs of a store have the same
Rows = Sequence[Mapping[str, Any]]


def print_store(console: Console, store: str, entries: Rows) -> None:
    """One line a run with what it does not share with all others, and below why some of them failed."""
    rows = [run_row(entry) for entry in entries]
    lines = [_line(row) for row in rows]
    shared = [name for name in SHARED if len(lines) > 1 and len({line[name] for line in lines}) == 1]
    settings = _differing_by_stream(rows)
    for line, own in zip(lines, settings, strict=True):
        line |= {"settings": own} if any(settings) else {}
    title = " · ".join([f"runs in {store}", *(str(lines[0][name]) for name in shared)])
    print_mapping(console, title, [{n: v for n, v in line.items() if n not in shared} for line in lines])
    for row in rows:
        if row["error"]:
            print_wrapped(console, f"{row['key'][:10]} {row['status']}: {row['error']}")
    for warning in dict.fromkeys(f"* {row['protocol']}: {row['warning']}" for row in rows if row["warning"]):
        print_wrapped(console, warning)


def _line(row: Mapping[str, Any]) -> dict[str, Any]:
    short = {"key": row["key"][:10], "protocol": row["protocol"] + ("*" if row["warning"] else "")}
    return {name: short.get(name, row[name]) for name in ("key", *SHARED, "seed", "status")}


def run_row(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A run of a store in a line."""
    spec = entry["spec"]
    policy = protocol(spec["protocol"], **spec.get("options", {}))
    return {
        "key": entry["key"],
        "stream": spec["stream"]["name"],
        "learner": spec["learner"],
        "protocol": spec["protocol"],
        "head": spec["head"],
        "seed": spec["seed"],
        "status": entry["status"],
        "error": entry["error"],
        "warning": warning_of(spec, policy),
        "settings": _asked(spec, policy),
    }


def experiment_row(kept: Mapping[str, Any], entries: Rows) -> dict[str, Any]:
    """An experiment of a store in a line."""
    done = {entry["key"] for entry in entries if entry["status"] == "done"}
    keys = [key for row in kept["rows"] for key in row["runs"]]
    counts = {"rows": len(kept["rows"]), "runs": len(keys), "done": sum(key in done for key in keys)}
    return {"digest": kept["key"], "by": kept["by"], **counts, "text": kept["text"]}


def _asked(spec: Mapping[str, Any], policy: Protocol) -> dict[str, Any]:
    """Everything else that was asked for, by the names that the command line has for it."""
    stream = spec["stream"]
    more = {"network": spec["network"][0], "tasks": stream.get("tasks"), **stream.get("options", {})}
    more |= {"curve": spec["curve"], "references": spec["references"], "offline": spec.get("offline", "no")}
    own = {
        "stream-seed": "own" if stream.get("seed") == spec["seed"] else stream.get("seed"),
        "validation": "own" if spec["validation"] == policy.validation else spec["validation"],
    }
    one_value = {name: tuple(value) if isinstance(value, list) else value for name, value in more.items()}
    return {**settings_of(spec, policy), **one_value, **own}


def _differing_by_stream(rows: Rows) -> list[str]:
    """Each run beside the others of its stream: those of another stream differ from it in many things anyway."""
    found: dict[int, str] = {}
    for stream in {row["stream"] for row in rows}:
        places = [place for place, row in enumerate(rows) if row["stream"] == stream]
        found |= dict(zip(places, differing([rows[place]["settings"] for place in places]), strict=True))
    return [found[place] for place in range(len(rows))]


def differing(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of the settings of several runs those of which not all that have them have the same value.

    >>> differing([{"rate": 0.1, "batch": 8}, {"rate": 0.2, "batch": 8}])
    ['rate=0.1', 'rate=0.2']
    """
    different = varying(settings)
    return [" ".join(f"{n}={written(v)}" for n, v in own.items() if n in different) for own in settings]
