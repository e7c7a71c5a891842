"""Parts that draw so many samples of each class, with validation samples of their own (CTrL: Veniat et al. 2021).

Of every class of a dataset some training samples are set apart for validation, the same in all streams; a task draws
its training samples from the others and its validation samples from those. Datasets have a *role*: where the published
one is not to be had, a stand-in takes its place, and the stream's name says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from engram import datasets
from engram.errors import BadSetting
from engram.moves import AT_REST, SIZES
from engram.settings import Setting
from engram.streams import inputs
from engram.streams.plan import Chosen, Part
from engram.streams.seeding import drawn, shuffled
from engram.streams.source import Source
from engram.transform import Transform

SHAPE = (3, 32, 32)
APART = 17  # decides which samples are set apart: not the stream's seed, so that no stream trains on them


class Role(NamedTuple):
    """A published dataset: what may stand in for it, and how many samples a class are set apart for validation."""

    stand_in: str
    apart: int


ROLES = {
    "cifar10": Role("tiny-imagenet100-32", 500),
    "cifar100": Role("tiny-imagenet100-32", 50),
    "mnist": Role("mnist", 500),
    "fashion-mnist": Role("fashion-mnist", 500),
    "svhn": Role("svhn-crops", 500),
    "dtd": Role("dtd37", 27),
}

DATASETS = Setting(
    "available",
    "available (each published dataset, or its stand-in where only that is on this machine), official, stand-ins, or "
    "names joined by + in the order of the published ones",
)
TEST_SAMPLES = Setting(1000, "most test samples a class", at_least=1)
NORMALISED = replace(inputs.NORMALISED, default=True)


def choose(roles: Sequence[str], asked: str) -> list[str]:
    """The datasets that play these roles."""
    if asked == "official":
        return list(roles)
    if asked == "stand-ins":
        return [ROLES[role].stand_in for role in roles]
    if asked == "available":
        return [role if is_here(role) or not is_here(ROLES[role].stand_in) else ROLES[role].stand_in for role in roles]
    return asked.split("+")


def is_here(name: str) -> bool:
    return name in datasets.names() and bool(datasets.describe(name)["available"])


def cast(stream: str, roles: Sequence[str], sources: Sequence[Source]) -> dict[str, Source]:
    """Who plays which role, if all are there and have images."""
    if len(sources) != len(roles):
        given = "+".join(source.name for source in sources)
        raise BadSetting(
            f"stream '{stream}' takes {len(roles)} datasets, in the place of {'+'.join(roles)}, and got {given}; "
            "name as many"
        )
    for source in sources:
        shape = source.dataset.shape
        if len(shape) != 3 or shape[0] not in (1, SHAPE[0]):
            raise BadSetting(
                f"samples of {source.name} have the shape {shape}, and stream '{stream}' needs images, grey or with 3 "
                "channels; name another dataset"
            )
    return dict(zip(roles, sources, strict=True))


def offsets(sources: Mapping[str, Source]) -> dict[str, int]:
    """By role the number to add to its labels. A dataset with two roles has the same classes in both."""
    found: dict[str, int] = {}
    by_reference: dict[str, int] = {}
    total = 0
    for role, source in sources.items():
        found[role] = by_reference.setdefault(source.reference, total)
        total += source.class_count
    return found


def set_apart(sources: Mapping[str, Source]) -> dict[str, int]:
    """By role how many samples a class are set apart. Of a dataset with two roles as many in both, so that no task
    validates on what another is trained on."""
    by_reference: dict[str, int] = {}
    for role, source in sources.items():
        by_reference[source.reference] = max(ROLES[role].apart, by_reference.get(source.reference, 0))
    return {role: by_reference[source.reference] for role, source in sources.items()}


def marks(sources: Mapping[str, Source]) -> dict[str, str]:
    """What a spec says where a dataset has two roles and not as many samples were set apart in both before."""
    was = {role: ROLES[role].apart for role in sources}
    return {} if set_apart(sources) == was else {"set apart": "by dataset"}


@dataclass(frozen=True)
class Drawn(Part):
    """A part of `count` training samples a class and half as many for validation, or all where there are fewer.

    `number` belongs to the task and decides what is drawn; `apart` samples of every class are set apart. Each
    validation sample comes with so many mirrored and shifted `copies`.
    """

    count: int = 1
    apart: int = 1
    number: int = 1
    test_samples: int = 1000
    copies: int = 0
    colour: tuple[float, ...] | None = None
    normalised: bool = True
    chunk: ClassVar[int] = 256  # images that fit into the cache: more than twice as fast

    @property
    def layout(self) -> Transform:
        return Transform(channels=SHAPE[0], size=SHAPE[1:], sizing="bilinear", colour=self.colour)

    @property
    def there(self) -> int:
        """Training samples of every class, of the `count` that are asked for."""
        return min(self.count, *(self._split(len(self.source.train.get(c, _NONE))) for c in self.classes))

    def rows(self, seed: int, index: int, share: float) -> Chosen:
        """Drawn by the seed; the share does not matter."""
        pools = [self._pools(c) for c in self.classes]
        train = self._draw(seed, "train", self.count, [pool for pool, _ in pools])
        held = self._draw(seed, "validation", -(-self.count // 2), [apart for _, apart in pools])
        test = self._draw(seed, "test", self.test_samples, [self.source.test.get(c, _NONE) for c in self.classes])
        moves = self._moves(seed, len(held)) if self.copies else None
        return Chosen(train, held.repeat(1 + self.copies), test, moves)

    def _pools(self, label: int) -> tuple[Tensor, Tensor]:
        """Rows of a class to train on and to validate on."""
        own = self.source.train.get(label, _NONE)
        own = own[shuffled(len(own), APART, "set apart", label)]
        split = self._split(len(own))
        return own[:split], own[split:]

    def _split(self, samples: int) -> int:
        """How many of a class are there to train on; never more than half of them are set apart."""
        return samples - min(self.apart, samples // 2)

    def _draw(self, seed: int, purpose: str, count: int, pools: Sequence[Tensor]) -> Tensor:
        """So many rows of every class, ascending."""
        return torch.cat(list(self._drawn(seed, purpose, count, pools))).sort().values

    def _drawn(self, seed: int, purpose: str, count: int, pools: Sequence[Tensor]) -> Iterator[Tensor]:
        for label, pool in zip(self.classes, pools, strict=True):
            yield pool[shuffled(len(pool), seed, "drawn", purpose, self.number, label)[:count]]

    def _moves(self, seed: int, held: int) -> Tensor:
        """The samples themselves at rest, then their copies."""
        ways = [drawn(held * self.copies, size, seed, "moves", self.number, k) for k, size in enumerate(SIZES)]
        return torch.cat([torch.tensor([AT_REST]).expand(held, 3), torch.stack(ways, 1)]).to(torch.int8)


_NONE = torch.empty(0, dtype=torch.int64)
