"""Every run of a store as a pandas DataFrame: `engram.results`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from engram.exports.flat import columns, flat
from engram.extras import need
from engram.runs import record_of
from engram.store import Store, given

if TYPE_CHECKING:
    import pandas


def results(store: Store | str | os.PathLike[str]) -> pandas.DataFrame:
    """One row a run, in the order in which they were asked for: learner, stream, settings, seed, protocol, head, how it
    ended, whether it was chosen by test data, every metric, what it cost, and on which machine and torch."""
    frames = need("pandas", "dataframes")
    with given(store) as place:
        return frames.DataFrame(columns([flat(record_of(entry, place)) for entry in place.runs()]))
