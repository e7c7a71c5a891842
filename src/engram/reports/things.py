"""What there is: a screen of names with a line each, and one thing in full."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from engram.reports.tables import cell, print_mapping, print_wrapped, written

FACTS = {
    "paper": "paper", "keeps": "keeps", "needs_task": "needs the task", "also": "also called", "version": "version",
    "validation": "holds out", "warning": "mind", "classes": "classes", "train": "training samples",
    "test": "test samples", "licence": "licence", "source": "source", "road": "it comes by", "tiers": "tiers",
    "experiments": "experiments",
}  # fmt: skip


def print_list(console: Console, what: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """A line each. Everything else of one of them is shown by its name, and of all in --json."""
    print_mapping(console, what, [_SHORT.get(what, _helped)(row) for row in rows])
    for row in rows:
        if row.get("test_in_train"):
            samples = f"{row['test_in_train']} of its test samples are training samples too"
            print_wrapped(console, f"{row['name']}: {samples}; streams leave them out from version 2 on")
    print_wrapped(console, f"'engram list {what} NAME' shows one in full", "dim")


def _helped(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": row["name"], "help": row["help"]}


def _learner(row: Mapping[str, Any]) -> dict[str, Any]:
    name = f"{row['name']} (= {', '.join(row['also'])})" if row["also"] else row["name"]
    return {"name": name, "what it is": row["line"], "keeps": row["keeps"], "task": "told" if row["needs_task"] else ""}


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


_SHORT = {"learners": _learner, "datasets": _dataset}


def print_detail(console: Console, what: str, row: Mapping[str, Any]) -> None:
    """Name, idea, facts, settings with what they mean, a command."""
    print_wrapped(console, f"{row['name']}: {row['help']}" if row.get("help") else row["name"], "bold")
    for paragraph in row["about"]:
        console.print()
        _print_paragraph(console, paragraph)
    facts = [f"{title}: {_fact(row[name])}" for name, title in FACTS.items() if row.get(name) not in (None, "", [])]
    for line in ["", *facts] if facts else []:
        print_wrapped(console, line)
    if row.get("settings"):
        console.print()
        print_mapping(console, "settings (--set name=value)", [_setting(*each) for each in row["settings"].items()])
    console.print()
    print_wrapped(console, row["example"])


def _print_paragraph(console: Console, paragraph: str) -> None:
    """Sentences are broken where the line ends; what is set out in lines stays in them, and is broken behind what it
    begins with."""
    lines = paragraph.splitlines()
    if not any(line.startswith((" ", "- ", "1.")) for line in lines):
        print_wrapped(console, " ".join(lines))
        return
    for line in _whole(lines):
        start = _begins(line)
        table = Table.grid()
        table.add_column(width=start, no_wrap=True)
        table.add_column()
        table.add_row(cell(line[:start]), cell(line[start:]))
        console.print(table)


def _whole(lines: Sequence[str]) -> list[str]:
    """Lines with those that go on with them, because they begin below their text.

    >>> _whole(["1. one that", "   goes on", "2. two"])
    ['1. one that goes on', '2. two']
    """
    found: list[str] = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if found and indent and indent == _begins(found[-1]):
            found[-1] += f" {line.strip()}"
        else:
            found.append(line)
    return found


def _begins(line: str) -> int:
    """Where the text of a line begins, behind spaces, and behind a mark or a word that stands apart.

    >>> _begins("- text"), _begins("  12. text"), _begins("    word   text"), _begins("text")
    (2, 6, 11, 0)
    """
    found = re.match(r" *(?:- |\d+\. |\S+(?: \S+)* {2,})?", line)
    return found.end() if found else 0


def _fact(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _setting(name: str, about: Mapping[str, Any]) -> dict[str, Any]:
    choices = ", ".join(map(str, about["choices"] or ()))
    meaning = about["help"] if choices in about["help"] else f"{about['help']} ({choices})"
    return {"setting": name, "default": written(about["default"]), "meaning": meaning}
