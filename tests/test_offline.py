"""Offline models: what is trained, who shares it, and what a run's record says of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import engram
from engram.errors import UnknownName
from engram.execute import execute
from engram.networks import Blueprint
from engram.offline import Offline
from engram.protocols import Outcome, RunFailed
from engram.request import prepare
from engram.runs import Run, record_of


def asked(stream="incremental-digits", learner="ridge", ideal="seen", seed=0, **settings):
    return prepare(stream, learner, seed=seed, offline=ideal, settings=settings)


def done(run, store):
    execute([run], store)
    return record_of(store.runs(run.key)[0], store)


def follow(policy, answer):
    """What a policy decides, and the rounds of nodes that it asks for, each answered by its place."""
    rounds = [next(policy)]
    while True:
        try:
            rounds.append(policy.send([answer(place) for place in range(len(rounds[-1]))]))
        except StopIteration as end:
            return end.value, rounds


def test_the_best_by_validation_data_is_used_for_everything_seen():
    made = Offline("seen", {"kind": "incremental"}, 3, Blueprint.of(), 0)
    found, rounds = follow(made.search(), lambda place: Outcome(validation=([0.5, 0.7, 0.6, 0.7][place],)))
    assert [node.last.tasks for node in rounds[0]] == [(0,)] * 4
    assert found.alone == (rounds[0][1],)
    assert [node.last.tasks for node in found.seen] == [(0,), (0, 1), (0, 1, 2)]
    assert {node.last.settings["rate"] for node in found.seen} == {2e-3}
    assert found.decisions[0].scores == (0.5, 0.7, 0.6, 0.7)
    assert found.decisions[0].candidates[1] == {"dropout": 0.0, "rate": 2e-3}
    assert made.size() == sum(map(len, rounds)) == 6


def test_each_dataset_has_a_search_of_its_own():
    made = Offline("base", {"kind": "concat"}, 2, Blueprint.of(), 0)
    found, rounds = follow(made.search(), lambda place: Outcome(validation=(place / 4,)))
    assert [node.last.tasks for node in found.alone] == [(0,), (1,)]
    assert (found.seen, len(found.decisions)) == ((), 2)
    assert made.size() == sum(map(len, rounds)) == 8


def test_a_convolutional_network_is_its_own_ideal():
    made = Offline("base", {"kind": "split"}, 2, Blueprint.of("rwalk-cnn"), 0)
    _, rounds = follow(made.search(), lambda place: Outcome(validation=(0.5,)))
    assert {node.network.name for node in rounds[0]} == {"rwalk-cnn"}
    assert len(rounds[0]) == len(made.grid)


def test_offline_models_are_on_the_device_of_the_run():
    made = Offline("base", {"kind": "split"}, 2, Blueprint.of().on("meta"), 0)
    assert {node.network.device for node in next(made.search())} == {"meta"}


def test_a_search_that_fails_altogether_says_why():
    made = Offline("base", {"kind": "split"}, 2, Blueprint.of(), 0)
    with pytest.raises(RunFailed, match=r"an offline model cannot be trained \(nothing works\); leave it out with"):
        follow(made.search(), lambda place: Outcome(error=RunFailed("nothing works")))


def test_a_first_session_without_a_sample_to_hold_out_is_said():
    task = (np.eye(3), [0, 1, 2], np.eye(3), [0, 1, 2])
    with pytest.raises(RunFailed, match=r"an offline model cannot be trained \(task 1 .* has no validation data"):
        engram.run(engram.from_arrays([task, task]), "ridge", features=5, offline="base")
    assert engram.run(engram.from_arrays([task, task]), "ridge", features=5).metrics()["mean_class_accuracy"] > 0


def test_methods_on_one_stream_share_the_models_whatever_their_settings(brief_offline, store):
    first = done(asked(learner="finetune", widths="12", epochs=2, validation=0.2), store)
    before = {entry["key"] for entry in store.runs()}
    nodes = {key for entry in store.runs() for key in entry["result"]["grown"]}
    second = done(asked(learner="ridge", features=30), store)
    entry = next(entry for entry in store.runs() if entry["key"] not in before)
    assert set(entry["result"]["grown"]) - nodes == set(entry["result"]["path"])
    assert first.offline() == second.offline()
    assert done(asked(seed=1, features=30), store).offline() != second.offline()


def test_the_record_has_what_the_models_reached_and_how_they_were_chosen(brief_offline, store):
    run = asked(features=30)
    record = done(run, store)
    assert run.size() == len(store.runs(run.key)[0]["result"]["grown"]) == 6 + 4 + 5
    alone, seen = record.offline()
    assert (len(alone), len(seen.all)) == (1, 6)
    assert alone[0] == seen.all[0] == seen.base[0] > 0
    kept = json.loads(json.dumps(record.to_json()))["offline"]
    assert kept["alone"] == list(alone)
    assert max(kept["decisions"][0]["scores"]) == kept["decisions"][0]["scores"][kept["decisions"][0]["chosen"]]
    found = record.metrics()
    assert found["omega_all"] == pytest.approx(sum(record.alphas.all[1:]) / 5 / alone[0])
    shares = [own / best for own, best in zip(record.alphas.all[1:], seen.all[1:], strict=True)]
    assert found["omega_all_fair_lowest"] == min(shares)


def test_the_search_is_by_validation_data_though_the_protocol_sees_none(brief_offline, store):
    record = done(asked(learner="finetune", widths="12", ideal="base"), store)
    assert all(score > 0 for score in record.ideals.decisions[0]["scores"])
    assert record.decisions == ()


def test_a_method_that_is_the_offline_model_is_not_kept_from_its_search(brief_offline, store):
    """Its own first node is a candidate: as such it was shown without validation accuracy."""
    same = {**brief_offline, "rate": 8e-4, "widths": "8"}
    run = asked(learner="finetune", ideal="base", **same)
    record = done(run, store)
    assert store.runs(run.key)[0]["result"]["path"][0] in store.runs(run.key)[0]["result"]["grown"][6:]
    assert all(score > 0 for score in record.ideals.decisions[0]["scores"])


def test_two_datasets_have_an_ideal_each(brief_offline, store):
    record = done(asked("concat", features=30, datasets="digits+blobs"), store)
    alone, seen = record.offline()
    assert (len(alone), len(seen.parts[1])) == (2, 2)
    expected = sum(own / best for own, best in zip(record.alphas.parts[1], alone, strict=True)) / 2
    assert record.metrics()["omega_all"] == pytest.approx(expected)


def test_sessions_of_the_same_classes_are_measured_by_their_tasks(brief_offline, store):
    record = done(prepare("permuted-digits", "ridge", tasks=2, offline="seen", settings={"features": 30}), store)
    alone, seen = record.offline()
    assert record.alphas.all[1] == pytest.approx(sum(record.accuracy[1]) / 2)
    assert record.metrics()["omega_base"] == pytest.approx(record.accuracy[1][0] / alone[0])
    assert len(seen.parts[1]) == 2


def test_references_ask_for_all_of_them_and_offline_for_these_alone():
    runs = {
        ideal: prepare("split-digits", "finetune", references=True, offline=ideal) for ideal in (None, "base", "no")
    }
    assert [run.ideal for run in runs.values()] == ["seen", "base", ""]
    assert prepare("split-digits", "finetune").ideal == ""
    assert len({run.key for run in runs.values()}) == 3
    for run in runs.values():
        assert Run.from_json(json.loads(json.dumps(run.to_json()))).key == run.key


def test_without_offline_models_a_run_is_known_as_before():
    run = prepare("split-digits", "finetune", references=True, offline="no")
    assert "offline" not in run.to_json()


def test_another_ideal_is_refused():
    with pytest.raises(UnknownName, match="no offline model 'all'"):
        asked(ideal="all")


def test_a_single_session_has_an_offline_model_and_no_omega(brief_offline, store):
    record = done(prepare("permuted-digits", "ridge", tasks=1, offline="seen", settings={"features": 30}), store)
    found = record.metrics()
    assert found["omega_all"] != found["omega_all"]
    assert record.offline()[0][0] > 0
