"""Ω of Kemker et al. 2018: the accuracies that it is made of, read from what was measured, and what follows from them.

What a session brought are its new classes, measured as the mean over them; where no session after the first brings a
class (permutations of the same data) it is the session's own test data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan

from engram import metrics
from engram.core import Row

Groups = Sequence[Sequence[str]]  # the classes that each session brought; none: its test data count


@dataclass(frozen=True)
class Alphas:
    """After every session: accuracy on what each session so far brought (`parts`), and on everything seen (`all`)."""

    parts: tuple[tuple[float, ...], ...]
    all: tuple[float, ...]

    @property
    def base(self) -> tuple[float, ...]:
        """On the first session."""
        return tuple(line[0] for line in self.parts)

    @property
    def new(self) -> tuple[float, ...]:
        """On the session just learned."""
        return tuple(line[-1] for line in self.parts)

    def to_json(self) -> dict[str, list[float]]:
        return {"base": list(self.base), "new": list(self.new), "all": list(self.all)}


def groups_of(rows: Sequence[Row], head: str) -> Groups | None:
    """The classes that each session brought; None where not all rows say which classes there were."""
    seen = [row.per_class.get(row.reading(head), {}).keys() for row in rows]
    if not all(seen):
        return None
    added = [tuple(label for label in now if k == 0 or label not in seen[k - 1]) for k, now in enumerate(seen)]
    return added if any(added[1:]) else [()] * len(rows)


def alphas(rows: Sequence[Row], head: str, groups: Groups | None) -> Alphas:
    """Row k of a path, or of models of everything seen, is about sessions 1 … k; nan where that was not measured."""
    if groups is None:
        return Alphas(tuple((nan,) * count for count in range(1, len(rows) + 1)), (nan,) * len(rows))
    parts = tuple(_parts(row, head, groups[:count]) for count, row in enumerate(rows, 1))
    if any(groups):
        everything = [metrics.mean_class_accuracy(_by_class(row, head).values()) for row in rows]
    else:
        everything = [metrics.spread(line)["mean"] for line in parts]
    return Alphas(parts, tuple(everything))


def _parts(row: Row, head: str, groups: Groups) -> tuple[float, ...]:
    """Accuracy on what each of these sessions brought."""
    accuracy, of_class = row.accuracy(head), _by_class(row, head)
    means = [metrics.mean_class_accuracy(of_class[label] for label in group) for group in groups]
    return tuple(mean if group else accuracy[k] for k, (group, mean) in enumerate(zip(groups, means, strict=True)))


def _by_class(row: Row, head: str) -> Mapping[str, float]:
    return row.per_class.get(row.reading(head), {})


def ideals(rows: Sequence[Row], head: str, groups: Groups | None) -> tuple[float, ...]:
    """What models of one session each reach on it, the first of the first session."""
    return tuple(_parts(row, head, [group])[0] for row, group in zip(rows, groups or [], strict=False)) or (nan,)


def omegas(own: Alphas, alone: Sequence[float], fair: Alphas | None, modalities: bool) -> dict[str, float]:
    """Every Ω by its name, from the accuracies of a path, of the offline model of its first session (of each session,
    if these are modalities) and, if they were asked for, of the offline models of everything seen."""
    base, new, parts = own.base[1:], own.new[1:], own.parts[1:]
    each = list(alone) if modalities else list(alone) * len(own.all)
    together = parts if modalities else [[value] for value in own.all[1:]]
    found = {
        "omega_base": metrics.omega_base(base, each[0]),
        "omega_new": metrics.omega_new(new),
        "omega_new_share": metrics.omega_new(new, each[1:]),
        "omega_all": metrics.omega_modalities(together, [each[: len(line)] for line in together]),
    }
    if fair is None:
        return found
    fairly = fair.parts[1:] if modalities else [[value] for value in fair.all[1:]]
    return found | {
        "omega_base_fair": metrics.omega_base(base, fair.base[1:]),
        "omega_all_fair": metrics.omega_modalities(together, fairly),
        "omega_all_fair_lowest": metrics.omega_lowest(together, fairly),
    }
