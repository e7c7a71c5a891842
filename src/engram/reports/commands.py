"""The command that makes a run of a store again, as it is typed."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engram import datasets
from engram.learners import learner_settings
from engram.networks import network_class
from engram.protocols import protocol, protocol_class
from engram.reports.tables import written
from engram.runs import settings_of
from engram.settings import Setting, declared
from engram.streams import kinds

Spec = Mapping[str, Any]


def command(specs: Sequence[Spec]) -> str | None:
    """What trains these runs, which differ in their seeds only; None where no command does, because their learner,
    network or stream was made in a running program."""
    spec, stream, own = specs[0], specs[0]["stream"], specs[0].get("own", {})
    if stream["kind"] == "arrays" or (stream["kind"] == "own" and not stream.get("place")):
        return None
    if any(place is None for place, _ in own.values()):
        return None
    words = ["engram", "run", *_stream(stream), "--learner", own.get("learner", [spec["learner"]])[0]]
    network = own.get("network", [spec["network"][0]])[0]
    words += ["--network", network] if network != "mlp" else []
    words += ["--protocol", spec["protocol"]] if spec["protocol"] != "sequential" else []
    words += ["--head", spec["head"], *_measured(spec)]
    words += ["--seeds", _seeds([each["seed"] for each in specs]), *_stream_seed(specs)]
    settings = _settings(spec)
    words += ["--device", settings.pop("device")] if "device" in settings else []
    words += [word for name, value in settings.items() for word in ("--set", f"{name}={written(value)}")]
    return " ".join(shlex.quote(word) for word in words)


def _stream(stream: Spec) -> list[str]:
    """Its name, and its dataset where the name does not say it."""
    if stream["kind"] == "own":
        return [stream["place"]]
    sources = stream["dataset"] if isinstance(stream["dataset"], list) else [stream["dataset"]]
    tasks = _tasks(stream, "tasks" in kinds()[stream["kind"]].options)
    if all(source in datasets.names() for source in sources):
        return [stream["name"], *tasks]
    return [f"{stream['kind']}@{stream['version']}", "--dataset", "+".join(sources), *tasks]


def _tasks(stream: Spec, asked: bool) -> list[str]:
    return ["--tasks", str(stream["tasks"])] if asked else []


def _stream_seed(specs: Sequence[Spec]) -> list[str]:
    """Where it is not each run's own."""
    if all(each["stream"]["seed"] == each["seed"] for each in specs):
        return []
    return ["--stream-seed", str(specs[0]["stream"]["seed"])]


def _measured(spec: Spec) -> list[str]:
    words = ["--curve", "-".join(map(str, spec["curve"]))] if spec["curve"] else []
    words += ["--evaluate", spec["evaluate"]] if "evaluate" in spec else []
    words += ["--references"] if spec["references"] else []
    ideal = spec.get("offline", "")
    if ideal != ("seen" if spec["references"] else ""):
        words += ["--offline", ideal or "no"]
    return words


def _seeds(seeds: Iterable[int]) -> str:
    """
    >>> _seeds([0, 1, 2]), _seeds([4, 7])
    ('0-2', '4,7')
    """
    found = sorted(set(seeds))
    if len(found) > 2 and found == list(range(found[0], found[-1] + 1)):
        return f"{found[0]}-{found[-1]}"
    return ",".join(map(str, found))


def _settings(spec: Spec) -> dict[str, Any]:
    """Those of learner, network, stream and protocol that are not at their defaults."""
    policy = protocol(spec["protocol"], **spec.get("options", {}))
    stream = spec["stream"]
    options = kinds()[stream["kind"]].options if stream["kind"] in kinds() else {}
    known: dict[str, Setting] = {
        **options,
        **learner_settings(spec["learner"]),
        **declared(network_class(spec["network"][0])),
        **declared(protocol_class(spec["protocol"])),
    }
    given = {name: tuple(v) if isinstance(v, list) else v for name, v in stream.get("options", {}).items()}
    asked = {**given, **settings_of(spec, policy)}
    if spec["validation"] != policy.validation and "validation" in known:
        asked["validation"] = spec["validation"]
    if _are_even(asked.get("sizes", ())):
        del asked["sizes"]
    return {name: v for name, v in asked.items() if name not in known or v != known[name].default}


def _are_even(sizes: Sequence[int]) -> bool:
    """Whether these numbers of classes are those that a number of tasks stands for: the larger ones first."""
    return bool(sizes) and max(sizes) - min(sizes) <= 1 and list(sizes) == sorted(sizes, reverse=True)
