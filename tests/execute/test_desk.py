"""The desk and a worker without a store, in one process and without Ray: what is sent, taken back and let go."""

from __future__ import annotations

import shutil

import pytest

from engram.errors import Elsewhere, of_kind
from engram.execute.board import drive
from engram.execute.desk import Desk, Told
from engram.execute.progress import Silence
from engram.execute.remote_worker import RemoteWorker
from engram.execute.walk import Walk
from engram.request import prepare
from engram.store import Store
from engram.tree import grow

SMALL = {"widths": "12-10", "batch": 96}


def put(content):
    return content


class Carrier:
    """A crew of one worker, which works when it is heard."""

    def __init__(self, store):
        self.desk, self.worker, self.told = Desk(store, put), RemoteWorker(put), Told()
        self.given, self.sizes = None, []

    def has_room(self):
        return self.given is None

    def give(self, node, stream):
        self.given = node, stream
        return "the worker"

    def hear(self, board):
        if self.given is None:
            return
        (node, stream), self.given = self.given, None
        try:
            errand = self.desk.open(node)
        except Elsewhere:
            board.elsewhere(node)
            return
        with errand.locks:
            last = self.carry(errand, stream)
        if last["event"] == "failed":
            board.failed(node, of_kind(last["kind"], last["error"]))
        else:
            board.grown(node)

    def carry(self, errand, stream, on_the_way=lambda: None):
        """What is said at last."""
        freight = self.desk.pack(errand, stream, self.told)
        self.sizes.append(len(repr(freight["news"])))
        on_the_way()
        self.worker.give(freight)
        while True:
            for message in self.worker.hear():
                if message["event"] == "question":
                    self.worker.answer(message["key"], self.desk.twin(message["key"]))
                self.desk.take(errand, message)
                if message["event"] in ("grown", "failed", "stopped"):
                    return message

    def close(self):
        self.worker.close()


def run_by(carrier, *runs):
    walks = [Walk(run) for run in runs]
    for run in runs:
        carrier.desk.store.add_run(run.key, run.to_json())
    drive(walks, carrier.desk.store, Silence(), carrier)
    return walks


def measured(store, run):
    rows = [store.row(key) for key in store.runs(run.key)[0]["result"]["path"]]
    return [(row.single, row.multi, row.parameters_sha256, row.machine) for row in rows]


def small(learner="finetune", **more):
    return prepare("split-digits", learner, settings=SMALL, **{"tasks": 3, **more})


@pytest.fixture
def elsewhere(tmp_path):
    """Another store, of this process's own."""
    store = Store(tmp_path / "elsewhere")
    yield store
    store.close()


def here(store, run):
    for node in run.root.child([0], run.grid[0]).child([1], run.grid[0]).child([2], run.grid[0]).way:
        grow(node, store, run.taught)
    return [store.row(node.key).parameters_sha256 for node in node.way]


def test_a_worker_without_a_store_learns_the_same_and_is_told_each_thing_once(store, elsewhere):
    run, carrier = small("ewc"), Carrier(store)
    run_by(carrier, run)
    assert [sha for _, _, sha, _ in measured(store, run)] == here(elsewhere, run)
    assert max(carrier.sizes[1:]) < carrier.sizes[0]
    assert all(machine is not None for *_, machine in measured(store, run))


def test_the_source_of_a_learner_goes_along(store, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from engram.learners.finetune import Finetune\nclass Mine(Finetune):\n    name = 'mine'\n"
    )
    run, carrier = small(f"{tmp_path / 'mine.py'}:Mine"), Carrier(store)
    node = run.root.child([0], run.grid[0])
    errand = carrier.desk.open(node)
    with errand.locks:
        assert carrier.carry(errand, run.taught, (tmp_path / "mine.py").unlink) == {"event": "grown"}
    assert carrier.told.places == {f"{tmp_path / 'mine.py'}:Mine"}
    carrier.close()


def test_ancestors_whose_checkpoints_are_gone_are_grown_again_once(store):
    run = small()
    run_by(Carrier(store), run)
    expected = measured(store, run)
    nodes = [run.root.child([0], run.grid[0])]
    nodes.append(nodes[0].child([1], run.grid[0]))
    shutil.rmtree(store.folder / "checkpoints")
    children = [nodes[1].child([2], {**run.grid[0], "rate": rate}) for rate in (0.1, 0.01)]
    carrier = Carrier(store)
    errand = carrier.desk.open(children[0])
    assert [node.key for node in errand.lost] == [node.key for node in reversed(nodes)]
    with pytest.raises(Elsewhere):
        carrier.desk.open(children[1])
    with errand.locks:
        carrier.carry(errand, run.taught)
    assert [store.times_grown(node.key) for node in (*nodes, children[0])] == [2, 2, 1]
    errand = carrier.desk.open(children[1])
    with errand.locks:
        assert errand.lost == []
        carrier.carry(errand, run.taught)
    assert measured(store, run) == expected
    carrier.close()


def test_a_damaged_checkpoint_is_not_sent(store):
    run, carrier = small(), Carrier(store)
    first = run.root.child([0], run.grid[0])
    grow(first, store, run.taught)
    path = store.folder / "checkpoints" / f"{first.key}.engram"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    errand = carrier.desk.open(first.child([1], run.grid[0]))
    with errand.locks, pytest.warns(UserWarning, match="damaged"), pytest.raises(Elsewhere):
        carrier.desk.pack(errand, run.taught, carrier.told)
    errand = carrier.desk.open(first.child([1], run.grid[0]))
    with errand.locks:
        assert [node.key for node in errand.lost] == [first.key]


def test_what_another_process_grows_or_has_grown_is_elsewhere(store):
    run, desk = small(), Desk(store, put)
    first = run.root.child([0], run.grid[0])
    with store.lock(first.key), pytest.raises(Elsewhere):
        desk.open(first)
    grow(first, store, run.taught)
    with pytest.raises(Elsewhere):
        desk.open(first)


def test_who_is_asked_to_stop_sends_the_position_and_another_goes_on(store, elsewhere):
    run = small(tasks=3)
    carrier, node = Carrier(store), run.root.child([0], {**run.grid[0], "epochs": 50})
    errand = carrier.desk.open(node)
    carrier.worker.stop_asked = True
    with errand.locks:
        assert carrier.carry(errand, run.taught) == {"event": "stopped"}
    assert store.partial(node.key).plain["seconds"] > 0
    other = Carrier(store)
    errand = other.desk.open(node)
    with errand.locks:
        assert other.carry(errand, run.taught) == {"event": "grown"}
    assert store.row(node.key).parameters_sha256 == grow(node, elsewhere, run.taught).parameters_sha256


def test_what_can_never_be_grown_is_written_down(store):
    run = prepare("split-digits", "finetune", tasks=2, settings={**SMALL, "rate": 1e30})
    (walk,) = run_by(Carrier(store), run)
    assert "lower the rate" in str(walk.error)
    assert store.failure(run.root.child([0], run.grid[0]).key) is not None


def test_plain_training_that_two_learners_begin_alike_is_sent_and_not_done_again(store):
    settings = {**SMALL, "epochs": 2}
    runs = [prepare("split-digits", name, tasks=2, head="multi", settings=settings) for name in ("finetune", "ewc")]
    run_by(Carrier(store), *runs)
    twins = list((store.folder / "twins").glob("*.engram"))
    assert len(twins) >= 1
    assert len(twins) < 4
