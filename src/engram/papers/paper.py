"""What a reproduction is made of: experiments with rows, the runs that answer them, published values, claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engram.errors import BadSetting, UnknownName
from engram.metrics import spread
from engram.networks import network_class
from engram.record import Record
from engram.reports.content import Column, Drawing, Number, Page, Section, Table, TableRow, TaskPanels, Verdict
from engram.reports.summary import done
from engram.request import Request
from engram.runs import Run
from engram.seeds import seed_list
from engram.settings import declared

STOPPED, KILOBYTES, PRECISION = "stopped_after_steps", "kilobytes", "precision"


@dataclass(frozen=True)
class Question:
    """One row to be: what `prepare` is asked for (all but the seed), and what was published, by metric."""

    label: str
    run: Mapping[str, Any]
    published: Mapping[str, float] = field(default_factory=dict)
    source: str = ""

    def runs(self, seeds: Sequence[int]) -> list[Run]:
        return Request(**self.run).runs(seeds)

    def computing_in(self, precision: str) -> Question:
        """The same row in a precision, where its network has a choice of them."""
        network = self.run.get("network")
        if network is None or PRECISION not in declared(network_class(network)):
            return self
        return replace(self, run={**self.run, "settings": {**self.run.get("settings", {}), PRECISION: precision}})


@dataclass(frozen=True)
class Answer:
    """A row with our runs beside the published values."""

    question: Question
    records: tuple[Record, ...]

    def values(self, read: Callable[[Record], float]) -> list[float]:
        """Of each finished run. All that is said of a row is made of these."""
        return [read(record) for record in done(self.records)]

    def ours(self, metric: str) -> dict[str, float]:
        """Mean and deviation over the seeds that are done; `minutes` is the longest run."""
        if metric == "minutes":
            longest = max(self.values(lambda record: record.seconds), default=math.nan)
            return {"mean": longest / 60, "std": math.nan, "n": 1}
        if metric == STOPPED:
            stops = self.values(lambda record: math.nan if record.stop is None else float(record.stop))
            return spread([stop for stop in stops if not math.isnan(stop)])
        if metric == KILOBYTES:
            return spread(self.values(lambda record: record.bytes["total"] / 1000))
        return spread(self.values(lambda record: record.metrics().get(metric, math.nan)))

    def mean(self, metric: str = "average_accuracy") -> float:
        return self.ours(metric)["mean"]

    def number(self, metric: str) -> Number:
        """A metric of the finished runs, beside what was published."""
        ours = self.ours(metric)
        return Number(ours["mean"], ours["std"], len(done(self.records)), self.question.published.get(metric))

    def settings(self) -> dict[str, Any]:
        """What the row was trained with, on whatever stream."""
        first = self._first
        return {"learner": first.learner, "head": first.head, "network": first.network, **first.settings}

    def stream(self) -> dict[str, Any]:
        """What the row was trained on."""
        return {"stream": self._first.stream, **self._first.stream_spec.get("options", {})}

    @property
    def _first(self) -> Record:
        return (done(self.records) or self.records)[0]

    def to_json(self, columns: Sequence[Column]) -> dict[str, Any]:
        return {
            "method": self.question.label,
            "learner": self.question.run["learner"],
            "published": dict(self.question.published),
            "source": self.question.source,
            "ours": {column.metric: self.ours(column.metric) for column in columns},
            "difference": {metric: self.mean(metric) - value for metric, value in self.question.published.items()},
            "runs": [record.to_json() for record in self.records],
        }


class _Claimed(Answer):
    """A row that something is claimed of: KeyError where there is no number to read. A mean that is not a number is
    neither above nor below another, and `max` passes over it in silence."""

    def values(self, read: Callable[[Record], float]) -> list[float]:
        found = super().values(read)
        if not found:
            raise KeyError(f"a finished run of {self.question.label}")
        if any(map(math.isnan, found)):
            raise KeyError(f"a number of {self.question.label}")
        return found


ByLabel = Mapping[str, Answer]


@dataclass(frozen=True)
class Claim:
    """A sentence that is true or false of the answers, by their labels. It reads every row that it is about; `among`
    says of whom, where that depends on which rows are there."""

    text: str
    holds: Callable[[ByLabel], bool]
    among: Callable[[ByLabel], str] = lambda answers: ""

    def verdict(self, answers: ByLabel) -> Verdict:
        """Held, not held, or unknown where a row that it is about is missing, or has no number."""
        rows = {label: _Claimed(answer.question, answer.records) for label, answer in answers.items()}
        try:
            return Verdict(self.text, "held" if self.holds(rows) else "NOT held", self.among(rows))
        except KeyError as missing:
            return Verdict(self.text, "unknown", f"{_named(missing.args[0])} is not there")


def _named(missing: object) -> str:
    """A row by its label, or by the parts that it is looked up by.

    >>> _named(("fc", "d5-5a", "")), _named("EWC")
    ('fc d5-5a', 'EWC')
    """
    return " ".join(str(part) for part in missing if part) if isinstance(missing, tuple) else str(missing)


def at_least(label: str, value: float, metric: str = "average_accuracy") -> Claim:
    return Claim(f"{label}: {metric.replace('_', ' ')} ≥ {value:g}", lambda rows: rows[label].mean(metric) >= value)


def at_most(label: str, value: float, metric: str) -> Claim:
    return Claim(f"{label}: {metric.replace('_', ' ')} ≤ {value:g}", lambda rows: rows[label].mean(metric) <= value)


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper. The tier quick claims nothing. What it says is a
    `section`; how that looks is not known here."""

    name: str
    title: str
    columns: tuple[Column, ...]
    questions: tuple[Question, ...]
    claims: tuple[Claim, ...] = ()
    figure: Callable[[Sequence[Answer]], Drawing | None] | None = None
    about: str = ""
    source: str = ""  # of the published values, where it is another than that of the rows
    ours: bool = False  # a search of our own beside the paper, with a page of its own: only by its name

    def section(self, answers: Sequence[Answer]) -> Section:
        tables = self.tables(answers)
        printed = any(table.published(place) for table in tables for place in range(len(table.columns)))
        sources = {self.source or answer.question.source for answer in answers if printed}
        return Section(
            name=self.name,
            title=self.title,
            about=self.about,
            tables=tables,
            data=self.data(answers),
            verdicts=self.verdicts(answers),
            notes=(*_uneven(answers), *_moved(answers), *self.notes(answers)),
            sources=tuple(sorted(filter(None, sources))),
            figure=self.picture(answers),
            settings=self.settings(answers),
        )

    def tables(self, answers: Sequence[Answer]) -> tuple[Table, ...]:
        return (self.data(answers),)

    def data(self, answers: Sequence[Answer]) -> Table:
        """Every number, a row for each answer."""
        rows = (TableRow((a.question.label,), tuple(a.number(c.metric) for c in self.columns)) for a in answers)
        return Table(("method",), self.columns, tuple(rows))

    def settings(self, answers: Sequence[Answer]) -> dict[str, dict[str, Any]]:
        """The settings that are worth showing, by name."""
        return {answer.question.label: {**answer.stream(), **answer.settings()} for answer in answers}

    def notes(self, answers: Sequence[Answer]) -> tuple[str, ...]:
        """What is to be said about single rows."""
        return ()

    def verdicts(self, answers: Sequence[Answer]) -> tuple[Verdict, ...]:
        by_label = {answer.question.label: answer for answer in answers}
        return tuple(claim.verdict(by_label) for claim in self.claims)

    def picture(self, answers: Sequence[Answer]) -> Drawing | None:
        """Its own, or all tasks of all rows; none where nothing is done."""
        if not any(done(answer.records) for answer in answers):
            return None
        if self.figure is not None:
            return self.figure(answers)
        panels = [(answer.question.label, done(answer.records)) for answer in answers if done(answer.records)]
        return TaskPanels([(answers[0].records[0].stream, panels)])


def _uneven(answers: Sequence[Answer]) -> list[str]:
    """Which rows have which seeds, where not all have the same."""
    by_seeds: dict[str, list[str]] = {}
    for answer in answers:
        seeds = ", ".join(str(record.seed) for record in done(answer.records)) or "none"
        by_seeds.setdefault(seeds, []).append(answer.question.label)
    if len(by_seeds) < 2:
        return []
    most = max(by_seeds, key=lambda seeds: len(by_seeds[seeds]))
    others = [f"{', '.join(labels)} ({seeds})" for seeds, labels in by_seeds.items() if seeds != most]
    return [f"Means are over seeds {most}, but of {', '.join(others)}."]


def _moved(answers: Sequence[Answer]) -> list[str]:
    """Of which rows a life was lived on several kinds of machines: a checkpoint that was not there was grown again."""
    labels = [answer.question.label for answer in answers if any(len(r.machines) > 1 for r in done(answer.records))]
    if not labels:
        return []
    return [
        f"Tasks of one life were trained on several kinds of machines in {', '.join(labels)}: what was measured early "
        "and late may be of networks with other bits, which F takes for a change."
    ]


Answered = Sequence[tuple[Experiment, Sequence[Answer]]]
Questions = Sequence[tuple[Experiment, Sequence[tuple[Question, Sequence[Run]]]]]


@dataclass(frozen=True)
class Paper:
    """A published work: its experiments, what they are about and what a reader must know about the numbers, each by
    tier and dataset (None: the tier's own)."""

    name: str
    title: str
    about: Callable[[str, str | None], str]
    caveats: Callable[[str, str | None], str]
    experiments: Callable[[str, str | None], Sequence[Experiment]]
    seeds: str = "0,1"
    quick_seeds: str = "0,1"
    tiers: tuple[str, ...] = ("quick", "paper")

    def find(
        self, experiment: str | None, tier: str, dataset: str | None, only: Sequence[str] = (), precision: str = ""
    ) -> list[Experiment]:
        """The experiments that were asked for: one, or all; of their rows all, or `only` those whose label is one
        of these texts or has all words of it."""
        if tier not in self.tiers:
            raise UnknownName("tier", tier, self.tiers)
        found = list(self.experiments(tier, dataset))
        names = [e.name for e in found]
        if experiment not in (None, *names):
            raise UnknownName(f"experiment of '{self.name}' called", str(experiment), names)
        chosen = [e for e in found if e.name == experiment or (experiment is None and not e.ours)]
        if precision:
            chosen = _computing_in(precision, chosen)
        if not only:
            return chosen
        labels = [question.label for e in chosen for question in e.questions]
        wanted = {label for text in only for label in self._rows(labels, text)}
        narrowed = [replace(e, questions=tuple(q for q in e.questions if q.label in wanted)) for e in chosen]
        return [e for e in narrowed if e.questions]

    def _rows(self, labels: Sequence[str], text: str) -> list[str]:
        """The row that is called so, or else those whose names have all these words."""
        found = [label for label in labels if label == text.strip()] or [label for label in labels if _has(label, text)]
        if not found:
            words = sorted({word for label in labels for word in label.split()})
            raise UnknownName(f"row of '{self.name}' called", text, words)
        return found

    def seeds_of(self, tier: str) -> list[int]:
        return seed_list(self.quick_seeds if tier == "quick" else self.seeds)

    def asked(self, tier: str) -> list[tuple[Experiment, list[tuple[Question, list[Run]]]]]:
        """Everything that a tier asks for, with its own seeds."""
        seeds = self.seeds_of(tier)
        return [
            (e, [(question, question.runs(seeds)) for question in e.questions]) for e in self.find(None, tier, None)
        ]

    def answered(self, asked: Questions, records: Mapping[str, Record]) -> list[tuple[Experiment, list[Answer]]]:
        """What there are records for, by the keys of runs; rows and experiments without any are left out."""
        found = [
            (
                e,
                [
                    Answer(q, own)
                    for q, runs in rows
                    if (own := tuple(records[r.key] for r in runs if r.key in records))
                ],
            )
            for e, rows in asked
        ]
        return [(experiment, rows) for experiment, rows in found if rows]

    def page(self, answers: Answered, tier: str, dataset: str | None, command: str) -> Page:
        seeds = {record.seed for _, rows in answers for answer in rows for record in answer.records}
        return Page(
            title=self.title,
            about=self.about(tier, dataset),
            command=command,
            tier=tier,
            seeds=tuple(sorted(seeds)),
            sections=tuple(experiment.section(rows) for experiment, rows in answers),
            caveats=self.caveats(tier, dataset),
        )


def _computing_in(precision: str, experiments: list[Experiment]) -> list[Experiment]:
    """The same in a precision; where no row has a choice of them that is a mistake."""
    changed = [replace(e, questions=tuple(q.computing_in(precision) for q in e.questions)) for e in experiments]
    if all(one.questions == other.questions for one, other in zip(changed, experiments, strict=True)):
        raise BadSetting(f"--precision {precision} is for convolutional networks, and no row has one; leave it out")
    return changed


def _has(label: str, text: str) -> bool:
    """Whether a label has every word of a text, whatever the case.

    >>> _has("D-fc d5-5a", "d-fc"), _has("D-fc d5-5a", "D5-5A D-FC"), _has("D-fc d5-5a", "fc")
    (True, True, False)
    """
    return set(text.lower().split()) <= set(label.lower().split())
