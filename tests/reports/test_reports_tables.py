from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from engram.core import Machine
from engram.reports.listing import print_store
from engram.reports.tables import plus_minus, print_comparison, print_mapping, print_runs, quantity, written


def text(printer, *what, width=80):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    printer(console, *what)
    found = console.file.getvalue()
    assert max(map(len, found.splitlines())) <= width
    return found


@pytest.mark.parametrize(
    "value, digits, expected",
    [
        ({"mean": 0.91249, "std": 0.0104, "n": 3}, 3, "0.912 ± 0.010"),
        ({"mean": 0.5, "std": float("nan"), "n": 1}, 3, "0.500"),
        ({"mean": 0.5, "std": 0.0, "n": 2}, 4, "0.5000 ± 0.0000"),
        ({"mean": float("nan"), "std": float("nan"), "n": 2}, 3, "not defined"),
    ],
)
def test_plus_minus(value, digits, expected):
    assert plus_minus(value, digits) == expected


@pytest.mark.parametrize(
    "value, expected",
    [(0, "0 B"), (1, "1 B"), (999, "999 B"), (1000, "1 kB"), (1_234_567, "1.23 MB"), (5e9, "5 GB"), (3e22, "3e+04 EB")],
)
def test_quantity(value, expected):
    assert quantity(value, "B") == expected


@pytest.mark.parametrize("value, expected", [((5, 5), "5-5"), ([256], "256"), (True, "true"), (0.1, "0.1"), ((), "")])
def test_a_value_as_it_is_written_on_a_command_line(value, expected):
    assert written(value) == expected


def test_what_was_not_measured_is_a_dash(record):
    found = text(print_runs, [record((float("nan"), 0.5), evaluate="last")])
    assert "evaluated: last" in found
    assert ["0", "–", "0.500", "–"] in [line.split() for line in found.splitlines()]


def test_comparison_has_a_line_for_every_method(record):
    records = [record((0.4, 0.8), seed=0), record((0.6, 1.0), seed=1), record(learner="si", head="multi")]
    found = text(print_comparison, records)
    assert "split-digits@1 · 2 tasks · protocol sequential · 2 seeds" in found
    (ewc,) = [line for line in found.splitlines() if line.startswith("ewc")]
    assert ewc.split() == "ewc single 0.700 ± 0.141 0.500 ± 0.141 1 kB 2 MFLOP 1.00 s".split()
    assert "the task is given" in found
    assert "the task is not given" in found


def test_failed_runs_are_visible(record, failed):
    found = text(print_comparison, [record(seed=0), failed(seed=1), failed(learner="si")])
    assert "0.700 (1 failed)" in found
    (si,) = [line for line in found.splitlines() if line.startswith("si ")]
    assert si.split() == ["si", "single", "failed"]
    found = text(print_comparison, [record(seed=0), record((0.4, 1.0), seed=1), failed(seed=2)], width=70)
    assert "0.700 ± 0.000" in found
    assert "(1 failed)" in found
    found = text(print_runs, [record(seed=0), failed(seed=1)])
    assert ["1", "failed"] in [line.split() for line in found.splitlines()]


def test_runs_with_many_tasks_show_the_last_ones_and_say_so(record):
    row = record().rows[-1].__class__
    last = record().rows[-1]
    rows = [row(tuple([0.5] * k), tuple([0.5] * k), {}, {}, {}, last.cost, "") for k in range(1, 31)]
    found = text(print_runs, [record(rows=tuple(rows))])
    assert "after task 30: its last 9 tasks" in found
    assert "30  average" in found


def test_nothing_in_a_value_is_markup():
    assert "[bold]x[/nonsense]" in text(print_mapping, "[red]title", [{"name": "[bold]x[/nonsense]", "n": 1}])


def test_long_values_are_folded_and_lost_nowhere():
    found = text(print_mapping, "t", [{"name": "short", "help": "word " * 60, "path": "x" * 200}])
    assert found.count("word") == 60
    assert found.count("x") == 200


def test_a_store_lists_errors_below_its_table():
    spec = {"stream": {"name": "permuted-tiny-imagenet100-32@1"}, "learner": "online-ewc", "protocol": "stream-level"}
    spec |= {"head": "single", "seed": 0, "network": ["mlp", {}], "grid": [{}], "validation": 0.1, "curve": []}
    spec |= {"references": False}
    entry = {"key": "b" * 40, "spec": spec, "status": "failed", "error": "the loss became nan " * 8}
    found = text(print_store, "s", [entry])
    assert f"\n{'b' * 10} failed: the loss became nan" in found


def made_on(record, *kinds, **about):
    """A run whose nodes were grown on these kinds of machines."""
    rows = tuple(replace(row, machine=kind) for row, kind in zip(record().rows, kinds, strict=True))
    return record(rows=rows, **about)


OLD, NEW = Machine("AVX2", "2.10.0", "x86_64"), Machine("AVX512", "2.13.0", "x86_64")
BOTH = "trained on 2 kinds of machines, whose bits differ: x86_64 AVX2 with torch 2.10.0; x86_64 AVX512 with torch"


@pytest.mark.parametrize("printer", [print_runs, print_comparison])
def test_results_of_two_kinds_of_machines_are_said_to_be_so(printer, record):
    mixed = [made_on(record, OLD, OLD), made_on(record, NEW, NEW, seed=1)]
    resumed = [made_on(record, OLD, NEW)]
    for records in (mixed, resumed):
        assert BOTH in text(printer, records, width=140)


@pytest.mark.parametrize("kinds", [(NEW, NEW), (None, NEW), (None, None)])
def test_one_kind_of_machine_goes_without_saying(kinds, record):
    assert "machine" not in text(print_runs, [made_on(record, *kinds)])
    assert made_on(record, *kinds).to_json()["machines"] == [str(NEW)] * (NEW in kinds)
