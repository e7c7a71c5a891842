"""A model is a file: it goes on where it was, proves itself, and nobody's session is lost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import engram
from engram import ContinualClassifier, checkpoint
from engram.core import Outline, State
from engram.errors import BadData, BadState, DamagedFile, EngramError, ModelInUse
from engram.estimator import model_file, updating
from engram.estimator.describing import kept_bytes

ASSETS = Path(__file__).parents[1] / "assets"
NAMES = np.array(["setosa", "versicolor", "virginica"])
SHORT = {"epochs": 2, "widths": (8,)}
MODELS = {
    "ridge": ("ridge", {}),
    "slda": ("slda", {"shrinkage": 0.2}),
    "waves": ("slda", {"features": 20}),
    "finetune": ("finetune", SHORT),
    "icarl": ("icarl", {**SHORT, "exemplars": 3}),
    "ridge-each": ("ridge-each", {}),
}


@pytest.fixture(scope="module")
def iris():
    x, y = load_iris(return_X_y=True)
    return x[::2], NAMES[y[::2]]


@pytest.fixture
def saved(iris, tmp_path):
    x, y = iris
    ContinualClassifier("slda").partial_fit(x[:50], y[:50]).save(tmp_path / "iris.engram")
    return tmp_path / "iris.engram"


@pytest.mark.parametrize("name", MODELS)
def test_it_goes_on_as_if_it_had_never_been_saved(name, iris, tmp_path):
    x, y = iris
    learner, settings = MODELS[name]
    model = ContinualClassifier(learner, seed=3, **settings).partial_fit(x[:50], y[:50])
    model.save(tmp_path / "m.engram")
    heir = engram.load(tmp_path / "m.engram")
    assert json.dumps(heir.get_params()) == json.dumps(model.get_params())
    assert heir.history_ == model.history_
    assert heir.choice_ == model.choice_
    for one in (model, heir):
        one.partial_fit(x[50:], y[50:])
    assert (heir.predict_proba(x) == model.predict_proba(x)).all()
    assert heir.classes_.tolist() == NAMES.tolist()
    assert heir.counts_.tolist() == model.counts_.tolist()


@pytest.mark.parametrize("name", MODELS)
def test_the_state_before_the_last_session_is_in_the_file(name, iris, tmp_path):
    x, y = iris
    learner, settings = MODELS[name]
    model = ContinualClassifier(learner, **settings).partial_fit(x[:50], y[:50])
    before = model.predict_proba(x)
    model.save(tmp_path / "m.engram")
    alone = (tmp_path / "m.engram").stat().st_size
    model.partial_fit(x[50:], y[50:]).save(tmp_path / "m.engram")
    assert (tmp_path / "m.engram").stat().st_size < 3 * alone
    heir = engram.load(tmp_path / "m.engram").undo()
    assert (heir.predict_proba(x) == before).all()
    assert len(heir.history_) == 1
    heir.save(tmp_path / "m.engram")
    assert engram.load(tmp_path / "m.engram").classes_.tolist() == NAMES[:2].tolist()


@pytest.mark.parametrize("name, settings", [("ridge", {"features": 200}), ("icarl", {"exemplars": 5})])
def test_what_a_model_is_said_to_take_is_the_size_of_its_file(name, settings, iris, tmp_path):
    x, y = iris
    model = ContinualClassifier(name, **settings)
    for part in (slice(0, 50), slice(50, 75)):
        model.partial_fit(x[part], y[part])
    model.save(tmp_path / "m.engram")
    size = (tmp_path / "m.engram").stat().st_size
    assert 0.95 * size - 10_000 < kept_bytes(model) < size  # what is not a number takes a few kB


@pytest.mark.parametrize("labels", [[True, False], [3, -1], ["a", "ü"]])
def test_classes_keep_their_type(labels, tmp_path):
    model = ContinualClassifier("ridge").partial_fit([[0.0], [1.0]], labels)
    model.save(tmp_path / "m.engram")
    heir = engram.load(tmp_path / "m.engram")
    assert heir.classes_.dtype == model.classes_.dtype
    assert heir.predict([[1.0]]).tolist() == labels[1:]


def test_a_learner_that_was_saved_is_still_loaded(tmp_path):
    learner = engram.learners.learners()["ridge"](Outline((2,), (0, 1)), features=4)
    engram.save(learner, tmp_path / "learner")
    assert type(engram.load(tmp_path / "learner")) is type(learner)


# Two who update one model


def test_who_saves_second_is_refused_and_nothing_is_lost(saved, iris):
    x, y = iris
    first, second = engram.load(saved), engram.load(saved)
    first.partial_fit(x[50:60], y[50:60]).save(saved)
    second.partial_fit(x[60:], y[60:])
    with pytest.raises(ModelInUse, match="was changed by somebody else since this model was loaded; load it and"):
        second.save(saved)
    assert engram.load(saved).counts_.sum() == 60
    second.save(saved, overwrite=True)
    assert engram.load(saved).counts_.sum() == 65


def test_an_update_keeps_others_out(saved, iris):
    x, y = iris
    with updating(saved) as model:
        for attempt in (lambda: model.save(saved), lambda: updating(saved).__enter__()):
            with pytest.raises(ModelInUse, match="is being updated by another process; try again when it is done"):
                attempt()
        assert engram.load(saved).counts_.sum() == 50
        model.partial_fit(x[50:], y[50:])
    assert engram.load(saved).counts_.sum() == 75
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_an_update_that_fails_saves_nothing(saved):
    before = saved.read_bytes()
    with pytest.raises(ValueError, match="continuous"), updating(saved) as model:
        model.partial_fit([[1.0, 2, 3, 4]], [0.5])
    assert saved.read_bytes() == before


def test_another_model_is_not_overwritten_unasked(saved):
    other = ContinualClassifier("ridge").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ModelInUse, match="is there already"):
        other.save(saved)
    other.save(saved, overwrite=True)
    other.save(saved)
    assert engram.load(saved).learner == "ridge"


# Files that are not what they were


def test_every_flipped_bit_is_noticed(saved):
    content = saved.read_bytes()
    for place in range(0, len(content), 97):
        saved.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        with pytest.raises(EngramError):
            engram.load(saved)


def test_what_is_no_model_is_refused(tmp_path, saved):
    with pytest.raises(BadData, match="there is no file"):
        engram.load(tmp_path / "nothing.engram")
    saved.write_bytes(b"")
    with pytest.raises(DamagedFile, match="is not a checkpoint"):
        engram.load(saved)


def test_a_newer_format_is_refused_and_stays(saved):
    state = checkpoint.read(saved, model_file.OWNER)
    newer = checkpoint.encode(State(state.tensors, {**state.plain, "format": model_file.FORMAT + 1}), model_file.OWNER)
    saved.write_bytes(newer)
    with pytest.raises(BadState, match="has the format 2 of a newer Engram; update Engram to read it"):
        engram.load(saved)
    assert saved.read_bytes() == newer


def test_a_file_that_lacks_a_part_is_refused(saved):
    state = checkpoint.read(saved, model_file.OWNER)
    plain = {**state.plain, "now": {**state.plain["now"], "labels": {}}}
    saved.write_bytes(checkpoint.encode(State(state.tensors, plain), model_file.OWNER))
    with pytest.raises(DamagedFile, match="holds no whole model"):
        engram.load(saved)


def test_a_model_of_format_1_is_read():
    """Of a table with text and gaps, with two sessions and random features."""
    model = engram.load(ASSETS / "model-format-1.engram")
    table = {"length": [1.0, np.nan, 9.0], "colour": ["red", None, "green"]}
    assert model.predict(table).tolist() == ["ash", "elm", "elm"]
    assert model.partial_fit(table, ["ash", "oak", "elm"]).classes_.tolist() == ["ash", "elm", "oak"]
    assert model.undo().classes_.tolist() == ["ash", "elm"]
