"""Runs that somebody made up, with everything that a page can show and names that nobody should have to trust."""

from __future__ import annotations

from typing import Any

from engram.core import Cost, Curve, Machine, Row
from engram.record import Record

HOSTILE = "</script><img src=x onerror=\"document.title='taken'\">"
FORMULA = '=HYPERLINK("http://x.invalid","x")'
SPEC = {"kind": "arrays", "version": 1, "name": "sessions", "digest": "d" * 64, "seed": 0, "tasks": 3}


def row(seed: int, accuracies: tuple[float, ...], size: int) -> Row:
    values = tuple(min(1.0, value + 0.01 * seed) for value in accuracies)
    curve = Curve((0, 1, 10), (0.1, 0.4 + 0.01 * seed, values[-1]))
    cost = Cost({"parameters": size, "total": size}, 10 * size * len(values), 0.5)
    per_class = {"single": {str(k): value for k, value in enumerate(values)}}
    union = {"single": sum(values) / len(values)}
    machine = Machine("AVX2", "2.10.0", "x86_64")
    return Row(values, values, per_class, {}, {"single": curve}, cost, "f" * 64, union, machine=machine)


def run(learner: str, seed: int, drop: float, size: int, **changes: Any) -> Record:
    """Three tasks; every later one takes `drop` from those before."""
    rows = tuple(row(seed, tuple(0.95 - drop * (k - j) for j in range(k + 1)), size) for k in range(3))
    about: dict[str, Any] = {
        "stream": "sessions",
        "learner": learner,
        "network": "mlp",
        "settings": {"rate": 0.1, "widths": (8,)},
        "protocol": "sequential",
        "head": "single",
        "seed": seed,
        "key": f"{abs(hash((learner, seed))):040x}"[:40],
        "status": "done",
        "error": None,
        "rows": rows,
        "chosen": (),
        "joint": (0.97, 0.97, 0.97),
        "stream_spec": {**SPEC, "seed": seed},
    }
    return Record(**{**about, **changes})


def records() -> list[Record]:
    """Two plain methods with three seeds each, one whose name is hostile, and one that failed."""
    plain = [run("ewc", seed, 0.1, 4000) for seed in range(3)] + [run("ridge", seed, 0.02, 90000) for seed in range(3)]
    hostile = [run(HOSTILE, seed, 0.2, 1000) for seed in range(2)]
    failed = run("si", 0, 0.0, 1000, status="failed", error=f"the loss became nan {HOSTILE}", rows=(), joint=None)
    return [*plain, *hostile, failed]
