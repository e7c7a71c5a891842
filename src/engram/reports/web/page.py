"""A page from records: everything is computed here and written by templates that escape whatever they are given."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram.errors import BadSetting
from engram.record import Record
from engram.reports.advice import advice
from engram.reports.content import Page
from engram.reports.harmless import harmless
from engram.reports.summary import done
from engram.reports.web import choosing, learning, matrices, planes, routes
from engram.reports.web.chart import Chart
from engram.reports.web.classes import ClassTable, class_table
from engram.reports.web.csv_file import CsvFile
from engram.reports.web.differences import WHISKER, DifferenceTable, difference_tables, headlines
from engram.reports.web.matrices import HeatMap
from engram.reports.web.methods import Method, Names, Topic, topics
from engram.reports.web.provenance import provenance
from engram.reports.web.published import sections
from engram.reports.web.results import Results, results
from engram.reports.web.words import Specs, protocol_words, question, title
from engram.study import BY

if TYPE_CHECKING:
    from jinja2 import Environment

# circle, square, triangle and diamond around 0, each about as large as the others
SHAPES = (
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0",
    "M-4 -4h8v8h-8z",
    "M0 -5.2L5 3.8H-5z",
    "M0 -5.6L5.6 0L0 5.6L-5.6 0z",
)
FOLDER = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class TopicContent:
    """All that a page says about one topic."""

    topic: Topic
    words: Sequence[tuple[str, Sequence[str]]]
    results: Results
    headlines: Sequence[str]
    differences: Sequence[DifferenceTable]
    notes: Sequence[str]
    panels: Sequence[tuple[Method, Chart]]
    maps: Sequence[tuple[Method, HeatMap]]
    matrices: CsvFile
    maps_file: CsvFile
    planes: Sequence[Chart]
    planes_file: CsvFile
    learning: Sequence[tuple[Method, Chart]]
    learning_file: CsvFile | None
    classes: ClassTable | None
    routes: Sequence[routes.RouteMap]
    routes_file: CsvFile
    chosen: Sequence[choosing.ChosenBy]
    settings: choosing.GivenSettings


@dataclass(frozen=True)
class Subject:
    """What runs were asked for, where that is known: a title and a question, names for the runs, a paper's tables,
    the metric that methods are compared by."""

    title: str = ""
    question: str = ""
    names: Names = field(default_factory=Names)
    paper: Page | None = None
    protocol: str = ""  # what was chosen by which data, where no protocol of the library says it
    by: str = BY


def page(records: Sequence[Record], specs: Specs, made_by: str = "", subject: Subject | None = None) -> str:
    """One HTML file. `specs` say what was asked for, by the key of a run; `made_by` is the command that asks for it."""
    if not done(records):
        raise BadSetting("there is no finished run to report; 'engram runs' shows how they stand")
    about = subject or Subject()
    found = topics(records, about.names, about.by)
    style, script = _render("style.css"), _render("script.js")
    return _render(
        "page.html",
        title=about.title or title(found),
        question=about.question or question(found),
        published=sections(about.paper) if about.paper else [],
        paper=about.paper,
        parts=[part(topic, specs, about.protocol) for topic in found],
        methods=_labels(found),
        seeds=sorted({record.seed for record in records}),
        provenance=provenance(found, specs, made_by),
        data={topic.place: matrices.script_data(topic) for topic in found},
        style=style,
        script=script,
        digests={"style": digest(style), "script": digest(script)},
    )


def part(topic: Topic, specs: Specs, protocol: str = "") -> TopicContent:
    curves = learning.panels(topic)
    lost = planes.loss_plane(topic)
    return TopicContent(
        topic=topic,
        words=protocol_words(topic, specs, protocol),
        results=results(topic),
        headlines=headlines(topic),
        differences=difference_tables(topic),
        notes=_notes(topic),
        panels=matrices.panels(topic),
        maps=[(method, matrices.heat_map(topic, method)) for method in topic.finished],
        matrices=matrices.csv_file(topic),
        maps_file=matrices.map_file(topic),
        planes=[*planes.cost_planes(topic), *([lost] if lost else [])],
        planes_file=planes.csv_file(topic),
        learning=curves,
        learning_file=learning.csv_file(topic) if curves else None,
        classes=class_table(topic),
        routes=routes.route_maps(topic),
        routes_file=routes.csv_file(topic),
        chosen=choosing.chosen(topic),
        settings=choosing.settings(topic),
    )


def _notes(topic: Topic) -> list[str]:
    """What a reader must know before believing the table."""
    compared = [note for each in topic.comparisons for note in each.notes]
    return list(dict.fromkeys([*compared, *(line for method in topic.methods for line in advice(method.records))]))


def _labels(found: Sequence[Topic]) -> list[Method]:
    """Each label once, for the switches."""
    by_label: Mapping[str, Method] = {method.label: method for topic in found for method in topic.methods}
    return sorted(by_label.values(), key=lambda method: method.mark)


def digest(text: str) -> str:
    """As a content security policy names an inline style or script."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _render(name: str, **values: Any) -> str:
    return environment().get_template(name).render(**values)


@cache
def environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )
    made.globals |= {"levels": matrices.LEVELS, "whisker_width": WHISKER, "side": matrices.SIDE, "shapes": SHAPES}
    return made


def _finalized(value: Any) -> Any:
    """Names that steer a terminal or turn the direction of writing cannot do so here either."""
    return harmless(value) if type(value) is str else value
