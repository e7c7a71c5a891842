"""A two-task grid with curves that somebody made up: as outcomes for a policy, and as runs for a selection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engram.core import Cost, Curve, Row
from engram.errors import Diverged
from engram.networks import Blueprint
from engram.nodes import Node
from engram.protocols import Kept, Outcome, Protocol, outcome_of

EVERY = 10  # steps between two moments
COST = Cost({"total": 0}, 0, 0.0)


def row(accuracy: Any, union: Any = None, validation: Any = (), steps: Any = None) -> Row:
    """A node's row with these curves: accuracy on the current task, on the union, on validation data."""
    steps = tuple(range(0, EVERY * len(accuracy), EVERY)) if steps is None else steps
    union = tuple(accuracy if union is None else union)
    curve = Curve(steps, tuple(accuracy), tuple((a,) for a in accuracy), union, tuple(validation))
    return Row((accuracy[-1],), (accuracy[-1],), {}, {}, {"single": curve}, COST, "", {"single": union[-1]})


@dataclass
class World:
    """Curves by what was chosen: `first[network, first rate]` and `second[network, first rate, second rate]`, each a
    mapping by name. `failed` holds such keys; a node there fails. Networks are known by their width."""

    networks: tuple[int, ...] = (5, 6)
    first_rates: tuple[float, ...] = (0.1, 0.01)
    second_rates: tuple[float, ...] = (0.03, 0.02, 0.01)
    first: dict[Any, dict[str, Any]] = field(default_factory=dict)
    second: dict[Any, dict[str, Any]] = field(default_factory=dict)
    failed: set[Any] = field(default_factory=set)
    asked: list[Any] = field(default_factory=list)  # the keys of all nodes that were grown, in batches
    nodes: list[Node] = field(default_factory=list)

    @property
    def roots(self) -> list[Node]:
        networks = [Blueprint.of("mlp", widths=str(width)) for width in self.networks]
        return [Node("finetune", network, 0, {"name": "s"}, 0.1) for network in networks]

    @property
    def grid(self) -> list[dict[str, Any]]:
        return [{"rate": rate, "iterations": 0} for rate in self.first_rates]

    def outcome(self, node: Node, protocol: Protocol) -> Outcome:
        if key_of(node) in self.failed:
            return Outcome(error=Diverged(f"{key_of(node)} diverged"))
        lessons = node.depth
        if lessons == 1:
            curves = self.first.get(key_of(node), {"d1": (0.1, 0.5), "d1_validation": (0.1, 0.5)})
            found = row(curves["d1"], validation=curves.get("d1_validation", ()))
        else:
            curves = self.second.get(key_of(node), {"d2": (0.1, 0.5), "d2_validation": (0.1, 0.5), "union": (0.4, 0.4)})
            found = row(curves["d2"], curves["union"], curves.get("d2_validation", ()))
        return outcome_of(found, "single", lessons, protocol.sees)

    def drive(self, protocol: Protocol) -> Kept:
        """What the policy keeps of this world."""
        policy = protocol.policy(self.roots, 2, self.grid)
        self.asked, self.nodes = [], []
        try:
            wanted = next(policy)
            while True:
                self.asked.append([key_of(node) for node in wanted])
                self.nodes += wanted
                wanted = policy.send([self.outcome(node, protocol) for node in wanted])
        except StopIteration as end:
            return end.value

    def runs(self) -> list[dict[str, Any]]:
        """The same world as recorded runs, in the order in which a policy grows them."""
        return [
            {"topology": n, "first_rate": a, "second_rate": b, **self.first[n, a], **self.second[n, a, b]}
            for n in self.networks
            for a in self.first_rates
            for b in self.second_rates
        ]


def key_of(node: Node) -> tuple[Any, ...]:
    """Network, first rate and, after retraining, second rate; a shortened first task has its steps as well."""
    first = node.path[0].settings
    steps = (f"{first['iterations']} steps",) if first["iterations"] else ()
    return (*node.network.settings["widths"], *(growth.settings["rate"] for growth in node.path), *steps)
