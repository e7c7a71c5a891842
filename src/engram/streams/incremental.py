"""Half of the classes, then one class at a time (Kemker et al. 2018)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engram.errors import BadSetting
from engram.settings import Setting
from engram.streams.inputs import INPUTS
from engram.streams.plan import Kind, Plan
from engram.streams.source import Source
from engram.streams.split import ORDER, class_order, class_parts


def plan(sources: Sequence[Source], seed: int, options: Mapping[str, Any]) -> Plan:
    """A base task, then as many tasks as there are classes left."""
    source = sources[0]
    base = options["base"] or source.class_count // 2
    if not 0 < base < source.class_count:
        raise BadSetting(
            f"base={base} leaves no class to add: {source.name} has {source.class_count}; "
            "give a smaller base or a dataset with at least 2 classes"
        )
    sizes = (base,) + (1,) * (source.class_count - base)
    classes = class_order(source, options["order"], seed)
    return Plan(tuple(class_parts(source, classes, sizes)), {**options, "base": base})


KIND = Kind(
    name="incremental",
    version=1,
    help="half of the classes first, then one class at a time",
    options={
        "base": Setting(0, "classes in the first task (0: half of all, rounded down)", at_least=0),
        "order": replace(ORDER, default="seeded"),
        **INPUTS,
    },
    plan=plan,
)
