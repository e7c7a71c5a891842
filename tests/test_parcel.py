"""Runs on their way from one store to another: they arrive as they left, or not at all."""

from __future__ import annotations

import gzip
import json
import threading
from contextlib import closing

import pytest

import engram
from engram.errors import BadSetting, Diverged, StoreTrouble
from engram.parcel import export_runs, import_runs
from engram.request import prepare
from engram.runs import record_of
from engram.sealed import seal
from engram.store import Store

ASKED = {"tasks": 2, "widths": "8", "protocol": "task-level", "rate": [1e-3, 1e-2]}


@pytest.fixture(scope="module")
def sender(tmp_path_factory):
    """A store with two runs that are done and one that only was asked for."""
    folder = tmp_path_factory.mktemp("sender")
    engram.run("split-digits", "finetune", seeds=[0, 1], store=folder, **ASKED)
    store = Store(folder)
    run = prepare("split-digits", "ewc", settings={"widths": "8"})
    store.add_run(run.key, run.to_json())
    return store


@pytest.fixture
def parcel(sender, tmp_path):
    export_runs(sender, tmp_path / "a.runs")
    return tmp_path / "a.runs"


@pytest.fixture
def receiver(tmp_path):
    return Store(tmp_path / "receiver")


def records(store):
    return [record_of(entry, store) for entry in store.runs()]


def rewritten(parcel, change):
    """The file with its lines, as JSON, changed."""
    lines = [json.loads(line) for line in gzip.decompress(parcel.read_bytes()).splitlines()]
    parcel.write_bytes(gzip.compress("\n".join(map(json.dumps, change(lines))).encode()))


def test_runs_that_are_done_arrive_with_every_number_and_train_nothing_again(sender, parcel, receiver, monkeypatch):
    assert import_runs(receiver, parcel)._asdict() == {"runs": 2, "known": 0, "nodes": 8, "experiments": 0}
    there = [record for record in records(sender) if record.status == "done"]
    assert records(receiver) == there
    monkeypatch.setattr("engram.tree._learn", None)  # which would fail
    again = engram.run("split-digits", "finetune", seeds=[0, 1], store=receiver.folder, **ASKED)
    assert again == there


def test_what_was_taken_in_can_be_gone_on_from(parcel, receiver):
    """Its checkpoints stayed behind: they are grown again, to the recorded bits."""
    import_runs(receiver, parcel)
    longer = {**ASKED, "tasks": 3}
    here = engram.run("split-digits", "finetune", store=receiver.folder, **longer)
    assert (
        here.rows[-1].parameters_sha256 == engram.run("split-digits", "finetune", **longer).rows[-1].parameters_sha256
    )


def test_the_same_store_makes_the_same_file(sender, parcel, tmp_path):
    export_runs(sender, tmp_path / "b.runs")
    assert (tmp_path / "b.runs").read_bytes() == parcel.read_bytes()


def test_what_is_known_stays(sender, parcel, receiver):
    import_runs(receiver, parcel)
    assert import_runs(receiver, parcel)._asdict() == {"runs": 0, "known": 2, "nodes": 0, "experiments": 0}
    assert import_runs(receiver, sender.folder).known == 2  # a store is as good as a file


def test_a_run_that_was_only_asked_for_is_done_with_what_arrives(sender, parcel, receiver):
    run = next(run for run in sender.runs() if run["status"] == "done")
    receiver.add_run(run["key"], run["spec"])
    assert import_runs(receiver, parcel).runs == 2
    assert [run["status"] for run in receiver.runs()] == ["done", "done"]
    assert receiver.runs()[0]["key"] == run["key"]


def test_only_some(sender, tmp_path, receiver):
    key = sender.runs()[1]["key"]
    assert export_runs(sender, tmp_path / "one.runs", {key}) == 1
    import_runs(receiver, tmp_path / "one.runs")
    assert [run["key"] for run in receiver.runs()] == [key]


def test_nothing_to_send_is_said(sender, tmp_path):
    with pytest.raises(BadSetting, match="none of these runs"):
        export_runs(sender, tmp_path / "x.runs", {sender.runs()[2]["key"]})
    assert not (tmp_path / "x.runs").exists()


def _flipped(raw, place):
    return raw[:place] + bytes([raw[place] ^ 16]) + raw[place + 1 :]


@pytest.mark.parametrize("part", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("spoil", [_flipped, lambda raw, place: raw[:place]], ids=["flipped", "cut"])
def test_damage_is_noticed_and_nothing_comes_in(parcel, receiver, part, spoil):
    raw = parcel.read_bytes()
    parcel.write_bytes(spoil(raw, int(part * len(raw))))
    with pytest.raises(BadSetting, match="nothing of it was taken in"):
        import_runs(receiver, parcel)
    assert not any(table.all() for table in receiver.tables.values())


def _without_a_node(lines):
    return [lines[0], *lines[2:]]


def _another_accuracy(lines):
    table, raw, sha256 = lines[1]
    raw[3] = raw[3].replace("0.", "1.", 1)
    return [lines[0], [table, raw, sha256], *lines[2:]]


def _hostile(key):
    def change(lines):
        table, raw, _ = lines[1]
        raw[0] = key
        return [lines[0], [table, raw, seal(table, raw)], *lines[2:]]

    return change


@pytest.mark.parametrize(
    "change",
    [
        _without_a_node,
        _another_accuracy,
        _hostile("../../outside"),
        _hostile(["a list"]),
        _hostile(None),
        lambda lines: [lines[0], ["sqlite_master", [1], "x"], *lines[1:]],
        lambda lines: [lines[0], 5, *lines[1:]],
        lambda lines: [{"title": "something else", "format": 3}, *lines[1:]],
        lambda lines: lines[1:],
    ],
)
def test_what_no_store_wrote_is_refused(parcel, receiver, change):
    rewritten(parcel, change)
    with pytest.raises(BadSetting, match="nothing of it was taken in"):
        import_runs(receiver, parcel)
    assert receiver.runs() == []


def test_a_newer_format_is_refused(parcel, receiver):
    rewritten(parcel, lambda lines: [{**lines[0], "format": 99}, *lines[1:]])
    with pytest.raises(BadSetting, match="is of format 99"):
        import_runs(receiver, parcel)


def test_what_is_not_there_or_no_file(tmp_path, receiver):
    with pytest.raises(BadSetting, match="there is no"):
        import_runs(receiver, tmp_path / "nothing")
    with pytest.raises(BadSetting, match="there is no store"):
        import_runs(receiver, tmp_path)
    with pytest.raises(BadSetting, match="neither a file nor a store"):
        import_runs(receiver, "/dev/null")


def test_stores_may_be_named_by_their_folders(sender, tmp_path):
    assert export_runs(sender.folder, tmp_path / "b.runs") == 2
    assert import_runs(tmp_path / "new", tmp_path / "b.runs").runs == 2
    with pytest.raises(BadSetting, match="there is no store"):
        export_runs(tmp_path / "none", tmp_path / "c.runs")


def test_a_run_that_lost_a_part_is_refused_where_it_can_be_mended(parcel, receiver, tmp_path):
    import_runs(receiver, parcel)
    run = receiver.runs()[0]
    lost = next(key for key in run["result"]["grown"] if key not in run["result"]["path"])
    receiver.tables["nodes"].delete(lost)
    for ask in (
        lambda: export_runs(receiver, tmp_path / "b.runs"),
        lambda: import_runs(tmp_path / "x", receiver.folder),
    ):
        with pytest.raises(StoreTrouble, match="give the command of the run there again"):
            ask()
    assert not (tmp_path / "b.runs").exists()
    assert not (tmp_path / "x").exists()


def test_a_point_that_failed_is_no_news_the_second_time(tmp_path, receiver):
    diverging = {**ASKED, "optimizer": "sgd", "rate": [1e-3, 1e30]}
    engram.run("split-digits", "finetune", store=tmp_path / "sender", **diverging)
    assert import_runs(receiver, tmp_path / "sender").nodes > 0
    assert import_runs(receiver, tmp_path / "sender").nodes == 0


def test_what_was_grown_elsewhere_takes_the_place_of_what_failed_here(sender, parcel, receiver):
    """A run that is done needs every row of its path; on another processor a lesson may have diverged."""
    run = next(run for run in sender.runs() if run["status"] == "done")
    failed = run["result"]["path"][-1]
    receiver.fail(failed, None, Diverged("the loss is not a number"))
    assert import_runs(receiver, parcel)._asdict() == {"runs": 2, "known": 0, "nodes": 8, "experiments": 0}
    assert records(receiver) == [record for record in records(sender) if record.status == "done"]
    assert receiver.known(failed) == sender.row(failed)


def test_a_store_that_cannot_be_read_because_of_a_failure_is_mended_by_the_same_file(parcel, receiver):
    """Failures stayed beside runs that had arrived as done."""
    import_runs(receiver, parcel)
    failed = receiver.runs()[0]["result"]["path"][-1]
    receiver.tables["nodes"].delete(failed)
    receiver.fail(failed, None, Diverged("the loss is not a number"))
    assert import_runs(receiver, parcel)._asdict() == {"runs": 0, "known": 2, "nodes": 1, "experiments": 0}
    assert [record.error for record in records(receiver)] == [None, None]


def test_a_run_with_a_failure_on_its_path_is_not_taken_in(sender, tmp_path, receiver):
    """Stores where failures stayed beside runs that had arrived as done have such runs; no report shows them."""
    there = Store(tmp_path / "there")
    import_runs(there, sender.folder)
    failed = there.runs()[0]["result"]["path"][-1]
    there.tables["nodes"].delete(failed)
    there.fail(failed, None, Diverged("the loss is not a number"))
    export_runs(there, tmp_path / "b.runs")
    for source in (there.folder, tmp_path / "b.runs"):
        with pytest.raises(BadSetting, match="nothing of it was taken in"):
            import_runs(receiver, source)
    assert receiver.runs() == []


def test_a_failure_elsewhere_leaves_what_was_grown_here(sender, receiver, tmp_path):
    import_runs(receiver, sender.folder)
    run = receiver.runs()[0]
    tried = next(key for key in run["result"]["grown"] if key not in run["result"]["path"])
    here = receiver.row(tried)
    there = Store(tmp_path / "there")
    import_runs(there, sender.folder)
    there.tables["nodes"].delete(tried)
    there.fail(tried, None, Diverged("the loss is not a number"))
    assert import_runs(receiver, there.folder).nodes == 0
    assert receiver.known(tried) == here


def test_two_processes_may_take_in_the_same_file(parcel, receiver):
    found = []

    def take():
        with closing(Store(receiver.folder)) as store:
            found.append(import_runs(store, parcel))

    threads = [threading.Thread(target=take) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.runs for each in found) == [0, 2]
    assert len(receiver.runs()) == 2
