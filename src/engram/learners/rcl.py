"""Reinforced continual learning (Xu & Zhu 2018, RCL): a controller decides how many units every task adds.

Before every task a controller decides how many new units each layer gets. Several such children are trained, and the
controller learns from their validation accuracy less a price for the units. Weights among old units stay as they are,
so nothing is forgotten.

For every task but the first, in so many trials,

1. the controller decides how many new units each hidden layer gets;
2. a child is made: the old network with these units, and an output layer of its own. Weights among old units stay;
   all others are trained;
3. the reward is the child's validation accuracy less unit_cost · Σ units; the controller learns from it.

The child with the best reward goes on. A task is predicted by what was there at its end, so nothing is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor

from engram.core import Lesson, State
from engram.errors import BadData
from engram.parts.controller import Controller
from engram.parts.growing import Growing
from engram.parts.stopping import take_out
from engram.randomness import generator
from engram.settings import setting

CHILD, CONTROLLER = "child", "controller."


class RCL(Growing):
    """Keeps one network, the stamps of all tasks and their output layers. A round is a trial."""

    name = "rcl"
    keeps = "units of every task"
    paper = "Xu, Zhu: Reinforced continual learning, NeurIPS 2018"

    epochs = replace(Growing.epochs, default=15)
    batch = replace(Growing.batch, default=32)
    # validation data also reward the trials, so that test data in their place would choose the units
    stop_on = replace(Growing.stop_on, choices=("validation",))
    trials = setting(50, "children that are tried for a task", at_least=1, late=True)
    most_units = setting(29, "new units of a layer that the controller can choose at most", at_least=0, late=True)
    unit_cost = setting(1e-4, "what a new unit takes from the reward", at_least=0, late=True)
    controller_rate = setting(5e-3, "size of the controller's steps", above=0, late=True)

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        self.controller: Controller | None = None
        self.actions: list[int] = []
        self.tried: list[list[Any]] = []  # actions and reward of every trial of the present lesson

    @classmethod
    def uses_validation(cls, settings: Mapping[str, Any]) -> bool:
        return True

    def begin(self, lesson: Lesson) -> None:
        if self.stamps and not len(lesson.validation):
            raise BadData(
                f"task {lesson.index + 1} ({lesson.name}) has no validation data for learner 'rcl' to reward its "
                "trials by; give a class of it at least two training samples, of which one can be held out "
                "(validation=0.1)"
            )
        super().begin(lesson)
        self.actions, self.tried = [], []
        if self.stamps:
            self.controller = self._new_controller(lesson.index)
            self._make_child(lesson)
            self.fit.begin(anew=True)

    def next_round(self, lesson: Lesson) -> bool:
        if not self.stamps:
            return False
        assert self.controller is not None
        reward = self.accuracy() - self.unit_cost * sum(self.actions)
        if all(reward > other for _, other in self.tried):
            self.kept[CHILD] = self.network.theta.clone()
        self.tried.append([self.actions, reward])
        if len(self.tried) == self.trials:
            self._adopt()
            return False
        self.controller.learn(self.actions, reward)
        self._count()
        self._make_child(lesson)
        return True

    def moving(self) -> Tensor:
        return self.is_new()

    def _make_child(self, lesson: Lesson) -> None:
        """The old network with as many new units as the controller decides."""
        assert self.controller is not None
        trial = len(self.tried)
        self.actions = self.controller.decide(generator(self.seed, "decisions", lesson.index, trial))
        self._count()
        self._shape_child(self.actions, lesson.index, trial)

    def _shape_child(self, actions: list[int], *purpose: int) -> None:
        self.take(self.cut_to(self.old), self.network.head.data[:, [*range(self.old[-1]), -1]])
        self.widen(actions, *purpose)
        rows = self._initial_rows(self.outputs.names).to(self.device)
        self.network.head.data.copy_(rows.view_as(self.network.head))

    def _adopt(self) -> None:
        """The child of the best reward, of equal ones the first."""
        self.actions = max(self.tried, key=lambda trial: trial[1])[0]
        self._shape_child(self.actions)
        self.network.assign(self.kept.pop(CHILD))
        self.controller = None

    def _new_controller(self, task: int) -> Controller:
        words = self.seed, "controller", task
        return Controller(len(self.widths), self.most_units + 1, self.controller_rate, *words)

    def _count(self) -> None:
        """What the controller has just done."""
        assert self.controller is not None
        self.operations += self.controller.operations
        self.controller.operations = 0

    def notes(self) -> dict[str, Any]:
        trials = [{"actions": actions, "reward": reward} for actions, reward in self.tried]
        return {"actions": self.actions, "units": list(self.widths), "trials": trials}

    # What is saved.

    def state(self) -> State:
        state = super().state()
        state.plain |= {"actions": self.actions, "tried": self.tried}
        if self.controller is not None:
            state.tensors |= {f"{CONTROLLER}{name}": values for name, values in self.controller.tensors().items()}
            state.plain["controller"] = [next(reversed(self.outputs.tasks)), self.controller.optimiser.steps]
        return state

    def load(self, state: State) -> None:
        tensors = dict(state.tensors)
        own = take_out(tensors, CONTROLLER)
        super().load(State(tensors, state.plain))
        self.actions, self.tried = state.plain["actions"], [list(trial) for trial in state.plain["tried"]]
        self.controller = None
        if "controller" in state.plain:
            task, steps = state.plain["controller"]
            self.controller = self._new_controller(task)
            self.controller.load(own, steps)
