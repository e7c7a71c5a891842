"""Figures from content to pictures and files."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from engram import files
from engram.errors import BadSetting
from engram.record import Record
from engram.reports.comparison_figures import draw_curves, draw_plane, draw_series, draw_squares
from engram.reports.content import (
    Bars,
    Curves,
    Drawing,
    Paths,
    Phases,
    Plane,
    Radar,
    Series,
    Spans,
    Squares,
    TaskPanels,
)
from engram.reports.learner_figures import draw_bars, draw_paths, draw_radar
from engram.reports.progress_figure import draw_panels, progress
from engram.reports.two_task_figures import draw_phases, draw_spans

DRAWN_BY: dict[type, Callable[[Any], Any]] = {
    TaskPanels: draw_panels,
    Plane: draw_plane,
    Series: draw_series,
    Phases: draw_phases,
    Spans: draw_spans,
    Curves: draw_curves,
    Squares: draw_squares,
    Bars: draw_bars,
    Radar: draw_radar,
    Paths: draw_paths,
}
DOTS_PER_INCH = 130


def drawn(content: Drawing) -> Any:
    """The content as a figure of matplotlib."""
    return DRAWN_BY[type(content)](content)


def png(content: Drawing) -> bytes:
    picture = io.BytesIO()
    drawn(content).savefig(picture, dpi=DOTS_PER_INCH, format="png")
    return picture.getvalue()


def draw_progress(records: Sequence[Record], path: Path) -> Path:
    """One panel a method, a row or more a stream."""
    return save(progress(records), path)


def save(content: Drawing, path: Path) -> Path:
    """A figure in a file, or a sentence about why it cannot be written."""
    figure = drawn(content)
    try:
        with files.replacing(path.resolve()) as file:  # a link stays one
            figure.savefig(file, dpi=DOTS_PER_INCH, format=path.suffix[1:] or None)
    except (OSError, ValueError) as error:
        raise BadSetting(f"the figure cannot be written to {path} ({error}); choose another place") from error
    return path
