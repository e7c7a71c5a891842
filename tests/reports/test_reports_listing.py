from __future__ import annotations

import io

from rich.console import Console

from engram.reports.listing import differing, print_store
from engram.reports.tables import print_mapping, print_rows

SPEC = {
    "stream": {"name": "split-digits@1", "seed": 0, "tasks": 5, "options": {"order": "given"}},
    "learner": "ewc", "protocol": "sequential", "head": "single", "seed": 0, "network": ["mlp", {"widths": [12]}],
    "grid": [{"rate": 0.1, "strength": 1.0}], "validation": 0.0, "curve": [], "references": False,
}  # fmt: skip


def shown(*changes):
    console = Console(file=io.StringIO(), width=100, highlight=False)
    entries = [
        {"key": f"{n}" * 40, "spec": {**SPEC, **more}, "status": "done", "error": None}
        for n, more in enumerate(changes)
    ]
    print_store(console, "s", entries)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def test_only_settings_that_differ_are_shown():
    assert differing([{"a": 1, "b": (2, 3)}, {"a": 1, "b": (4,)}, {"a": 1, "c": True}]) == ["b=2-3", "b=4", ""]


def test_lines_are_told_apart_by_their_settings():
    weak, strong = ({"grid": [{"rate": 0.1, "strength": strength}]} for strength in (1.0, 1000.0))
    assert shown(weak, strong) == [
        "runs in s · split-digits@1 · ewc · sequential · single",
        "key seed status settings",
        "0000000000 0 done strength=1.0",
        "1111111111 0 done strength=1000.0",
    ]


def test_everything_that_was_asked_for_can_tell_lines_apart():
    stream = SPEC["stream"]
    changes = [
        {"curve": [0, 1]}, {"references": True}, {"validation": 0.1}, {"network": ["mlp", {"widths": [9]}]},
        {"network": ["rwalk-cnn", {"widths": [12]}]}, {"stream": {**stream, "seed": 3}},
        {"stream": {**stream, "tasks": 2}}, {"stream": {**stream, "options": {"order": "random"}}},
        {"grid": [{"rate": 0.1, "strength": 1.0}, {"rate": 0.2, "strength": 1.0}]},
    ]  # fmt: skip
    told = [shown({}, change)[-1].split(" done ")[1] for change in changes]
    assert told == [
        "curve=0-1", "references=true", "validation=0.1", "widths=9", "network=rwalk-cnn", "stream-seed=3", "tasks=2",
        "order=random", "rate=0.1,0.2",
    ]  # fmt: skip


def test_a_single_run_has_all_its_columns():
    assert shown({})[1] == "key stream learner protocol head seed status"


def test_runs_of_different_streams_are_not_compared():
    other = {"stream": {"name": "permuted-digits@1", "seed": 0, "tasks": 10}, "grid": [{"rate": 0.5}]}
    assert shown({}, other)[1] == "key stream seed status"


def test_a_screen_that_is_too_narrow_for_columns_breaks_no_name():
    console = Console(file=io.StringIO(), width=40, highlight=False)
    entries = [
        {"key": "a" * 40, "spec": {**SPEC, "protocol": name}, "status": "done", "error": None}
        for name in ("task-level", "stream-level", "sequential")
    ]
    print_store(console, "s", entries)
    found = console.file.getvalue()
    assert max(map(len, found.splitlines())) <= 40
    assert all(name in found for name in ("stream-level", "task-level", "sequential", "aaaaaaaaaa"))
    print_mapping(console, "files", [{"name": "some-dataset", "path": "a-rather-long-name", "licence": "none stated"}])
    text = console.file.getvalue().removeprefix(found)
    assert text == "files\nsome-dataset · path a-rather-long-name ·\n  licence none stated\n"


def test_no_letter_of_a_table_is_lost_on_a_narrow_screen():
    console = Console(file=io.StringIO(), width=30, highlight=False)
    print_rows(console, "t", ["method", "forgetting", "intransigence"], [["ewc", "0.123456", "0.654321"]])
    assert "…" not in console.file.getvalue()
