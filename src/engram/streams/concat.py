"""Different datasets one after another, flattened and zero-padded to one width (Kemker et al. 2018: multi-modal)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engram.errors import BadSetting
from engram.settings import Setting
from engram.streams.plan import Kind, Part, Plan, clip
from engram.streams.source import CENTRED, Source
from engram.streams.validation import SHARE


def plan(sources: Sequence[Source], seed: int, options: Mapping[str, Any]) -> Plan:
    """One task a dataset; the class numbers of each start where those of the one before end."""
    if len(sources) < 2:
        raise BadSetting(f"concat got only {sources[0].name}; give two or more datasets, for example digits+blobs")
    width = max(source.features for source in sources)
    parts, offset = [], 0
    for source in sources:
        parts.append(Part(clip(source.name), source, tuple(range(source.class_count)), offset, width=width))
        offset += source.class_count
    return Plan(tuple(parts), options)


KIND = Kind(
    name="concat",
    version=1,
    help="different datasets one after another, zero-padded to one width",
    options={
        "datasets": Setting("", "names of the datasets, joined by +"),
        "centred": CENTRED,
        "validation": SHARE,
    },
    plan=plan,
    many=True,
)
