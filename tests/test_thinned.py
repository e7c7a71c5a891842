"""Measuring less changes no bits and no choice; what was measured is what the whole record has."""

from __future__ import annotations

import math

import pytest

import engram
from engram.errors import BadSetting
from engram.execute import execute
from engram.request import prepare
from engram.runs import record_of

SMALL = {"widths": "12-10", "batch": 96}


@pytest.fixture
def record(store):
    def record(learner="finetune", settings=None, **asked):
        run = prepare("split-digits", learner, settings={**SMALL, **(settings or {})}, **asked)
        execute([run], store)
        return record_of(store.runs(run.key)[0], store)

    return record


MEASURED = {  # before the last task: after which task (from 0) which one
    "diagonal": [(0, 0), (1, 1), (2, 2), (3, 3)],
    "last": [],
    "every 2": [(1, 0), (1, 1), (3, 0), (3, 1), (3, 2), (3, 3)],
}


@pytest.mark.parametrize("evaluate", MEASURED)
@pytest.mark.parametrize("learner, head", [("finetune", "single"), ("finetune", "multi"), ("new-head", "multi")])
def test_what_is_measured_is_as_if_all_were(learner, head, evaluate, record):
    whole, thin = record(learner, head=head), record(learner, head=head, evaluate=evaluate)
    assert (thin.evaluate, thin.parameters_sha256) == (evaluate, whole.parameters_sha256)
    for k, (line, found) in enumerate(zip(whole.accuracy, thin.accuracy, strict=True)):
        expected = [v if k == 4 or (k, t) in MEASURED[evaluate] else math.nan for t, v in enumerate(line)]
        assert found == pytest.approx(expected, abs=0, nan_ok=True)
    assert thin.per_class[-1] == whole.per_class[-1]
    assert thin.union == whole.union


def test_metrics_that_need_what_was_not_measured_are_not_defined(record):
    whole, last, diagonal = (record(evaluate=e).metrics() for e in ("all", "last", "diagonal"))
    assert last["average_accuracy"] == diagonal["average_accuracy"] == whole["average_accuracy"]
    assert last["union_accuracy"] == whole["union_accuracy"]
    assert diagonal["forgetting_ctrl"] == whole["forgetting_ctrl"]
    assert math.isnan(last["forgetting_ctrl"])
    assert math.isnan(diagonal["forgetting_rwalk"])


@pytest.mark.parametrize("protocol", ["task-level", "stream-level"])
@pytest.mark.parametrize("head", ["single", "multi"])
def test_the_same_settings_are_chosen(protocol, head, record):
    asked = {"learner": "finetune", "head": head, "protocol": protocol, "settings": {"rate": [1e-4, 0.003, 0.1]}}
    whole = record(**asked)
    assert whole.chosen[-1]["rate"] != 1e-4
    for evaluate in MEASURED:
        assert record(**asked, evaluate=evaluate).chosen == whole.chosen


def test_runs_that_measure_alike_share_their_nodes_and_no_others(store):
    runs = [prepare("split-digits", "finetune", settings=SMALL, evaluate=e) for e in ("all", "last", "every 9")]
    execute(runs, store)
    paths = [store.runs(run.key)[0]["result"]["path"] for run in runs]
    assert len({run.key for run in runs}) == 3
    assert paths[1] == paths[2]
    assert not set(paths[0]) & set(paths[1])


def test_a_row_holds_only_what_was_measured(store):
    run = prepare("split-digits", "finetune", settings=SMALL, evaluate="last")
    execute([run], store)
    rows = [store.row(key) for key in store.runs(run.key)[0]["result"]["path"]]
    assert [(row.single, row.multi, row.places) for row in rows[:-1]] == [((), (), ())] * 4
    assert [len(rows[-1].multi), rows[-1].places] == [5, None]


def test_from_python():
    record = engram.run("split-digits", "finetune", evaluate="every 2", **SMALL)
    assert [math.isnan(line[0]) for line in record.accuracy] == [True, False, True, False, False]
    with pytest.raises(BadSetting, match="every N"):
        engram.run("split-digits", "finetune", evaluate="sometimes", **SMALL)
