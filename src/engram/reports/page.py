"""A report as a page: Markdown with a CSV table and a figure for each section, by the command that it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engram.files import write
from engram.reports.cells import csv_bytes, full
from engram.reports.content import Page, Section, Table
from engram.reports.figure import png
from engram.reports.sharing import shared
from engram.reports.tables import written


def write_page(page: Page, folder: Path, stem: str, name: str = "") -> list[Path]:
    """Everything that a reader gets, in files whose names begin with `stem`, and the page called `name`, if it is to be
    another; where it all is."""
    places = []
    for file, content in page_files(page, stem, name).items():
        write(folder / file, content)
        places.append(folder / file)
    return places


def page_files(page: Page, stem: str, name: str = "") -> dict[str, bytes]:
    """What is in each file, the page first. A picture that two sections would show is there once, in the first."""
    tables = {f"{stem}-{section.name}.csv": csv_bytes(section.data) for section in page.sections}
    shown: dict[bytes, Section] = {}
    words = []
    for section in page.sections:
        picture = None if section.figure is None else png(section.figure)
        words.append(_figure(section, shown.get(picture), stem) if picture else [])
        if picture:
            shown.setdefault(picture, section)
    pictures = {f"{stem}-{section.name}.png": picture for picture, section in shown.items()}
    return {f"{name or stem}.md": _render(page, words).encode(), **tables, **pictures}


def _figure(section: Section, earlier: Section | None, stem: str) -> list[str]:
    if earlier is not None:
        return [f"Its figure is the one of “{earlier.title}”.", ""]
    return [f"![{section.title}]({stem}-{section.name}.png)", ""]


def _render(page: Page, figures: Sequence[list[str]]) -> str:
    settings = [own for section in page.sections for own in section.settings.values()]
    common = shared(settings)
    rows = _own_settings(page.sections, common)
    parts = zip(page.sections, figures, rows, strict=True)
    return "\n".join(
        [
            f"# {page.title}",
            "",
            page.about,
            "",
            f"Written by `{page.command}` (tier `{page.tier}`, {_seeds(page)}).",
            "",
            *(line for section, figure, own in parts for line in _section(section, figure, own)),
            "## Settings that all rows share",
            "",
            f"A row has those that its learner and its network know: {_listed(common)}.",
            "",
            "## What to know about these numbers",
            "",
            page.caveats,
            "",
        ]
    )


def _seeds(page: Page) -> str:
    if len(page.seeds) == 1:
        return f"seed {page.seeds[0]}, so there are no deviations"
    brief = [table.shown == "pairs" for section in page.sections for table in section.tables]
    places = "in the CSV files" if all(brief) else "beside them or in the CSV files"
    shown = f"means; standard deviations are {places}" if any(brief) else "mean ± standard deviation"
    return f"seeds {', '.join(map(str, page.seeds))}; {shown}"


def _own_settings(sections: Sequence[Section], common: Mapping[str, Any]) -> list[list[str]]:
    """For each section the settings of its rows that are not shared by all; a row that is on the page for the second
    time is not listed again."""
    known: set[str] = set()
    found = []
    for section in sections:
        differing = {name: {n: v for n, v in own.items() if n not in common} for name, own in section.settings.items()}
        lines = [f"- **{name}**: {_listed(own)}" for name, own in differing.items() if own]
        found.append([line for line in lines if line not in known])
        known |= set(lines)
    return found


def _section(section: Section, figure: list[str], settings: list[str]) -> list[str]:
    verdicts = [f"- {v.claim}: **{v.verdict}**{f' ({v.why})' if v.why else ''}" for v in section.verdicts]
    notes = [f"- {note}" for note in section.notes]
    return [
        f"## {section.title}",
        "",
        *([section.about, ""] if section.about else []),
        *(line for table in section.tables for line in _table(table)),
        *([f"Published values: {'; '.join(section.sources)}.", ""] if section.sources else []),
        *([*verdicts, ""] if verdicts else []),
        *([*notes, ""] if notes else []),
        *figure,
        *(_details(settings) if settings else []),
    ]


def _details(settings: list[str]) -> list[str]:
    summary = "<details><summary>settings of every row, beside those that all rows share</summary>"
    return [summary, "", *settings, "", "</details>", ""]


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}={written(value)}`" for name, value in settings.items())


def _table(table: Table) -> list[str]:
    header, *rows = full(table)
    lines = ["| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *rows]]
    return [*([f"**{table.title}**", ""] if table.title else []), *lines, ""]
