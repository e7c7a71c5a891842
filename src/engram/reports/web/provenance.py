"""Where the numbers of a page come from: versions, machines, data, and the commands that make them again."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engram import __version__
from engram.errors import EngramError
from engram.nodes import torch_version
from engram.record import Record
from engram.reports.commands import command
from engram.reports.summary import machines
from engram.reports.web.methods import Topic
from engram.reports.web.words import Specs


@dataclass(frozen=True)
class Provenance:
    """`facts` are names with what they are called; `commands` belong to labels; `runs` are one by one."""

    facts: Sequence[tuple[str, str]]
    data: Sequence[tuple[str, str, str]]  # stream, dataset, digest
    commands: Sequence[str]
    unrepeatable: Sequence[str]  # methods that no command makes again
    failed: Sequence[tuple[str, Record]]
    runs: Sequence[tuple[str, str, Record]]  # stream, method, run


def provenance(topics: Sequence[Topic], specs: Specs, made_by: str) -> Provenance:
    records = [record for topic in topics for record in topic.records]
    found = [(topic, method, _command(method.records, specs)) for topic in topics for method in topic.methods]
    return Provenance(
        facts=[
            ("page written by", f"engram {__version__}, Python {platform.python_version()}, torch {torch_version()}"),
            ("trained on", "; ".join(machines(records)) or "a machine that older stores do not name"),
            *([("command of this page", made_by)] if made_by else []),
        ],
        data=_data(topics),
        commands=list(dict.fromkeys(made for _, _, made in found if made)),
        unrepeatable=[f"{method.label} on {topic.name}" for topic, method, made in found if specs and not made],
        failed=[(m.label, r) for t in topics for m in t.methods for r in m.records if r.status == "failed"],
        runs=[(t.name, m.label, record) for t in topics for m in t.methods for record in m.records],
    )


def _command(records: Sequence[Record], specs: Specs) -> str | None:
    """None for what no command makes, and for code of one's own that is not here any more."""
    try:
        return command([specs[r.key] for r in records]) if all(r.key in specs for r in records) else None
    except (EngramError, KeyError):  # a spec of an older store may lack something
        return None


def _data(topics: Sequence[Topic]) -> list[tuple[str, str, str]]:
    found = []
    for topic in topics:
        spec = topic.records[0].stream_spec
        made: Any = spec.get("made", spec)
        names, digests = (_listed(made.get(key)) for key in ("dataset", "digest"))
        names = names or [str(made.get("name", "arrays"))] * len(digests)
        found += [(topic.name, name, digest) for name, digest in zip(names, digests, strict=False)]
    return list(dict.fromkeys(found))


def _listed(value: Any) -> list[str]:
    if value is None:
        return []
    return list(map(str, value)) if isinstance(value, list) else [str(value)]
