"""What is asked for when several are compared, as data: streams × learners × settings × seeds under one protocol.

    >>> study = Study(["split-digits"], ["ewc", "ridge"], own={"ewc": {"strength": [10, 100]}}, settings={"epochs": 2})
    >>> [row.label for row in study.rows]
    ['ewc strength=10', 'ewc strength=100', 'ridge']
    >>> study.notes
    ['epochs is no setting of ridge, which goes without it']

A setting belongs to everybody who knows it, or to one learner. Several values are a grid for a protocol that selects
among them; for one that does not, each of them makes a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from engram.core import Stream
from engram.errors import BadSetting, UnknownName
from engram.floors import FLOORS, floors_beside, training_of
from engram.learners import LEARNERS, learner_settings
from engram.metrics import METRICS, SHOWN_AS
from engram.networks import NETWORKS, network_class, refuse_if_of_others
from engram.protocols import grid_of, protocol_class
from engram.request import Request
from engram.runs import Run
from engram.seeds import checked
from engram.settings import Setting, declared, shown
from engram.streams import options_of

BY = "average_accuracy"
NEEDED = {
    "intransigence": ("references",),
    "transfer": ("references",),
    "lca": ("curve",),
    "omega": ("offline", "references"),
}  # what has to be asked for, that metrics whose names begin so are measured
ASKED = tuple(f.name for f in fields(Request) if f.name not in ("stream", "learner", "settings"))


@dataclass(frozen=True)
class StudyRow:
    """One line of the table to be: a learner with the settings that tell it apart, with every seed."""

    label: str
    request: Request
    seeds: Sequence[int]
    floor: bool = False

    @cached_property
    def runs(self) -> list[Run]:
        return self.request.runs(self.seeds)


@dataclass(frozen=True)
class Study:
    """`streams` and `learners` are what a `Request` takes, and `asked` is all else that it takes, but for the settings:
    `settings` are for everybody who knows them, `own` for one learner each. `by` is the metric that rows are compared
    by; with `floors`, `engram.floors` stand beside them."""

    streams: Sequence[Any]
    learners: Sequence[Any]
    seeds: Sequence[int] = (0,)
    settings: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)
    floors: bool = False
    by: str = BY

    def __post_init__(self) -> None:
        checked(self.seeds, f"seeds={list(self.seeds)}")
        for name in self.asked:
            if name not in ASKED:
                raise UnknownName("part of a study called", name, ASKED)
        self._check_metric()
        _check_once("stream", [getattr(stream, "name", stream) for stream in self.streams])
        _check_once("learner", self.names)
        self._check_settings()

    @cached_property
    def names(self) -> list[str]:
        """What the learners are known by."""
        return [LEARNERS.name_of(learner) for learner in self.learners]

    @cached_property
    def rows(self) -> list[StudyRow]:
        """Every line, stream by stream; whatever can be wrong with a run is found here, before any work."""
        found = [self._rows_on(stream) for stream in self.streams]
        _check_streams([rows[0].runs[0].stream.name for rows in found], self.streams)
        return [row for rows in found for row in rows]

    @property
    def runs(self) -> list[Run]:
        return [run for row in self.rows for run in row.runs]

    def single(self) -> Request:
        """What is asked for of one learner on one stream, as a request that is checked by itself."""
        return Request(
            self.streams[0], self.learners[0], settings={**self.settings, **self._own(self.names[0])}, **self.asked
        )

    @cached_property
    def notes(self) -> list[str]:
        """Which settings did not reach everybody."""
        found = []
        for name in self.settings:
            lacking = [learner for learner in self.names if name not in learner_settings(learner)]
            if lacking and not self._is_common(name):
                whose = "which goes" if len(lacking) == 1 else "which go"
                found.append(f"{name} is no setting of {' and '.join(lacking)}, {whose} without it")
        return found

    @cached_property
    def common(self) -> dict[str, Setting]:
        """The settings of the network and the protocol, which all learners have."""
        network = network_class(NETWORKS.name_of(self.asked.get("network") or "mlp"))
        return {**declared(network), **declared(protocol_class(self.asked.get("protocol") or "sequential"))}

    def known_to(self, learner: str, stream: Any) -> dict[str, Setting]:
        """Every setting that a learner's run on a stream can have."""
        return {**learner_settings(learner), **self.common, **_options(stream)}

    def _check_metric(self) -> None:
        """A metric that nothing would be measured for is refused before anything is trained."""
        if self.by not in METRICS:
            raise UnknownName("metric", str(self.by), METRICS, SHOWN_AS.get(str(self.by)))
        asked = {name for name, value in self.asked.items() if value not in (None, False, "", (), [], "no")}
        needed = next((names for begin, names in NEEDED.items() if self.by.startswith(begin)), ())
        if needed and not asked.intersection(needed):
            raise BadSetting(f"{self.by} is not measured unless it is asked for; add --{' or --'.join(needed)}")

    def find(self, name: str, key: str | None = None) -> Setting | None:
        """The setting of this name: of one learner, by a key of `own`, or of the first that has it."""
        whose = self.names if key is None else [self._name(key)]
        found = (self.known_to(learner, stream).get(name) for stream in self.streams for learner in whose)
        return next((each for each in found if each is not None), None)

    def _is_common(self, name: str) -> bool:
        return name in self.common or any(name in _options(stream) for stream in self.streams)

    def _check_settings(self) -> None:
        everybody = [*self.names, *(FLOORS if self.floors else ())]
        known = {name for stream in self.streams for who in self.names for name in self.known_to(who, stream)}
        for name in self.settings:
            if name not in known:
                refuse_if_of_others(name, known)
                raise UnknownName(
                    f"setting of {' or '.join(self.names)}, network, stream or protocol called", name, known
                )
        for key, settings in self.own.items():
            if self._name(key) not in everybody:
                raise UnknownName("learner in this comparison called", key, everybody)
            of_stream = next((name for name in settings for stream in self.streams if name in _options(stream)), None)
            if of_stream is not None:
                raise BadSetting(
                    f"{key}.{of_stream} is a setting of the stream, which all learners share; leave out {key}."
                )

    def _name(self, key: str) -> str:
        """The learner that a key of `own` stands for, by its name or as it was asked for."""
        return next((n for n, asked in zip(self.names, self.learners) if key == asked), LEARNERS.proper(key))

    def _own(self, learner: str) -> dict[str, Any]:
        return {
            name: value for key, own in self.own.items() if self._name(key) == learner for name, value in own.items()
        }

    def _rows_on(self, stream: Any) -> list[StudyRow]:
        rows = [row for name, asked in zip(self.names, self.learners) for row in self._rows_of(name, asked, stream)]
        _check_heads(rows)
        rows = self._with_floors(rows, stream) if self.floors else rows
        _check_different(rows)
        return rows

    def _rows_of(self, name: str, asked: Any, stream: Any) -> list[StudyRow]:
        known = self.known_to(name, stream)
        given = {key: value for key, value in self.settings.items() if key in known} | self._own(name)
        return self._variants(name, asked, stream, given, **self.asked)

    def _with_floors(self, rows: Sequence[StudyRow], stream: Any) -> list[StudyRow]:
        """Those that were asked for by name as well are there once, as they were asked for."""
        fitting = floors_beside([row.runs[0] for row in rows])
        found, asked = list(rows), {**self.asked, "head": rows[0].runs[0].head}
        for name, own in fitting.items():
            if name in self.names:
                continue
            shared = {key: value for key, value in self.settings.items() if key in {**self.common, **_options(stream)}}
            given = {**shared, **training_of(name, self.settings), **own, **self._own(name)}
            found += self._variants(name, name, stream, given, True, **asked)
        return found

    def _variants(
        self, name: str, learner: Any, stream: Any, given: Mapping[str, Any], floor: bool = False, **asked: Any
    ) -> list[StudyRow]:
        """A row, or one for every combination of several values where the protocol does not select among them."""
        known, options = self.known_to(name, stream), _options(stream)
        selects = protocol_class(self.asked.get("protocol") or "sequential").selects
        several = {
            key: value
            for key, value in given.items()
            if isinstance(value, list) and len(value) > 1 and not selects and key in known and key not in options
            if not known[key].several
        }
        rows = []
        for values in grid_of(several):
            parts = [f"{key}={shown(known[key].parse(key, value))}" for key, value in values.items()]
            request = Request(stream, learner, settings={**given, **values}, **asked)
            rows.append(StudyRow(" ".join([name, *parts]), request, self.seeds, floor))
        return rows


def _options(stream: Any) -> dict[str, Setting]:
    return {} if isinstance(stream, Stream) else options_of(stream)


def _check_once(kind: str, names: Sequence[Any]) -> None:
    if not names:
        raise BadSetting(f"there is no {kind} to compare; name at least one")
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise BadSetting(f"the {kind} '{twice}' is named twice; name each {kind} once")


def _check_streams(built: Sequence[str], asked: Sequence[Any]) -> None:
    """Results are told apart by the name that a stream was built with."""
    for place, name in enumerate(built):
        if name in built[:place]:
            words = [getattr(stream, "name", stream) for stream in (asked[built.index(name)], asked[place])]
            raise BadSetting(f"the streams '{words[0]}' and '{words[1]}' are both '{name}'; name each stream once")


def _check_heads(rows: Sequence[StudyRow]) -> None:
    """Accuracies over all classes and accuracies with the task given are not to be compared."""
    heads = {row.runs[0].head: row.runs[0].learner for row in rows}
    if len(heads) > 1:
        raise BadSetting(
            f"learner '{heads['multi']}' has to be told the task, and '{heads['single']}' would not be: their "
            "accuracies cannot be compared; give --head multi (head='multi'), so that all are told"
        )


def _check_different(rows: Sequence[StudyRow]) -> None:
    labels: dict[str, str] = {}
    for row in rows:
        twin = labels.setdefault(row.runs[0].key, row.label)
        if twin is not row.label:
            raise BadSetting(f"'{twin}' and '{row.label}' are the same runs; give each value once")
