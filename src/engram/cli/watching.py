"""engram runs --watch: beside commands that train in other processes. It only reads."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING

from engram.cli.output import console, print_json

if TYPE_CHECKING:
    from engram.store import Store

LOOK_SECONDS = 1.0


def look_on(store: Store, as_json: bool) -> None:
    """On a terminal until nothing is being trained any more, or Ctrl-C; elsewhere, and as JSON, one look."""
    from engram.reports.watching import look, print_sight

    if sys.stdout.isatty() and not as_json:
        _until_all_is_quiet(store)
    sight = look(store)
    if as_json:
        print_json(sight)
    else:
        print_sight(console(), sight)


def _until_all_is_quiet(store: Store) -> None:
    from rich.live import Live

    from engram.reports.watching import drawn, look

    sight = look(store)
    with contextlib.suppress(KeyboardInterrupt), Live(console=console(), transient=True, auto_refresh=False) as live:
        while sight["processes"]:
            live.update(drawn(sight), refresh=True)
            time.sleep(LOOK_SECONDS)
            sight = look(store)
