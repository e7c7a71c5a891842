"""One lesson of a path through the tree, as it is part of a node's key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engram.core import Step


@dataclass(frozen=True)
class Growth:
    """One lesson of a path: which tasks are taught at once, with which settings, measured at which steps. With
    `every` n all tasks seen and the validation data are measured every n steps and at the end, see `Curve`. At the
    end `evaluate` says which of the tasks seen are measured: all, current or none."""

    tasks: tuple[int, ...]
    settings: Mapping[str, Any]
    curve: tuple[int, ...] = ()
    every: int = 0
    evaluate: str = "all"

    def to_json(self) -> list[Any]:
        return [list(self.tasks), dict(self.settings), self.measured()]

    def measured(self) -> list[Any]:
        """The steps, and after them what is not as it is by default: keys of nodes do not change with what is added."""
        more: dict[str, Any] = {"every": self.every} if self.every else {}
        if self.evaluate != "all":
            more["evaluate"] = self.evaluate
        return [*self.curve, more] if more else list(self.curve)

    @staticmethod
    def from_json(tasks: Sequence[int], settings: Mapping[str, Any], measured: Sequence[Any]) -> Growth:
        more = measured[-1] if measured and isinstance(measured[-1], Mapping) else {}
        return Growth(tuple(tasks), settings, tuple(measured[:-1] if more else measured), **more)

    def is_moment(self, step: Step) -> bool:
        """Whether something is to be measured after this step."""
        regular = self.every and (step.done % self.every == 0 or step.done == step.total)
        return step.done in self.curve or bool(regular)
