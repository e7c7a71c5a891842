"""Who may see what, on real data: test labels change no strict choice; what is shown is what was measured."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from two_task_runs import GRID, ONE, done, nodes, two_tasks

from engram import datasets
from engram.errors import BadSetting
from engram.request import prepare
from engram.store import Store
from engram.streams import stream

WORST_FIRST = {"rate": [0.01, 0.05], "second_rate": [0.001, 0.01], "widths": "12"}


def digits_with_test_labels(seed):
    """The first task of digits against the second, all test labels permuted over both tasks (None: as they are)."""
    data = datasets.load("digits")
    if seed is not None:
        order = torch.randperm(len(data.y_test), generator=torch.Generator().manual_seed(seed))
        data = replace(data, y_test=data.y_test[order], digest=f"permuted {seed}")
    return stream("d5-5a", dataset=data)


def records(tmp_path, seeds, protocol, **settings):
    found = []
    for seed in seeds:
        store = Store(tmp_path / str(seed))
        found.append(done(two_tasks(protocol, digits_with_test_labels(seed), **settings), store))
        store.close()
    return found


def choice(record):
    return record.chosen, record.stop, record.ties, record.parameters_sha256


@pytest.mark.parametrize("start", ["last", "best"])
def test_permuted_test_labels_change_no_strict_choice(start, tmp_path):
    found = records(tmp_path, (None, 1, 2), "realistic", strict=True, start=start, **WORST_FIRST)
    assert [choice(record) for record in found] == [choice(found[0])] * 3
    assert len({record.union for record in found}) == 3
    assert [settings["rate"] for settings in found[0].chosen] == [0.05, 0.01]
    assert found[0].curves[-1].validation == found[1].curves[-1].validation


@pytest.mark.parametrize("protocol", ["realistic", "prescient"])
def test_they_do_change_the_choices_that_are_marked(protocol, tmp_path):
    """Which shows that a strict choice could have changed."""
    found = records(tmp_path, (None, 1), protocol, **WORST_FIRST)
    assert choice(found[0]) != choice(found[1])
    assert all(record.warning for record in found)


def test_a_strict_run_holds_samples_out_and_the_others_share_its_nodes():
    strict, paper, prescient = two_tasks("realistic", strict=True), two_tasks("realistic"), two_tasks("prescient")
    assert strict.validation == paper.validation == prescient.validation == pytest.approx(1 / 12)
    assert [root.key for root in strict.roots] == [root.key for root in paper.roots]
    assert [root.key for root in strict.roots] == [root.key for root in prescient.roots]
    for task in strict.taught:
        assert len(task.validation) > 0
        assert set(task.validation.rows.tolist()).isdisjoint(task.train.rows.tolist())


def test_prescient_works_without_validation_data(tmp_path):
    store = Store(tmp_path)
    record = done(two_tasks("prescient", **{**ONE, "validation": 0}), store)
    store.close()
    assert record.status == "done"
    assert record.curves[-1].validation == ()
    assert record.union == max(record.curves[-1].union)


def test_two_permutations_are_measured_each_under_its_own(tmp_path):
    """DP10-10: the union is both permuted test sets, as large as each other."""
    store = Store(tmp_path)
    record = done(two_tasks("realistic", "dp10-10-digits", **ONE), store)
    store.close()
    assert len(record.accuracy[-1]) == 2
    assert record.accuracy[-1][0] != record.accuracy[-1][1]
    for tasks, union in zip(record.curves[-1].tasks, record.curves[-1].union, strict=True):
        assert union == pytest.approx(sum(tasks) / 2)


def test_a_learner_that_is_told_the_task_is_read_with_its_heads(tmp_path):
    store = Store(tmp_path)
    record = done(two_tasks("realistic", **{**ONE, "heads": "per-task"}), store)
    (last,) = [store.row(node.key) for node in nodes(store) if node.depth == 2]
    store.close()
    assert (record.head, record.rows[-1].single) == ("multi", None)
    assert record.curves[-1].tasks[-1] == last.multi
    assert record.accuracy[-1] == list(record.curves[-1].tasks[record.curves[-1].steps.index(record.stop)])
    assert record.union == record.curves[-1].union[record.curves[-1].steps.index(record.stop)]


def test_a_multi_head_reading_that_was_not_measured_is_refused():
    with pytest.raises(BadSetting, match="'realistic' reads accuracies over all classes"):
        prepare("d5-5a-digits", "finetune", protocol="realistic", head="multi", settings=ONE)


def test_references_take_as_many_steps_as_the_tasks_one_after_another(tmp_path):
    store = Store(tmp_path)
    run = prepare("d5-5a-digits", "finetune", protocol="realistic", references=True, offline="no", settings=ONE)
    done(run, store)
    references = [node for node in nodes(store) if not node.last.every]
    store.close()
    steps = {node.last.tasks: node.last.settings["iterations"] for node in references}
    assert steps == {(0,): GRID["iterations"], (0, 1): 2 * GRID["iterations"], (1,): GRID["iterations"]}
