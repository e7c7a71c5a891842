"""Published results as data, and ours beside them: one file a paper or result."""

from __future__ import annotations

from engram.errors import UnknownName
from engram.papers import chaudhry2018, permuted_mnist, pfuelb2018
from engram.papers.paper import Paper

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (permuted_mnist.PAPER, chaudhry2018.PAPER, pfuelb2018.PAPER)}

__all__ = ["PAPERS", "Paper", "paper"]


def paper(name: str) -> Paper:
    if name not in PAPERS:
        raise UnknownName("paper", name, PAPERS)
    return PAPERS[name]
