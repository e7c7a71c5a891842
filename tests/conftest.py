"""Small real lessons (scikit-learn's 8×8 digits) and the few verbs that many tests need."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import torch
from quick import QUICK
from sklearn.datasets import load_digits
from torch import Tensor

from engram import offline
from engram.core import Learner, Lesson, Outline, Split, State
from engram.learners import LEARNERS, create, learner_settings
from engram.networks import NETWORKS, Blueprint
from engram.store import Store
from engram.streams import STREAMS
from engram.transform import Transform

torch.set_num_threads(1)
hypothesis.settings.register_profile("engram", deadline=None)  # a busy machine is no failure
hypothesis.settings.load_profile("engram")

OUTLINE = Outline((1, 8, 8), tuple(range(10)))


@pytest.fixture(autouse=True)
def _nothing_stays_registered():
    """A learner, network or stream that a test or an example registers is gone after it."""
    yield
    for registry in (LEARNERS, NETWORKS, STREAMS):
        registry.users.clear()


@pytest.fixture
def brief_offline(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The settings of offline models that are small and trained for two epochs."""
    settings = {**offline.SETTINGS, "epochs": 2}
    monkeypatch.setattr(offline, "SETTINGS", settings)
    monkeypatch.setattr(offline, "WIDTHS", (8,))
    return settings


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    store = Store(tmp_path / "store")
    yield store
    store.close()


@pytest.fixture(scope="session")
def digits() -> tuple[Tensor, Tensor]:
    """1797 images as bytes 0 … 16, and their labels."""
    images, labels = load_digits(return_X_y=True)
    return torch.tensor(images, dtype=torch.uint8).view(-1, 1, 8, 8), torch.tensor(labels)


def _lesson(index: int, classes: tuple[int, ...], train: Split, validation: Split) -> Lesson:
    return Lesson(f"digits {'-'.join(map(str, classes))}", index, classes, train, validation)


@pytest.fixture(scope="session")
def digits_lessons(digits: tuple[Tensor, Tensor]) -> list[Lesson]:
    """Five lessons of two classes: 90 training samples, so that the last batch of 16 is not full."""
    x, y = digits
    lessons = []
    for k in range(5):
        rows = torch.nonzero((y == 2 * k) | (y == 2 * k + 1)).squeeze(1)
        parts = (Split(x, y[part], part, Transform(scale=1 / 16)) for part in (rows[:90], rows[90:120]))
        lessons.append(_lesson(k, (2 * k, 2 * k + 1), *parts))
    return lessons


@pytest.fixture(scope="session")
def permuted_lessons(digits: tuple[Tensor, Tensor]) -> list[Lesson]:
    """Three lessons of all ten classes, each with its own order of pixels."""
    x, y = digits
    lessons = []
    for k in range(3):
        order = torch.randperm(64, generator=torch.Generator().manual_seed(k))
        parts = (
            Split(x[a:b], y[a:b], transform=Transform(scale=1 / 16, permutation=order))
            for a, b in ((0, 150), (150, 200))
        )
        lessons.append(_lesson(k, tuple(range(10)), *parts))
    return lessons


@pytest.fixture(scope="session")
def make() -> Callable[..., Learner]:
    """A small learner for these lessons; settings that it does not have are left out."""

    def make(name: str, seed: int = 0, network: Blueprint | None = None, **settings: Any) -> Learner:
        wanted = {"batch": 16, "features": 30, "fisher_samples": 50, **QUICK, **settings}
        known = {key: value for key, value in wanted.items() if key in learner_settings(name)}
        return create(name, OUTLINE, seed, network or Blueprint.of("mlp", widths="12-10"), known)

    return make


@pytest.fixture(scope="session")
def teach() -> Callable[[Learner, Iterable[Lesson]], Learner]:
    """Let a learner take these lessons to their end."""

    def teach(learner: Learner, lessons: Iterable[Lesson]) -> Learner:
        for lesson in lessons:
            for _ in learner.learn(lesson):
                pass
        return learner

    return teach


@pytest.fixture(scope="session")
def snapshot() -> Callable[[Learner], State]:
    """A learner's state as a file would hold it: copied tensors, and JSON that went through text."""

    def snapshot(learner: Learner) -> State:
        state = learner.state()
        return State({k: v.clone() for k, v in state.tensors.items()}, json.loads(json.dumps(state.plain)))

    return snapshot


@pytest.fixture(scope="session")
def same_state() -> Callable[[State, State], bool]:
    """Whether two states agree to the last bit."""

    def same(a: State, b: State) -> bool:
        if a.plain != b.plain or a.tensors.keys() != b.tensors.keys():
            return False
        return all(torch.equal(a.tensors[name], b.tensors[name]) for name in a.tensors)

    return same
