"""Tables of what there is and of what a store holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from engram.protocols import protocol
from engram.reports.tables import print_mapping, print_wrapped, written

Rows = Sequence[Mapping[str, Any]]


def print_list(console: Console, what: str, rows: Rows) -> None:
    """Names with a line of help each, then all their settings. The whole truth is in --json."""
    shown = [_dataset(row) for row in rows] if what == "datasets" else [_short(row) for row in rows]
    print_mapping(console, what, shown)
    for row in rows:
        if row.get("test_in_train"):
            samples = f"{row['test_in_train']} of its test samples are training samples too"
            print_wrapped(console, f"{row['name']}: {samples}; streams leave them out from version 2 on")
    settings = settings_rows(rows)
    if settings:
        console.print()
        print_mapping(console, "settings (--set name=value)", settings)


def settings_rows(rows: Rows) -> list[dict[str, Any]]:
    """Every setting once, with whose it is; one that differs between its owners has a line for each reading."""
    owners: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        for name, about in row.get("settings", {}).items():
            owners.setdefault((name, written(about["default"]), about["help"]), []).append(row["name"])
    names = [row["name"] for row in rows]
    return [
        {"setting": name, "default": default, "of": _whose(whose, names), "help": text}
        for (name, default, text), whose in owners.items()
    ]


def _whose(owners: Sequence[str], everyone: Sequence[str]) -> str:
    others = [name for name in everyone if name not in owners]
    if not others:
        return "all"
    return f"all but {', '.join(others)}" if len(others) < len(owners) else ", ".join(owners)


def _short(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not isinstance(value, (dict, list))}


def _dataset(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": row["name"],
        "shape": "×".join(map(str, row["shape"])),
        "classes": row["classes"],
        "train": row["train"],
        "test": row["test"],
        "here": "yes" if row["available"] else "no",
        "licence": row["licence"],
    }


def print_store(console: Console, store: str, entries: Rows) -> None:
    """One line a run, and below why some of them failed."""
    rows = [run_row(entry) for entry in entries]
    shown = [{name: value for name, value in row.items() if name not in ("error", "warning")} for row in rows]
    marks = ["*" if row["warning"] else "" for row in rows]
    short = [
        {**row, "key": row["key"][:10], "protocol": row["protocol"] + mark}
        for row, mark in zip(shown, marks, strict=True)
    ]
    print_mapping(console, f"runs in {store}", short)
    for row in rows:
        if row["error"]:
            print_wrapped(console, f"{row['key'][:10]} {row['status']}: {row['error']}")
    for warning in dict.fromkeys(f"* {row['protocol']}: {row['warning']}" for row in rows if row["warning"]):
        print_wrapped(console, warning)


def run_row(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A run of a store in a line."""
    spec = entry["spec"]
    return {
        "key": entry["key"],
        "stream": spec["stream"]["name"],
        "learner": spec["learner"],
        "protocol": spec["protocol"],
        "head": spec["head"],
        "seed": spec["seed"],
        "status": entry["status"],
        "error": entry["error"],
        "warning": protocol(spec["protocol"], **spec.get("options", {})).warning,
    }
