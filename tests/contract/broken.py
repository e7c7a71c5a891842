"""Learners that each break one promise on purpose, as people do."""

from __future__ import annotations

import torch

from engram.core import State, Step
from engram.learners.ewc import EWC
from engram.learners.finetune import Finetune
from engram.learners.ridge import Ridge
from engram.parts.gradient import GradientLearner
from engram.settings import setting


class UsesTheGlobalGenerator(Finetune):
    name = "uses-the-global-generator"

    def edit(self):
        self.network.grad.add_(torch.randn(len(self.network.grad)), alpha=1e-3)


class DependsOnTheGlobalGenerator(Finetune):
    """Leaves the global generator as it was, and yet draws from it."""

    name = "depends-on-the-global-generator"

    def edit(self):
        with torch.random.fork_rng(devices=[]):
            self.network.grad.add_(torch.randn(len(self.network.grad)), alpha=1e-3)


class ForgetsWhatItChanges(Finetune):
    name = "forgets-what-it-changes"

    def changed_by(self, lesson):
        return {lesson.index}


class IgnoresTheSeed(Finetune):
    name = "ignores-the-seed"

    def __init__(self, outline, seed, network, **settings):
        super().__init__(outline, 0, network, **settings)


class TrainsWhilePredicting(Finetune):
    name = "trains-while-predicting"

    def predict(self, x, task=None):
        self.network.theta.mul_(0.999)
        return super().predict(x, task)


class ForgetsItsOptimiser(Finetune):
    name = "forgets-its-optimiser"

    def state(self):
        state = super().state()
        return State({k: v for k, v in state.tensors.items() if not k.startswith("optimiser")}, state.plain)


class StartsTheLessonAgain(Finetune):
    name = "starts-the-lesson-again"

    def load(self, state):
        super().load(state)
        self.step = None


class HidesSomethingBetweenTasks(Finetune):
    """Decays its rate from task to task by a counter that is not in the state."""

    name = "hides-something-between-tasks"

    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        self.hidden = 0

    def end(self, lesson):
        self.hidden += 1

    def edit(self):
        self.network.grad.mul_(0.5**self.hidden)


class ScoresAreNaN(Finetune):
    name = "scores-are-nan"

    def predict(self, x, task=None):
        return super().predict(x, task) * float("nan")


class ScoresEveryClass(Finetune):
    """Gives the columns of all classes where it was told the task."""

    name = "scores-every-class"

    def predict(self, x, task=None):
        return super().predict(x, None)


class NamesTheWrongColumns(Finetune):
    name = "names-the-wrong-columns"

    def columns(self, task=None):
        return list(range(len(super().columns(task))))


class AnswersForUnknownTasks(Finetune):
    name = "answers-for-unknown-tasks"

    def predict(self, x, task=None):
        return super().predict(x, task if task in self.outputs.tasks else None)

    def columns(self, task=None):
        return super().columns(task if task in self.outputs.tasks else None)


class DoesNotLearn(Finetune):
    name = "does-not-learn"

    def descend(self):
        self.network.theta.add_(1e-6)


class NeverFinishes(Finetune):
    """Says that there is always one more step."""

    name = "never-finishes"

    def learn(self, lesson):
        for step in super().learn(lesson):
            yield Step(step.done, step.total + 1)


class YieldsNumbers(Finetune):
    name = "yields-numbers"

    def learn(self, lesson):
        for step in super().learn(lesson):
            yield step.done


class ScalesTheDataInPlace(Ridge):
    name = "scales-the-data-in-place"

    def _accumulate(self, lesson, rows):
        lesson.train.x[int(rows[0])].mul_(0.5)
        super()._accumulate(lesson, rows)


class KeepsAnObjectInItsState(Finetune):
    name = "keeps-an-object-in-its-state"

    def state(self):
        state = super().state()
        return State(state.tensors, {**state.plain, "classes": {3, 0}})


class KeysItsStateByNumber(Finetune):
    name = "keys-its-state-by-number"

    def state(self):
        state = super().state()
        return State(state.tensors, {**state.plain, "seen": {0: 1}})


class SharesWhatItLoads(Ridge):
    name = "shares-what-it-loads"

    def load(self, state):
        super().load(state)
        self.gram = state.tensors["gram"]


class KeepsColumns(Ridge):
    """Its solution lies in memory as a solver leaves it: column by column, also where there is one column only."""

    name = "keeps-columns"

    def _finish(self, lesson):
        super()._finish(lesson)
        self.solution = self.solution.t().clone(memory_format=torch.contiguous_format).t()


class KeepsWhatItLoads(Ridge):
    """Never writes to its solution, and yet computes with it where somebody else put it."""

    name = "keeps-what-it-loads"

    def load(self, state):
        super().load(state)
        self.solution = state.tensors["parameters"]


class KeepsTheLesson(Finetune):
    name = "keeps-the-lesson"

    def end(self, lesson):
        self.last = lesson


class PenalisesWithoutStrength(EWC):
    """Shrinks its parameters a little, strength or not."""

    name = "penalises-without-strength"

    def edit(self):
        self.network.grad.add_(self.network.theta, alpha=1e-3)


class IsLateTooEarly(Finetune):
    name = "is-late-too-early"

    rate = setting(1e-3, "size of a step", above=0, late=True)


class HasNoHelp(Finetune):
    name = "has-no-help"

    depth = setting(1, "")


class HasNoName(GradientLearner):
    pass


class TakesAnySetting(Finetune):
    name = "takes-any-setting"

    def __init__(self, outline, seed, network, **settings):
        super().__init__(outline, seed, network, epochs=5, batch=16, rate=0.02)


class CountsNothing(Finetune):
    name = "counts-nothing"

    def flops(self):
        return 0


class CountsNoExtraPass(Finetune):
    """Looks at every batch once more than it says."""

    name = "counts-no-extra-pass"

    def edit(self):
        with torch.no_grad():
            self.network.features(self.data.batch(torch.arange(min(self.batch, len(self.data))))[0])


class CountsNoFisherPass(EWC):
    """Counts what it does with a lesson's batches and not what it does at the lesson's end."""

    name = "counts-no-fisher-pass"

    def end(self, lesson):
        before = self.operations
        super().end(lesson)
        self.operations = before


class CountsTooMuch(Finetune):
    name = "counts-too-much"

    def flops(self):
        return super().flops() * 4 // 3


class GivesDoubles(Finetune):
    name = "gives-doubles"

    def parameters(self):
        return super().parameters().double()


class UsesBatchStatistics(Finetune):
    name = "uses-batch-statistics"

    def predict(self, x, task=None):
        return super().predict(x - x.mean(0), task)


class LearnsFromNothing(Finetune):
    name = "learns-from-nothing"

    def learn(self, lesson):
        if not len(lesson.train):
            self.outputs.add(lesson.index, lesson.classes)
            return
        yield from super().learn(lesson)


class IgnoresNaN(Finetune):
    """Takes a loss that is not a number for a loss."""

    name = "ignores-nan"

    def loss(self, x, y):
        return torch.nan_to_num(super().loss(x, y))


class LeavesGradientsOff(Finetune):
    name = "leaves-gradients-off"

    def end(self, lesson):
        torch.set_grad_enabled(False)

    def begin(self, lesson):
        torch.set_grad_enabled(True)
        super().begin(lesson)


class ChangesWhatItIsMadeWith(Finetune):
    name = "changes-what-it-is-made-with"

    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        self.made_with[1]["rate"] = 0.5


class GrowsWhenLoaded(Finetune):
    name = "grows-when-loaded"

    def load(self, state):
        super().load(state)
        self.kept["more"] = torch.zeros(4 + len(self.kept))


class RaisesOnOneClass(Finetune):
    name = "raises-on-one-class"

    def begin(self, lesson):
        self.margin = abs(lesson.classes[0] - lesson.classes[1])
        super().begin(lesson)
