"""The command `engram run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from engram.cli import run_options as asked
from engram.cli.asking import CommandLine, what_is_asked
from engram.cli.options import (
    STORE,
    Engine,
    Figure,
    Jobs,
    Json,
    Place,
    Planned,
    RayAddress,
    Seeds,
    check_figure,
    show_command,
)
from engram.cli.output import (
    advise,
    draw,
    leave,
    others_printing,
    print_comparisons,
    print_json,
    print_records,
    runs_object,
    say,
)
from engram.cli.planning import show_plan
from engram.cli.training import execute, workers

if TYPE_CHECKING:
    from engram.record import Record


def run(
    ctx: typer.Context,
    stream: asked.StreamOption,
    learner: asked.LearnerOption = None,
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
    save: asked.SaveOption = "",
    jobs: Jobs = 0,
    engine: Engine = "processes",
    ray_address: RayAddress = None,
    store: Place = STORE,
    figure: Figure = "",
    plan: Planned = False,
    as_json: Json = False,
) -> None:
    """Train learners on streams, and compare them."""
    check_figure(figure)
    with others_printing():
        found = what_is_asked(ctx)
    if save:
        found.save(save)
    if plan:
        show_plan(found.runs, store, workers(found.runs, jobs), as_json)
        return
    kept = found.keep(store)
    records = execute(found.runs, store, jobs, engine, ray_address)
    _show(found, records, kept, store, as_json)
    if figure:
        draw(records, figure, as_json)
    leave(records)


def _show(found: CommandLine, records: list[Record], kept: str, store: str, as_json: bool) -> None:
    if not found.alone:
        from engram.reports.comparison import comparisons

        print_comparisons(comparisons(found.study.rows, records, found.study.by), kept, as_json)
    elif as_json:
        print_json(runs_object(records))
    else:
        print_records(records, store)
        advise(records)
    if kept and not as_json:
        say(f"kept in {store} as experiment {kept[:10]}: '{show_command(kept, store)}' makes this table again")
