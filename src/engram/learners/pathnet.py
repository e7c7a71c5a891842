"""A genetic search for paths of modules (PathNet, Fernando et al. 2017); a found path is frozen.

Every layer is a row of modules, and a path uses a few in each. While a task is learned a population of paths competes:
two are trained for a while, and the loser becomes a mutated copy of the winner. In the end the best path is frozen, and
later tasks may use its modules but not change them.

Every layer has M modules, of which a path has at most N active, and every task has a head of its own. While a task is
learned there is a population of paths. In each generation two of them, drawn at random, are trained on some batches;
fitness is the accuracy during that training. The loser becomes a mutated copy of the winner: each gene (a module's
number) with probability 1/(L·N) moves by −2 … 2, modulo M. All paths share the modules and the task's head. In the end
the modules of the fittest path are frozen: later paths may use them, and nothing changes them any more. All others, and
the population, are new for the next task. When everything is frozen only the heads learn.

Shapes and rates are those of Kemker et al. 2018 (table S3), who leave the search open: its constants are those of the
published implementations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import Learner, Lesson, Outline, Split, State, Step, Task, pick
from engram.errors import BadData, BadSetting, Diverged
from engram.networks import Blueprint
from engram.parts.fit import LOOK, Fit, require_samples
from engram.parts.optimisers import OPTIMISERS
from engram.parts.outputs import OutputLayer
from engram.parts.pathways import ActivePath, Pathways
from engram.parts.stopping import Stopping, looks_at
from engram.randomness import generator
from engram.settings import apply, declared, resolve, setting

SHIFT = 2  # modules that a mutation moves a gene by at most
NEVER = (-1.0, -1)  # fitness and generation of a path that was not tried yet


class PathNet(Learner):
    """A step is a generation."""

    name = "pathnet"
    keeps = "a grid of modules"
    paper = "Fernando et al.: PathNet, evolution channels gradient descent in super neural networks, 2017"
    needs_task = True

    layers = setting(2, "layers of modules", at_least=1, lasting=True)
    modules = setting(10, "modules in a layer", at_least=1, lasting=True)
    active = setting(5, "modules of a layer that a path has at most", at_least=1)
    units = setting(80, "units of a module", at_least=1, lasting=True)
    population = setting(64, "paths that compete; 64 in the published implementation", at_least=2)
    generations = setting(500, "tournaments of two paths in a task, at most", at_least=1)
    target = setting(0.998, "fitness at which a task ends, as published; 0 for none", at_least=0, at_most=1)
    batches = setting(50, "batches that a path is trained on before it is judged", at_least=1)
    batch = setting(16, "samples in a mini-batch", at_least=1)
    rate = setting(2e-3, "size of a step", above=0)
    optimizer = setting("adam", "adam, sgd or nadam; as new whenever a path is tried", choices=tuple(OPTIMISERS))
    momentum = Fit.momentum
    stop, stop_on = Stopping.stop, Stopping.stop_on
    patience = setting(100, "stop=patience: generations without a rise of validation accuracy", at_least=1)
    look_every = setting(10, "stop=patience: generations between two looks at validation accuracy", at_least=1)

    def __init__(self, outline: Outline, seed: int = 0, network: Blueprint | None = None, **settings: Any):
        """Of `network` only the device is used: the modules are the network."""
        values = resolve(f"learner '{self.name}'", declared(type(self)), settings)
        if values["active"] > values["modules"]:
            raise BadSetting(f"active={values['active']} is more than modules={values['modules']} of a layer; lower it")
        apply(self, values)
        self.outline, self.seed = outline, seed
        self.device = torch.device((network or Blueprint.of()).device)
        inputs = math.prod(outline.shape)
        self.pathways = Pathways(inputs, self.layers, self.modules, self.units, self.device)
        self.outputs = OutputLayer("per-task", outline.classes, self.device)
        self.paths: dict[int, Tensor] = {}  # of every task
        self.frozen = torch.zeros(self.layers, self.modules, dtype=torch.bool)
        self.stopping = Stopping(values)
        self.step: int | None = None
        self.operations = 0

    @classmethod
    def least_bytes(cls, outline: Outline, network: Blueprint, settings: Mapping[str, Any]) -> int:
        """All modules; and a path of full length with its gradient and the two moments of an optimiser."""
        inputs, layers, units = math.prod(outline.shape), settings["layers"], settings["units"]
        counts = [Pathways.count(inputs, layers, settings[name], units) for name in ("modules", "active")]
        return 4 * counts[0] + 16 * counts[1]

    @classmethod
    def uses_validation(cls, settings: Mapping[str, Any]) -> bool:
        return looks_at(settings) == "validation"

    @classmethod
    def require_tasks(cls, tasks: Iterable[Task | Lesson], seen: int = 0) -> None:
        for task in tasks:
            if len(task.classes) < 2:
                raise BadData(
                    f"task {task.index + 1} ({task.name}) has {len(task.classes)} of at least 2 classes: learner "
                    f"'{cls.name}' has a head of its own for every task, and one of a single class decides nothing; "
                    "give tasks of more classes, or choose another learner"
                )

    def learn(self, lesson: Lesson) -> Iterator[Step]:
        lesson = lesson.to(self.device)
        if self.step is None:
            self._check(lesson)
            self._begin(lesson)
        assert self.step is not None
        while self.step < self._total:
            yield Step(self.step, self._total)
            self._generation(lesson)
        yield Step(self.step, self._total)
        self._end(lesson)

    @property
    def _total(self) -> int:
        """Generations of the task, as far as is known."""
        if self.step and 0 < self.target <= max(self.tried)[0]:
            return self.step
        return self.stopping.stopped_at or self.generations

    def _check(self, lesson: Lesson) -> None:
        require_samples(lesson)
        self.require_tasks([lesson])
        self.stopping.require_data(lesson)

    def _begin(self, lesson: Lesson) -> None:
        """New modules where they are not frozen, a new head, a new population."""
        self.pathways.renew(self.frozen, generator(self.seed, "initialisation", "modules", lesson.index))
        new = self.outputs.add(lesson.index, lesson.classes)
        self.pathways.append(len(new), generator(self.seed, "initialisation", "head", lesson.index))
        self.genes = self._random_paths(generator(self.seed, "population", lesson.index))
        self.tried = [NEVER] * self.population  # fitness of each path and in which generation it was measured
        self.pathways.path = self.genes[0].clone()
        self.stopping.clear()
        self.step = 0

    def _random_paths(self, draw: torch.Generator) -> Tensor:
        """Paths of as many different modules in every layer as may be active."""
        chances = torch.rand(self.population, self.layers, self.modules, generator=draw)
        return chances.argsort(stable=True)[..., : self.active].contiguous()

    def _generation(self, lesson: Lesson) -> None:
        """A tournament of two paths."""
        step = self.step or 0
        draw = generator(self.seed, "tournament", lesson.index, step)
        pair = torch.randperm(self.population, generator=draw)[:2].tolist()
        for turn, place in enumerate(pair):
            self.tried[place] = (self._trained(self.genes[place], lesson, 2 * step + turn), step)
        winner, loser = sorted(pair, key=lambda place: -self.tried[place][0])
        self.genes[loser], self.tried[loser] = mutated(self.genes[winner], self.modules, draw), NEVER
        self.pathways.path = self.genes[max(range(self.population), key=self.tried.__getitem__)].clone()
        self.step = step + 1
        if self.stopping:
            self._look(lesson)

    def _trained(self, genes: Tensor, lesson: Lesson, turn: int) -> float:
        """Train a path on its share of the lesson's endless sequence of samples; the accuracy while it learned."""
        rows, places = self._outputs(lesson.index)
        x, y = lesson.train.batch(self._samples(lesson, turn * self.batches * self.batch))
        x, y = x.flatten(1), pick(places, y)
        path = ActivePath(self.pathways, genes, rows, self.frozen)
        optimiser = OPTIMISERS[self.optimizer](self.rate, self.momentum)
        optimiser.fit(len(path.theta), self.device)
        targets = F.one_hot(y, rows.stop - rows.start).float()
        scores = torch.empty_like(targets)
        for start in range(0, len(x), self.batch):
            now = slice(start, start + self.batch)
            scores[now] = path.differentiate(x[now], targets[now])
            optimiser.step(path.theta, path.grad, *path.parts)
        path.put_back()
        self.operations += len(x) * path.flops()[1]
        self._require_finite(scores, lesson)
        return (scores.argmax(1) == y).float().mean().item()

    def _samples(self, lesson: Lesson, start: int) -> Tensor:
        """Positions of the samples from this one of the sequence on: every epoch has all of them in another order."""
        count, size = self.batches * self.batch, len(lesson.train)
        epochs = range(start // size, (start + count - 1) // size + 1)
        orders = [torch.randperm(size, generator=generator(self.seed, "order", lesson.index, e)) for e in epochs]
        return torch.cat(orders)[start % size :][:count]

    def _require_finite(self, scores: Tensor, lesson: Lesson) -> None:
        if not scores.isfinite().all():
            raise Diverged(
                f"scores are not finite at task {lesson.index + 1} ({lesson.name}), generation {(self.step or 0) + 1}; "
                f"lower the rate (now {self.rate:g}) or check the data"
            )

    def _look(self, lesson: Lesson) -> None:
        """Where it is time to, look at the accuracy of the fittest path; at the end go back to where it was best."""
        step, every = self.step or 0, self.look_every
        if step == self._total or step % every == 0:
            self.stopping.look(self._accuracy(lesson.index, lesson.validation), step, every, self.pathways)
        if step == self._total:
            self.stopping.restore(self.pathways)

    def _accuracy(self, task: int, data: Split) -> float:
        """Of the path in use."""
        rows, places = self._outputs(task)
        path = ActivePath(self.pathways, self.pathways.path, rows)
        self.operations += len(data) * path.flops()[0]
        right = sum(int((path.scores(x.flatten(1)).argmax(1) == pick(places, y)).sum()) for x, y in data.batches(LOOK))
        return right / len(data)

    def _end(self, lesson: Lesson) -> None:
        """Keep the path and freeze its modules."""
        self.paths[lesson.index] = self.pathways.path
        self.frozen.scatter_(1, self.pathways.path, True)
        self.step = None
        del self.genes, self.tried

    def _outputs(self, task: int) -> tuple[slice, Tensor]:
        """The numbers of a task's outputs, and for every class its place among them."""
        outputs, places = self.outputs.active(task, "task")
        return slice(outputs.start, outputs.stop), places

    def changed_by(self, lesson: Lesson) -> set[int]:
        return {lesson.index}

    def notes(self) -> Mapping[str, Any]:
        """How many modules of each layer are frozen: when all are, later tasks have only a head to learn."""
        return {"frozen": self.frozen.sum(1).tolist()}

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        self.columns(task)  # raises where the task is missing or has not been learned
        assert task is not None
        path = ActivePath(self.pathways, self.paths.get(task, self.pathways.path), self._outputs(task)[0])
        return path.scores(x.to(self.device).flatten(1)).to(x.device)

    def columns(self, task: int | None = None) -> list[int]:
        return self.outputs.classes(task)

    def parameters(self) -> Tensor:
        return self.pathways.theta

    def flops(self) -> int:
        return self.operations

    def state(self) -> State:
        theta, size = self.pathways.theta, self.pathways.trunk_size
        tensors = {"parameters": theta[:size], "heads": theta[size:]}
        plain = {
            "step": self.step,
            "operations": self.operations,
            "outputs": self.outputs.state(),
            "paths": [[task, path.tolist()] for task, path in self.paths.items()],
            "path": self.pathways.path.tolist(),
            "frozen": self.frozen.tolist(),
        }
        if self.step is not None:
            plain |= {"genes": self.genes.tolist(), "tried": self.tried, **self.stopping.plain()}
            tensors |= self.stopping.tensors()
        return State(tensors, plain)

    def load(self, state: State) -> None:
        tensors, plain = {name: value.to(self.device) for name, value in state.tensors.items()}, state.plain
        self.pathways.assign(torch.cat([tensors.pop("parameters"), tensors.pop("heads")]))
        self.pathways.path = torch.tensor(plain["path"])
        self.paths = {task: torch.tensor(path) for task, path in plain["paths"]}
        self.frozen = torch.tensor(plain["frozen"])
        self.step, self.operations = plain["step"], plain["operations"]
        self.outputs.load(plain["outputs"])
        self.stopping.load(tensors, plain)
        if self.step is not None:
            self.genes, self.tried = torch.tensor(plain["genes"]), [(fit, when) for fit, when in plain["tried"]]


def mutated(genes: Tensor, modules: int, draw: torch.Generator) -> Tensor:
    """A copy of which each gene, one of them on average, moves by at most `SHIFT` around the circle of modules."""
    moves = torch.rand(genes.shape, generator=draw) < 1 / genes.numel()
    by = torch.randint(-SHIFT, SHIFT + 1, genes.shape, generator=draw)
    return (genes + moves * by) % modules
