"""Tables of pandas, of polars and of plain arrays: what is filled, encoded, kept, and refused by the column's name."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from engram import ContinualClassifier
from engram.errors import BadInput

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
KINDS = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "arrays": dict}
ROWS = 40
AGE = np.linspace(20, 60, ROWS)
COLOUR = np.array(["red", "green", "blue", "green"] * (ROWS // 4), dtype=object)
LABELS = np.where(COLOUR == "red", "a", np.where(AGE > 40, "b", "c"))


def table(**changes):
    return {"age": AGE, "colour": COLOUR, "old": AGE > 50, **changes}


@pytest.fixture(params=KINDS)
def make(request):
    return KINDS[request.param]


def test_text_numbers_and_gaps_are_learned(make):
    gaps = np.where(np.arange(ROWS) % 5 == 0, np.nan, AGE)
    model = ContinualClassifier("slda").fit(make(table(age=gaps)), LABELS)
    assert model.score(make(table()), LABELS) > 0.9
    assert model.feature_names_in_.tolist() == ["age", "colour", "old"]
    columns = model._known().preparation.columns
    assert columns[0] == {"name": "age", "kind": "numbers", "median": np.nanmedian(gaps), "missed": True}
    assert columns[1]["categories"] == ["blue", "green", "red"]


def test_rows_are_prepared_by_hand(make):
    first = make({"n": [1.0, None, 4.0, 9.0], "t": ["x", None, "x", "y"]})
    model = ContinualClassifier("slda").fit(first, [0, 1, 0, 1])
    preparation = model._known().preparation
    rows = preparation(model._read(make({"n": [None, 2.0], "t": ["new", "x"]}), reset=False))
    # the median of 1, 4 and 9, whether it was missing, and one column each for nothing, x and y
    assert rows.tolist() == [[4.0, 1.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 1.0, 0.0]]


def test_numbers_alone_have_nothing_of_the_first_session(make):
    """One session or two: the same bits."""
    x = {"a": AGE, "b": AGE**2}
    whole = ContinualClassifier("ridge").fit(make(x), LABELS)
    parts = ContinualClassifier("ridge")
    for rows in (slice(7), slice(7, None)):
        parts.partial_fit(make({name: values[rows] for name, values in x.items()}), LABELS[rows])
    assert (whole.predict_proba(make(x)) == parts.predict_proba(make(x))).all()


BAD = {
    "dates": ({"age": [datetime.date(2020, 1, 1)] * ROWS}, "column 'age' holds dates; make numbers of them"),
    "times": ({"age": [datetime.datetime(2020, 1, 1)] * ROWS}, "column 'age' holds dates"),
    "text for numbers": ({"age": COLOUR}, r"column 'age' was numbers and now holds text \(like 'green'\)"),
    "numbers for text": ({"colour": AGE}, "column 'colour' was text and now holds numbers"),
    "infinity": ({"age": AGE * np.inf}, "column 'age' has inf or too large a number"),
    "more columns": ({"more": AGE}, "more"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_read_is_refused_by_name_and_changes_nothing(case, make):
    changes, words = BAD[case]
    model = ContinualClassifier("slda").fit(make(table()), LABELS)
    before = model.predict_proba(make(table()))
    for attempt in (lambda x: model.partial_fit(x, LABELS), model.predict):
        with pytest.raises(ValueError, match=words):
            attempt(make(table(**changes)))
    assert (model.predict_proba(make(table())) == before).all()


def test_free_text_is_no_category(make):
    notes = [f"note {number}" for number in range(ROWS)]
    with pytest.raises(BadInput, match=r"column 'note' has 40 texts in 40 rows \(like 'note 9'\): too many"):
        ContinualClassifier("slda").fit(make({"note": notes}), LABELS)


def test_no_rows_are_refused(make):
    with pytest.raises(ValueError, match="0 rows"):
        ContinualClassifier("slda").fit(make({"a": np.array([])}), [])


def test_a_column_of_several_types_is_refused():
    frame = pandas.DataFrame({"a": [1, "x", 2], "b": [1, 2, 3]})
    with pytest.raises(BadInput, match=r"column 'a' holds int \(like 2\) and str \(like 'x'\); make it all numbers"):
        ContinualClassifier("slda").fit(frame, [1, 2, 3])


def test_the_nullable_types_of_pandas():
    frame = pandas.DataFrame(
        {
            "whole": pandas.array([1, None, 3], dtype="Int64"),
            "kind": pandas.Categorical(["u", "v", "u"]),
            "text": pandas.array(["x", None, "y"], dtype="string"),
            "true": pandas.array([True, None, False], dtype="boolean"),
        }
    )
    model = ContinualClassifier("slda").fit(frame, pandas.Series(["p", "q", "r"]))
    assert model.predict(frame).tolist() == ["p", "q", "r"]


def test_columns_by_name_come_in_any_order_and_are_all_needed():
    model = ContinualClassifier("slda").fit(table(), LABELS)
    turned = dict(reversed(table().items()))
    assert (model.predict_proba(turned) == model.predict_proba(table())).all()
    with pytest.raises(BadInput, match="the table lacks 'old' and has 'new' as well; it must have the columns"):
        model.predict({"age": AGE, "colour": COLOUR, "new": AGE})
    with pytest.raises(BadInput, match="different numbers of values"):
        model.predict(table(age=AGE[:3]))


def test_an_array_after_a_table_and_a_table_after_an_array():
    model = ContinualClassifier("slda").fit(table(), LABELS)
    with pytest.warns(UserWarning, match="valid feature names"), pytest.raises(BadInput, match="'colour' was text"):
        model.predict(np.zeros((2, 3)))
    plain = ContinualClassifier("slda").fit(np.column_stack([AGE, AGE]), LABELS)
    with pytest.raises(BadInput, match="whose columns have no names"):
        plain.predict({"a": AGE, "b": AGE})
