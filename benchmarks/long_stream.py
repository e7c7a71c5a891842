"""Whether a task costs more the later it comes, beyond being evaluated: a long stream of tiny tasks.

    python benchmarks/long_stream.py [--json] [--rounds N] [--tasks N]

`finetune` learns 1,000 tasks of 16 samples with `--evaluate last`, once with the same two classes in every task and
once with two new ones; nothing is measured before the end. For each (limits in brackets):

- the CPU time of the last tenth of the tasks, without the very last, over that of the first tenth [1.5]: with new
  classes the network itself grows from 2 outputs to 2,000, so there it is only shown;
- the bytes of the database that a task takes [2,500], and how many more a task of the second half of the stream takes
  than one of the first [1.1].
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from engram.core import Stream
from engram.execute import Silence, execute
from engram.request import prepare
from engram.store import Store
from engram.streams import from_arrays

LIMITS = {"time": 1.5, "bytes_a_task": 2500.0, "bytes": 1.1}
SETTINGS = {"widths": "4", "batch": 16}


class Clock(Silence):
    """CPU time and size of the database whenever a task has been learned."""

    def __init__(self, database: Path):
        self.database = database
        self.seconds: list[float] = []
        self.bytes: list[int] = []

    def begin(self, nodes: int) -> None:
        self.grown("")

    def grown(self, key: str) -> None:
        self.seconds.append(time.process_time())
        self.bytes.append(self.database.stat().st_size)


def stream(tasks: int, new_classes: bool) -> Stream:
    draw, labels = np.random.default_rng(0), [np.arange(count) % 2 for count in (16, 8)]
    first = [2 * k * new_classes for k in range(tasks)]
    return from_arrays([[part for y in labels for part in (draw.normal(size=(len(y), 2)), y + k)] for k in first])


def measure(tasks: int, new_classes: bool) -> dict[str, float]:
    run = prepare(stream(tasks, new_classes), "finetune", evaluate="last", settings=SETTINGS)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        clock = Clock(Path(folder) / "store.db")
        execute([run], store, progress=clock)
        store.close()
    tenth, half, seconds, size = tasks // 10, tasks // 2, clock.seconds, clock.bytes
    return {
        "time": (seconds[-2] - seconds[-2 - tenth]) / (seconds[tenth] - seconds[0]),
        "bytes_a_task": (size[-2] - size[0]) / (tasks - 1),
        "bytes": (size[-2] - size[half]) / (size[half] - size[0]) * half / (tasks - 1 - half),
    }


def results(rounds: int, tasks: int) -> dict[str, dict[str, float | bool | None]]:
    table: dict[str, dict[str, float | bool | None]] = {}
    for name, new_classes in (("same classes", False), ("new classes", True)):
        measured = [measure(tasks, new_classes) for _ in range(rounds)]
        for figure, limit in LIMITS.items():
            value = statistics.median(each[figure] for each in measured)
            bound = None if new_classes and figure == "time" else limit
            table[f"{name}: {figure}"] = {"value": value, "limit": bound, "ok": bound is None or value <= bound}
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = results(options.rounds, options.tasks)
    if options.json:
        print(json.dumps(table))
        return
    for name, row in table.items():
        limit = "no limit" if row["limit"] is None else f"limit {row['limit']:<6}  {'ok' if row['ok'] else 'OVER'}"
        print(f"{name:<28}{row['value']:>10.3f}   {limit}")


if __name__ == "__main__":
    main()
