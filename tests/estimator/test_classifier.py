"""The estimator: classes that come later, exactness, forgetting, going back, tools of scikit-learn, bad input."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from engram import ContinualClassifier
from engram.errors import BadInput, BadSetting, EngramError, UnknownName

NAMES = np.array(["setosa", "versicolor", "virginica"])
CLOSED = [("ridge", {}), ("slda", {}), ("slda", {"features": 30})]
SHORT = {"epochs": 2, "widths": (8,)}


@pytest.fixture(scope="module")
def iris():
    x, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    return x[order], NAMES[y[order]]


def bits(model):
    known = model._known()
    return [known.tensors()[name].tobytes() for name in sorted(known.tensors()) if "scores" not in name]


def same(one, other, x):
    return (
        one.classes_.tolist() == other.classes_.tolist()
        and bits(one) == bits(other)
        and (one.predict_proba(x) == other.predict_proba(x)).all()
    )


# Sessions


def test_a_class_that_nobody_knew_of_is_learned_in_the_second_week(iris):
    x, y = iris
    late = y == "setosa"
    model = ContinualClassifier("slda").partial_fit(x[~late], y[~late])
    assert model.classes_.tolist() == ["versicolor", "virginica"]
    model.partial_fit(x[late], y[late])
    assert model.classes_.tolist() == NAMES.tolist()
    assert model.score(x, y) > 0.95
    assert model.counts_.tolist() == [50, 50, 50]
    assert [session["new"] for session in model.history_] == [["versicolor", "virginica"], ["setosa"]]


@pytest.mark.parametrize("labels", [np.array([True, False]), np.array([7, -3]), np.array(["ä", "b"], dtype=object)])
def test_labels_come_back_as_they_were(labels):
    model = ContinualClassifier("ridge").partial_fit([[0.0], [1.0]], labels)
    found = model.predict([[0.0], [1.0]])
    assert found.tolist() == labels.tolist()
    assert found.dtype.kind in (labels.dtype.kind, "U")


@pytest.mark.parametrize("learner, settings", [*CLOSED, ("finetune", SHORT), ("icarl", SHORT)])
def test_one_row_and_one_class_are_enough_to_begin(learner, settings):
    model = ContinualClassifier(learner, **settings).partial_fit([[1.0, 2.0]], ["only"])
    assert model.predict([[5.0, 5.0], [1.0, 2.0]]).tolist() == ["only", "only"]
    assert model.predict_proba([[5.0, 5.0]]).tolist() == [[1.0]]
    model.partial_fit([[9.0, 9.0], [8.0, 9.5]], ["other", "other"])
    assert model.predict_proba([[9.0, 9.0]]).shape == (1, 2)


def test_a_network_goes_on_learning(iris):
    x, y = iris
    model = ContinualClassifier("icarl", exemplars=20, epochs=30, rate=0.01, widths=(16,))
    for name in NAMES:
        model.partial_fit(x[y == name], y[y == name])
    assert model.score(x, y) > 0.8


# Numbers that vary in what float32 does not hold


def seconds(offset):
    """Of a minute, beside noise, and in which half of it they are."""
    draw = np.random.default_rng(0)
    time = draw.uniform(0, 60, 400)
    return np.stack([draw.normal(size=400), time + offset, np.full(400, 1.7e9 + 0.1)], 1), (time > 30).astype(int)


@pytest.mark.parametrize("learner", ["ridge", "slda"])
def test_what_is_scaled_is_scaled_before_it_is_rounded(learner):
    x, y = seconds(1.7e9)
    near, _ = seconds(0)
    model = ContinualClassifier(learner, features=100).partial_fit(x, y)
    mean, deviation = model._known().preparation.scale
    assert mean[1] == pytest.approx(x[:, 1].mean(), abs=1e-4)
    assert deviation[1] == pytest.approx(near[:, 1].std(), rel=1e-5)
    assert deviation[2] == 1
    assert model.score(x, y) == pytest.approx(ContinualClassifier(learner, features=100).fit(near, y).score(near, y))


def test_the_scale_of_ordinary_numbers_is_that_of_float32():
    x, y = load_wine(return_X_y=True)
    found, rounded = (
        ContinualClassifier("slda", features=20).fit(rows, y)._known().preparation.scale
        for rows in (x, x.astype(np.float32))
    )
    assert (np.array(found) == np.array(rounded)).all()


@pytest.mark.parametrize("learner", ["ridge", "slda"])
def test_what_is_not_scaled_is_said_once_by_its_name(learner):
    x, y = seconds(1.7e9)
    with pytest.warns(UserWarning, match="^column 1 varies in digits that float32 .*; subtract an offset") as said:
        ContinualClassifier(learner).partial_fit(x, y).partial_fit(x, y)
    assert len(said) == 1
    with pytest.warns(UserWarning, match="^column 'time' varies in digits that float32"):
        ContinualClassifier(learner).fit({"word": np.where(y, "a", "b"), "noise": x[:, 0], "time": x[:, 1]}, y)
    for silent in (seconds(0)[0], x[:, [0, 2]], x.astype(np.float32), np.round(x * [1, 0, 0] + [0, 2000, 0])):
        ContinualClassifier(learner).fit(silent, y)


# Exactness


@pytest.mark.parametrize("learner, settings", [("ridge", {}), ("slda", {})])
def test_one_session_or_a_hundred_in_any_order_give_the_same_bits(learner, settings):
    x, y = load_wine(return_X_y=True)
    whole = ContinualClassifier(learner, **settings).partial_fit(x, y)
    parts = ContinualClassifier(learner, **settings)
    for rows in np.array_split(np.random.default_rng(1).permutation(len(x)), 100):
        parts.partial_fit(x[rows], y[rows])
    assert same(whole, parts, x)
    assert whole.choice_["chosen"] == parts.choice_["chosen"]


@pytest.mark.parametrize("shape", [(64,), (1, 8, 8)])
def test_random_features_are_as_exact_after_the_first_session(shape):
    x, y = load_digits(return_X_y=True)
    x, y = x[:400].reshape(-1, *shape) / 16, y[:400]
    one, other = (ContinualClassifier("slda", features=50).partial_fit(x[:100], y[:100]) for _ in range(2))
    one.partial_fit(x[100:], y[100:])
    for rows in np.array_split(np.random.default_rng(1).permutation(np.arange(100, 400)), 30):
        other.partial_fit(x[rows], y[rows])
    assert same(one, other, x)
    assert one.score(x, y) > 0.9


@pytest.mark.parametrize("learner, settings", CLOSED)
def test_what_is_forgotten_was_never_there(learner, settings, iris):
    x, y = iris
    model, never = (ContinualClassifier(learner, **settings).partial_fit(x[:100], y[:100]) for _ in range(2))
    model.partial_fit(x[100:], y[100:]).forget(x[100:], y[100:])
    assert same(model, never, x)
    assert model.history_[-1]["kind"] == "forget"


def test_a_class_that_is_forgotten_is_gone(iris):
    x, y = iris
    gone = y == "virginica"
    model = ContinualClassifier("slda").partial_fit(x, y).forget(x[gone], y[gone])
    assert same(model, ContinualClassifier("slda").partial_fit(x[~gone], y[~gone]), x)


def test_rows_that_were_not_learned_cannot_be_forgotten(iris):
    x, y = iris
    model = ContinualClassifier("slda").partial_fit(x[:60], y[:60])
    before = bits(model)
    for rows, labels in ((x, y), (x[60:], y[60:]), (x[:1], ["unseen"]), (x[:60], y[:60]), (x[:60] * 0, y[:60])):
        with pytest.raises(BadInput):
            model.forget(rows, labels)
    assert bits(model) == before


def test_a_network_cannot_forget_and_says_who_can(iris):
    x, y = iris
    model = ContinualClassifier("finetune", **SHORT).partial_fit(x, y)
    with pytest.raises(BadSetting, match="'finetune' cannot forget rows.*'ridge' or learner='slda'"):
        model.forget(x[:1], y[:1])


# Going back


@pytest.mark.parametrize("learner, settings", [("slda", {}), ("finetune", SHORT)])
def test_undo_goes_back_to_before_the_last_session_once(learner, settings, iris):
    x, y = iris
    model, before = (ContinualClassifier(learner, **settings).partial_fit(x[:75], y[:75]) for _ in range(2))
    model.partial_fit(x[75:], y[75:])
    assert not same(model, before, x)
    assert same(model.undo(), before, x)
    with pytest.raises(BadInput, match="no session to undo"):
        model.undo()


def test_fit_begins_anew(iris):
    x, y = iris
    model = ContinualClassifier("ridge").partial_fit(x, y).fit(x[:9, :2], np.arange(9) % 2)
    assert model.classes_.tolist() == [0, 1]
    assert model.n_features_in_ == 2


# Tools of scikit-learn


def test_settings_are_parameters():
    model = ContinualClassifier("ridge", strength=2.0)
    assert model.get_params() == {"learner": "ridge", "memory": None, "network": None, "seed": 0, "strength": 2.0}
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(seed=3, features=5).get_params()["features"] == 5
    assert repr(model) == "ContinualClassifier(features=5, learner='ridge', seed=3, strength=2.0)"


def test_pipelines_searches_and_pickles(iris):
    x, y = iris
    search = GridSearchCV(ContinualClassifier("slda"), {"shrinkage": [0.01, 1.0], "learner": ["slda"]}, cv=3)
    assert search.fit(x, y).best_params_["shrinkage"] == 0.01
    assert cross_val_score(make_pipeline(StandardScaler(), ContinualClassifier()), x, y, cv=3).mean() > 0.9
    copy = pickle.loads(pickle.dumps(search.best_estimator_))
    assert same(copy.partial_fit(x[:5], y[:5]), search.best_estimator_.partial_fit(x[:5], y[:5]), x)


def test_auto_says_what_it_took(iris):
    x, y = iris
    few = ContinualClassifier().fit(x[:99], y[:99])
    assert few.choice_["learner"] == "slda"
    assert few.choice_["settings"] == {}
    assert "99 rows are few" in few.choice_["why"]
    many = ContinualClassifier().fit(x, y)
    assert many.choice_["settings"] == {"features": 500}
    images = ContinualClassifier().fit(np.zeros((2, 1, 8, 8)), [0, 1])
    assert images.choice_["settings"] == {"features": 1000}
    room = ContinualClassifier(memory="1MB", **SHORT).fit(np.zeros((2, 1, 8, 8), dtype=np.uint8), [0, 1])
    assert room.choice_["learner"] == "finetune"
    assert room.choice_["settings"]["exemplar_budget"] == 10**6 // (4 * 64)


# Bad input: one sentence, and the model is as it was

X, Y = np.arange(12.0).reshape(6, 2), np.array(["a", "b"] * 3)
BAD = {
    "empty": (X[:0], Y[:0], "0 sample"),
    "NaN": (np.where(X == 3, np.nan, X), Y, r"NaN, inf .*row 1, column 1"),
    "infinity": (np.where(X == 3, np.inf, X), Y, r"NaN, inf .*row 1, column 1"),
    "too large": (X * 1e40, Y, "beyond float32"),
    "more columns": (np.hstack([X, X]), Y, "X has 4 features, but ContinualClassifier is expecting 2"),
    "images": (X.reshape(6, 1, 1, 2), Y, r"shape \(1, 1, 2\) and had \(2,\)"),
    "no labels": (X, None, "requires y to be passed"),
    "too few labels": (X, Y[:3], "6 rows and 3 labels"),
    "float labels": (X, np.linspace(0, 1, 6), r"Unknown label type: continuous \(0.0, 0.2, 0.4, …\)"),
    "missing labels": (X, [None, *Y[1:]], "row 0 has no label"),
    "NaN labels": (X, [1.0, np.nan, 1, 1, 1, 1], "row 1 has no label"),
    "other labels": (X, [1, 2] * 3, r"labels were text \('a', 'b'\) and are now whole numbers \(1, 2\)"),
    "mixed labels": (X, np.array([1, "a"] * 3, dtype=object), "labels are of several types"),
    "dates as labels": (X, np.array(["2020-01-01"] * 6, dtype="datetime64[D]"), "Unknown label type: datetime64"),
    "tuples as labels": (X, [(1, 2)] * 6, "1d array"),
}


@pytest.mark.parametrize("learner, settings", [("slda", {}), ("finetune", SHORT)])
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_a_sentence_and_changes_nothing(case, learner, settings):
    x, y, words = BAD[case]
    model = ContinualClassifier(learner, **settings).partial_fit(X, Y)
    before, history = bits(model), model.history_
    with pytest.raises(ValueError, match=words):
        model.partial_fit(x, y)
    assert bits(model) == before
    assert model.history_ == history
    assert model.n_features_in_ == 2


def test_images_stay_bytes_or_other_numbers():
    shades = np.arange(4 * 16, dtype=np.uint8).reshape(4, 1, 4, 4)
    for first, later, words in (
        (shades, shades / 255, "images were bytes .0 to 255. in the first session and are now float64"),
        (shades / 255, shades, "images were not bytes in the first session and are now .0 to 255."),
    ):
        model = ContinualClassifier("slda").fit(first, [0, 0, 1, 1])
        for use in (model.predict, lambda x, model=model: model.partial_fit(x, [0, 0, 1, 1])):
            with pytest.raises(BadInput, match=words):
                use(later)
    rows = shades.reshape(4, 16)  # small numbers are what they are
    model = ContinualClassifier("slda").fit(rows * 1.0, [0, 0, 1, 1])
    assert (model.predict(rows) == model.predict(rows * 1.0)).all()


def test_a_first_session_that_fails_leaves_nothing():
    model = ContinualClassifier("slda")
    with pytest.raises(ValueError, match="continuous"):
        model.partial_fit(X, np.linspace(0, 1, 6))
    assert not hasattr(model, "n_features_in_")
    assert model.partial_fit(X[:, :1], Y).n_features_in_ == 1


def test_a_hundred_thousand_classes_are_too_many():
    rows = np.zeros((100_000, 1))
    with pytest.raises(BadInput, match=r"100,000 different labels \(0, 1, 2, …\) and at most 50,000"):
        ContinualClassifier("slda").fit(rows, np.arange(100_000))


def test_ten_thousand_classes_are_not():
    rows = np.arange(10_000.0)[:, None]
    model = ContinualClassifier("ridge").fit(rows, np.arange(10_000))
    assert model.predict_proba(rows[:2]).shape == (2, 10_000)


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"learner": "sldaa"}, "there is no learner 'sldaa'; did you mean 'slda'"),
        ({"learner": "slda", "shrinkige": 1}, "no setting of learner .slda. .*; did you mean .shrinkage."),
        ({"learner": "slda", "shrinkage": 2}, "shrinkage=2.0 is out of range"),
        ({"learner": "finetune", "width": (3,)}, "'width'; did you mean 'widths'"),
        ({"learner": "pathnet"}, "must be told the task"),
        ({"memory": "much"}, "memory='much' is not a number of bytes"),
        ({"learner": "ridge", "memory": "1kB"}, "memory=1000 is room for rows .* learner 'ridge' keeps none"),
        ({"learner": "si", "memory": "1kB", "exemplars": 2}, "memory=1000 and exemplars=2 both say"),
        ({"learner": "gem", "memory": "1kB"}, "learner 'gem' keeps none by their bytes"),
    ],
)
def test_what_cannot_be_asked_for_is_said_when_it_begins(parameters, words):
    with pytest.raises(EngramError, match=words):
        ContinualClassifier(**parameters).fit(X, Y)
    assert issubclass(UnknownName, EngramError)


def test_a_column_that_is_constant_but_for_the_last_digits_of_float64_is_constant():
    draw = np.random.default_rng(0)
    shares = draw.dirichlet([1, 1, 1], 300)
    x, y = np.column_stack([shares, shares.sum(1)]), (shares[:, 0] > shares[:, 1]).astype(int)
    assert len(np.unique(x[:, 3])) > 1
    model = ContinualClassifier("ridge", features=200).fit(x[:200], y[:200])
    later = x[200:] * [1, 1, 1, 0.99]
    assert (model.predict(later) == y[200:]).mean() > 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ContinualClassifier("slda").fit(x[:50], y[:50])
