"""A row that is not what was written is never used, and a word is said about it."""

from __future__ import annotations

import warnings

import pytest
import torch

from engram.core import Cost, Row, State
from engram.errors import BadData
from engram.sealed import seal
from engram.store import Store

STATE = State({"w": torch.zeros(2)}, {})
ROW = Row((0.5,), (0.75,), {"single": {"0": 0.5}}, {"single": (0.1,)}, {}, Cost({"total": 3}, 7, 0.5), "aa")
OTHER = Row((1.0,), (1.0,), {"single": {"0": 1.0}}, {}, {}, Cost({"total": 3}, 7, 0.5), "bb")
# What a column may hold after a bit was flipped in it or in its type, or after somebody was at work by hand.
STRANGE = ["", "{}", "[]", "null", "{", "[[[", "done", "\ud83d", None, 0, -1, 2**62, 0.5, b"\xff\x00", "x" * 5000]


AS_WRITTEN = [("error", None), ("kind", None), ("status", "done")]


def strange(*columns):
    pairs = [(column, value) for column in columns for value in STRANGE if (column, value) not in AS_WRITTEN]
    return pytest.mark.parametrize("column, value", pairs, ids=lambda part: repr(part)[:20])


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path)
    store.commit("n", ["growth"], ROW, STATE, parent="m")
    store.add_run("r", {"learner": "ewc"})
    store.finish_run("r", "done", {"path": ["n"], "grown": ["n"]})
    store.add_run("s", {"learner": "si"})
    yield store
    store.close()


def put(store, table, column, value):
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")
        store._database.write(f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = 1", value)
    else:
        store._database.write(f"UPDATE {table} SET {column} = ? WHERE rowid = 1", value)


@strange("parent", "spec", "row", "error", "kind", "grown", "sha256")
def test_a_node_with_another_value_is_not_used_and_can_be_written_anew(column, value, store):
    put(store, "nodes", column, value)
    with pytest.warns(UserWarning, match="the entry of node n in .*store.db is damaged and was not used; whatever"):
        assert (store.row("n"), store.failure("n"), store.times_grown("n")) == (None, None, 0)
    with pytest.warns(UserWarning, match="is damaged and was not used"):
        store.commit("n", ["growth"], OTHER, STATE, parent="m")
    assert (store.row("n"), store.times_grown("n")) == (OTHER, 1)


@strange("number", "key", "spec", "status", "error", "kind", "result", "sha256")
def test_a_run_with_another_value_is_left_out_and_can_be_asked_for_again(column, value, store):
    store._database.write("DELETE FROM runs WHERE key = 's'")
    store._database.write("UPDATE runs SET rowid = 1")
    put(store, "runs", column, value)
    with pytest.warns(UserWarning, match="the entry of run .* is damaged and was not used; the command of that run"):
        assert store.runs() == []
    assert store.damaged_runs() == 1
    if column != "key":
        with pytest.warns(UserWarning, match="is damaged and was not used"):
            store.add_run("r", {"learner": "ewc"})
        assert [(run["key"], run["status"]) for run in store.runs()] == [("r", "pending")]
    store.delete_damaged_runs()
    assert store.damaged_runs() == 0


@pytest.mark.parametrize(
    "table, raw",
    [
        ("nodes", ["n", None, "{}", "{}", None, None, 1]),
        ("nodes", ["n", None, "{}", '{"single": 3}', None, None, 1]),
        ("nodes", ["n", None, "{}", None, "why", None, "often"]),
        ("runs", ["first", "r", "{}", "done", None, None, None]),
        ("runs", [1, 5, "{}", "done", None, None, None]),
        ("runs", [1, "r", "[]", "done", None, None, None]),
        ("runs", [1, "r", "{}", "dome", None, None, None]),
        ("runs", [1, "r", "{}", "done", None, None, "[]"]),
        ("runs", [1, "r", "{", "done", None, None, "{}"]),
        ("runs", [1, "r", "[" * 100_000, "done", None, None, "{}"]),
    ],
    ids=lambda value: str(value)[:40],
)
@pytest.mark.filterwarnings("ignore:.*is damaged and was not used")
def test_a_right_digest_makes_nonsense_no_better(table, raw, store):
    store._database.write(f"DELETE FROM {table}")
    row = (*_in_order(table, raw), seal(table, raw))
    store._database.write(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *row)
    assert store.row("n") is None if table == "nodes" else store.runs() == []


def _in_order(table, raw):
    """The key is the first column in the file."""
    return raw if table == "nodes" else [raw[1], raw[0], *raw[2:]]


def test_a_row_in_the_place_of_another_is_not_used(store):
    store.commit("other", ["growth"], OTHER, STATE)
    store._database.write("DELETE FROM nodes WHERE key = 'n'")
    store._database.write("UPDATE nodes SET key = 'n'")
    with pytest.warns(UserWarning, match="is damaged and was not used"):
        assert store.row("n") is None


@pytest.mark.filterwarnings("ignore:.*is damaged and was not used")
def test_what_is_written_later_does_not_make_damage_good(store):
    """A run ends after its entry was damaged: the entry is not sealed again."""
    store._database.write("UPDATE runs SET spec = ? WHERE key = 's'", '{"learner": "sj"}')
    store.finish_run("s", "failed", error=BadData("why"))
    assert [run["key"] for run in store.runs()] == ["r"]


def test_a_run_whose_nodes_are_gone_is_said_to_be_trained_again(store):
    store._database.write("DELETE FROM nodes")
    with pytest.warns(UserWarning, match="a part of run r is missing in .*store.db, which was damaged; it is trained"):
        store.add_run("r", {"learner": "ewc"})


def test_a_damaged_row_is_named_once_however_often_it_is_asked_for(store):
    store._database.write("UPDATE nodes SET row = '{}'")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for ask in (store.row, store.failure, store.times_grown, store.row):
            ask("n")
    assert len(caught) == 1
