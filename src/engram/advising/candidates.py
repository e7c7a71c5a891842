"""What is tried: a few models that can be kept in a file, as far as there is room for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

KEPT = 20  # samples of each class, where nobody says how much room there is
MOST_KEPT = 500
FOR_SAMPLES = 0.25  # of the room that there is: a model keeps them twice, for `undo`, and must find some itself
FEATURES = 500


@dataclass(frozen=True)
class Budget:
    """What a model may take: `memory` in bytes with all that it keeps, `latency` in seconds for the answer about one
    row, and whether it may keep `samples`."""

    memory: int | None = None
    samples: bool = True
    latency: float | None = None


@dataclass(frozen=True)
class Tryout:
    """A `ContinualClassifier` by its parameters. A `floor` stands beside the others, for what its words say."""

    label: str
    parameters: Mapping[str, Any]
    floor: str = ""


NOTHING = Tryout("finetune", {"learner": "finetune"}, "does nothing against forgetting")
RETRAINED = Tryout("joint", {"learner": "joint"}, "keeps all rows and is trained again with them")
CLOSED = (
    Tryout("slda", {"learner": "slda"}),
    Tryout(f"slda features={FEATURES}", {"learner": "slda", "features": FEATURES}),
    Tryout("ridge", {"learner": "ridge"}),
    Tryout(f"ridge features={FEATURES}", {"learner": "ridge", "features": FEATURES}),
)
PENALISED = Tryout("online-ewc", {"learner": "online-ewc"})


def candidates(budget: Budget, sample_bytes: int, classes: int) -> list[Tryout]:
    """For so many classes of samples that take so many bytes each: contestants first, then floors."""
    kept = _kept(budget, sample_bytes * classes) if budget.samples else 0
    if not kept:
        return [*CLOSED, PENALISED, NOTHING, RETRAINED]
    rehearsing = [_keeping(learner, kept) for learner in ("finetune", "icarl")]
    return [
        *CLOSED,
        *rehearsing,
        NOTHING,
        _keeping("exemplars-only", kept, "keeps a few rows and nothing else"),
        RETRAINED,
    ]


def _kept(budget: Budget, bytes_of_one_each: int) -> int:
    if budget.memory is None:
        return KEPT
    return min(int(FOR_SAMPLES * budget.memory) // bytes_of_one_each, MOST_KEPT)


def _keeping(learner: str, kept: int, floor: str = "") -> Tryout:
    return Tryout(f"{learner} exemplars={kept}", {"learner": learner, "exemplars": kept}, floor)
