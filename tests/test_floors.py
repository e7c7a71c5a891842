"""Which floors stand beside which rows."""

from __future__ import annotations

import pytest

from engram.floors import kept_per_class
from engram.request import prepare
from engram.study import Study

SMALL = {"widths": "12"}


def floors(*learners, settings=None, **more):
    asked = Study(["split-digits"], list(learners), settings={**SMALL, **(settings or {})}, floors=True, **more)
    return {row.label: row for row in asked.rows if row.floor}, [row.label for row in asked.rows if not row.floor]


def test_ridge_stands_beside_methods_that_keep_no_samples():
    found, rows = floors("ewc", "si")
    assert (list(found), rows) == (["finetune", "joint", "ridge"], ["ewc", "si"])


def test_exemplars_only_stands_beside_a_method_that_keeps_some_and_keeps_as_many():
    found, _ = floors("ewc", "icarl", own={"icarl": {"exemplars": 4}})
    assert list(found) == ["finetune", "joint", "exemplars-only"]
    assert found["exemplars-only"].runs[0].grid[0]["exemplars"] == 4


def test_a_floor_that_was_named_is_a_row_like_the_others_with_all_its_settings():
    found, rows = floors("ewc", "joint", "ridge", settings={"features": 100})
    assert (list(found), rows) == (["finetune"], ["ewc", "joint", "ridge"])
    found, rows = floors("finetune", "joint")
    assert (list(found), rows) == (["ridge"], ["finetune", "joint"])
    asked = Study(["split-digits"], ["ewc", "ridge"], settings={"features": 100}, floors=True)
    assert [row.runs[0].grid[0]["features"] for row in asked.rows if row.label == "ridge"] == [100]


def test_floors_train_as_the_rows_do_and_keep_nothing():
    found, _ = floors("ewc", settings={"epochs": 3, "exemplars": 5, "strength": 9})
    grids = {label: row.runs[0].grid[0] for label, row in found.items()}
    assert grids["finetune"]["epochs"] == grids["joint"]["epochs"] == 3
    assert grids["finetune"]["exemplars"] == 0
    assert grids["exemplars-only"]["exemplars"] == 5
    assert grids["exemplars-only"]["strength"] == 1e-2


def test_floors_are_read_as_the_rows_are():
    found, _ = floors("new-head")
    assert {row.runs[0].head for row in found.values()} == {"multi"}


def test_a_floor_can_have_a_setting_of_its_own():
    found, _ = floors("ewc", own={"joint": {"epochs": 4}})
    assert found["joint"].runs[0].grid[0]["epochs"] == 4


@pytest.mark.parametrize(
    "learner, settings, kept",
    [
        ("finetune", {}, 0),
        ("finetune", {"exemplars": 3}, 3),
        ("icarl", {"exemplar_budget": 25}, 3),  # of ten classes; its ten of each are for when there is no budget
        ("finetune", {"exemplar_budget": 25}, 3),
        ("gem", {"memory": 7}, 4),  # of every task, which has two classes
        ("er", {"memory": 7}, 7),
    ],
)
def test_how_much_a_method_keeps_of_each_class(learner, settings, kept):
    assert kept_per_class(prepare("split-digits", learner, settings={**SMALL, **settings})) == kept
