"""Prescient and realistic runs on the tree: the first task is learned once, whoever asks and however often."""

from __future__ import annotations

import json

import pytest
from two_task_runs import GRID, done, first_nodes, nodes, second_nodes, two_tasks

from engram.execute import execute
from engram.protocols import select_prescient, select_realistic
from engram.runs import Run, record_of
from engram.store import Store

KINDS = {"prescient": ("prescient", {}), "realistic": ("realistic", {}), "strict": ("realistic", {"strict": True})}


def run_of(kind):
    name, settings = KINDS[kind]
    return two_tasks(name, **settings)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Everything was tried, then both realistic selections were made."""
    store = Store(tmp_path_factory.mktemp("store"))
    execute([run_of(kind) for kind in KINDS], store)
    yield store
    store.close()


@pytest.fixture(scope="module")
def realistic_first(tmp_path_factory):
    """The nodes grown after a realistic run, and after a prescient one that followed."""
    store, counts = Store(tmp_path_factory.mktemp("realistic")), []
    for kind in ("realistic", "prescient"):
        done(run_of(kind), store)
        counts.append((len(first_nodes(store)), len(second_nodes(store))))
    yield store, counts
    store.close()


def record(kind, store):
    return record_of(store.runs(run_of(kind).key)[0], store)


def test_everything_is_tried_once_and_the_realistic_runs_add_nothing(store):
    assert (len(first_nodes(store)), len(second_nodes(store))) == (4, 12)
    assert [store.times_grown(node.key) for node in nodes(store)] == [1] * 16
    assert [entry["status"] for entry in store.runs()] == ["done"] * 3
    grown = [len(entry["result"]["grown"]) for entry in store.runs()]
    assert grown == [run_of(kind).size() for kind in KINDS] == [16, 7, 7]


def test_the_second_rates_share_the_first_task(store):
    firsts, seconds = first_nodes(store), second_nodes(store)
    assert {node.parent.key for node in seconds} == {node.key for node in firsts}
    for first in firsts:
        rates = [node.last.settings["rate"] for node in seconds if node.parent.key == first.key]
        assert sorted(rates, reverse=True) == GRID["second_rate"]


def test_a_realistic_run_grows_seven_and_a_prescient_one_the_other_nine(realistic_first):
    assert realistic_first[1] == [(4, 3), (4, 12)]


def test_the_first_task_is_not_learned_again_by_a_later_run(realistic_first):
    store, _ = realistic_first
    assert [store.times_grown(node.key) for node in nodes(store)] == [1] * 16


def test_the_order_of_the_runs_changes_no_result(store, realistic_first):
    other, _ = realistic_first
    for kind in ("realistic", "prescient"):
        here, there = (where.runs(run_of(kind).key)[0]["result"] for where in (store, other))
        assert {**here, "grown": None} == {**there, "grown": None}


def test_another_second_rate_costs_one_node_for_each_beginning(tmp_path):
    store = Store(tmp_path)
    execute([two_tasks("prescient", second_rate=rates) for rates in (0.01, [0.01, 0.02])], store)
    assert (len(first_nodes(store)), len(second_nodes(store))) == (4, 8)
    assert {store.times_grown(node.key) for node in nodes(store)} == {1}
    store.close()


def test_what_others_still_need_stays_when_room_is_made(tmp_path, monkeypatch):
    """However little room there is, a run that is over takes no beginning away from one that goes on."""
    monkeypatch.setattr("engram.execute.tidying.KEEP_BYTES", -1)
    store = Store(tmp_path)
    execute([two_tasks(name, widths="12", second_rate=0.01) for name in ("realistic", "prescient")], store)
    assert [store.times_grown(node.key) for node in nodes(store)] == [1] * 4
    store.close()


@pytest.mark.parametrize("kind", KINDS)
def test_rates_that_diverge_are_passed_over(kind, tmp_path):
    name, settings = KINDS[kind]
    store = Store(tmp_path)
    rates = {"rate": [1e30, 0.05], "second_rate": [1e30, 0.01], "widths": "12", "iterations": 10}
    found = done(two_tasks(name, **rates, **settings), store)
    store.close()
    assert (found.status, [chosen["rate"] for chosen in found.chosen]) == ("done", [0.05, 0.01])


def recorded(store):
    """The curves that were measured, in the order of the grid, as anybody could hand them to a selection."""
    runs = [_recorded(store, node) for node in second_nodes(store)]
    order = {(12,): 0, (10,): 1}
    return sorted(runs, key=lambda run: (order[run["topology"]], -run["first_rate"], -run["second_rate"]))


def _recorded(store, node):
    first, second = store.row(node.parent.key).curves["single"], store.row(node.key).curves["single"]
    return {
        "topology": node.network.settings["widths"],
        "first_rate": node.path[0].settings["rate"],
        "second_rate": node.path[1].settings["rate"],
        "d1": first.accuracy,
        "d2": second.accuracy,
        "union": second.union,
        "d1_validation": first.validation,
        "d2_validation": second.validation,
        "key": node.key,
        "steps": second.steps,
    }


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_is_what_the_selection_keeps_of_the_recorded_curves(kind, store):
    runs = recorded(store)
    choice = select_prescient(runs) if kind == "prescient" else select_realistic(runs, strict=kind == "strict")
    found = record(kind, store)
    assert store.runs(found.key)[0]["result"]["path"][-1] == runs[choice.run]["key"]
    assert found.stop == runs[choice.run]["steps"][choice.stop]
    assert found.metrics()["union_accuracy"] == choice.value
    assert found.chosen[-1]["rate"] == runs[choice.run]["second_rate"]
    assert found.chosen[0]["rate"] == runs[choice.run]["first_rate"]
    assert tuple(found.chosen[-1]["widths"]) == runs[choice.run]["topology"]


def test_prescient_is_at_least_realistic(store):
    values = {kind: record(kind, store).union for kind in KINDS}
    assert values["prescient"] >= max(values.values())
    assert values["prescient"] > values["strict"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_row_is_the_one_at_the_stop(kind, store):
    found = record(kind, store)
    curve, row = found.curves[-1], found.rows[-1]
    assert curve.steps == (0, 10, 20, 30, 40)
    moment = curve.steps.index(found.stop)
    assert found.accuracy[-1] == list(curve.tasks[moment]) == list(row.single)
    assert found.metrics()["union_accuracy"] == found.union == curve.union[moment]
    assert (row.per_class, row.validation) == ({}, {})
    assert found.curves[0].tasks[-1] == found.rows[0].single  # the first task is measured at its end
    assert len(found.accuracy[0]) == 1


def test_a_record_shows_its_stop_its_ties_and_its_warning(store):
    shown = {kind: json.loads(json.dumps(record(kind, store).to_json())) for kind in KINDS}
    assert {kind: bool(found["warning"]) for kind, found in shown.items()} == {
        "prescient": True,
        "realistic": True,
        "strict": False,
    }
    assert all(found["stop"] in (0, 10, 20, 30, 40) and found["ties"] >= 0 for found in shown.values())
    assert record("prescient", store).settings["second_rate"] == tuple(GRID["second_rate"])


def test_ties_are_in_the_record(tmp_path):
    """With a rate this small nothing is ever learned, so all second rates are the same."""
    store = Store(tmp_path)
    tiny = {"rate": 0.05, "widths": "12", "momentum": 0, "second_rate": [1e-30, 1e-29, 1e-28]}
    found = done(two_tasks("realistic", **tiny), store)
    store.close()
    assert (found.ties, found.stop, found.chosen[-1]["rate"]) == (2, 0, 1e-30)


def test_a_run_that_went_through_json_has_its_key_and_its_policy():
    for kind in KINDS:
        run = run_of(kind)
        again = Run.from_json(json.loads(json.dumps(run.to_json())))
        assert (again.key, again.size(), again.policy.sees) == (run.key, run.size(), run.policy.sees)
        assert again.policy.second_rate == run.policy.second_rate
        assert [root.key for root in again.roots] == [root.key for root in run.roots]
    assert len({run_of(kind).key for kind in KINDS}) == 3


@pytest.mark.parametrize("learner", ["ewc", "si", "gem", "rwalk"])
def test_other_learners_can_be_selected_too(learner, tmp_path):
    store = Store(tmp_path)
    small = {"iterations": 12, "every": 6, "widths": "12", "rate": 0.05, "second_rate": [0.01, 0.001]}
    found = done(two_tasks("realistic", "d9-1a-digits", learner, **small), store)
    store.close()
    assert (found.status, found.stop in (0, 6, 12)) == ("done", True)
