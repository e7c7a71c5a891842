"""Paths through the tree of a small run."""

from __future__ import annotations

from engram.request import prepare

SMALL = {"widths": "12-10", "batch": 96}


def path_of(learner="finetune", tasks=3, stream="split-digits", stream_tasks=5, seed=0, **settings):
    run = prepare(stream, learner, tasks=stream_tasks, seed=seed, settings={**SMALL, **settings})
    nodes = [run.root]
    for task in range(tasks):
        nodes.append(nodes[-1].child([task], run.grid[0]))
    return nodes[1:]
