"""All classes in every task, their features in another order each time (Kemker et al. 2018; Veniat et al. 2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engram.settings import Setting
from engram.streams.inputs import INPUTS
from engram.streams.plan import Kind, Part, Plan
from engram.streams.source import Source


def plan(sources: Sequence[Source], seed: int, options: Mapping[str, Any]) -> Plan:
    """Task k uses permutation k, whatever the number of tasks."""
    parts = [permuted_part(sources[0], k) for k in range(options["tasks"])]
    if not options["first_permuted"]:
        parts[0] = Part("original", sources[0], parts[0].classes)
    return Plan(tuple(parts), options)


def permuted_part(source: Source, number: int) -> Part:
    """All classes of a source under one permutation."""
    return Part(f"permutation {number + 1}", source, tuple(range(source.class_count)), permutation=number)


KIND = Kind(
    name="permuted",
    version=1,
    help="all classes in every task, features in another random order each time",
    options={
        "tasks": Setting(10, "number of tasks", at_least=1, at_most=10_000),
        "first_permuted": Setting(True, "permute the first task too (false: it stays as it is)"),
        **INPUTS,
    },
    plan=plan,
)
