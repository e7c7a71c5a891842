"""From a name such as `split-digits@1` and a seed to a stream, and from a stream's spec back to the stream."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from engram import datasets
from engram.core import Dataset, Stream
from engram.datasets.own_file import address
from engram.errors import BadData, BadSetting, DataUnavailable, UnknownName
from engram.own import in_folder, is_place
from engram.readers.reading import SUFFIXES
from engram.settings import Setting, resolve
from engram.streams import ctrl, files, own, two_tasks
from engram.streams.doubts import say_if_large, say_if_shared, say_if_untested
from engram.streams.inputs import CHANGES, check_inputs
from engram.streams.plan import Kind, Plan, assemble
from engram.streams.seeding import SEED
from engram.streams.source import Reference, Source, is_published, open_source
from engram.streams.validation import SHARE

KINDS: dict[str, Kind] = (
    in_folder("engram.streams", lambda value: isinstance(value, Kind)) | two_tasks.KINDS | ctrl.KINDS
)
EXAMPLE = {False: "digits", True: "digits+blobs"}
# A kind may have dashes in its name, so kinds are looked for by name, the longest first.
_KIND = "|".join(map(re.escape, sorted(KINDS, key=len, reverse=True)))
NAME = re.compile(rf"(?P<kind>{_KIND})(?:-(?P<dataset>.+?))?(?:@(?P<version>[^@/.]+))?")
SPEC = ("kind", "version", "name", "dataset", "digest", "seed", "tasks", "options")
OUTSIDE_OPTIONS = ("tasks", "validation", "datasets")  # the spec has its own place for them, or the protocol decides

LATER_OPTIONS = ("normalised", "standardised", "images")


def kinds() -> dict[str, Kind]:
    """Every kind of stream by name, with its options."""
    return dict(KINDS)


def kind_of(name: str) -> Kind | None:
    """The kind of stream that a name such as `d5-5a-mnist@1` begins with; None where there is none."""
    found = NAME.fullmatch(name)
    return KINDS[found["kind"]] if found else None


def options_of(name: str) -> dict[str, Setting]:
    """The options of the stream that a name stands for."""
    if is_own(name):
        return own.options_of(own.STREAMS.name_of(name))
    if is_files(name):
        return {**files.OPTIONS, "validation": SHARE}
    kind = kind_of(name)
    return dict(kind.options) if kind else {}


def is_own(name: Any) -> bool:
    """Whether this is a function of a user's own, its place or the name it is registered by."""
    return callable(name) or name in own.STREAMS.users or (is_place(str(name)) and kind_of(str(name)) is None)


def is_files(name: Any) -> bool:
    """Whether this is a folder of files, which no kind of stream is called by."""
    return files.is_folder(name) and (os.sep in os.fspath(name) or kind_of(os.fspath(name)) is None)


def stream(
    name: str | Callable[..., Stream],
    seed: int = 0,
    dataset: Reference | Sequence[Reference] | None = None,
    tasks: int | None = None,
    **options: Any,
) -> Stream:
    """A stream by its kind and dataset: `stream("split-digits")` or `stream("split", dataset="digits")`.

    A dataset is a name, the path of an .npz file or a `Dataset`; `concat` takes several, joined by "+" or in a list.
    `tasks` and the other options are those of the kind, see `kinds()`. The same name, seed and options give the same
    bytes everywhere. A function of your own, or its place such as "streams.py:rotated", is called with the options.
    A folder is a stream of the files in it, see `from_files`.
    """
    if is_own(name):
        given = {"dataset": dataset, "tasks": tasks, **options}
        given = {key: value for key, value in given.items() if value is not None}
        return own.make(own.STREAMS.name_of(name), SEED.parse("seed", seed), given)
    if is_files(name) and dataset is None:
        return files.from_files(str(name), seed=SEED.parse("seed", seed), tasks=tasks, **options)
    kind, dataset, version = _read_name(str(name), dataset)
    if tasks is not None and "tasks" not in kind.options:
        fewer = "middle=N leaves some out" if "middle" in kind.options else "leave it out"
        raise BadSetting(f"tasks={tasks} is not possible: stream '{kind.name}' says itself which tasks it has; {fewer}")
    given = options if tasks is None else {"tasks": tasks, **options}
    values = resolve(f"stream '{kind.name}'", kind.options, given)
    references = _references(kind, dataset, values)
    sources = [open_source(reference) for reference in references]
    for source in sources:
        _say_doubts(source)
    seed, newest = SEED.parse("seed", seed), _version(str(name), kind, sources, version)
    if all(map(is_published, references)):
        found = tuple(source.dataset for source in sources)
        return _made_once(kind.name, tuple(references), found, seed, tuple(values.items()), newest)
    return _make(kind, sources, seed, values, newest)


@lru_cache(maxsize=16)
def _made_once(
    kind: str, references: Sequence[str], _: Sequence[Dataset], seed: int, values: Sequence[Any], version: int
) -> Stream:
    """One stream for all rows of a table that ask for it, as long as its datasets are what they were: these are kept in
    memory anyway, those of a user's own are not."""
    return _make(KINDS[kind], [open_source(reference) for reference in references], seed, dict(values), version)


def rebuild(spec: Mapping[str, Any]) -> Stream:
    """The stream that has this spec, in another process or on another day; refuses a dataset that has changed."""
    if spec.get("kind") == own.KIND:
        return own.rebuild(spec)
    if spec.get("kind") == files.KIND:
        return files.rebuild(spec)
    if spec.get("kind") == "arrays":
        raise BadData(f"stream '{spec.get('name')}' was made from arrays in memory; make it again with from_arrays")
    missing = [part for part in SPEC if part not in spec]
    if missing:
        raise BadData(f"this is not a stream's spec, it lacks {', '.join(missing)}; give the spec of a stream as it is")
    kind, _, version = _read_name(f"{spec['kind']}@{spec['version']}", None)
    sources = [open_source(reference) for reference in _references(kind, spec["dataset"], {})]
    _check_digests(spec, sources)
    given = {"tasks": spec["tasks"], **spec["options"]} if "tasks" in kind.options else spec["options"]
    values = resolve(f"stream '{kind.name}'", kind.options, given)
    return _make(kind, sources, spec["seed"], values, _version(spec["name"], kind, sources, version))


def _make(kind: Kind, sources: Sequence[Source], seed: int, values: Mapping[str, Any], version: int) -> Stream:
    if version > kind.version:
        sources = [source.without_shared() for source in sources]
    plan = kind.plan(sources, seed, values)
    inputs = {name: values[name] for name in CHANGES if name in values}
    check_inputs(inputs)
    parts = [replace(part, **inputs) for part in plan.parts]
    return assemble(parts, _spec(kind, sources, seed, plan, version), values.get("validation"), _class_names(sources))


def _version(name: str, kind: Kind, sources: Sequence[Source], asked: str | None) -> int:
    """The version that was asked for, or the newest. Where a dataset has test samples that are training samples too
    there is one more, without them; the one before it stays as it was, for runs that have it."""
    known = [kind.version, kind.version + 1] if any(source.dataset.in_both for source in sources) else [kind.version]
    if asked not in (None, *map(str, known)):
        raise BadSetting(f"stream '{name}' has no version {asked}; known versions: {', '.join(map(str, known))}")
    return known[-1] if asked is None else int(asked)


def _say_doubts(source: Source) -> None:
    """What there is to say of data that the catalogue does not know."""
    if source.reference in datasets.names():
        return
    data = source.dataset
    if not data.in_both:
        say_if_shared(data)
    learned, tested = ([data.classes[c] for c in y.unique().tolist()] for y in (data.y_train, data.y_test))
    say_if_untested(learned, tested, data.name)
    for part, x in (("x_train", data.x_train), ("x_test", data.x_test)):
        say_if_large(x, f"{data.name}: {part}")


def _check_digests(spec: Mapping[str, Any], sources: Sequence[Source]) -> None:
    expected = spec["digest"] if isinstance(spec["digest"], list) else [spec["digest"]]
    for source, digest in zip(sources, expected, strict=True):
        if source.dataset.digest != digest:
            raise BadData(
                f"the dataset {source.reference} is not the one that stream '{spec['name']}' was made from: "
                f"its digest is {source.dataset.digest} and was {digest}; restore it or make a new stream"
            )


def _read_name(name: str, dataset: Any) -> tuple[Kind, Any, str | None]:
    """The kind, and the dataset and the version if the name has them."""
    found = NAME.fullmatch(str(name))
    if found is None:
        _refuse_path(str(name))
        raise UnknownName("stream", name, _near(str(name)) or KINDS)
    kind = KINDS[found["kind"]]
    if found["dataset"] and dataset is not None:
        raise BadSetting(f"stream '{name}' names its dataset already; leave dataset= out or call it '{kind.name}'")
    return kind, found["dataset"] or dataset, found["version"]


def _refuse_path(name: str) -> None:
    """A file of samples does not say what its tasks are."""
    path, _ = address(name)
    if os.sep not in name and path.suffix.lower() not in SUFFIXES:
        return
    if os.path.exists(path):
        raise BadSetting(
            f"{name} has samples, and a stream has tasks; 'split-{name}' makes one, with a few classes a task, and "
            "'engram list streams' has other kinds"
        )
    raise DataUnavailable(f"there is no file or folder {path}; give the path of an existing one, or a stream's name")


def _near(name: str) -> list[str]:
    """What a misspelt name may have meant; all kinds times all datasets would be too long a list to show."""
    short = [f"{kind.name}-{known}" for kind in KINDS.values() if not kind.many for known in datasets.names()]
    return difflib.get_close_matches(name, [*KINDS, *short], n=1, cutoff=0.5)


def _references(kind: Kind, dataset: Any, values: Mapping[str, Any]) -> list[Any]:
    """What was given as dataset or datasets, one by one. `open_source` says what is wrong with each."""
    usual = kind.options["datasets"].default if "datasets" in kind.options else ""
    chosen = values.get("datasets", usual)
    if dataset is not None and chosen != usual:
        raise BadSetting(f"datasets={chosen} came with another dataset; give only one of the two")
    given = chosen if dataset is None else dataset
    if isinstance(given, str) and not given:
        if kind.choose is not None:
            raise BadSetting(f"stream '{kind.name}' is made of datasets; name them, or say datasets=available")
        raise BadSetting(
            f"stream '{kind.name}' needs a dataset; name one, for example '{kind.name}-{EXAMPLE[kind.many]}'"
        )
    if kind.many and isinstance(given, str) and "" in given.split("+"):
        raise BadSetting(f"'{given}' has an empty name beside a +; name a dataset in every place")
    if kind.choose is not None and isinstance(given, str):
        return kind.choose(given)
    if kind.many and isinstance(given, str):
        return given.split("+")
    return list(given) if kind.many and isinstance(given, (list, tuple)) else [given]


def _spec(kind: Kind, sources: Sequence[Source], seed: int, plan: Plan, version: int) -> dict[str, Any]:
    """Plain JSON that defines every byte, given the share that the protocol holds out for validation."""
    references, digests = [s.reference for s in sources], [s.dataset.digest for s in sources]
    return {
        "kind": kind.name,
        "version": version,
        "name": f"{kind.name}-{'+'.join(s.name for s in sources)}@{version}",
        "dataset": references if kind.many else references[0],
        "digest": digests if kind.many else digests[0],
        "seed": seed,
        "tasks": len(plan.parts),
        "options": {n: _plain(v) for n, v in plan.options.items() if _is_in_spec(kind, n, v)},
        **plan.marks,
    }


def _is_in_spec(kind: Kind, name: str, value: Any) -> bool:
    """Not where an option came later than the first streams and does nothing: keys stay as they were."""
    idle = name in LATER_OPTIONS and value == kind.options[name].default
    return name not in OUTSIDE_OPTIONS and not idle


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _class_names(sources: Sequence[Source]) -> tuple[str, ...]:
    if len(sources) == 1:
        return tuple(sources[0].dataset.classes)
    return tuple(f"{source.name} {name}" for source in sources for name in source.dataset.classes)


def stand_ins(spec: Mapping[str, Any]) -> dict[str, str]:
    """By the name of a published dataset what takes its place in a stream, from the stream's spec."""
    kind, found = kinds().get(spec.get("kind", "")), spec.get("dataset", ())
    if kind is None or len(kind.roles) != len(found):
        return {}
    return {role: name for role, name in zip(kind.roles, found, strict=True) if role != name}
