"""Joint training on everything seen so far: the upper bound.

All data are kept, and after every task a fresh network is trained on everything seen so far. Where the tasks do not
contradict each other this is what a method can hope for. It costs the memory of all data, and the time of training on
them again and again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engram.core import Lesson, Split, State, Step
from engram.parts.fit import require_samples
from engram.parts.gradient import GradientLearner
from engram.parts.outputs import OutputLayer
from engram.settings import setting
from engram.transform import under


class Joint(GradientLearner):
    """Its accuracy on the newest task is the reference a*_k of intransigence (Chaudhry et al. 2018, equation 4)."""

    name = "joint"
    keeps = "all data"
    paper = "Chaudhry, Dokania, Ajanthan, Torr: Riemannian walk for incremental learning, ECCV 2018"

    heads = setting("growing", "outputs: growing, or masked", choices=("growing", "masked"), lasting=True)
    loss_over = "seen"
    optimizer_reset = "full"
    freeze_bn_stats = False  # withdraws the setting: its network is new for every task

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        self.lessons: list[tuple[int, tuple[int, ...]]] = []  # task and classes of every kept lesson
        self.samples: Split | None = None

    def learn(self, lesson: Lesson) -> Iterator[Step]:
        lesson = lesson.to(self.device)
        if self.step is None:
            require_samples(lesson)
            self.keep(lesson)
        yield from super().learn(self.everything(lesson))

    def keep(self, lesson: Lesson) -> None:
        """Append the lesson's samples as they are stored, each with its transform."""
        self.samples = Split.join([lesson.train] if self.samples is None else [self.samples, lesson.train])
        self.lessons.append((lesson.index, lesson.classes))

    def everything(self, lesson: Lesson) -> Lesson:
        """All kept lessons as one."""
        kept = lesson.train if self.samples is None else self.samples
        classes = tuple(dict.fromkeys(label for _, classes in self.lessons for label in classes))
        return Lesson(lesson.name, lesson.index, classes, kept, lesson.validation)

    def begin(self, lesson: Lesson) -> None:
        self.network = self.fresh_network()
        self.outputs = OutputLayer(self.heads, self.outline.classes, self.device)
        for task, classes in self.lessons:
            self.network.append(self._initial_rows(self.outputs.add(task, classes)))
        self.fit.begin(anew=True)

    def state(self) -> State:
        state = super().state()
        kept = {} if self.samples is None else {f"samples.{name}": t for name, t in self.samples.tensors().items()}
        format = {} if self.samples is None else self.samples.plain()
        return State({**state.tensors, **kept}, {**state.plain, "lessons": self.lessons, "samples": format})

    def load(self, state: State) -> None:
        super().load(state)
        self.lessons = [(index, tuple(classes)) for index, classes in state.plain["lessons"]]
        samples, self.kept = under("samples.", self.kept), {}
        format = state.plain.get("samples", state.plain)  # an older state has its scale there
        self.samples = Split.load(samples, format) if samples else None
