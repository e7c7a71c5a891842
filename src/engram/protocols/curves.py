"""Recorded accuracies of two-task runs, checked once, and what a selecting step is shown of them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from engram.errors import BadRecord, EngramError

Accuracies: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"

RATES = ("first_rate", "second_rate")
CURVES = ("d1", "d2", "union")
VALIDATION = ("d1_validation", "d2_validation")
KEYS = ("topology", *RATES, *CURVES)
SAME_MOMENTS = ("d2", "union", "d2_validation")


class Peeked(EngramError):
    """A selecting step asked for something that it did not declare."""


class View(Mapping[str, Any]):
    """A run as a selecting step sees it: what the step declared, and nothing else."""

    __slots__ = ("_shown",)

    def __init__(self, run: Mapping[str, Any], sees: Iterable[str]):
        self._shown = {name: run[name] for name in sees}

    def __getitem__(self, name: str) -> Any:
        if name not in self._shown:
            raise Peeked(f"a step that sees {', '.join(sorted(self._shown))} asked for '{name}'; declare it in `sees`")
        return self._shown[name]

    def __contains__(self, name: object) -> bool:
        return name in self._shown

    def __iter__(self) -> Iterator[str]:
        return iter(self._shown)

    def __len__(self) -> int:
        return len(self._shown)


class Candidate:
    """Something to choose, known by its curves: a recorded run, or what a policy is told about a node."""

    curves: Mapping[str, Any]

    def view(self, sees: Iterable[str], **more: float) -> View:
        """What a step is shown; `more` are single values that the curves do not have by themselves."""
        return View({**self.curves, **more}, sees)

    def at(self, curve: str, moment: int) -> float:
        """One accuracy of a curve, be it one that can be looked at only once."""
        values = self.curves[curve]
        return float(values(moment) if callable(values) else values[moment])


@dataclass(frozen=True)
class Recorded(Candidate):
    """A checked run: what was set before retraining, in a form that can be compared, and its curves by name."""

    beginning: Hashable
    curves: Mapping[str, Accuracies]


def read_runs(runs: Iterable[Mapping[str, Any]], validation: bool = False) -> list[Recorded]:
    """Every run, checked; with its curves of validation data where they are asked for and there."""
    if isinstance(runs, (str, Mapping)) or not isinstance(runs, Iterable):
        raise BadRecord(f"runs is a {type(runs).__name__}; give a list with one mapping for each run")
    listed = list(runs)
    if not listed:
        raise BadRecord("there are 0 runs to choose from; give at least one")
    for index, run in enumerate(listed):
        _check_keys(index, run)
    names = (*CURVES, *(_shared(listed) if validation else ()))
    return [_read(index, run, names) for index, run in enumerate(listed)]


def _shared(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The validation curves that the runs have. Some with and some without could not be compared."""
    found = []
    for name in VALIDATION:
        without = [index for index, run in enumerate(runs) if name not in run]
        if without and len(without) < len(runs):
            raise BadRecord(f"run {without[0]} has no '{name}', but other runs have; give it to all runs or to none")
        if not without:
            found.append(name)
    return found


def _check_keys(index: int, run: Any) -> None:
    if not isinstance(run, Mapping):
        raise BadRecord(f"run {index} is a {type(run).__name__}; give a mapping with {', '.join(KEYS)}")
    missing = [key for key in KEYS if key not in run]
    if missing:
        raise BadRecord(f"run {index} has no '{missing[0]}'; every run needs {', '.join(KEYS)}")
    for name in RATES:
        rate = run[name]
        if not isinstance(rate, Real) or isinstance(rate, bool) or not 0 < float(rate) < math.inf:
            raise BadRecord(f"run {index}: {name}={rate!r} is no rate; give a number above 0")


def _read(index: int, run: Mapping[str, Any], names: Sequence[str]) -> Recorded:
    curves = {name: _curve(index, name, run[name]) for name in names}
    for name in SAME_MOMENTS:
        if name in curves and len(curves[name]) != len(curves["d2"]):
            raise BadRecord(
                f"run {index}: {name} has {len(curves[name])} moments and d2 has {len(curves['d2'])}; "
                "measure both at the same moments of retraining"
            )
    return Recorded((_frozen(index, run["topology"]), float(run["first_rate"])), curves)


def _curve(index: int, name: str, values: Any) -> Accuracies:
    """Accuracies in memory of their own that nobody can write to, so that no step can alter what another sees."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError, RuntimeError):
        raise BadRecord(f"run {index}: {name} is no list of numbers ({_short(values)})") from None
    if array.ndim != 1 or not array.size:
        raise BadRecord(f"run {index}: {name} has the shape {array.shape}; give one accuracy for each moment")
    if not (array.min() >= 0 and array.max() <= 1):
        wrong = int(np.flatnonzero(~((array >= 0) & (array <= 1)))[0])
        raise BadRecord(f"run {index}: {name} is {array[wrong]:g} at moment {wrong}; accuracies lie between 0 and 1")
    return np.frombuffer(array.tobytes())


def _frozen(index: int, value: Any) -> Hashable:
    """A topology as something that can be compared: lists (as JSON has them) and tuples alike."""
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(index, part) for part in value)
    if not isinstance(value, Hashable):
        raise BadRecord(f"run {index}: topology={_short(value)} cannot be compared; give text, numbers or a list")
    return value


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else text[:39] + "…"
