"""Published results as data, and ours beside them: one file a paper or result."""

from __future__ import annotations

from engram.errors import UnknownName
from engram.papers import permuted_mnist
from engram.papers.paper import Paper

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (permuted_mnist.PAPER,)}

__all__ = ["PAPERS", "Paper", "paper"]


def paper(name: str) -> Paper:
    if name not in PAPERS:
        raise UnknownName("paper", name, PAPERS)
    return PAPERS[name]
