"""Experiment files: a study as TOML, read with every name checked, and written so that it reads back as the same.

    streams = ["split-digits"]
    learners = ["ewc", "si"]
    seeds = "0-4"
    head = "multi"
    floors = true

    [settings]                      # for every learner that knows them
    epochs = 5

    [settings.ewc]                  # for one learner; several values make rows, or a grid for a protocol that selects
    strength = [10, 100]

Names, values and paths are those of the command line. The digest of an experiment is that of the file which `--save`
writes, so comments and layout do not count.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from engram import toml
from engram.errors import BadSetting, EngramError, UnknownName, of_kind
from engram.learners import LEARNERS, learner_settings
from engram.networks import NETWORKS, network_class
from engram.request import Request
from engram.seeds import seed_list
from engram.settings import Setting, declared, shown
from engram.store import Store
from engram.study import ASKED, BY, Study

NAMES, FLAG, WHOLE, TEXT = "a list of names", "true or false", "a whole number", "text"
KINDS = {
    "streams": NAMES,
    "learners": NAMES,
    "seeds": "text as '0-4' or a list of whole numbers",
    "settings": "a table of settings",
    "floors": FLAG,
    "by": TEXT,
    "tasks": WHOLE,
    "stream_seed": WHOLE,
    "references": FLAG,
    "curve": "a list of whole numbers",
}
KEYS = tuple(dict.fromkeys((*KINDS, *ASKED)))
EXAMPLES = {NAMES: '["one", "two"]', FLAG: "true", WHOLE: "5", TEXT: '"…"', "a list of whole numbers": "[0, 1, 2]"}
DEFAULTS = {f.name: f.default for f in fields(Request) if f.name in ASKED}


@dataclass(frozen=True)
class WrittenStudy:
    """A study and the text that it is kept as: that of its file, or what `--save` would write."""

    study: Study
    text: str
    digest: str

    @staticmethod
    def of(study: Study, text: str | None = None) -> WrittenStudy:
        plain = text_of(study)
        return WrittenStudy(study, text or plain, hashlib.sha256(plain.encode()).hexdigest())

    def keep(self, store: Store) -> None:
        """Write it down beside its runs."""
        rows = [{"label": r.label, "floor": r.floor, "runs": [run.key for run in r.runs]} for r in self.study.rows]
        store.add_experiment(self.digest, self.text, self.study.by, rows)


def read(path: str | os.PathLike[str]) -> WrittenStudy:
    """What a file asks for, every name and kind of value checked; an error names the file and the key."""
    text = toml.read_text(path)
    with naming(path):
        return WrittenStudy.of(_study(toml.parsed(text, path)), text)


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Whatever is wrong in here is wrong in this file."""
    try:
        yield
    except EngramError as error:
        if str(error).startswith(str(path)):
            raise
        raise of_kind(type(error).__name__, f"{path}: {error}") from error


def _study(given: Mapping[str, Any]) -> Study:
    for key, value in given.items():
        if key not in KEYS:
            raise _no_key(key)
        _check_kind(key, value)
    for key in ("streams", "learners"):
        if not given.get(key):
            raise BadSetting(f'{key} names none; write {key} = ["…"]')
    settings = given.get("settings", {})
    seeds = given.get("seeds", [0])
    return Study(
        _listed(given["streams"]),
        _listed(given["learners"]),
        seed_list(seeds, "seeds =") if isinstance(seeds, str) else seeds,
        settings={name: value for name, value in settings.items() if not isinstance(value, dict)},
        own={name: value for name, value in settings.items() if isinstance(value, dict)},
        asked={name: given[name] for name in ASKED if name in given},
        floors=given.get("floors", False),
        by=given.get("by", BY),
    )


def _no_key(key: str) -> EngramError:
    """A setting of any learner or network has a place of its own; another name is none."""
    known = [
        *map(learner_settings, LEARNERS.everything()),
        *(declared(network_class(n)) for n in NETWORKS.everything()),
    ]
    if any(key in settings for settings in known):
        return BadSetting(f"{key} is a setting and no key of an experiment; write it under [settings]")
    return UnknownName("key of an experiment called", key, KEYS)


def _listed(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else names


def _check_kind(key: str, value: Any) -> None:
    kind = KINDS.get(key, TEXT)
    if key == "seeds":
        fits = isinstance(value, str) or _all(value, int)
    elif kind == NAMES:
        fits = isinstance(value, str) or _all(value, str)
    elif kind == "a list of whole numbers":
        fits = _all(value, int)
    else:
        fits = type(value) is {FLAG: bool, WHOLE: int, TEXT: str}.get(kind, dict)
    if not fits:
        example = EXAMPLES.get(kind, '"0-4"' if key == "seeds" else "")
        way_out = f"write {key} = {example}" if example else f"write [{key}] and a line for each"
        raise BadSetting(f"{key} = {value!r} is not {kind}; {way_out}")


def _all(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(type(part) is kind for part in value)


def is_writable(study: Study) -> bool:
    """Whether everything in it has a name that a file can have."""
    things = [*study.streams, *study.learners, *(study.asked.get(name) or "" for name in ("network", "dataset"))]
    return all(isinstance(thing, str) for thing in things)


def text_of(study: Study) -> str:
    """A study as it is written; what is not said has its default."""
    asked = {name: _plain(name, study.asked[name]) for name in ASKED if name in study.asked}
    settings = {name: _setting(study, name, value) for name, value in study.settings.items()}
    own = {key: {name: _setting(study, name, v, key) for name, v in given.items()} for key, given in study.own.items()}
    table = {
        "streams": [_name(stream, "stream") for stream in study.streams],
        "learners": [_name(learner, "learner") for learner in study.learners],
        "seeds": _seeds(list(study.seeds)),
        **({"by": study.by} if study.by != BY else {}),
        **({"floors": True} if study.floors else {}),
        **{name: value for name, value in asked.items() if value not in (None, DEFAULTS[name], [])},
        **({"settings": {**settings, **own}} if settings or own else {}),
    }
    return toml.as_text(table)


def _plain(name: str, value: Any) -> Any:
    if name in ("network", "dataset") and value is not None:
        return _name(value, name)
    return list(value) if name == "curve" else value


def _name(thing: Any, kind: str) -> str:
    if not isinstance(thing, str):
        raise BadSetting(
            f"the {kind} {getattr(thing, '__name__', type(thing).__name__)} is an object of a running program, which "
            "no file can have; name it by its place, as in mine.py:Mine"
        )
    return thing


def _seeds(seeds: list[int]) -> str | list[int]:
    first, last = seeds[0], seeds[-1]
    return f"{first}-{last}" if len(seeds) > 1 and seeds == list(range(first, last + 1)) else seeds


def _setting(study: Study, name: str, value: Any, key: str | None = None) -> Any:
    """A value as the file has it: numbers as numbers, several numbers that are one value as 256-256."""
    known = study.find(name, key)
    if known is None:
        return value
    if isinstance(value, list) and not known.several:
        return [_one(known, name, part) for part in value]
    return _one(known, name, value)


def _one(known: Setting, name: str, value: Any) -> Any:
    found = known.parse(name, value)
    if known.several:
        return list(found)
    return shown(found) if isinstance(found, tuple) else found
