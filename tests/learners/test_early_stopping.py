"""Early stopping of learners: by validation data only, with the best state, counted, and refused where it cannot be."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
import torch

import engram
from engram.core import Lesson
from engram.errors import BadData, BadSetting
from engram.learners import learner_settings, learners
from engram.learners.finetune import Finetune
from engram.networks import Blueprint
from engram.nodes import revisions
from engram.request import prepare

GRADIENT = [name for name in learners() if {"stop", "epochs"} <= learner_settings(name).keys()]
PATIENT = {"stop": "patience", "patience": 2, "look_every": 2, "epochs": 5, "rate": 0.02}


def _accuracy(learner, lesson):
    x, y = lesson.validation.batch(slice(None))
    columns = torch.tensor(learner.columns(lesson.index))
    return (columns[learner.predict(x, lesson.index).argmax(1)] == y).double().mean().item()


def test_every_learner_that_is_trained_by_gradients_has_it():
    assert {"finetune", "ewc", "rwalk", "gem", "icarl", "joint", "independent"} <= set(GRADIENT)
    assert {"ridge", "exemplars-only"}.isdisjoint(GRADIENT)


@pytest.mark.parametrize("name", GRADIENT)
def test_it_ends_early_where_accuracy_was_best(name, make, digits_lessons):
    learner = make(name, **PATIENT)
    seen, steps = [], []
    for step in learner.learn(digits_lessons[0]):
        seen.append(learner.network.theta.clone())
        steps.append(step)
    assert steps[-1].done == steps[-1].total < 30
    assert all(step.total == 30 for step in steps[:-1])
    assert any(torch.equal(seen[-1], theta) for theta in seen[2:-1:2])
    assert not any(key.startswith("best") for key in learner.state().tensors)


def test_the_best_state_has_the_best_accuracy_and_its_running_statistics(make, digits_lessons):
    network = Blueprint.of("resnet18-reduced", width=2)
    learner = make("finetune", network=network, heads="per-task", **{**PATIENT, "patience": 8})
    looks = []
    for step in learner.learn(digits_lessons[0]):
        if step.done and step.done % 2 == 0 and step.done != step.total:
            mean = learner.network.buffers()["layers.1.running_mean"].clone()
            looks.append((_accuracy(learner, digits_lessons[0]), mean))
    best = max(accuracy for accuracy, _ in looks)
    first = next(mean for accuracy, mean in looks if accuracy == best)
    assert _accuracy(learner, digits_lessons[0]) == best
    assert torch.equal(learner.network.buffers()["layers.1.running_mean"], first)


def test_looking_is_counted(make, teach, digits_lessons):
    plain, looking = (
        teach(make("finetune", iterations=4, **settings), digits_lessons[:1])
        for settings in ({}, {"stop": "patience", "look_every": 2})
    )
    forward = 2 * (64 * 12 + 12 * 10 + 10 * 2)
    assert looking.flops() - plain.flops() == 2 * 30 * forward


def test_early_looks_are_those_of_the_paper(make, digits_lessons):
    """At steps 0, 1, 2, 3, 4, 5 and 10, and at every epoch's end: 90 samples in batches of 16 are 6 steps."""
    learner, looks = make("finetune", stop="patience", look_early=True, epochs=3), []
    learner.accuracy = lambda: looks.append(learner.step) or 0.5
    for _ in learner.learn(digits_lessons[0]):
        pass
    assert looks == [0, 1, 2, 3, 4, 5, 6, 10, 12, 18]


def test_a_task_without_validation_data_is_refused(make, digits_lessons):
    lesson = digits_lessons[0]
    bare = Lesson("bare", 0, lesson.classes, lesson.train, lesson.validation.take(torch.empty(0, dtype=torch.long)))
    with pytest.raises(BadData, match=r"task 1 \(bare\) has no validation data for stop=patience to look at"):
        next(make("finetune", stop="patience").learn(bare))
    with pytest.raises(BadSetting, match="validation=0 holds nothing out, and these settings need held-out data"):
        engram.run("split-digits", "finetune", stop="patience", validation=0)


def test_early_stopping_holds_data_out_where_the_protocol_holds_none():
    asked = {"tasks": 1, "batch": 96, "stop": "patience", "patience": 2}
    plain, early, on_test = (
        prepare("split-digits", "finetune", settings=asked | more) for more in ({"stop": "no"}, {}, {"stop_on": "test"})
    )
    assert (plain.validation, early.validation, on_test.validation) == (0.0, 0.1, 0.0)
    assert prepare("split-digits", "finetune", settings={**asked, "validation": 0.3}).validation == 0.3
    assert engram.run("split-digits", "finetune", **asked).status == "done"


def test_stop_on_test_looks_at_the_test_data_of_the_task_and_marks_the_result():
    """The same bits as by hand with the test samples in the place of the held-out ones."""
    settings = {**PATIENT, "batch": 32, "stop_on": "test"}
    record = engram.run("split-digits", "finetune", tasks=2, **settings)
    stream = engram.stream("split-digits", tasks=2).with_validation(0.0)
    learner = Finetune(stream.outline, 0, **settings)
    for task in stream:
        for _ in learner.learn(replace(task.lesson(), validation=task.test)):
            pass
    by_hand = hashlib.sha256(learner.parameters().numpy().tobytes()).hexdigest()
    assert record.parameters_sha256 == by_hand
    assert record.marked_protocol == "sequential*"
    assert "stop_on=test" in record.to_json()["warning"]
    plain = engram.run("split-digits", "finetune", tasks=2, **{**settings, "stop_on": "validation"})
    assert (plain.marked_protocol, plain.warning) == ("sequential", "")
    assert plain.parameters_sha256 != by_hand


def test_stop_on_does_nothing_without_stop():
    asked = {"tasks": 1, "batch": 96}
    plain, other = (engram.run("split-digits", "finetune", **asked, **more) for more in ({}, {"stop_on": "test"}))
    assert (other.warning, other.parameters_sha256) == ("", plain.parameters_sha256)


def test_patience_may_be_given_in_epochs(make, digits_lessons):
    """90 samples in batches of 16 are 6 steps an epoch; at this rate nothing gets better after the first look."""
    still = {"stop": "patience", "patience": 1, "epochs": 9, "rate": 1e-9}
    for epochs, expected in ((0, 12), (1, 12), (3, 24)):
        *_, last = make("finetune", patience_epochs=epochs, **still).learn(digits_lessons[0])
        assert last.done == expected


def test_a_run_with_validation_data_stops_early():
    settings = {"epochs": 30, "batch": 32, "rate": 0.01, "validation": 0.2, "tasks": 2}
    whole, early = (
        engram.run("split-digits", "finetune", **settings, **more)
        for more in ({}, {"stop": "patience", "patience": 20, "look_every": 5})
    )
    assert early.flops < 0.8 * whole.flops
    assert early.parameters_sha256 != whole.parameters_sha256


def test_gem_keeps_what_it_saw_last_of_a_task_that_ended_early(make, digits_lessons):
    learner, labels = make("gem", memory=16, **PATIENT), []
    for step in learner.learn(digits_lessons[0]):
        if step.done < step.total:
            labels.append(learner.fit.next_batch()[1])
    assert len(labels) < 30
    assert torch.equal(learner.memories()[0].y[-len(labels[-1]) :], labels[-1])


STATISTICS = [
    ("si", {"damping": 0.1}),
    ("ewc++", {"interval": 3}),
    ("ewc++", {"interval": 20, "warm": False}),
    ("ewc++", {"estimator": "empirical", "fisher_update": "step", "heads": "per-task"}),
    ("rwalk", {"interval": 3}),
    ("rwalk", {"interval": 20, "score_fisher": "end"}),
    ("rwalk", {"fisher_update": "step", "interval": 4, "clip": "task"}),
    ("rwalk", {"exemplars": 2, "class_weighted": True, "statistics": "plain", "interval": 2}),
]


def _told(learner, rising):
    """Its accuracy rises for so many looks and never again."""
    looks = iter([*(0.1 * (k + 1) for k in range(rising)), *[0.0] * 99])
    learner.accuracy = lambda: next(looks)
    return learner


@pytest.mark.parametrize("rising", [1, 2, 3, 4])
@pytest.mark.parametrize("name, settings", STATISTICS)
def test_steps_that_are_undone_leave_no_importance(name, settings, rising, make, teach, snapshot, digits_lessons):
    """All that is kept is as if the lesson had ended at its best look."""
    looking = {"stop": "patience", "look_every": 2, "patience": 6, "epochs": 3}
    early = make(name, **settings, **looking)
    for lesson in digits_lessons[:2]:
        teach(_told(early, rising), [lesson])
    short = teach(make(name, **settings, iterations=2 * rising), digits_lessons[:2])
    assert early.kept["importance"].any()
    found, expected = snapshot(early), snapshot(short)
    assert found.tensors.keys() == expected.tensors.keys()
    assert all(torch.equal(found.tensors[key], value) for key, value in expected.tensors.items())


@pytest.mark.parametrize("name, settings", STATISTICS[::2])
def test_where_no_step_made_it_better_nothing_is_important(name, settings, make, teach, digits_lessons):
    learner = teach(_told(make(name, **settings, stop="patience", look_early=True), 1), digits_lessons[:1])
    assert not learner.kept["importance"].any()


@pytest.mark.parametrize("name, settings", STATISTICS)
def test_what_was_gathered_till_the_best_look_survives_an_interruption(
    name, settings, make, teach, snapshot, digits_lessons
):
    def fresh():
        return make(name, **settings, stop="patience", look_every=2, patience=6, epochs=3)

    through, killed = (_told(fresh(), 2) for _ in range(2))
    teach(through, digits_lessons[:1])
    for step in killed.learn(digits_lessons[0]):
        if step.done == 7:
            break
    heir = fresh()
    heir.load(snapshot(killed))
    heir.accuracy = lambda: 0.0
    teach(heir, digits_lessons[:1])
    assert torch.equal(heir.kept["importance"], through.kept["importance"])
    assert heir.state().tensors.keys() == through.state().tensors.keys()


def test_keys_of_runs_whose_importance_was_too_large_are_new():
    affected = {name for name in learners() if revisions(name, {"stop": "patience"})}
    assert affected == {"si", "ewc++", "rwalk"}
    assert not any(revisions(name, {"stop": "no"}) for name in affected)
