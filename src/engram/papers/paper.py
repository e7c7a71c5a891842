"""What a reproduction is made of: rows of a published table, the runs that answer them, claims, and the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engram.checkpoint import write
from engram.errors import UnknownName
from engram.metrics import spread
from engram.record import Record
from engram.reports.figure import draw_progress
from engram.reports.summary import done
from engram.reports.tables import plus_minus, written
from engram.runs import Run, prepare

TIERS = ("quick", "paper")


@dataclass(frozen=True)
class Entry:
    """One row: a learner with its settings, what was published for it, and the least that we claim to reach.

    A tier that is not the published setting claims nothing (`at_least` is None)."""

    label: str
    learner: str
    settings: Mapping[str, Any]
    published: float
    source: str
    at_least: float | None


@dataclass(frozen=True)
class Line:
    """A row with our runs beside the published value."""

    entry: Entry
    records: tuple[Record, ...]

    def ours(self) -> dict[str, float]:
        return spread([record.metrics()["average_accuracy"] for record in done(self.records)])

    def held(self) -> bool | None:
        """Whether the claim holds; None where there is none."""
        return None if self.entry.at_least is None else self.ours()["mean"] >= self.entry.at_least

    def claim(self) -> str:
        if self.entry.at_least is None:
            return "none in this tier"
        return f"≥ {self.entry.at_least}: {'held' if self.held() else 'NOT held'}"

    def to_json(self) -> dict[str, Any]:
        return {
            "method": self.entry.label,
            "learner": self.entry.learner,
            "published": self.entry.published,
            "source": self.entry.source,
            "ours": self.ours(),
            "difference": self.ours()["mean"] - self.entry.published,
            "claim": self.claim(),
            "held": self.held(),
            "runs": [record.to_json() for record in self.records],
        }


@dataclass(frozen=True)
class Paper:
    """A published result: its rows in each tier, and what a reader must know about the numbers."""

    name: str
    title: str
    about: str
    entries: Callable[[str], Sequence[Entry]]
    stream: Callable[[str], dict[str, Any]]
    caveats: str

    def runs(self, tier: str, seeds: Sequence[int]) -> list[tuple[Entry, list[Run]]]:
        if tier not in TIERS:
            raise UnknownName("tier", tier, TIERS)
        where = self.stream(tier)
        return [
            (entry, [prepare(learner=entry.learner, seed=s, settings=dict(entry.settings), **where) for s in seeds])
            for entry in self.entries(tier)
        ]

    def table(self, lines: Sequence[Line]) -> list[dict[str, str]]:
        return [dict(zip(_TABLE, _cells(line), strict=True)) for line in lines]

    def short_table(self, lines: Sequence[Line]) -> list[dict[str, str]]:
        """The columns that fit a terminal."""
        return [dict(list(row.items())[:5]) for row in self.table(lines)]

    def page(self, lines: Sequence[Line], tier: str, command: str) -> str:
        """The reproduction as Markdown, with the command that wrote it."""
        seeds = ", ".join(str(record.seed) for record in lines[0].records)
        return "\n".join(
            [
                f"# {self.title}",
                "",
                self.about,
                "",
                f"Written by `{command}` (tier `{tier}`, seeds {seeds}; mean ± standard deviation over seeds).",
                "",
                *_markdown(_TABLE, [_cells(line) for line in lines]),
                "",
                "![accuracy on every task as training goes on](" + f"{self.name}.png)",
                "",
                "## Settings",
                "",
                *[f"- **{line.entry.label}**: {_settings(line.records[0])}" for line in lines],
                "",
                "## What to know about these numbers",
                "",
                self.caveats,
                "",
            ]
        )

    def write(self, lines: Sequence[Line], tier: str, command: str, folder: Path) -> list[Path]:
        """The page, the table as CSV and the figure; where they are."""
        table = [_TABLE, *(_cells(line) for line in lines)]
        page, csv, figure = (folder / f"{self.name}.{ending}" for ending in ("md", "csv", "png"))
        write(page, self.page(lines, tier, command).encode())
        write(csv, "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in table).encode())
        draw_progress([record for line in lines for record in line.records], figure)
        return [page, csv, figure]


_TABLE = ["method", "published", "ours", "difference", "claim", "forgetting (ctrl)", "minutes a run"]


def _cells(line: Line) -> list[str]:
    ours, finished = line.ours(), done(line.records)
    if not finished:
        return [line.entry.label, _published(line), "failed", "", line.claim(), "", ""]
    forgetting = spread([record.metrics()["forgetting_ctrl"] for record in finished])
    minutes = max(record.seconds for record in finished) / 60
    return [
        line.entry.label,
        _published(line),
        plus_minus(ours, 4),
        f"{ours['mean'] - line.entry.published:+.4f}",
        line.claim(),
        plus_minus(forgetting, 4),
        f"{minutes:.1f}",
    ]


def _published(line: Line) -> str:
    return f"{line.entry.published} ({line.entry.source})"


def _settings(record: Record) -> str:
    return ", ".join(f"`{name}={written(value)}`" for name, value in record.settings.items())


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]
