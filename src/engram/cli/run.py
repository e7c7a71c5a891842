"""The command `engram run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.cli import run_options as asked
from engram.cli.asking import study_of
from engram.cli.options import STORE, Figure, Jobs, Json, Place, Planned, Seeds, check_figure
from engram.cli.output import (
    advise,
    draw,
    leave,
    others_printing,
    print_comparisons,
    print_json,
    print_records,
    runs_object,
    warn,
)
from engram.cli.planning import show_plan
from engram.cli.training import execute, workers

if TYPE_CHECKING:
    from engram.record import Record
    from engram.runs import Run
    from engram.study import Study


def run(
    stream: asked.StreamOption,
    learner: asked.LearnerOption,
    dataset: asked.DatasetOption = None,
    label: asked.LabelOption = None,
    tasks: asked.TasksOption = None,
    settings: asked.SetOption = None,
    network: asked.NetworkOption = None,
    protocol: asked.ProtocolOption = "sequential",
    head: asked.HeadOption = None,
    seeds: Seeds = "0",
    epochs: asked.EpochsOption = None,
    batch: asked.BatchOption = None,
    rate: asked.RateOption = None,
    stream_seed: asked.StreamSeedOption = None,
    curve: asked.CurveOption = "",
    evaluate: asked.EvaluateOption = "all",
    references: asked.ReferencesOption = False,
    offline: asked.OfflineOption = None,
    device: asked.DeviceOption = "cpu",
    precision: asked.PrecisionOption = None,
    floors: asked.FloorsOption = False,
    by: asked.ByOption = None,
    jobs: Jobs = 0,
    store: Place = STORE,
    figure: Figure = "",
    plan: Planned = False,
    as_json: Json = False,
) -> None:
    """Train learners on streams, and compare them."""
    check_figure(figure)
    options = locals()
    with others_printing():
        study = study_of(options)
        alone = _asks_for_one(study) and by is None
        wanted = _runs(study, alone)
    if plan:
        show_plan(wanted, store, workers(wanted, jobs), as_json)
        return
    records = execute(wanted, store, jobs)
    if alone:
        _show_one(records, store, as_json)
    else:
        print_comparisons(study, records, as_json)
    if figure:
        draw(records, figure, as_json)
    leave(records)


def _asks_for_one(study: Study) -> bool:
    """Whether it is one learner on one stream, as it is set: several values of its settings are a protocol's to choose
    from, unless they were written as its own."""
    several = [value for own in study.own.values() for value in own.values() if isinstance(value, list)]
    return len(study.streams) == len(study.learners) == 1 and not study.floors and not several


def _runs(study: Study, alone: bool) -> list[Run]:
    if alone:
        return study.single().runs(study.seeds)
    for note in study.notes:
        warn(note)
    return study.runs


def _show_one(records: list[Record], store: str, as_json: bool) -> None:
    if as_json:
        print_json(runs_object(records))
    else:
        print_records(records, store)
        advise(records)
