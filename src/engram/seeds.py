"""Which seeds are meant, on every road: text as 0-4,7, a list of numbers, or how many."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from engram.errors import BadSetting

MOST_SEEDS = 10_000


def seed_list(text: str, option: str = "--seeds") -> list[int]:
    """Each seed once: a run that is counted twice would make results look surer than they are.

    >>> seed_list("0-3,7")
    [0, 1, 2, 3, 7]
    """
    given = f"{option} {text!r}"
    return checked([seed for part in text.split(",") for seed in _seeds(given, part.strip())], given)


def checked(seeds: Iterable[int], given: str) -> list[int]:
    """Whole numbers, each once and not too many; `given` is what an error calls them."""
    listed = list(seeds)
    wrong = next((seed for seed in listed if isinstance(seed, bool) or not isinstance(seed, int)), None)
    if wrong is not None or not listed:
        raise BadSetting(f"{given} is not a list of whole numbers; write it as 0,1,2 or 0-4")
    twice = next((seed for seed, times in Counter(listed).items() if times > 1), None)
    if twice is not None:
        raise BadSetting(f"{given} has the seed {twice} twice; give each seed once")
    if len(listed) > MOST_SEEDS:
        raise BadSetting(f"{given} are {len(listed)} seeds; give at most {MOST_SEEDS}")
    return listed


def _seeds(given: str, part: str) -> Sequence[int]:
    """A seed, or all from one to another."""
    bounds = re.fullmatch(r"(\d+)-(\d+)", part, re.ASCII)
    if bounds and int(bounds[1]) <= int(bounds[2]):
        return range(int(bounds[1]), min(int(bounds[2]), int(bounds[1]) + MOST_SEEDS) + 1)
    try:
        return [int(part)]
    except ValueError:
        raise BadSetting(f"{given} is not a list of whole numbers; write it as 0,1,2 or 0-4") from None
