"""A store that is damaged, in the way or not to be used: one sentence, exit code 2, nothing wrong shown."""

from __future__ import annotations

import os
import sqlite3

import pytest

from engram.database import Database
from engram.learners.finetune import Finetune

RUN = ("split-digits", "finetune", "--tasks", "2", "--json")
DAMAGE = [("spec", "{}"), ("spec", "[]"), ("spec", "{"), ("result", "null"), ("status", "dome"), ("error", 7)]


def by_hand(query, *values):
    with sqlite3.connect("engram-store/store.db") as connection:
        connection.execute(query, values)
    connection.close()


def untimed(run):
    return [{name: value for name, value in each.items() if name != "seconds"} for each in run["runs"]]


def is_one_sentence(said):
    return (said.code, said.out, said.err.count("\n")) == (2, "", 1) and said.err.startswith("engram: ")


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("column, value", DAMAGE)
def test_a_damaged_run_is_left_out_and_its_command_brings_it_back(column, value, train, engram):
    first = train(*RUN).json
    other = train(*RUN, "--seeds", "1").json["runs"][0]["key"]
    key = first["runs"][0]["key"]
    by_hand(f"UPDATE runs SET {column} = ? WHERE key = ?", value, key)
    for words in (["runs", "--json"], ["runs"], ["resume", "--json"], ["clean", "--json"]):
        said = engram(*words)
        assert said.code == 0
        assert f"the entry of run {key[:10]} in engram-store/store.db is damaged and was not used" in said.err
    assert [row["key"] for row in engram("runs", "--json").json["runs"]] == [other]
    assert engram("show", key).code == 2
    again = train(*RUN)
    assert (again.code, again.json) == (0, first)
    assert "is damaged and was not used" in again.err
    assert engram("show", key, "--json").json == first


@pytest.mark.filterwarnings("always")
def test_a_damaged_run_can_be_forgotten(train, engram):
    train(*RUN)
    by_hand("UPDATE runs SET spec = '{}'")
    engram("clean", "--failed")
    said = engram("runs", "--json")
    assert (said.code, said.json, said.err) == (0, {"runs": [], "experiments": []}, "")


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("change", ["row = replace(row, '0.', '1.')", "row = '{}'", "row = 7", "row = NULL"])
def test_a_damaged_node_is_never_shown_and_is_grown_again(change, train, engram):
    first = train(*RUN).json
    key = first["runs"][0]["key"]
    by_hand(f"UPDATE nodes SET {change} WHERE parent IS NULL")
    said = engram("show", key, "--json")
    assert (said.code, said.out) == (2, "")
    assert f"a part of run {key[:10]} is missing in engram-store or damaged; give the command of the run" in said.err
    again = train(*RUN)
    assert again.code == 0
    assert "is damaged and was not used; whatever needs the node grows it again" in again.err
    assert untimed(again.json) == untimed(first)
    assert untimed(engram("show", key, "--json").json) == untimed(first)


@pytest.mark.filterwarnings("always")
def test_workers_grow_a_damaged_node_again_too(engram, train):
    words = ("run", "split-digits", "--learner", "finetune", "--tasks", "2", "--seeds", "0,1", "--jobs", "2", "--json")
    first = engram(*words).json
    by_hand("UPDATE nodes SET row = replace(row, '0.', '1.')")
    again = engram(*words)
    assert again.code == 0
    assert "is damaged and was not used" in again.err
    assert untimed(again.json) == untimed(first)


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("cut", [1, 1000, 4096, 20000])
def test_a_database_that_was_cut_off(cut, train, engram, tmp_path):
    first = train(*RUN).json
    key = first["runs"][0]["key"]
    listed = engram("runs", "--json").json
    path = tmp_path / "engram-store" / "store.db"
    path.write_bytes(path.read_bytes()[:-cut])
    said = {name: engram(*words, "--json") for name, words in (("runs", ["runs"]), ("show", ["show", key]))}
    said["run"] = train(*RUN)
    right = {"runs": listed, "show": first, "run": first}
    assert said["runs"].err.startswith("engram: ")
    for name in right:
        assert said[name].code == 2 or untimed(said[name].json) == untimed(right[name])


def test_a_missing_column_is_a_sentence(train, engram):
    train(*RUN)
    by_hand("ALTER TABLE runs RENAME COLUMN status TO stand")
    said = engram("runs")
    assert is_one_sentence(said)
    assert "engram-store/store.db is damaged (no such column: status); put a copy of it back, or remove it" in said.err


STORES = {
    "a file": (lambda: open("engram-store", "w").close(), "cannot be made (File exists); choose another --store"),
    "a pipe": (lambda: (os.mkdir("engram-store"), os.mkfifo("engram-store/store.db")), "is not a regular file"),
    "no database": (lambda: (os.mkdir("engram-store"), _write("engram-store/store.db")), "is damaged (file is not a d"),
}


def _write(path):
    with open(path, "w") as file:
        file.write("words " * 500)


@pytest.mark.parametrize("kind", STORES)
def test_what_is_no_store_is_a_users_mistake(kind, train):
    make, says = STORES[kind]
    make()
    said = train(*RUN)
    assert is_one_sentence(said)
    assert says in said.err


def test_a_name_that_is_too_long_is_a_users_mistake(train):
    said = train(*RUN, "--store", "x" * 300)
    assert is_one_sentence(said)
    assert "cannot be made (File name too long); choose another --store" in said.err


def test_a_store_that_may_not_be_written_is_a_users_mistake(train, engram, monkeypatch):
    """Whoever runs the tests may write everywhere, so SQLite is told not to."""
    first = train(*RUN).json
    check = Database._check_structure
    monkeypatch.setattr(Database, "_check_structure", lambda self: (check(self), self.write("PRAGMA query_only = 1")))
    assert engram("show", first["runs"][0]["key"], "--json").json == first
    said = train(*RUN, "--seeds", "5")
    assert is_one_sentence(said)
    assert "store.db cannot be used (attempt to write a readonly database); check the folder" in said.err


@pytest.mark.filterwarnings("always")
def test_a_pipe_in_the_place_of_every_checkpoint_holds_nobody_up(train, engram):
    first = train(*RUN).json
    for name in os.listdir("engram-store/checkpoints"):
        os.unlink(f"engram-store/checkpoints/{name}")
        os.mkfifo(f"engram-store/checkpoints/{name}")
        os.mkfifo(f"engram-store/checkpoints/.writing-{name}")
    longer = train(*RUN, "--set", "optimizer=adam")
    assert untimed(longer.json) == untimed(first)
    assert engram("clean").code == 0


def test_a_database_that_is_removed_during_a_run_is_said_to_be(train, monkeypatch, tmp_path):
    learn = Finetune.learn

    def learn_without_a_store(self, lesson):
        (tmp_path / "engram-store" / "store.db").unlink()
        return learn(self, lesson)

    monkeypatch.setattr(Finetune, "learn", learn_without_a_store)
    said = train(*RUN)
    assert is_one_sentence(said)
    assert "engram-store/store.db was removed while it was in use, and what it held is gone" in said.err
