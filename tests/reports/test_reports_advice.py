from __future__ import annotations

from dataclasses import replace

import pytest

from engram.record import Ideals
from engram.reports.advice import ONE_CLASS, PENALTIES_ALONE, advice


@pytest.fixture
def learned(record):
    """A run that measured these classes after each of its tasks."""

    def learned(*classes, **changes):
        made = record(**changes)
        rows = [replace(made.rows[0], per_class=seen and {made.head: dict.fromkeys(seen, 0.5)}) for seen in classes]
        return replace(made, rows=tuple(rows))

    return learned


@pytest.mark.parametrize("learner", ["ewc", "online-ewc", "si", "pi", "ewc++", "rwalk"])
def test_a_penalty_alone_where_classes_are_new(learned, learner):
    assert advice([learned("01", "0123", learner=learner)]) == [PENALTIES_ALONE]
    assert advice([learned("01", "23", learner=learner)] * 3) == [PENALTIES_ALONE]


@pytest.mark.parametrize(
    "change",
    [{"head": "multi"}, {"learner": "icarl"}, {"learner": "finetune"}, {"learner": "somebody's own"},
     {"settings": {"exemplars": 10}}, {"settings": {"exemplar_budget": 100}}, {"settings": {"exemplars": [10, 20]}}],
)  # fmt: skip
def test_no_advice_for_other_methods(learned, change):
    assert advice([learned("01", "0123", **{"learner": "ewc", **change})]) == []


@pytest.mark.parametrize("classes", [("01", "01"), ("0123",), ("", "0123"), ("", ""), ()])
def test_no_advice_where_no_class_is_known_to_be_new(learned, classes):
    assert advice([learned(*classes)]) == []


@pytest.mark.parametrize("first, sentences", [("0", [ONE_CLASS]), ("01", [])])
def test_a_first_session_of_one_class_beside_an_offline_model(learned, first, sentences):
    shown = learned(first, "0123", learner="ridge")
    assert advice([replace(shown, ideals=Ideals(shown.rows[:1]))]) == sentences
    assert advice([shown]) == []
