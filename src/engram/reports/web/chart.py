"""Charts as plain values: where a template draws which line. Nothing here knows of records."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from engram.reports.tables import quantity

SHADES = 9  # the style sheet has as many, from the first task to the last


@dataclass(frozen=True)
class Axis:
    """From values to the length of an axis, 0 … 1. `bend` is the scale: linear, log, or steps (log of 1 + x)."""

    title: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    bend: str = "linear"

    def at(self, value: float) -> float:
        low, high, here = (self._bent(v) for v in (self.low, self.high, value))
        return (here - low) / (high - low) if high > low else 0.5

    def _bent(self, value: float) -> float:
        if self.bend == "linear":
            return value
        return math.log(value if self.bend == "log" else 1 + value)


def shares(title: str, values: Iterable[float]) -> Axis:
    """An axis around these numbers, for accuracies and differences of accuracies."""
    known = [value for value in values if not math.isnan(value)] or [0.0, 1.0]
    low, high = min(known), max(known)
    margin = 0.08 * (high - low) or 0.05
    low, high = low - margin, high + margin
    step = next(s for s in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5) if (high - low) / s <= 6)
    digits = max(0, -math.floor(math.log10(step)))
    first = math.ceil(low / step)
    marks = [step * k for k in range(first, math.floor(high / step) + 1)]
    return Axis(title, low, high, tuple((mark, f"{mark:.{digits}f}") for mark in marks))


def accuracies(values: Iterable[float]) -> Axis:
    """Up to 1, from 0 or, where all of them are high, from below the lowest.

    >>> accuracies([0.83, 0.99]).ticks
    ((0.8, '0.8'), (0.9, '0.9'), (1.0, '1'))
    """
    lowest = min((value for value in values if not math.isnan(value)), default=0.0)
    low = next((start for start in (0.8, 0.6, 0.4, 0.2) if start <= lowest), 0.0)
    marks = (low, (low + 1) / 2, 1.0)
    return Axis("accuracy", low, 1.0, tuple((mark, f"{mark:g}") for mark in marks))


def counted(title: str, last: int, first: int = 1) -> Axis:
    """Whole numbers from the first to the last, few enough of them named."""
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 10**9) if (last - first) / s <= 6)
    marks = [n for n in range(first, last + 1) if n == first or n % step == 0]
    return Axis(title, first, max(last, first + 1e-9), tuple((n, str(n)) for n in marks))


def logarithmic(title: str, values: Iterable[float], unit: str) -> Axis:
    """For costs, which differ by orders of magnitude."""
    known = [value for value in values if value > 0] or [1.0]
    low, high = min(known) / 1.6, max(known) * 1.6
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    leading = (1,) if math.log10(high / low) > 2 else (1, 2, 5)
    marks = [k * 10.0**p for p in powers for k in leading if low <= k * 10.0**p <= high]
    every = math.ceil(len(marks) / 5)
    return Axis(title, low, high, tuple((mark, quantity(mark, unit)) for mark in marks[::every] or [low]), "log")


def steps(title: str, moments: Iterable[float]) -> Axis:
    """Numbers of steps, the first of them far apart."""
    known = sorted(set(moments))
    axis = Axis(title, known[0], max(known[-1], known[0] + 1), (), "steps")
    named: list[float] = []
    for step in known:
        if not named or axis.at(step) - axis.at(named[-1]) > 0.14:
            named.append(step)
    return Axis(title, axis.low, axis.high, tuple((step, f"{step:g}") for step in named), "steps")


@dataclass(frozen=True)
class ChartLine:
    """Values along an axis; not a number is a gap. `css` are classes of the style sheet, `key` is what a script finds
    it by, and `name` what it says of the values where somebody points at them."""

    values: Sequence[tuple[float, float]]
    css: str
    key: str = ""
    name: str = ""

    @property
    def told(self) -> str:
        """The values for a script: across and up in turn."""
        return " ".join(f"{across:g} {up:.4g}" for across, up in self.values)


@dataclass(frozen=True)
class Dot:
    """A point with its interval both ways, a name beside it, and what is said where somebody points at it."""

    across: float
    up: float
    tip: str
    css: str = ""
    shape: int = 0
    label: str = ""
    halves: tuple[float, float] = (math.nan, math.nan)
    method: int | None = None


@dataclass(frozen=True)
class DrawnDot:
    """A dot, where it is drawn: the ends of its whiskers, and where its label begins or ends."""

    dot: Dot
    x: float
    y: float
    wide: tuple[float, float] | None
    tall: tuple[float, float] | None
    label: tuple[float, float, str, str] | None


@dataclass(frozen=True)
class Chart:
    """One frame with what is in it; `text` says the same in words."""

    name: str
    text: str
    across: Axis
    up: Axis
    lines: Sequence[ChartLine] = ()
    dots: Sequence[Dot] = ()
    width: float = 250
    height: float = 170
    margins: tuple[float, float, float, float] = (8, 8, 34, 30)  # top, right, bottom, left
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, width and height of what is inside the axes."""
        top, right, bottom, left = self.margins
        return left, top, self.width - left - right, self.height - top - bottom

    def x(self, value: float) -> float:
        left, _, width, _ = self.box
        return round(left + width * self.across.at(value), 1)

    def y(self, value: float) -> float:
        _, top, _, height = self.box
        return round(top + height * (1 - self.up.at(value)), 1)

    def path(self, line: ChartLine) -> str:
        """A line for SVG, with gaps; a point between two gaps is a dot."""
        words, pen = [], "M"
        for across, up in line.values:
            if math.isnan(up) or math.isnan(across):
                pen = "M"
                continue
            words.append(f"{pen}{self.x(across):g} {self.y(up):g}" + ("h0" if pen == "M" else ""))
            pen = "L"
        return "".join(words)

    @cached_property
    def places(self) -> list[DrawnDot]:
        from engram.reports.web.labels import label_places

        at = [(self.x(dot.across), self.y(dot.up)) for dot in self.dots]
        labels = label_places(at, [dot.label for dot in self.dots], self.width, self.height)
        found = []
        for dot, (x, y), label in zip(self.dots, at, labels, strict=True):
            wide, tall = (None if math.isnan(half) else half for half in dot.halves)
            across = None if wide is None else (self.x(self._inside(dot.across - wide)), self.x(dot.across + wide))
            up = None if tall is None else (self.y(dot.up - tall), self.y(dot.up + tall))
            found.append(DrawnDot(dot, x, y, across, up, label))
        return found

    def _inside(self, value: float) -> float:
        """A whisker towards 0 ends at the edge of a logarithmic axis."""
        return max(value, self.across.low) if self.across.bend == "log" else value


def shade(place: int, count: int) -> str:
    """The style of a task among so many, from the first to the last."""
    return f"s{round((SHADES - 1) * place / max(count - 1, 1))}"
