"""The store's file: checked when it is opened, waited for when it is locked, and what happened to it is told truly."""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import subprocess
import sys
import time

import pytest

from engram import database
from engram.database import Database
from engram.errors import DiskFull, Stopped, StoreTrouble

HOLD = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
time.sleep(float(sys.argv[2]))
connection.execute("ROLLBACK")
"""


@pytest.fixture
def path(tmp_path):
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("CREATE TABLE facts (key PRIMARY KEY, value)")
        connection.executemany("INSERT INTO facts VALUES (?, ?)", [(f"key {n:03d}", "x" * 100) for n in range(200)])
    connection.close()
    return tmp_path / "store.db"


@pytest.fixture
def opened(path):
    found = Database(path)
    yield found
    found.close()


@pytest.fixture
def hold(path):
    """Another process that locks the file for so many seconds."""
    started = []

    def hold(seconds):
        process = subprocess.Popen([sys.executable, "-c", HOLD, str(path), str(seconds)], stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout.readline() == b"locked\n"
        return process

    yield hold
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_transaction_is_all_or_nothing(opened):
    with contextlib.suppress(Stopped), opened.transaction():
        opened.write("DELETE FROM facts")
        raise Stopped
    assert opened.read("SELECT count(*) FROM facts") == [(200,)]
    with opened.transaction():
        opened.write("DELETE FROM facts")
    assert opened.read("SELECT count(*) FROM facts") == [(0,)]


def test_who_has_locked_it_is_said_and_waited_for(path, hold, monkeypatch):
    monkeypatch.setattr(database, "QUIET_SECONDS", 0.1)
    opened, holder = Database(path), hold(3)
    with pytest.warns(UserWarning, match=f"store.db is locked by process {holder.pid} \\(.*python.*waiting for it"):
        opened.write("DELETE FROM facts")
    assert opened.read("SELECT count(*) FROM facts") == [(0,)]
    opened.close()


@pytest.mark.filterwarnings("ignore:.*waiting for it")
def test_a_lock_that_lasts_is_named(path, hold, monkeypatch):
    monkeypatch.setattr(database, "QUIET_SECONDS", 0.1)
    monkeypatch.setattr(database, "WAIT_SECONDS", 0.5)
    opened, holder = Database(path), hold(30)
    with pytest.raises(
        StoreTrouble, match=f"locked by process {holder.pid} .* for 1 s; give the command again"
    ) as told:
        opened.read("SELECT * FROM facts")
    assert told.value.exit_code == 2
    assert "--store" not in str(told.value)
    opened.close()


def test_a_lock_at_the_opening_is_named_too(path, hold, monkeypatch):
    monkeypatch.setattr(database, "QUIET_SECONDS", 0.05)
    monkeypatch.setattr(database, "WAIT_SECONDS", 0.0)
    hold(30)
    with pytest.raises(StoreTrouble, match="locked by process"):
        Database(path)


def test_without_the_kernels_list_it_is_another_process(path, monkeypatch):
    monkeypatch.setattr(database, "Path", lambda _: path.parent / "missing")
    assert database._holder(path) == "another process"


def test_a_file_that_was_removed_is_said_to_be(opened, path):
    path.unlink()
    with pytest.raises(StoreTrouble, match="store.db was removed while it was in use, and what it held is gone"):
        opened.write("DELETE FROM facts")


def test_a_file_that_was_replaced_is_said_to_be(opened, path):
    path.rename(path.with_name("old"))
    path.write_bytes(path.with_name("old").read_bytes())
    with pytest.raises(StoreTrouble, match="store.db was replaced by another file while it was in use"):
        opened.write("DELETE FROM facts")


def test_a_damaged_index_is_made_anew(path):
    content = path.read_bytes()
    assert content.count(b"key 123") == 2  # in the table and in its index
    path.write_bytes(content.replace(b"key 123", b"key 12#", 1))
    with pytest.warns(UserWarning, match="an index in .*store.db was damaged and has been made anew"):
        found = Database(path)
    assert found.read("SELECT count(*) FROM facts WHERE key LIKE 'key 12_'") == [(10,)]
    found.close()
    Database(path).close()


@pytest.mark.parametrize("cut", [3000, 5000])
def test_a_file_that_was_cut_off_is_refused(cut, path):
    path.write_bytes(path.read_bytes()[:-cut])
    before = path.read_bytes()
    with pytest.raises(StoreTrouble, match=r"store.db is damaged \(.+\); put a copy of it back, or remove it") as told:
        Database(path)
    assert "\n" not in str(told.value)
    assert path.read_bytes() == before


def test_damaged_names_are_a_sentence(path):
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE facts (key", b"CREATE TABLE facts \xff(\xffe"))
    with pytest.raises(StoreTrouble, match=r"store.db is damaged \(.+\); put a copy of it back"):
        Database(path)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, make_socket, lambda path: path.symlink_to("/dev/zero")])
@pytest.mark.parametrize("name", ["store.db", "store.db-journal"])
def test_what_is_no_file_is_refused_at_once(name, make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket may not be long
    make((tmp_path / name).relative_to(tmp_path))
    began = time.monotonic()
    with pytest.raises(StoreTrouble, match=f"{name} is not a regular file; remove it"):
        Database(tmp_path / "store.db")
    assert time.monotonic() - began < 1


def test_a_full_disk_is_the_one_trouble_that_is_no_mistake(opened):
    opened.write("PRAGMA max_page_count = 1")
    with pytest.raises(DiskFull, match="needs 100001 bytes") as told:
        opened.write("INSERT INTO facts VALUES (?, ?)", "k", "x" * 100_000)
    assert (told.value.exit_code, StoreTrouble.exit_code) == (1, 2)


def test_a_file_that_may_not_be_written_is_named(opened):
    opened.write("PRAGMA query_only = 1")
    with pytest.raises(StoreTrouble, match=r"cannot be used \(attempt to write a readonly database\); check"):
        opened.write("DELETE FROM facts")


def test_a_database_that_nobody_holds_any_more_is_closed(path):
    """Python 3.13 warns of a connection that is left open."""
    opened = Database(path)
    connection = opened._connection
    del opened
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
