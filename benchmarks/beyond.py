"""CPU seconds of the rows of `engram paper beyond split`: MNIST and Fashion-MNIST in one pass, solved in closed form.

    python benchmarks/beyond.py [--json] [--check] [ROW …]

Everything on one thread in this process: reading, learning, measuring after every task, saving. The clock says as much
on a machine with nothing else to do. Needs `mnist` and `fashion-mnist`.
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

LIMIT = 240  # seconds
ROWS = {found.label: found.run for found in paper("beyond").find("split", "paper", None)[0].questions}


def measured(row: str) -> dict[str, float]:
    asked = dict(ROWS[row])
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        record = engram.run(asked.pop("stream"), asked.pop("learner"), store=folder, **asked.pop("settings"), **asked)
        return {"seconds": time.process_time() - start, "accuracy": record.metrics()["average_accuracy"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS], metavar="ROW")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help=f"exit with 1 if one takes longer than {LIMIT} s")
    options = parser.parse_args()
    found = {}
    with one_thread():
        for row in options.rows or ROWS:
            found[row] = each = measured(row)
            if not options.json:
                print(f"{row:<36}{each['accuracy']:.4f} in {each['seconds']:4.0f} s of {LIMIT} s", flush=True)
    if options.json:
        print(json.dumps(found))
    if options.check and any(each["seconds"] > LIMIT for each in found.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
