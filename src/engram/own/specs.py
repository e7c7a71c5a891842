"""What the spec of a run says of code that is not the library's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def own_of(spec: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """The places of the learner and the network in a run's spec that are not the library's, by kind and name: a process
    knows one of each."""
    names = {"learner": spec["learner"], "network": spec["network"][0]}
    return {(kind, names[kind]): place for kind, (place, _) in spec.get("own", {}).items() if place}


def code_of(spec: Mapping[str, Any]) -> dict[str, str]:
    """The places of code that is not the library's own in a run's spec, with the digests that it had."""
    stream, own = spec["stream"], list(spec.get("own", {}).values())
    pairs = [*own, (stream.get("place"), stream.get("code"))]
    return {place: digest for place, digest in pairs if place}


def digests_of(spec: Mapping[str, Any]) -> dict[str, str]:
    """The digests of the learner's and the network's code, where it is not the library's own."""
    return {f"{kind} code": digest for kind, (_, digest) in spec.get("own", {}).items()}


def without_code(spec: Mapping[str, Any]) -> str:
    """A run's spec but for the digests of its code: the same for a run before and after an edit."""
    stream = {name: value for name, value in spec["stream"].items() if name not in ("code", "made")}
    own = {kind: place for kind, (place, _) in spec.get("own", {}).items()}
    return json.dumps({**spec, "stream": stream, "own": own}, sort_keys=True, default=dict)
