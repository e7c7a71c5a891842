"""Runs for MLflow: an experiment a stream, by its own client into a folder or to a server."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from engram.errors import BadSetting
from engram.exports.tracking import defined_points, title
from engram.extras import need
from engram.record import Record
from engram.reports.summary import done
from engram.reports.tables import written

T = TypeVar("T")
KEY = "engram.key"  # the tag by which a run is known; set when everything else is there
AT_ONCE = 100  # of parameters MLflow takes no more, and this many metrics in any case
LONGEST = 6000  # value of a parameter


def to_mlflow(records: Sequence[Record], place: str) -> str:
    """Tell MLflow of every finished run that it does not have yet. Nothing is told to anybody else."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # folders are what it had first, and need no database
    mlflow = need("mlflow", "tracking")
    uri = place if "://" in place else Path(place).resolve().as_uri()
    try:
        client, new = mlflow.MlflowClient(tracking_uri=uri), 0
        for record in done(records):
            new += _add(record, client, mlflow.entities)
    except mlflow.exceptions.MlflowException as error:
        why = str(error).splitlines()[0]
        raise BadSetting(
            f"--mlflow {place!r} does not take runs ({why}); give a folder or a server's address"
        ) from error
    return f"{new} runs to {place} ({len(done(records)) - new} were there)"


def _add(record: Record, client: Any, entities: Any) -> bool:
    """Whether a run was new."""
    known = client.get_experiment_by_name(record.stream)
    experiment = known.experiment_id if known else client.create_experiment(record.stream)
    if client.search_runs([experiment], f"tags.`{KEY}` = '{record.key}'", max_results=1):
        return False
    run = client.create_run(experiment, run_name=title(record)).info.run_id
    params = [entities.Param(name, value[:LONGEST]) for name, value in _params(record).items()]
    metrics = [entities.Metric(name, value, 0, step) for name, value, step in defined_points(record)]
    for some in _parts(params):
        client.log_batch(run, params=some)
    for some in _parts(metrics):
        client.log_batch(run, metrics=some)
    if record.warning:
        client.set_tag(run, "engram.warning", record.warning)
    client.set_tag(run, KEY, record.key)
    client.set_terminated(run)
    return True


def _params(record: Record) -> dict[str, str]:
    about = {"learner": record.learner, "network": record.network, "protocol": record.protocol, "head": record.head}
    return {**about, "seed": str(record.seed), **{name: written(value) for name, value in record.settings.items()}}


def _parts(things: Sequence[T]) -> Iterator[Sequence[T]]:
    return (things[start : start + AT_ONCE] for start in range(0, len(things), AT_ONCE))
