"""A sweep says what it chose, how the others did and what it took; a method that cannot help is said to be one."""

from __future__ import annotations

import pytest

from engram.store import Store

GRID = ("--tasks", "2", "--set", "strength=0,1000", "--protocol")


def flat(text):
    return " ".join(text.split())


@pytest.mark.parametrize("protocol, times", [("task-level", 2), ("stream-level", 1)])
def test_run_and_show_say_what_was_chosen(train, engram, protocol, times):
    run = train("split-digits", "ewc", *GRID, protocol, "--json").json["runs"][0]
    assert [d["candidates"] for d in run["decisions"]] == [[{"strength": 0.0}, {"strength": 1000.0}]] * times
    assert [d["scores"][d["chosen"]] for d in run["decisions"]] == [max(d["scores"]) for d in run["decisions"]]
    for said in (train("split-digits", "ewc", *GRID, protocol), engram("show", run["key"])):
        assert "chosen strength" in said.out
        last = run["decisions"][0]
        assert f"{last['by']}" in flat(said.out)
        assert "with the search" in flat(said.out)


def test_the_search_is_what_all_nodes_took_each_once(train):
    """Strength does nothing in a first task: the grid shares it, and grows two second tasks from it."""
    one = train("permuted-digits", "finetune", "--tasks", "1", "--json").json["runs"][0]
    two = train("permuted-digits", "finetune", "--tasks", "2", "--json").json["runs"][0]
    assert two["search_flops"] == two["flops"] > one["flops"] == one["search_flops"]
    words = ("--tasks", "2", "--set", "strength=0,1", "--set", "validation=0.1", "--protocol", "task-level", "--json")
    swept = train("permuted-digits", "si", *words).json["runs"][0]
    alone = train("permuted-digits", "si", "--tasks", "2", "--set", "validation=0.1", "--json").json["runs"][0]
    first = train("permuted-digits", "si", "--tasks", "1", "--set", "validation=0.1", "--json").json["runs"][0]
    assert swept["flops"] == alone["flops"]
    assert swept["search_flops"] == first["flops"] + 2 * (alone["flops"] - first["flops"])


def test_references_are_no_part_of_the_search(train, brief_offline):
    found = train("split-digits", "finetune", "--tasks", "2", "--references", "--json").json["runs"][0]
    assert found["search_flops"] == found["flops"]


def test_a_store_from_before_is_shown_without(train, engram):
    run = train("split-digits", "ewc", *GRID, "task-level", "--json").json["runs"][0]
    store = Store("engram-store")
    result = store.runs()[0]["result"]
    older = {name: value for name, value in result.items() if name not in ("decisions", "search_flops")}
    store.finish_run(run["key"], "done", older)
    store.close()
    said = engram("show", run["key"])
    assert said.code == 0, said.err
    assert "chosen" not in said.out
    assert "search" not in said.out
    found = engram("show", run["key"], "--json").json["runs"][0]
    assert (found["decisions"], found["search_flops"]) == ([], None)


def test_a_penalty_alone_is_told_what_may_help(train):
    said = train("split-digits", "ewc", "--tasks", "2")
    assert said.err == (
        "engram: penalties alone rarely help when the task is not given; "
        "try --learner icarl, --learner ridge, --set exemplars=10 or --head multi\n"
    )
    quiet = train("split-digits", "ewc", "--tasks", "2", "--json")
    assert quiet.err == ""
    assert quiet.json["notes"] == [said.err.removeprefix("engram: ").rstrip()]


@pytest.mark.parametrize(
    "words",
    [("split-digits", "ewc", "--head", "multi"), ("split-digits", "ewc", "--set", "exemplars=2"),
     ("permuted-digits", "ewc"), ("split-digits", "finetune")],
    ids=" ".join,
)  # fmt: skip
def test_nobody_else_is(train, words):
    said = train(*words, "--tasks", "2")
    assert (said.code, said.err) == (0, "")
