"""What a run asks for, checked before any work, and what its record says."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from engram.errors import BadSetting, Diverged, EngramError, UnknownName
from engram.execute import execute
from engram.request import prepare
from engram.runs import Run, record_of

SMALL = {"widths": "12-10", "batch": 96}


def done(run, store):
    execute([run], store)
    return record_of(store.runs(run.key)[0], store)


def known(learner, **settings):
    return prepare("split-digits", learner, settings={**SMALL, **settings})


def test_a_run_builds_each_task_once(store):
    run = prepare("permuted-digits", "finetune", tasks=4, settings={"widths": "5", "batch": 96})
    built, build = [], run.stream.build
    counting = replace(run.stream, build=lambda task, share: built.append(task) or build(task, share), _built={})
    execute([replace(run, stream=counting)], store)
    assert built == [0, 1, 2, 3]


def test_a_run_that_went_through_json_has_its_key():
    run = prepare("split-digits", "ewc", seed=2, curve=(0, 3), references=True, settings={"strength": "10", **SMALL})
    again = Run.from_json(json.loads(json.dumps(run.to_json())))
    assert again.key == run.key
    assert again.root.child([0], again.grid[0]).key == run.root.child([0], run.grid[0]).key


@pytest.mark.parametrize(
    "change",
    [
        {"learner": "si"}, {"seed": 1}, {"stream_seed": 5}, {"head": "multi"}, {"protocol": "task-level"},
        {"settings": {"widths": "9"}}, {"tasks": 2}, {"curve": (0,)}, {"references": True}, {"settings": {"rate": 0.1}},
    ],
)  # fmt: skip
def test_every_part_of_a_run_is_in_its_key(change):
    asked = {"learner": "finetune", **change}
    assert prepare("split-digits", **asked).key != prepare("split-digits", "finetune").key


def test_text_and_number_are_the_same_setting():
    assert known("finetune", rate="0.01").key == known("finetune", rate=0.01).key


@pytest.mark.parametrize(
    "asked, error",
    [
        ({"learner": "ewcc"}, "no learner 'ewcc'; did you mean 'ewc'?"),
        ({"head": "both"}, "no head 'both'"),
        ({"network": "mlq"}, "no network 'mlq'; did you mean 'mlp'?"),
        ({"protocol": "best"}, "no protocol 'best'"),
        ({"settings": {"rate": 0}}, "rate=0.0 is out of range; it must be above 0"),
        ({"settings": {"rate": []}}, "rate has no values to choose from"),
        ({"settings": {"rate": [0.1, 0.2]}}, "'sequential' takes one value of each setting, rate has several"),
        ({"settings": {"depth": 3}}, "'depth'"),
        ({"curve": (0, -1)}, "curve=[0, -1] is not a list of steps"),
        ({"curve": (0.5,)}, "curve=[0.5] is not a list of steps"),
        ({"learner": "independent", "head": "single"}, "has no single-head accuracy; use --head multi"),
    ],
)
def test_a_mistake_is_found_before_any_work_and_named(asked, error):
    with pytest.raises(EngramError) as caught:
        prepare("split-digits", **{"learner": "finetune", **asked})
    assert error in str(caught.value)
    assert isinstance(caught.value, (BadSetting, UnknownName))


@pytest.mark.parametrize("name", ["d5-5a-digits", "dp10-10-digits@1", "split-digits"])
def test_options_of_a_stream_are_known_by_its_name_dashes_or_not(name):
    run = prepare(name, "finetune", settings={"centred": "true", "validation": 0.2, **SMALL})
    assert run.stream.spec["options"]["centred"] is True
    assert run.validation == 0.2


def test_a_stream_of_two_tasks_takes_its_dataset_apart_or_in_its_name():
    short, long = prepare("d9-1a-digits", "finetune"), prepare("d9-1a", "finetune", dataset="digits")
    assert short.key == long.key
    assert Run.from_json(json.loads(json.dumps(short.to_json()))).key == short.key
    with pytest.raises(UnknownName, match="called 'sizes'"):
        prepare("d9-1a-digits", "finetune", settings={"sizes": "5-5"})


def test_a_reference_that_diverged_fails_the_run_and_is_said(store):
    run = prepare("split-digits", "finetune", references=True, settings=SMALL)
    joint = run.root.child([0, 1], run.grid[0])
    store.fail(joint.key, joint.stored()[0], Diverged("the loss became nan"))
    record = done(run, store)
    assert record.status == "failed"
    assert "a reference could not be trained (the loss became nan); leave references out to see all else" in str(
        record.error
    )


def test_references_equal_the_joint_and_independent_learners(store):
    settings = {**SMALL, "epochs": 2, "rate": 0.01}
    record = done(prepare("split-digits", "finetune", references=True, settings=settings), store)
    joint = done(prepare("split-digits", "joint", settings=settings), store)
    alone = done(prepare("split-digits", "independent", settings=settings), store)
    assert record.joint == tuple(row[-1] for row in joint.accuracy)
    assert record.isolated == (alone.accuracy[-1][-1],)
    assert record.joint[-1] > 0.3


def test_the_size_of_a_run_is_the_number_of_its_nodes(store):
    run = prepare("split-digits", "finetune", references=True, settings=SMALL)
    execute([run], store)
    assert run.size() == len(store.runs()[0]["result"]["grown"])


def test_a_failed_run_s_record_says_why(store):
    record = done(known("finetune", rate=1e30), store)
    assert record.status == "failed"
    assert "task 1 (digits 0-1), step 2" in record.error
    assert record.accuracy == []
