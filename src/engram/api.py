"""Engram from Python: `engram.run`, `engram.compare` and `engram.register`."""

from __future__ import annotations

import inspect
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, overload

from engram.core import Learner, Stream
from engram.errors import BadSetting, of_kind
from engram.execute import execute
from engram.experiment import WrittenStudy, is_writable
from engram.learners import LEARNERS
from engram.networks import NETWORKS
from engram.own import Registry
from engram.record import Record
from engram.reports.comparison import Comparison, comparisons
from engram.request import Request
from engram.runs import Run, record_of
from engram.store import Store
from engram.streams import STREAMS
from engram.study import ASKED, BY, Study

T = TypeVar("T", bound=Callable[..., Any])


@overload
def run(
    stream: Stream | str | Callable[..., Stream], learner: str | type[Learner], *, seeds: Iterable[int], **asked: Any
) -> list[Record]: ...
@overload
def run(
    stream: Stream | str | Callable[..., Stream], learner: str | type[Learner], *, seed: int = ..., **asked: Any
) -> Record: ...
def run(
    stream: Stream | str | Callable[..., Stream],
    learner: str | type[Learner],
    *,
    seed: int = 0,
    seeds: Iterable[int] | None = None,
    head: str | None = None,
    protocol: str = "sequential",
    network: str | Callable[..., Any] | None = None,
    store: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    engine: str = "processes",
    ray_address: str | None = None,
    dataset: str | None = None,
    tasks: int | None = None,
    stream_seed: int | None = None,
    curve: Sequence[int] = (),
    references: bool = False,
    offline: str | None = None,
    evaluate: str = "all",
    device: str = "cpu",
    **settings: Any,
) -> Record | list[Record]:
    """Train one learner on one stream and return its record; with several `seeds`, a list of records.

    `stream` is a name ("split-digits", or "split" with a `dataset`), a `Stream`, or a function of your own that returns
    one; `learner` and `network` are names, or classes of your own (any `torch.nn.Module` is a network). Code of your
    own can also be named by its place, as "mas.py:MAS". `settings` are the learner's, the network's, the stream's or
    the protocol's; what is not given has its default.
    `head` is how accuracy is read: "single" (all classes seen; the default) or "multi" (the task is given; the default
    for learners that need it). With a `store` folder everything is kept and a killed run goes on where it was;
    without one a temporary folder is used. `curve` asks for the test accuracy after these numbers of steps of each
    task; `references` trains everything that metrics are measured against: the joint and isolated models of
    intransigence and transfer, and the offline models of Ω. `offline` asks for the latter alone, or for some of them:
    "base" (of the first session), "seen" (also of everything seen, after every session) or "no".
    `evaluate` thins out what is measured: "all" (every task seen after every task), "diagonal" (the task just learned),
    "last" (nothing before the last task) or "every 10"; after the last task everything is measured in any case.
    `jobs` is the number of worker processes (without it, this one works), `device` where networks compute ("cuda",
    "mps", or "auto": whichever is there).
    With `engine="ray"` workers are those of a Ray cluster, by default one for each of its CPUs: that at `ray_address`,
    or at $RAY_ADDRESS, or one that is started on this machine.
    """
    request = Request(
        stream,
        learner,
        head=head,
        protocol=protocol,
        network=network,
        dataset=dataset,
        tasks=tasks,
        stream_seed=stream_seed,
        curve=curve,
        references=references,
        offline=offline,
        evaluate=evaluate,
        device=device,
        settings=settings,
    )
    wanted = [seed] if seeds is None else list(seeds)
    if not wanted:
        raise BadSetting("seeds=[] has none; give at least one")
    if seeds is not None and seed:
        raise BadSetting(f"seed={seed} came with seeds={wanted}; give one of the two")
    records = _records(request.runs(wanted), store, jobs, engine, ray_address)
    failed = next((record for record in records if record.status == "failed"), None)
    if failed is not None:
        raise of_kind(failed.error_kind, str(failed.error))
    return records[0] if seeds is None else records


def compare(
    stream: Stream | str | Callable[..., Stream],
    learners: Iterable[str | type[Learner]] | Mapping[Any, Mapping[str, Any]],
    *,
    seeds: int | Iterable[int] = 5,
    by: str = BY,
    floors: bool = False,
    store: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    engine: str = "processes",
    ray_address: str | None = None,
    **asked: Any,
) -> Comparison:
    """Train several learners on one stream and set them beside each other.

    `learners` are names or classes, or a mapping of them to settings of their own: `{"ewc": {"strength": [10, 100]},
    "si": {}}`. `seeds` are how many, from 0, or a list of them. `by` is the metric that the best row is looked for by;
    with `floors`, finetune, joint and a third stand beside the rows (`engram.floors`). `asked` is all else that
    `engram.run` takes: head, protocol, network, …, and settings for every learner that knows them; several values (a
    list) are a grid for a protocol that selects, and rows of their own for one that does not. What fails is shown as
    failed. In a `store` the comparison is kept as an experiment too, unless some of it are objects of this program.
    """
    given = {name: value for name, value in asked.items() if name not in ASKED}
    own = dict(learners) if isinstance(learners, Mapping) else {}
    study = Study(
        [stream],
        list(learners),
        list(range(seeds)) if isinstance(seeds, int) else list(seeds),
        settings=given,
        own={learner if isinstance(learner, str) else learner.name: settings for learner, settings in own.items()},
        asked={name: value for name, value in asked.items() if name in ASKED},
        floors=floors,
        by=by,
    )
    for note in study.notes:
        warnings.warn(note, stacklevel=2)
    return comparisons(study.rows, _records(study.runs, store, jobs, engine, ray_address, study), by)[0]


def _records(
    runs: Sequence[Run],
    store: str | os.PathLike[str] | None,
    jobs: int | None,
    engine: str,
    ray_address: str | None,
    study: Study | None = None,
) -> list[Record]:
    with tempfile.TemporaryDirectory(prefix="engram-") as temporary:
        place = Store(temporary if store is None else store)
        try:
            if study is not None and is_writable(study):
                WrittenStudy.of(study).keep(place)
            usual = 0 if engine == "ray" else 1
            execute(runs, place, usual if jobs is None else jobs, engine=engine, ray_address=ray_address)
            return [record_of(place.runs(run.key)[0], place) for run in runs]
        finally:
            place.close()


def register(thing: T, kind: str | None = None) -> T:
    """Make a learner, a network or a stream of one's own known by its name, in this process: a decorator for classes.

    A subclass of `Learner` is a learner, a `torch.nn.Module` a network; of a function say which, `kind="network"` (from
    the shape of a sample to a module) or `kind="stream"`.
    """
    registries: dict[str, Registry[Any]] = {"learner": LEARNERS, "network": NETWORKS, "stream": STREAMS}
    if kind is None and not inspect.isfunction(thing):
        kind = "learner" if isinstance(thing, type) and issubclass(thing, Learner) else "network"
    if kind not in registries:
        raise BadSetting(f"register({thing!r}, kind={kind!r}): a function is a network or a stream; say kind='network'")
    registries[kind].name_of(thing)
    return thing
