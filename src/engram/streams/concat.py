"""Different datasets one after another, flattened and zero-padded to one width (Kemker et al. 2018: multi-modal)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engram.errors import BadSetting
from engram.settings import Setting
from engram.streams.inputs import INPUTS
from engram.streams.plan import Kind, Part, Plan, clip
from engram.streams.source import Source


def plan(sources: Sequence[Source], seed: int, options: Mapping[str, Any]) -> Plan:
    """One task a dataset; the class numbers of each start where those of the one before end."""
    if len(sources) < 2:
        raise BadSetting(f"concat got only {sources[0].name}; give two or more datasets, for example digits+blobs")
    width = None if options["images"] else max(source.features for source in sources)
    parts, offset = [], 0
    for source in sources:
        check_images(source, options["images"])
        classes = tuple(range(source.class_count))
        parts.append(Part(clip(source.name), source, classes, offset, width=width, images=options["images"]))
        offset += source.class_count
    return Plan(tuple(parts), options)


def check_images(source: Source, wanted: tuple[int, ...]) -> None:
    """Whether a source's samples can become images of this shape."""
    if not wanted:
        return
    if len(wanted) != 3:
        raise BadSetting(f"images={'-'.join(map(str, wanted))} is no shape; give channels-height-width, as in 3-32-32")
    shape = source.dataset.shape
    if len(shape) != 3 or shape[0] not in (1, wanted[0]):
        raise BadSetting(
            f"samples of {source.name} have the shape {shape} and cannot become images of {wanted[0]} channels; "
            "leave images= out, or give datasets of grey images or of as many channels"
        )


KIND = Kind(
    name="concat",
    version=1,
    help="different datasets one after another, zero-padded to one width",
    options={
        "datasets": Setting("", "names of the datasets, joined by +"),
        "images": Setting(
            (), "instead of padding: grey to this many channels, resized, for example 3-32-32", at_least=1, at_most=4096
        ),
        **INPUTS,
    },
    plan=plan,
    many=True,
)
