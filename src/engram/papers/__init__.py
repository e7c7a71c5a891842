"""Published results as data, and ours beside them: one file a paper or result.

The registry is the folder: a module here that has a `Paper` is one.
"""

from __future__ import annotations

from engram.errors import UnknownName
from engram.own import in_folder
from engram.papers.paper import Paper

PAPERS: dict[str, Paper] = in_folder(__name__, lambda value: isinstance(value, Paper))

__all__ = ["PAPERS", "Paper", "paper"]


def paper(name: str) -> Paper:
    if name not in PAPERS:
        raise UnknownName("paper", name, PAPERS)
    return PAPERS[name]
