"""CPU seconds of Kemker's incremental experiment on CUB-200: half of the classes, then one a session, 101 sessions.

    python benchmarks/cub_sessions.py [--json] [--check] [MODEL …]

Everything on one thread in this process: reading, learning, measuring after every session, saving; the settings are
those of `engram paper kemker2018 --tier paper`. The authors' GeppNet took 507 minutes and more. Needs `cub200-lite0`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time

import engram
from engram.papers import paper
from engram.tree import one_thread

LIMITS = {"MLP": 120, "EWC": 120, "FEL": 120, "GeppNet": 900, "GeppNet+STM": 900}


def seconds(model: str) -> float:
    """Without the offline models that Ω is a share of."""
    table = next(found for found in paper("kemker2018").experiments("paper", None) if found.name == "table2")
    cell = next(cell for cell in table.questions if cell.label == f"{model} CUB incremental")
    asked = {**cell.run, "offline": None}
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        engram.run(asked.pop("stream"), asked.pop("learner"), store=folder, **asked.pop("settings"), **asked)
        return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", choices=[[], *LIMITS], metavar="MODEL")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit with 1 if one takes longer than it may")
    options = parser.parse_args()
    taken = {}
    with one_thread():
        for model in options.models or LIMITS:
            taken[model] = value = seconds(model)
            if not options.json:
                verdict = "ok" if value <= LIMITS[model] else "OVER"
                print(f"{model:<14}{value:6.0f} s of {LIMITS[model]:4} s   {verdict}", flush=True)
    if options.json:
        print(json.dumps(taken))
    if options.check and any(value > LIMITS[model] for model, value in taken.items()):
        sys.exit(1)


if __name__ == "__main__":
    main()
