"""The page of a store from Python: `engram.report`."""

from __future__ import annotations

import os
from pathlib import Path

from engram.files import write
from engram.reports.web.page import page
from engram.runs import record_of
from engram.store import Store, given


def report(store: Store | str | os.PathLike[str], out: str | os.PathLike[str] = "report.html") -> Path:
    """Write every run of a store as one HTML file that needs no other, and return where it is. `engram report` does
    the same for some of the runs, for an experiment or a paper."""
    with given(store) as place:
        entries = place.runs()
        text = page([record_of(entry, place) for entry in entries], {entry["key"]: entry["spec"] for entry in entries})
    write(Path(out), text.encode())
    return Path(out)
