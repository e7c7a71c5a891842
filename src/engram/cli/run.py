"""The command `engram run`."""

from __future__ import annotations

from engram.cli import run_options as asked
from engram.cli.options import (
    STORE,
    Figure,
    Jobs,
    Json,
    Place,
    Planned,
    Seeds,
    check_figure,
    labelled,
    number,
    numbers,
    pairs,
    seed_list,
)
from engram.cli.output import advise, draw, leave, others_printing, print_json, print_records, runs_object
from engram.cli.planning import show_plan
from engram.cli.training import execute, workers


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
    jobs: Jobs = 0,
    store: Place = STORE,
    figure: Figure = "",
    plan: Planned = False,
    as_json: Json = False,
) -> None:
    """Train one learner on one stream, for one or several seeds."""
    from engram.request import Request

    check_figure(figure)
    shortcuts = {"epochs": epochs, "batch": batch, "rate": rate, "precision": precision}
    given = pairs([*(settings or []), *(f"{name}={value}" for name, value in shortcuts.items() if value is not None)])
    dataset, of_stream = labelled(stream, dataset, label)
    request = Request(
        stream,
        learner,
        head=head,
        protocol=protocol,
        network=network,
        dataset=dataset,
        tasks=number("--tasks", tasks),
        stream_seed=number("--stream-seed", stream_seed),
        curve=numbers("--curve", curve, "-"),
        references=references,
        offline=offline,
        evaluate=evaluate,
        device=device,
        settings={**given, **of_stream},
    )
    with others_printing():
        wanted = request.runs(seed_list(seeds))
    if plan:
        show_plan(wanted, store, workers(wanted, jobs), as_json)
        return
    records = execute(wanted, store, jobs)
    if as_json:
        print_json(runs_object(records))
    else:
        print_records(records, store)
        advise(records)
    if figure:
        draw(records, figure, as_json)
    leave(records)
