"""A store of an earlier format opens with the numbers it had; nothing of it is lost on the way."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path

import pytest

from engram import formats
from engram.database import Database
from engram.errors import StoreTrouble
from engram.runs import record_of
from engram.store import Store

ASSETS = Path(__file__).parent / "assets"
EXPECTED = {version: json.loads((ASSETS / f"store-format-{version}.json").read_text()) for version in (1, 2)}


@pytest.fixture(params=[1])
def version(request):
    return request.param


@pytest.fixture
def old(tmp_path, version):
    """The folder of a store of an earlier format: ridge, finetune with references, and a run that failed."""
    (tmp_path / "store.db").write_bytes(gzip.decompress((ASSETS / f"store-format-{version}.db.gz").read_bytes()))
    return tmp_path


def by_hand(folder, query, *values):
    with sqlite3.connect(folder / "store.db") as connection:
        found = connection.execute(query, values).fetchall()
    connection.close()
    return found


def shown(folder, version=1):
    store = Store(folder)
    try:
        records = [record_of(entry, store).to_json() for entry in store.runs()]
    finally:
        store.close()
    return {record["key"]: {name: record[name] for name in EXPECTED[version][record["key"]]} for record in records}


@pytest.mark.parametrize("version", EXPECTED, indirect=True)
def test_runs_of_earlier_formats_are_shown_with_the_same_numbers(old, version):
    assert by_hand(old, "PRAGMA user_version") == [(version,)]
    assert shown(old, version) == EXPECTED[version]
    assert by_hand(old, "PRAGMA user_version") == [(formats.VERSION,)]
    assert shown(old, version) == EXPECTED[version]


@pytest.mark.parametrize("version", [2], indirect=True)
def test_what_is_in_a_store_of_format_2_stays_as_it_is_and_experiments_can_be_added(old, version):
    before = [by_hand(old, f"SELECT * FROM {table} ORDER BY rowid") for table in ("nodes", "runs")]
    store = Store(old)
    store.add_experiment("e" * 64, "text", "average_accuracy", [{"label": "ewc", "floor": False, "runs": ["a"]}])
    assert [each["key"] for each in store.experiments()] == ["e" * 64]
    store.close()
    assert [by_hand(old, f"SELECT * FROM {table} ORDER BY rowid") for table in ("nodes", "runs")] == before


@pytest.mark.parametrize("version", EXPECTED, indirect=True)
def test_every_row_has_a_digest_and_is_there(old):
    specs = by_hand(old, "SELECT key, spec, row, error, grown FROM nodes ORDER BY key")
    numbers = by_hand(old, "SELECT number, key FROM runs ORDER BY number")
    Store(old).close()
    assert by_hand(old, "SELECT key, spec, row, error, grown FROM nodes ORDER BY key") == specs
    assert by_hand(old, "SELECT count(*) FROM nodes WHERE sha256 IS NULL") == [(0,)]
    assert by_hand(old, "SELECT number, key FROM runs ORDER BY number") == numbers
    assert len(numbers) == 3


def test_processes_that_open_an_old_store_at_once_migrate_it_once(old):
    first = Database(old / "store.db")
    with first.transaction():
        assert formats._version(first) == 1
        formats._make(first, 1)
        formats._make(first, formats._version(first))  # what the second finds when its turn comes
    first.close()
    assert shown(old) == EXPECTED[1]


@pytest.mark.parametrize(
    "table, column, value",
    [
        ("runs", "spec", "{}"),
        ("runs", "spec", "[]"),
        ("runs", "spec", "{"),
        ("runs", "result", "null"),
        ("runs", "result", "{}"),
        ("runs", "status", "dome"),
        ("nodes", "row", "{}"),
        ("nodes", "row", "7"),
    ],
)
def test_a_row_of_format_1_that_makes_no_sense_is_damaged(table, column, value, old):
    first = by_hand(old, f"SELECT key FROM {table} ORDER BY rowid")[0][0]
    by_hand(old, f"UPDATE {table} SET {column} = ? WHERE key = ?", value, first)
    store = Store(old)
    with pytest.warns(UserWarning, match=f"the entry of {table[:-1]} {first[:9]}.* is damaged and was not used"):
        found = store.row(first) if table == "nodes" else store.runs(first)
    assert not found
    store.close()


def test_a_file_with_tables_and_no_format_is_refused(old):
    by_hand(old, "PRAGMA user_version = 0")
    with pytest.raises(StoreTrouble, match="is damaged .there are tables in it, but no format"):
        Store(old)
    assert by_hand(old, "SELECT count(*) FROM runs") == [(3,)]


@pytest.mark.parametrize("newer", [formats.VERSION + 1, 99, -1])
def test_a_newer_format_is_refused(newer, old):
    by_hand(old, f"PRAGMA user_version = {newer}")
    with pytest.raises(StoreTrouble, match=f"written by a newer Engram .format {newer}.; upgrade"):
        Store(old)
