"""Fixed features of samples, made before anything is learned: what closed-form learners can stand on.

    waves       cos(x·w + b) with random w and b: random Fourier features of the sample itself (Rahimi and Recht 2007)
    components  the same with w spread as samples of the first task are, w ~ N(0, Σ), by their principal components
    filters     the same of an image's answers to random filters
    patches     the same of its answers to filters that are patches of the first task's images

Answers are split into their positive and negative parts and averaged over squares that overlap; of that the square root
is taken, and the whole is brought to length 1. Samples that are no images have waves of themselves; their width
follows the distances between samples of the first task. That, patches and components are all that is looked at before
learning begins: `filters` of images look at nothing.

Where images are convolved, what is multiplied is rounded so far that float32 adds up the products exactly (for numbers
from 0 to 1): then a sample's features do not depend on the batch that it comes in. Waves can be rounded, too, to
multiples of 2⁻⁵, so that sums of their products are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import Split, canonical
from engram.errors import BadSetting
from engram.parts.kernel import is_image, median_distance
from engram.parts.som import squared_distances
from engram.randomness import generator
from engram.settings import setting

PLAIN = "plain"
MAPS = ("waves", "components", "filters", "patches")
FURTHEST = 2.0  # the squared distance between answers that have nothing in common
GRID = 2.0**-5
PIXELS, WEIGHTS, ANSWERS, DIRECTIONS = 2.0**-8, 2.0**-12, 2.0**-10, 2.0**-8  # what is multiplied are multiples of these
POOL = 4  # side of the squares, which overlap by half
LEAST = 0.3  # a patch deviates by at least this share of what all numbers of the samples do, if there are such ones
SPARE = 8  # places that are looked at for every patch
LOOK = 1000  # samples of the first task that are looked at
CHUNK = 500  # samples at a time


class MapSettings:
    """What learners that can stand on a map declare; `features` says how many waves there are."""

    map = setting(
        PLAIN,
        "features: plain (as without a map), waves (random cosines of the sample), components (of its principal "
        "components), filters (of an image's answers to random filters), patches (to patches of the first task)",
        choices=(PLAIN, *MAPS),
        lasting=True,
    )
    filters = setting(64, "map=filters, patches or components: how many", at_least=1, lasting=True)
    width = setting(
        2.0,
        "maps: width of the waves; in medians of the squared distances between samples of the first task, or, where "
        f"images are convolved, in {FURTHEST:g}, the furthest that answers can be apart",
        above=0,
        lasting=True,
    )


class Map:
    """What turns a batch into features. It follows from the seed and from what `look` has seen."""

    def __init__(self, kind: str, shape: tuple[int, ...], filters: int, waves: int, width: float, seed: int):
        """With no waves the features are the answers, or the sample itself."""
        self.kind, self.shape, self.count, self.waves, self.factor, self.seed = kind, shape, filters, waves, width, seed
        self.convolves = kind in ("filters", "patches") and is_image(shape)
        self.side, self.stride = sides(shape) if self.convolves else (0, 0)
        self.filters = torch.empty(0)  # random ones are drawn when they are first needed
        self.width = FURTHEST * width if self.convolves else 0.0  # 0 until `look`
        self.components = torch.empty(0)  # a row for each, and the mean behind them
        self._random: tuple[Tensor, Tensor] | None = None  # directions and phases of the waves

    @property
    def is_ready(self) -> bool:
        """Whether there is nothing to look at."""
        if self.convolves:
            return self.kind == "filters" or len(self.filters) > 0
        return self.width > 0 or not self.waves

    def look(self, samples: Split) -> int:
        """At some samples, once: patches are cut from them, or the width fitted to them. The operations it took."""
        x, _ = samples.batch(torch.arange(0, len(samples), math.ceil(len(samples) / LOOK)))
        self._random = None
        if self.kind == "patches" and self.convolves:
            self.filters = self._cut(x)
        operations = 0
        if self.kind == "components":
            self.components = _components(x.flatten(1).double(), self.inputs)
            operations += 2 * len(x) * (len(x) + self.inputs) * math.prod(self.shape)
        if self.convolves or not self.waves:
            return operations
        points = self.answers(x)
        self.width = self.factor * median_distance(squared_distances(points, points))
        return operations + len(x) * (self._answer_flops() + 2 * points.numel())

    def _draw(self) -> None:
        draw = generator(self.seed, "initialisation", "filters")
        self.filters = _normal(torch.randn(self.count, self.shape[0], self.side, self.side, generator=draw))

    def _cut(self, x: Tensor) -> Tensor:
        """Patches at random places, flat ones only where there are not enough others."""
        draw = generator(self.seed, "initialisation", "patches")
        tries, k = self.count * SPARE, self.side
        image = torch.randint(len(x), (tries,), generator=draw).tolist()
        top = torch.randint(x.shape[2] - k + 1, (tries,), generator=draw).tolist()
        left = torch.randint(x.shape[3] - k + 1, (tries,), generator=draw).tolist()
        found = torch.stack([x[i, :, t : t + k, s : s + k] for i, t, s in zip(image, top, left)])
        is_flat = found.flatten(1).std(1) < LEAST * x.std()
        return _normal(found[is_flat.int().argsort(stable=True)[: self.count]])

    def __call__(self, x: Tensor) -> Tensor:
        """Features in float32, a row for each sample."""
        return torch.cat([self._features(part) for part in x.split(CHUNK)])

    def _features(self, x: Tensor) -> Tensor:
        found = self.answers(x)
        if not self.waves:
            return found
        directions, phases = self._directions(found.shape[1])
        return (found @ directions).mul_(math.sqrt(2 / self.width)).add_(phases).cos_()

    def answers(self, x: Tensor) -> Tensor:
        """What the waves are made of."""
        if self.kind == "components":
            return (x.flatten(1) - self.components[-1]) @ self.components[:-1].t()
        if not self.convolves:
            return x.flatten(1)
        if not len(self.filters):
            self._draw()
        found = F.conv2d(rounded(x.clone(), PIXELS), self.filters, stride=self.stride, padding=self.side // 2)
        both = torch.cat([found.relu(), found.neg_().relu_()], 1)
        pooled = F.avg_pool2d(both, POOL, POOL // 2, padding=1).sqrt_().flatten(1)
        return rounded(F.normalize(pooled, dim=1), ANSWERS)

    def _directions(self, inputs: int) -> tuple[Tensor, Tensor]:
        if self._random is None:
            draw = generator(self.seed, "initialisation", "waves")
            directions = rounded(torch.randn(inputs, self.waves, generator=draw), DIRECTIONS)
            self._random = directions, 2 * math.pi * torch.rand(self.waves, generator=draw)
        return self._random

    @property
    def inputs(self) -> int:
        """How many answers there are to a sample."""
        if not self.convolves:
            numbers = math.prod(self.shape)
            return min(self.count, numbers) if self.kind == "components" else numbers
        return 2 * self.count * math.prod(_steps(places, POOL, POOL // 2, 1) for places in self._places())

    def flops(self) -> int:
        """Operations for one sample."""
        return self._answer_flops() + 2 * self.inputs * self.waves

    def _answer_flops(self) -> int:
        if not self.convolves:
            return 2 * self.inputs * math.prod(self.shape) if self.kind == "components" else 0
        return 2 * self.count * self.shape[0] * self.side**2 * math.prod(self._places())

    def _places(self) -> list[int]:
        """How many places a filter is tried at, along each side."""
        return [_steps(size, self.side, self.stride, self.side // 2) for size in self.shape[1:]]

    def least_bytes(self) -> int:
        """The random directions of the waves, and the answers of one chunk."""
        return 4 * self.inputs * (self.waves + CHUNK)

    def tensors(self) -> dict[str, Tensor]:
        """What a state has to hold: random filters are drawn again."""
        found = {"map.components": self.components, "map.filters": self.filters if self.kind == "patches" else None}
        return {name: tensor for name, tensor in found.items() if tensor is not None and len(tensor)}

    def plain(self) -> dict[str, Any]:
        return {} if self.convolves or not self.width else {"map": {"width": self.width}}

    def load(self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> None:
        none = torch.empty(0)
        self.components = canonical(tensors.get("map.components", none).clone())
        if self.convolves and self.kind == "patches":
            self.filters = canonical(tensors.get("map.filters", none).clone())
        elif not self.convolves:
            self.width = plain.get("map", {}).get("width", 0.0)


def made_map(shape: tuple[int, ...], seed: int, settings: Mapping[str, Any]) -> Map | None:
    """The map that a learner's settings ask for; None where they are plain."""
    if settings["map"] == PLAIN:
        return None
    if not settings["features"]:
        raise BadSetting(f"features=0 leaves nothing of map={settings['map']} to learn from; give at least 1")
    return Map(settings["map"], shape, settings["filters"], settings["features"], settings["width"], seed)


def sides(shape: tuple[int, ...]) -> tuple[int, int]:
    """The side of a filter and of its steps: 7 and 2 from images of 28 pixels a side on.

    >>> sides((1, 28, 28)), sides((1, 8, 8))
    ((7, 2), (3, 1))
    """
    least = min(shape[1:])
    return max(3, min(7, least // 4 // 2 * 2 + 1)), 2 if least >= 16 else 1


def rounded(values: Tensor, grid: float = GRID) -> Tensor:
    """Multiples of this power of 2, in place."""
    return values.div_(grid).round_().mul_(grid)


def _normal(filters: Tensor) -> Tensor:
    """Of mean 0 and length 1: a filter that answers to brightness alone tells little."""
    filters = filters - filters.mean((1, 2, 3), keepdim=True)
    return rounded(canonical(F.normalize(filters.flatten(1), dim=1).view(filters.shape)), WEIGHTS)


def _components(x: Tensor, count: int) -> Tensor:
    """The first principal components of samples, each as long as its deviation, and their mean; zeros where there are
    fewer. With G = XXᵀ/n = VSVᵀ they are the rows of VᵀX/√n."""
    mean = x.mean(0)
    x = (x - mean) / math.sqrt(len(x))
    _, vectors = torch.linalg.eigh(torch.nan_to_num(x @ x.t()))
    found = vectors.flip(1)[:, :count].t() @ x
    padded = F.pad(found, (0, 0, 0, count - len(found)))
    return torch.cat([padded, mean[None]]).float()


def _steps(size: int, side: int, stride: int, padding: int) -> int:
    return (size + 2 * padding - side) // stride + 1
