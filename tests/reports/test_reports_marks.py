"""A result that was chosen by test data is marked in every table, and the sentence below says why."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from engram.protocols import protocol
from engram.reports.listing import print_store, run_row
from engram.reports.tables import print_comparison, print_runs

WARNING = protocol("prescient").warning


def text(printer, *what, width=80):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    printer(console, *what)
    found = console.file.getvalue()
    assert max(map(len, found.splitlines())) <= width
    return " ".join(found.split())


def prescient(record, **more):
    return record(protocol="prescient", warning=WARNING, **more)


def strict(record, **more):
    return record(protocol="realistic", warning=protocol("realistic", strict=True).warning, **more)


@pytest.mark.parametrize("printer", [print_comparison, print_runs])
def test_prescient_results_are_marked(printer, record):
    found = text(printer, [prescient(record), prescient(record, seed=1)])
    assert "protocol prescient* ·" in found
    assert found.count(f"* prescient: {WARNING}") == 1


@pytest.mark.parametrize("printer", [print_comparison, print_runs])
def test_strict_results_are_not(printer, record):
    found = text(printer, [strict(record)])
    assert "protocol realistic ·" in found
    assert "*" not in found


def test_marks_stay_where_runs_of_several_protocols_are_compared(record):
    found = text(print_comparison, [prescient(record), strict(record), record()])
    assert "protocol prescient*, realistic, sequential" in found
    assert f"* prescient: {WARNING}" in found
    assert "* realistic" not in found


def test_each_line_of_a_comparison_tells_its_protocol(record):
    console = Console(file=io.StringIO(), width=80, highlight=False)
    print_comparison(console, [prescient(record), strict(record)])
    lines = [line for line in console.file.getvalue().splitlines() if line.startswith("ewc")]
    assert [("prescient*" in line, "realistic" in line) for line in lines] == [(True, False), (False, True)]


def test_failed_runs_keep_the_mark(failed):
    found = text(print_comparison, [failed(protocol="prescient", warning=WARNING)])
    assert "protocol prescient*" in found
    assert WARNING in found


def entry(name, options=None, seed=0):
    spec = {"stream": {"name": "d5-5a-digits@1"}, "learner": "ewc", "protocol": name, "head": "single", "seed": seed}
    spec |= {"options": options} if options else {}
    spec |= {"network": ["mlp", {}], "grid": [{}], "validation": 0.1, "curve": [], "references": False}
    return {"key": "b" * 40, "spec": spec, "status": "done", "error": None}


def test_a_store_marks_each_run_and_says_why_once():
    entries = [entry("prescient"), entry("prescient", seed=1), entry("realistic"), entry("realistic", {"strict": True})]
    found = text(print_store, "s", entries)
    assert found.count("prescient* 0 done") == found.count("prescient* 1 done") == 1
    assert found.count("realistic* 0 done") == 1
    assert found.count("realistic 0 done") == 1
    assert found.count(f"* prescient: {WARNING}") == 1
    assert found.count(f"* realistic: {protocol('realistic').warning}") == 1


def test_a_store_marks_runs_whose_tasks_ended_by_test_data():
    plain, on_test = entry("sequential"), entry("sequential", seed=1)
    on_test["spec"]["grid"] = [{"stop": "no"}, {"stop": "patience", "stop_on": "test"}]
    plain["spec"]["grid"] = [{"stop": "no", "stop_on": "test"}, {"stop": "patience", "stop_on": "validation"}]
    assert [bool(run_row(one)["warning"]) for one in (plain, on_test)] == [False, True]
    found = text(print_store, "s", [plain, on_test])
    assert found.count("sequential* 1 done") == found.count("sequential 0 done") == 1
    assert "* sequential: every task ended by a look at its own test data (stop_on=test)" in found


def test_rows_of_a_store_as_json():
    rows = [run_row(one) for one in (entry("prescient"), entry("realistic", {"strict": True}), entry("task-level"))]
    assert [(row["protocol"], row["warning"]) for row in rows] == [
        ("prescient", WARNING),
        ("realistic", ""),
        ("task-level", ""),
    ]
    assert rows[0]["protocol"] == "prescient"


def test_a_record_says_its_mark_and_its_warning(record):
    assert prescient(record).marked_protocol == "prescient*"
    assert prescient(record).to_json()["warning"] == WARNING
    assert strict(record).marked_protocol == "realistic"
    assert record().marked_protocol == "sequential"
