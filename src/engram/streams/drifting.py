"""All classes at once, then some at a time, for a given share of the training (Coop et al. 2013; Kemker et al. 2018).

    all classes ─▶ first block of classes ─▶ second block ─▶ …      the share is that of all blocks together

With `share` 0 there is nothing but the first task, with 1 nothing but the blocks. How accurate a learner is on all test
samples at the end (`union_accuracy`), for one share after another, shows how much a drift costs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from engram.errors import BadSetting
from engram.settings import Setting
from engram.streams.inputs import INPUTS
from engram.streams.plan import Chosen, Kind, Part, Plan, title
from engram.streams.seeding import shuffled
from engram.streams.source import Source
from engram.streams.split import ORDER, class_order, class_parts, even_sizes
from engram.streams.validation import hold_out


@dataclass(frozen=True)
class Phase(Part):
    """A part that takes some of the samples of its classes: of each class's chosen ones those after `start` and up to
    `stop`, as shares of them."""

    samples: int = 0
    start: float = 0.0
    stop: float = 1.0

    def rows(self, seed: int, index: int, share: float) -> Chosen:
        train, held = hold_out(self.groups(seed), share, seed, index)
        return super().rows(seed, index, share)._replace(train=train, validation=held)

    def groups(self, seed: int) -> dict[int, Tensor]:
        """Its rows by class, before any are held out."""
        return {c: self._own(seed, c) for c in self.classes if c in self.source.train}

    def _own(self, seed: int, label: int) -> Tensor:
        """Rows of a class. Which ones are chosen does not depend on the share that drifts."""
        own, everything = self.source.train[label], len(self.source.dataset.y_train)
        count = len(own) if not self.samples else round(len(own) * min(1.0, self.samples / everything))
        own = own[shuffled(len(own), seed, "drift", label)][: max(1, count)]
        return own[round(self.start * len(own)) : round(self.stop * len(own))]


def plan(sources: Sequence[Source], seed: int, options: Mapping[str, Any]) -> Plan:
    """One task of all classes and one for each block, less those that have no share of the samples."""
    source, share = sources[0], options["share"]
    if options["blocks"] > source.class_count:
        raise BadSetting(
            f"blocks={options['blocks']} is more than the {source.class_count} classes of {source.name}; give fewer"
        )
    blocks = class_parts(source, class_order(source, options["order"], seed), even_sizes(source, options["blocks"]))
    everything = tuple(range(source.class_count))
    cut = {"samples": options["samples"]}
    before = [Phase(title(source.name, everything), source, everything, stop=1 - share, **cut)]
    after = [Phase(block.name, source, block.classes, start=1 - share, **cut) for block in blocks]
    parts = (before if share < 1 else []) + (after if share > 0 else [])
    for part in parts:
        if not any(map(len, part.groups(seed).values())):
            raise BadSetting(
                f"share={share:g} leaves no sample of {options['samples']} for {part.name}; give more samples or "
                "another share"
            )
    return Plan(tuple(parts), options)


KIND = Kind(
    name="drifting",
    version=1,
    help="all classes at once, then for a share of the samples some classes at a time",
    options={
        "share": Setting(0.5, "share of the training samples that come block by block", at_least=0, at_most=1),
        "blocks": Setting(2, "blocks that the classes are divided into", at_least=1),
        "samples": Setting(0, "training samples in all, of every class its share (0: all)", at_least=0),
        "order": ORDER,
        **INPUTS,
    },
    plan=plan,
)
