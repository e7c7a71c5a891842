"""Runs in TensorBoard and MLflow, read back by their own readers."""

from __future__ import annotations

import warnings

import pytest
from made_up_records import made_up, made_up_failure

from engram.errors import BadSetting
from engram.exports.tracking import defined_points, plain_name

RECORDS = [made_up(), made_up((0.4, 0.8), learner="../si", seed=1, key="b" * 40), made_up_failure(key="c" * 40)]


def test_points_are_accuracies_by_task_and_metrics_at_the_end():
    found = defined_points(RECORDS[0])
    assert ("accuracy/task_1", 1.0, 1) in found
    assert [(p.value, p.step) for p in found if p.name == "accuracy/average"] == [(1.0, 1), (pytest.approx(0.7), 2)]
    assert ("metric/forgetting_rwalk", 0.5, 2) in found
    assert not [p for p in found if p.name == "metric/intransigence"]


@pytest.mark.parametrize("name, plain", [("../../etc", "etc"), ("mine.py:MAS", "mine.py_MAS"), ("//", "unnamed")])
def test_names_cannot_leave_their_folder(name, plain):
    assert plain_name(name) == plain


def test_tensorboard_reads_what_was_written_and_nothing_is_written_twice(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from engram.exports.tensorboard import to_tensorboard

    assert to_tensorboard(RECORDS, tmp_path).startswith("2 runs to")
    before = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert "(2 were there)" in to_tensorboard(RECORDS, tmp_path)
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == before
    (place,) = (path.parent for path in before if "si-seed1-" in str(path))
    assert place == tmp_path / "split-digits@1" / "si-seed1-bbbbbbbbbb"
    read = EventAccumulator(str(place)).Reload()
    assert [(e.step, round(e.value, 6)) for e in read.Scalars("accuracy/average")] == [(1, 1.0), (2, 0.6)]


def test_mlflow_reads_what_was_written_and_nothing_is_written_twice(tmp_path, monkeypatch):
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of MLflow's own imports
        import mlflow

    from engram.exports.mlflow import to_mlflow

    assert to_mlflow(RECORDS, str(tmp_path / "ml")).startswith("2 runs to")
    assert "(2 were there)" in to_mlflow(RECORDS, str(tmp_path / "ml"))
    client = mlflow.MlflowClient(tracking_uri=(tmp_path / "ml").as_uri())
    experiment = client.get_experiment_by_name("split-digits@1")
    runs = {run.data.params["learner"]: run.data for run in client.search_runs([experiment.experiment_id])}
    assert runs["ewc"].params["widths"] == "256,256"
    assert runs["../si"].metrics["accuracy/average"] == pytest.approx(0.6)
    with pytest.raises(BadSetting, match="give a folder or a server's address"):
        to_mlflow(RECORDS, "nowhere://x")
