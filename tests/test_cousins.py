"""What was grown on a stream is grown on another one that begins alike: with the bits that training it there gives."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from engram import cousins, tree
from engram.errors import Elsewhere, Stopped
from engram.execute.satchel import Satchel
from engram.request import prepare
from engram.store import Store
from engram.tree import grow, stream_of

DIGITS = "+".join(["digits"] * 5)
FEW = {"datasets": DIGITS, "middle": 2, "large": 8, "small": 4, "test_samples": 4}
SMALL = {"width": 2, "batch": 16, "iterations": 3, "rate": 0.01}


def path(kind, learner="ewc", seed=0, options=FEW, **settings):
    """The nodes after each of its tasks."""
    settings = {**options, **SMALL, **settings}
    run = prepare(kind, learner, seed=seed, network="ctrl-resnet", head="multi", settings=settings)
    nodes = [run.root]
    for task in range(4):
        nodes.append(nodes[-1].child([task], run.grid[0], (0, 1)))
    return nodes[1:]


def grown(nodes, store, trained=None):
    """What was measured at the nodes; `trained` gets those that were learned step by step."""
    steps = [] if trained is None else trained
    rows = [grow(node, store, watch=lambda node, step: steps.append(node)) for node in nodes]
    return [replace(row, cost=replace(row.cost, seconds=0)) for row in rows]


@pytest.mark.parametrize("learner", ["ewc", "er", "pnn", "mntdp-d", "mntdp-s"])
def test_the_first_tasks_are_trained_once_and_the_last_one_on_both(learner, tmp_path, same_state):
    minus, out = (path(kind, learner) for kind in ("ctrl-minus", "ctrl-out"))
    here, alone = Store(tmp_path / "here"), Store(tmp_path / "alone")
    grown(minus, here)
    trained = []
    found = grown(out, here, trained)
    assert {*trained} == {*out[3:]}
    assert found == grown(out, alone)
    for node in out:
        assert same_state(here.state(node.key), alone.state(node.key))
    assert {node.key for node in minus}.isdisjoint(node.key for node in out)


CHANGED = {
    "seed": {"seed": 1},
    "settings": {"iterations": 4},
    "learner": {"learner": "online-ewc"},
    "network": {"width": 3},
    "samples": {"options": {**FEW, "small": 5}},
    "samples to measure on": {"options": {**FEW, "test_samples": 5}},
}


@pytest.mark.parametrize("changed", CHANGED.values(), ids=list(CHANGED))
def test_what_is_not_the_same_is_not_taken(changed):
    def key(node):
        return cousins.common_key(node, stream_of(node))

    first, other = path("ctrl-minus")[:2], path("ctrl-out", **changed)[:2]
    assert key(first[1]) == key(path("ctrl-out")[1])
    assert key(first[1]) != key(other[1])
    assert key(first[0]) != key(first[1])


def test_it_is_not_what_another_kind_of_machine_measured(monkeypatch, tmp_path):
    store = Store(tmp_path)
    grown(path("ctrl-minus")[:1], store)
    on_another_machine(monkeypatch)
    trained = []
    grown(path("ctrl-out")[:1], store, trained)
    assert trained


def test_other_streams_and_last_tasks_have_no_such_key():
    split = prepare("split-digits", "finetune", tasks=2).root.child([0], {})
    for node in (split, path("ctrl-plus")[0], path("ctrl-minus")[3]):
        assert not cousins.are_expected(node, stream_of(node))
    assert cousins.are_expected(path("ctrl-minus")[2], stream_of(path("ctrl-minus")[2]))


def on_another_machine(patch):
    here = tree.this_machine()
    patch.setattr(tree, "this_machine", lambda device="cpu": here._replace(capability="another"))


def test_nor_what_came_of_it(monkeypatch, tmp_path):
    """The second task of S- was learned here, and the first one elsewhere: those of S_out are both learned here."""
    store = Store(tmp_path)
    with monkeypatch.context() as patch:
        on_another_machine(patch)
        grown(path("ctrl-minus")[:1], store)
    grown(path("ctrl-minus")[1:2], store)
    trained, out = [], path("ctrl-out")[:2]
    grown(out, store, trained)
    assert {*trained} == {*out}


def test_nor_a_lesson_that_was_begun_there(monkeypatch, tmp_path):
    def leave(node, step):
        raise Stopped

    store, (first, *_), (other, *_) = Store(tmp_path), path("ctrl-minus"), path("ctrl-out")
    with monkeypatch.context() as patch:
        on_another_machine(patch)
        with pytest.raises(Stopped):
            grow(first, store, watch=leave)
    with pytest.raises(Stopped):  # here it is left a second time
        grow(first, store, watch=leave)
    trained = []
    grown([first, other], store, trained)
    assert {*trained} == {first, other}


def test_a_damaged_one_is_trained_again(tmp_path):
    store, out = Store(tmp_path), path("ctrl-out")[:1]
    grown(path("ctrl-minus")[:1], store)
    for file in (tmp_path / "twins").glob("*"):
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    trained = []
    with pytest.warns(UserWarning, match="damaged"):
        grown(out, store, trained)
    assert trained


def test_a_lost_checkpoint_is_had_from_there_too(tmp_path):
    minus, out, store = path("ctrl-minus"), path("ctrl-out"), Store(tmp_path)
    grown(minus[:3], store)
    grown(out[:3], store)
    for file in (tmp_path / "checkpoints").glob("*"):
        file.unlink()
    trained = []
    grown(out[3:], store, trained)
    assert {*trained} == {*out[3:]}


def test_who_is_not_patient_does_something_else_while_it_is_grown_there(tmp_path):
    store, (first, *_), (other, *_) = Store(tmp_path), path("ctrl-minus"), path("ctrl-out")
    began, asked = threading.Event(), threading.Event()

    def watch(node, step):
        began.set()
        asked.wait(60)

    thread = threading.Thread(target=lambda: grow(first, Store(tmp_path), watch=watch))
    thread.start()
    assert began.wait(60)
    with pytest.raises(Elsewhere):
        grow(other, store, patient=False)
    asked.set()
    thread.join()
    assert grow(other, store).parameters_sha256 == store.row(first.key).parameters_sha256


def test_a_worker_elsewhere_asks_for_it_and_sends_it_after_the_node(tmp_path):
    (first, *_), (other, *_), sent = path("ctrl-minus"), path("ctrl-out"), []
    grow(first, Satchel({}, {}, sent.append, lambda question: None))
    assert [message["event"] for message in sent][-2:] == ["learned", "twin"]
    key, state = sent[-1]["key"], sent[-1]["state"]
    trained, answers = [], {key: state}
    asking = Satchel({}, {}, sent.append, lambda question: answers.get(question["key"]))
    (row,) = grown([other], asking, trained)
    assert not trained
    assert sent[-1]["event"] == "learned"
    assert row == grown([other], Store(tmp_path))[0]
