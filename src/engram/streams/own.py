"""A stream of one's own: a function that returns a `Stream`, by its place or as it is.

def mirrored(seed=0, tasks=5, share=0.5) -> Stream:      # parameters with defaults are the stream's options
    return engram.from_arrays([...], name="mirrored")
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from engram.core import Stream
from engram.errors import BadData, BadSetting
from engram.own import Origin, Registry
from engram.own.parameters import needs, settings_of, takes
from engram.settings import Setting, resolve

KIND = "own"

Function = Callable[..., Stream]


def _adopt(function: Function) -> tuple[str, Function]:
    if needs(function):
        raise BadSetting(
            f"the stream {function.__name__} wants {', '.join(needs(function))}; give its parameters defaults"
        )
    return function.__name__, function


STREAMS: Registry[Function] = Registry(
    "stream", lambda: {}, inspect.isfunction, "function that returns an engram.core.Stream", _adopt
)


def options_of(name: str) -> dict[str, Setting]:
    """The parameters of a stream of one's own, less the seed, which every stream has."""
    return settings_of(STREAMS[name], but=("seed",))


def make(name: str, seed: int, given: Mapping[str, Any]) -> Stream:
    """Call the function, and name in the spec where it comes from and what it was given."""
    function, options = STREAMS[name], resolve(f"stream '{name}'", options_of(name), given)
    made = function(**options, **({"seed": seed} if takes(function, "seed") else {}))
    if not isinstance(made, Stream):
        raise BadData(f"stream '{name}' returned a {type(made).__name__}; return what engram.from_arrays gives")
    origin = STREAMS.origin(name) or Origin(None, "")
    spec = {
        "kind": KIND,
        "name": made.name if made.name != "arrays" else name,
        "place": origin.place,
        "code": origin.digest,
        "seed": seed,
        "tasks": len(made),
        "options": {key: list(value) if isinstance(value, tuple) else value for key, value in options.items()},
        "made": dict(made.spec),
    }
    return replace(made, spec=spec, _built={})


def rebuild(spec: Mapping[str, Any]) -> Stream:
    """The stream that has this spec, if the code that made it is there and has not changed."""
    if not spec.get("place"):
        raise BadData(f"stream '{spec['name']}' was made by a function of a running program; run that program again")
    made = make(STREAMS.find_again(spec["place"], spec["code"]), spec["seed"], spec["options"])
    if made.spec["made"] != spec["made"]:
        raise BadData(
            f"the data that {spec['place']} returns are not those that stream '{spec['name']}' was made from; restore "
            "them or make a new stream"
        )
    return made
