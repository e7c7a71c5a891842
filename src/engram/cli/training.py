"""Commands that train what is settled already: demo, paper, resume; and how they all do it."""

from __future__ import annotations

import shlex
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from engram.cli.model_options import few
from engram.cli.options import (
    STORE,
    Engine,
    Figure,
    Jobs,
    Json,
    Place,
    Planned,
    RayAddress,
    check_engine,
    check_figure,
    check_file,
    check_folder,
    open_store,
    resume_command,
    seed_list,
    show_command,
)
from engram.cli.output import (
    console,
    draw,
    experiment_object,
    labelled,
    leave,
    others_printing,
    print_json,
    print_section,
    say,
    say_more,
    warn,
)
from engram.cli.planning import show_plan
from engram.cli.report import Out, write_report
from engram.cli.run_options import PrecisionOption
from engram.errors import BadSetting, EngramError, Stopped

if TYPE_CHECKING:
    from engram.record import Record
    from engram.runs import Run


def demo(
    jobs: Jobs = 0,
    engine: Engine = "processes",
    ray_address: RayAddress = None,
    store: Place = STORE,
    figure: Figure = "engram-demo.png",
    out: Out = "engram-demo.html",
    as_json: Json = False,
) -> None:
    """Eight learners on real digits: table, figure, page."""
    from engram.demo import demo_runs
    from engram.reports.summary import done

    check_figure(figure)
    check_file("--out", out)
    wanted = demo_runs()
    records = execute(wanted, store, jobs, engine, ray_address)
    if as_json:
        print_json({"runs": [labelled(record) for record in records]})
    else:
        from engram.reports.tables import print_comparison

        print_comparison(console(), records)
    draw(records, figure, as_json)
    if done(records):
        about = write_report(records, {run.key: run.to_json() for run in wanted}, out)
        if not as_json:
            say(f"report: {about['report']}")
    leave(records)


def paper(
    name: Annotated[str, typer.Argument(help="A published result; see 'engram list papers'.")],
    experiment: Annotated[
        str | None,
        typer.Argument(help="One of its tables or figures ('engram list papers NAME'); its page by default."),
    ] = None,
    tier: Annotated[
        str,
        typer.Option(
            "--tier",
            metavar="NAME",
            help="quick: small data; paper: the published sizes; more in 'engram list papers NAME'.",
        ),
    ] = "quick",
    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="NAME", help="Another dataset than the tier's own.")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="ROW,ROW,..",
            help="Only rows with these names, or with these words in them, as 'fc d5-5a'.",
        ),
    ] = None,
    seeds: Annotated[str | None, typer.Option("--seeds", metavar="N,N-N,..", help="The paper's by default.")] = None,
    write: Annotated[
        str, typer.Option("--write", metavar="DIR", help="Put the page, the tables and the figures into this folder.")
    ] = "",
    precision: PrecisionOption = None,
    known: Annotated[bool, typer.Option("--known", help="Train nothing: show the rows that the store has.")] = False,
    jobs: Jobs = 0,
    engine: Engine = "processes",
    ray_address: RayAddress = None,
    store: Place = STORE,
    plan: Planned = False,
    as_json: Json = False,
) -> None:
    """A published result with ours beside it: held or not held."""
    from pathlib import Path

    from engram.papers import paper as find
    from engram.papers.paper import Answer
    from engram.reports.page import write_page

    check_folder("--write", write)
    found = find(name)
    rows = [text for text in (only or "").split(",") if text.strip()]
    if only is not None and not rows:
        raise BadSetting(f"--only '{only}' names no row; name one, or leave it out for all")
    if known:
        open_store(store, must_exist=True)  # before the runs are made, which takes a while
    experiments = found.find(experiment, tier, dataset, rows, precision or "")
    numbers_ = found.seeds_of(tier) if seeds is None else seed_list(seeds)
    with warnings.catch_warnings():
        if known:
            warnings.filterwarnings("ignore", ".* in every worker process")  # there will be none
        asked = [(e, [(question, question.runs(numbers_)) for question in e.questions]) for e in experiments]
    every_run = [run for _, rows in asked for _, wanted in rows for run in wanted]
    tell_stand_ins(every_run)  # runs on the published datasets are others: it may be why none is known
    if plan:
        show_plan(every_run, store, workers(every_run, jobs), as_json)
        return
    if known:
        answers = found.answered(asked, known_records(every_run, store))
    else:
        each = iter(execute(every_run, store, jobs, engine, ray_address))
        answers = [(e, [Answer(q, tuple(next(each) for _ in wanted)) for q, wanted in rows]) for e, rows in asked]
    if as_json:
        print_json({"paper": name, "tier": tier, "experiments": [experiment_object(*both) for both in answers]})
    else:
        for both in answers:
            print_section(both[0].section(both[1]), tier)
        say_more([found.about(tier, dataset), found.caveats(tier, dataset)])
    if write:
        words = ["engram", "paper", name, *([experiment] if experiment else []), "--tier", tier]
        words += ["--dataset", dataset] if dataset else []
        words += ["--only", only] if only else []
        words += ["--precision", precision] if precision else []
        words += ["--known"] if known else []
        command = shlex.join([*words, "--seeds", ",".join(map(str, numbers_)), "--write", write])
        stem = "-".join(filter(None, (name, dataset, precision)))
        page = f"{stem}-{experiment}" if experiment else stem  # a part does not take the place of the whole
        for path in write_page(found.page(answers, tier, dataset, command), Path(write), stem, page):
            if not as_json:
                say(f"wrote {path}")
    leave([record for _, answered in answers for answer in answered for record in answer.records])


def tell_stand_ins(wanted: list[Run]) -> None:
    """Which datasets take the place of published ones that are not on this machine."""
    from engram.streams import stand_ins

    found: dict[str, str] = {}
    for run in wanted:
        found |= stand_ins(run.stream.spec)
    if found:
        listed = ", ".join(f"{own} stands in for {role}" for role, own in found.items())
        warn(f"{listed}; 'engram data fetch NAME' gets a published one, where it can be had")


def known_records(wanted: list[Run], store: str) -> dict[str, Record]:
    """Of the runs for which nothing is left to train, by their keys."""
    from engram.execute.walk import known_record

    place = open_store(store, must_exist=True)
    each = {run.key: known_record(run, place) for run in {run.key: run for run in wanted}.values()}
    found = {key: record for key, record in each.items() if record is not None}
    if not found:
        names = few(list(dict.fromkeys(run.stream.name for run in wanted)), 2)
        raise BadSetting(
            f"none of these runs is in {store}; leave --known out to train them, or see in 'engram report' whether it "
            f"has them on other datasets: asked for was {names}"
        )
    return found


def resume(
    store: Place = STORE,
    jobs: Jobs = 0,
    engine: Engine = "processes",
    ray_address: RayAddress = None,
    as_json: Json = False,
) -> None:
    """Go on with every run that is not done yet."""
    with others_printing():
        wanted, waiting = _unfinished(store)
    for reason, count in waiting.items():
        warn(f"{count} of the runs in {store} cannot go on here and {'waits' if count == 1 else 'wait'}: {reason}")
    records = execute(wanted, store, jobs, engine, ray_address)
    if as_json:
        print_json({"runs": [labelled(record) for record in records], "waiting": sum(waiting.values())})
    elif records:
        from engram.reports.tables import print_comparison

        print_comparison(console(), records)
        for digest in _experiments(wanted, store):
            say(f"'{show_command(digest, store)}' makes the table of the experiment that they are part of")
    elif not waiting:
        say(f"every run in {store} is done")
    leave(records)
    if waiting:
        raise typer.Exit(1)


def _experiments(wanted: list[Run], store: str) -> list[str]:
    """The digests of those that some of the runs are part of."""
    keys = {run.key for run in wanted}
    kept = open_store(store).experiments()
    return [each["key"] for each in kept if any(keys.intersection(row["runs"]) for row in each["rows"])]


def _unfinished(store: str) -> tuple[list[Run], Counter[str]]:
    """The runs that can go on, and why others cannot: data or code of one's own that is not here, or code whose name
    is that of another run's. Those stay as they are, and stop nobody else."""
    from engram.own.specs import own_of
    from engram.runs import Run

    wanted, waiting = [], Counter[str]()
    places: dict[tuple[str, str], str] = {}
    entries = [entry for entry in open_store(store, must_exist=True).runs() if entry["status"] != "done"]
    # What has failed comes last: where it fails again and again, it keeps a name from nobody.
    for entry in sorted(entries, key=lambda entry: entry["status"] == "failed"):
        try:
            own = own_of(entry["spec"])
            _check_places(own, places)
            wanted.append(Run.from_json(entry["spec"]))
            places |= own
        except EngramError as error:
            waiting[str(error)] += 1
    return wanted, waiting


def _check_places(own: dict[tuple[str, str], str], places: dict[tuple[str, str], str]) -> None:
    """Code is looked up by its name, also by workers: two of one name would both be the one that was found last."""
    for (kind, name), place in own.items():
        first = places.get((kind, name), place)
        if first != place:
            raise BadSetting(
                f"the {kind} '{name}' of {place} has the name of that of {first}, whose runs go on first; give "
                "'engram resume' again after them, or the command of the run"
            )


def execute(
    wanted: list[Run], store: str, jobs: int, engine: str = "processes", ray_address: str | None = None
) -> list[Record]:
    """Grow everything, with a bar on a terminal and a gentle stop; the records in the order of the runs."""
    from engram.execute import execute
    from engram.memory import keep_freed
    from engram.reports.bar import Bar
    from engram.runs import record_of

    check_engine(engine, ray_address)
    place, bar = open_store(store), Bar()
    keep_freed()
    try:
        with bar.listening(), others_printing():
            count = jobs if engine == "ray" else workers(wanted, jobs)
            execute(wanted, place, count, bar, engine, ray_address)
    except Stopped:
        raise Stopped(resume_command(store)) from None
    entries = {entry["key"]: entry for entry in place.runs()}
    return [record_of(entries[run.key], place) for run in wanted]


def workers(wanted: list[Run], jobs: int) -> int:
    """As many as were asked for, or one for every core; no more than can be busy."""
    from engram.execute import default_jobs

    return min(jobs or default_jobs(), 64 if _grids(wanted) else max(len(wanted), 1))


def _grids(wanted: list[Run]) -> bool:
    """Whether one run alone can keep several workers busy."""
    return any(run.size() > len(run.stream) for run in wanted)
