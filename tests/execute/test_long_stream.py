"""A task costs no more because many came before it, beyond being evaluated. CPU time: `benchmarks/long_stream.py`."""

from __future__ import annotations

import sys

import numpy as np

from engram.execute import Silence, execute
from engram.request import prepare
from engram.store import Store
from engram.streams import from_arrays

TASKS, SOME = 200, 20


class Counter(Silence):
    """How many functions had been called, and how large the database was, whenever a task had been learned."""

    def __init__(self, database):
        self.database, self.count, self.calls, self.bytes = database, 0, [], []

    def called(self, frame, event, what):
        self.count += event in ("call", "c_call")

    def grown(self, key):
        self.calls.append(self.count)
        self.bytes.append(self.database.stat().st_size)


def test_the_last_tasks_of_a_long_stream_take_no_more_than_the_first(tmp_path):
    draw, y = np.random.default_rng(0), np.arange(8) % 2
    tasks = [[draw.normal(size=(8, 2)), y] * 2 for _ in range(TASKS)]
    run = prepare(from_arrays(tasks), "finetune", evaluate="last", settings={"widths": "4", "batch": 8})
    store = Store(tmp_path)
    counter, before = Counter(tmp_path / "store.db"), sys.getprofile()
    sys.setprofile(counter.called)
    try:
        execute([run], store, progress=counter)
    finally:
        sys.setprofile(before)
    store.close()
    first, last = counter.calls[SOME + 5] - counter.calls[5], counter.calls[-2] - counter.calls[-2 - SOME]
    assert last < 1.02 * first
    size, half = counter.bytes, TASKS // 2
    assert size[-2] - size[half] < 1.15 * (size[half] - size[0])
