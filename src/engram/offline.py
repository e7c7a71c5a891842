"""The offline model (α_ideal in Kemker et al. 2018): what a network reaches that has all its data at once.

Two ideals are offered. `base` is the paper's: trained on the first session; where sessions are different datasets,
each has one of its own. `seen` is the fair one, beside it: after every session a model of everything seen so far. More
classes are harder to tell apart, so the paper's cannot be held even by the offline model itself.

Which settings it has is decided by a small search on the validation data of the session, and used again for everything
seen. Nothing of it is the method's own: all methods on one stream with one seed share its nodes.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engram.learners import learner_settings
from engram.networks import Blueprint, network_class
from engram.nodes import Node
from engram.protocols import Decision, Outcome, RunFailed, grid_of
from engram.protocols.policy import best, decision, grown
from engram.settings import declared

IDEALS = ("base", "seen")
VALIDATION = 0.1  # share held out, to stop and to choose by
SEES = frozenset({"validation"})  # what the search is shown
BY = "validation accuracy of the offline model"

# The MLP of Kemker et al. 2018: Nadam, batches of 256, early stopping. What is searched is ours, and so is patience: 50
# steps cost up to 0.07 of accuracy on digits; 200 add up to 0.05 for some settings, and time to every session.
WIDTHS = (400, 400)
SETTINGS = {
    "optimizer": "nadam",
    "batch": 256,
    "epochs": 100,
    "stop": "patience",
    "patience": 100,
    "patience_epochs": 5,
}
SEARCH = {"dropout": [0.0, 0.5], "rate": [8e-4, 2e-3]}
FULLY_CONNECTED = ("mlp", "fel")  # networks whose ideal is that MLP; all others are their own

OfflineSearch = Generator[list[Node], list[Outcome], "Found"]


@dataclass(frozen=True)
class Found:
    """The models of the first session, or of each dataset alone; those of everything seen, if they were asked for; and
    how their settings were chosen."""

    alone: tuple[Node, ...]
    seen: tuple[Node, ...]
    decisions: tuple[Decision, ...]

    def to_json(self) -> dict[str, Any]:
        keys = {"alone": [node.key for node in self.alone], "seen": [node.key for node in self.seen]}
        return {**keys, "decisions": [asdict(made) for made in self.decisions]}


@dataclass(frozen=True)
class Offline:
    """Which ideal is asked for, of a stream of so many tasks, beside methods on such a network."""

    ideal: str
    stream: Mapping[str, Any]
    tasks: int
    network: Blueprint
    seed: int

    @property
    def sessions(self) -> int:
        """How many sessions have a model of their own."""
        return self.tasks if has_modalities(self.stream) else 1

    @property
    def grid(self) -> list[dict[str, Any]]:
        """Dropout is searched where the network has it."""
        found = grid_of(SEARCH)
        return found if self._drops else [candidate for candidate in found if not candidate["dropout"]]

    def size(self) -> int:
        """How many nodes there are to grow."""
        return self.sessions * len(self.grid) + (self.tasks - 1 if self.ideal == "seen" else 0)

    def search(self) -> OfflineSearch:
        """A policy, as protocols have them."""
        alone: list[Node] = []
        decisions: list[Decision] = []
        for session in range(self.sessions):
            candidates = [self._root(each["dropout"]).child([session], _settings(each["rate"])) for each in self.grid]
            outcomes = yield candidates
            scores = [outcome.validation[-1] if outcome.validation else 0.0 for outcome in outcomes]
            reached = {place: scores[place] for place in _trained(outcomes)}
            chosen = best(outcomes, scores)
            decisions += decision(BY, self.grid, reached, chosen)
            alone.append(candidates[chosen])
        seen = self._seen(alone[0]) if self.ideal == "seen" else []
        if len(seen) > 1:
            for outcome in (yield seen[1:]):
                _trained([outcome])
        return Found(tuple(alone), tuple(seen), tuple(decisions))

    def _seen(self, first: Node) -> list[Node]:
        """After every session a model of all so far; the first of them is the base's."""
        settings = first.last.settings
        return [first, *(first.parent.child(range(count), settings) for count in range(2, self.tasks + 1))]

    def _root(self, dropout: float) -> Node:
        if self.network.name in FULLY_CONNECTED:
            network = Blueprint.of("mlp", widths=WIDTHS, dropout=dropout)
        else:
            more = {"dropout": dropout} if self._drops else {}
            network = Blueprint.of(self.network.name, **{**self.network.settings, **more})
        return Node("finetune", network.on(self.network.device), self.seed, self.stream, VALIDATION)

    @property
    def _drops(self) -> bool:
        return self.network.name in FULLY_CONNECTED or "dropout" in declared(network_class(self.network.name))


def has_modalities(stream: Mapping[str, Any]) -> bool:
    """Whether the sessions of a stream, given by its spec, are different datasets."""
    return stream.get("kind") == "concat"


def _trained(outcomes: Sequence[Outcome]) -> list[int]:
    """The places of those that could be trained; somebody who did not ask for them by name is told whose failure it
    is."""
    try:
        return grown(outcomes)
    except RunFailed as failure:
        raise RunFailed(f"an offline model cannot be trained ({failure}); leave it out with --offline no") from None


def _settings(rate: float) -> dict[str, Any]:
    defaults = {name: setting.default for name, setting in learner_settings("finetune").items()}
    return {**defaults, **SETTINGS, "rate": rate}
