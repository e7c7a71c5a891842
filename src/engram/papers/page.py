"""A reproduction as a page: Markdown, a CSV table and a figure for each experiment, by the command that it names."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from engram.files import write
from engram.papers.paper import Experiment, Line, Paper, Table
from engram.reports.summary import done
from engram.reports.tables import written

Answers = Sequence[tuple[Experiment, Sequence[Line]]]


def write_page(
    paper: Paper, answers: Answers, tier: str, command: str, folder: Path, stem: str, name: str = ""
) -> list[Path]:
    """Everything that a reader gets, in files whose names begin with `stem`, and the page called `name`, if it is to be
    another; where it all is."""
    places = []
    for experiment, lines in answers:
        table, figure = (folder / f"{stem}-{experiment.name}.{ending}" for ending in ("csv", "png"))
        write(table, _csv([experiment.header(), *experiment.table(lines)]))
        places += [table, experiment.figure(lines, figure)]
    page = folder / f"{name or stem}.md"
    write(page, render(paper, answers, tier, command, stem).encode())
    return [page, *places]


def render(paper: Paper, answers: Answers, tier: str, command: str, stem: str) -> str:
    seeds = sorted({record.seed for _, lines in answers for line in lines for record in line.records})
    return "\n".join(
        [
            f"# {paper.title}",
            "",
            paper.about,
            "",
            f"Written by `{command}` (tier `{tier}`, seeds {', '.join(map(str, seeds))}; mean ± standard deviation).",
            "",
            *(part for experiment, lines in answers for part in _section(stem, experiment, lines)),
            "## What to know about these numbers",
            "",
            paper.caveats,
            "",
        ]
    )


def _section(stem: str, experiment: Experiment, lines: Sequence[Line]) -> list[str]:
    sources = sorted({line.entry.source for line in lines if line.entry.source})
    verdicts = [f"- {v['claim']}: **{v['verdict']}**" for v in experiment.verdicts(lines)]
    return [
        f"## {experiment.title}",
        "",
        *([experiment.about, ""] if experiment.about else []),
        *(part for table in experiment.page_tables(lines) for part in _table(table)),
        *([f"Published values: {'; '.join(sources)}.", ""] if sources else []),
        *([*verdicts, ""] if verdicts else []),
        *(part for note in experiment.notes(lines) for part in (f"- {note}",)),
        *([""] if experiment.notes(lines) else []),
        f"![{experiment.title}]({stem}-{experiment.name}.png)",
        "",
        "<details><summary>settings of every row</summary>",
        "",
        *(f"- **{name}**: {_settings(line)}" for name, line in experiment.distinct(lines)),
        "",
        "</details>",
        "",
    ]


def _settings(line: Line) -> str:
    records = done(line.records) or line.records
    first = records[0]
    about: Mapping[str, object] = {"stream": first.stream, "head": first.head, "network": first.network}
    return ", ".join(f"`{name}={written(value)}`" for name, value in {**about, **first.settings}.items())


def _table(table: Table) -> list[str]:
    return [*([f"**{table.title}**", ""] if table.title else []), *_markdown(table.header, table.rows), ""]


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]


def _csv(rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
