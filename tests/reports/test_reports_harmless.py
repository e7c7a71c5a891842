from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from engram.reports.harmless import harmless
from engram.reports.listing import print_store
from engram.reports.tables import (
    print_comparison,
    print_mapping,
    print_notes,
    print_rows,
    print_runs,
    print_settings,
    print_wrapped,
)

EVIL = "a\x1b]0;x\x07\x1b[31m\r\nb\x9b1m\x7f\u202ec[bold]"
SHOWN = r"a\x1b]0;x\x07\x1b[31m\r\nb\x9b1m\x7f\u202ec[bold]"


def test_what_steers_a_terminal_is_shown_as_its_escape():
    assert harmless(EVIL) == SHOWN
    assert harmless("\udcff\u2028\u2066\u200f\ufeff\x00\t") == r"\udcff\u2028\u2066\u200f\ufeff\x00\t"


@pytest.mark.parametrize("text", ["naïve ± · ∪ 数字 Ω", "👩‍🔬", r"C:\x1b", "שלום"])
def test_all_other_text_stays_as_it_is(text):
    assert harmless(text) == text


def shown(printer, *what):
    console = Console(file=io.StringIO(), width=400, highlight=False, color_system=None)
    printer(console, *what)
    found = console.file.getvalue()
    assert not set(found) & set("\x1b\x07\r\x9b\x7f\u202e")
    return found


def entry():
    spec = {"stream": {"name": EVIL}, "learner": EVIL, "protocol": "sequential", "head": "single", "seed": 0}
    spec |= {"network": [EVIL, {}], "grid": [{}], "validation": 0.1, "curve": [], "references": False}
    return {"key": "b" * 40, "spec": spec, "status": EVIL, "error": EVIL}


@pytest.mark.parametrize("printer", [print_comparison, print_runs])
def test_names_in_tables_of_runs(record, failed, printer):
    evil = {"stream": EVIL, "learner": EVIL, "network": EVIL, "protocol": EVIL, "warning": EVIL}
    for records in ([record(**evil)], [failed(**evil)], [record(**evil), record(stream=EVIL, learner="b")]):
        assert SHOWN in shown(printer, records)


def test_names_in_every_other_table(record):
    assert shown(print_wrapped, EVIL) == f"{SHOWN}\n"
    assert shown(print_mapping, EVIL, [{EVIL: EVIL}]).count(SHOWN) == 3
    assert shown(print_rows, EVIL, [EVIL], [[EVIL]]).count(SHOWN) == 3
    assert shown(print_store, EVIL, [entry()]).count(SHOWN) == 6
    assert SHOWN in shown(print_settings, record(settings={EVIL: EVIL}, status="failed", error=EVIL))


def test_what_a_learner_notes(record):
    whole = record()
    notes = {EVIL: EVIL, "path": [0, 1], "share": 0.12345, "many": [{"a": 1}], "nothing": None}
    rows = (replace(whole.rows[0], notes=notes), *whole.rows[1:])
    found = shown(print_notes, replace(whole, rows=rows))
    assert found == f"task 1: {SHOWN} {SHOWN} path 0-1 share 0.123\n"
