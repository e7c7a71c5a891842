"""How long the report of many runs takes, and how large it is.

    python benchmarks/report_page.py [--json] [--check] [--learners N] [--seeds N] [--tasks N]

Trains learners × seeds small runs on permuted digits (200 by default, of 10 tasks, with references for intransigence
and learning curves of seven moments) into a store of its own, then calls `engram report` as a process of its own.
Limits: 10 seconds, and 1.5 MB and 5 kB a run.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT_SECONDS = 10.0
WORDS = ("--jobs", "0", "--set", "widths=12", "--set", "batch=256", "--references", "--offline", "no")


def train(store: str, learners: int, seeds: int, tasks: int) -> None:
    """Methods that differ in a setting only, so that all of them take the little time that one takes."""
    engram = [sys.executable, "-m", "engram", "run", "permuted-digits", "--learner", "finetune", "--store", store]
    curve = ["--curve", "0-1-2-3-4-5-6", "--tasks", str(tasks), "--seeds", f"0-{seeds - 1}"]
    for learner in range(learners):
        rate = ["--rate", f"{0.001 * (learner + 1):g}"]
        subprocess.run([*engram, *WORDS, *curve, *rate], check=True, stdout=subprocess.DEVNULL)


def report(store: str, out: str) -> dict[str, float]:
    command = [sys.executable, "-m", "engram", "report", "--store", store, "--out", out, "--json"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    limit = 1_500_000 + 5_000 * said["runs"]
    return {"runs": said["runs"], "cpu_seconds": cpu, "wall_seconds": wall, "bytes": said["bytes"], "limit": limit}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit with 1 where a limit is broken")
    parser.add_argument("--learners", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--tasks", type=int, default=10)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "store")
        train(store, asked.learners, asked.seeds, asked.tasks)
        found = report(store, str(Path(folder) / "report.html"))
    if asked.json:
        print(json.dumps(found))
    else:
        print(f"{found['runs']} runs: {found['cpu_seconds']:.1f} s of CPU time, {found['wall_seconds']:.1f} s in all")
        print(f"{found['bytes'] / 1e6:.2f} MB, at most {found['limit'] / 1e6:.2f} MB")
    broken = found["cpu_seconds"] > LIMIT_SECONDS or found["bytes"] > found["limit"]
    return int(asked.check and broken)


if __name__ == "__main__":
    sys.exit(main())
