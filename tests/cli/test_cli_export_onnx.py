"""A model as an ONNX file: onnxruntime answers as the model does."""

from __future__ import annotations

import numpy as np
import pytest

import engram as library

runtime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
ROWS = 120


@pytest.fixture
def table():
    draw = np.random.default_rng(0)
    columns = {
        "price": draw.normal(5000, 300, ROWS),
        "age": np.where(draw.random(ROWS) < 0.2, np.nan, draw.normal(size=ROWS)),
        "colour": draw.choice(["red", "green", ""], ROWS).astype(object),
    }
    return columns, np.where(columns["price"] > 5000, "dear", "cheap")


@pytest.mark.parametrize("learner, settings", [("slda", {}), ("ridge", {}), ("slda", {"features": 30})])
def test_a_table_with_gaps_and_text(engram, table, learner, settings, tmp_path):
    columns, labels = table
    model = library.ContinualClassifier(learner, **settings).partial_fit(columns, labels)
    model.save(tmp_path / "m.engram")
    found = engram("export", "m.engram", "--onnx", "m.onnx", "--json").json
    assert found["inputs"] == {"numbers": ["price", "age"], "texts": ["colour"]}
    assert found["differs"] < 1e-5
    session = runtime.InferenceSession(tmp_path / "m.onnx")
    numbers = np.stack([columns["price"], columns["age"]], 1)
    given = {"numbers": numbers, "texts": columns["colour"].reshape(-1, 1)}
    shares, answers = session.run(["probabilities", "label"], given)
    assert np.abs(shares - model.predict_proba(columns)).max() < 1e-5
    assert answers.tolist() == model.predict(columns).tolist()


@pytest.mark.parametrize("as_table", [False, True])
def test_numbers_that_vary_in_what_float32_does_not_hold(engram, as_table, tmp_path):
    """Unix seconds, on both sides of the export."""
    draw = np.random.default_rng(0)
    time = 1.7e9 + draw.uniform(0, 600, 300)
    rows = {"time": time, "size": draw.normal(size=300)} if as_table else np.stack([time, draw.normal(size=300)], 1)
    model = library.ContinualClassifier("slda", features=30).partial_fit(rows, (time // 100 % 2).astype(int))
    model.save(tmp_path / "m.engram")
    assert engram("export", "m.engram", "--onnx", "m.onnx", "--json").json["differs"] < 1e-5
    numbers = np.stack([rows["time"], rows["size"]], 1) if as_table else rows
    shares = runtime.InferenceSession(tmp_path / "m.onnx").run(["probabilities"], {"numbers": numbers})[0]
    assert np.abs(shares - model.predict_proba(rows)).max() < 1e-5


def test_images_of_floats_stay_float32(engram, tmp_path):
    x = np.random.default_rng(0).random((40, 1, 8, 8)).astype(np.float32)
    model = library.ContinualClassifier("slda").partial_fit(x, np.arange(40) % 3)
    model.save(tmp_path / "m.engram")
    engram("export", "m.engram", "--onnx", "m.onnx")
    answers = runtime.InferenceSession(tmp_path / "m.onnx").run(["label"], {"numbers": x})[0]
    assert answers.tolist() == model.predict(x).tolist()


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 17, 20)])
@pytest.mark.parametrize("settings", [{}, {"features": 20}])
def test_images(engram, shape, settings, tmp_path):
    x = np.random.default_rng(0).integers(0, 256, (40, *shape), dtype=np.uint8)
    library.ContinualClassifier("slda", **settings).partial_fit(x, np.arange(40) % 3).save(tmp_path / "m.engram")
    said = engram("export", "m.engram", "--onnx", "m.onnx")
    assert said.out.startswith(f"input 'numbers': {', '.join(map(str, shape))}\nwrote m.onnx: onnxruntime answers as")
    answers = runtime.InferenceSession(tmp_path / "m.onnx").run(["label"], {"numbers": x})[0]
    assert answers.tolist() == library.load(tmp_path / "m.engram").predict(x).tolist()


def test_a_network(engram, tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    model = library.ContinualClassifier("finetune", iterations=3, widths=(5,)).partial_fit(x, np.arange(40) % 3)
    model.save(tmp_path / "m.engram")
    assert engram("export", "m.engram", "--onnx", "m.onnx", "--json").json["differs"] < 1e-5
    shares = runtime.InferenceSession(tmp_path / "m.onnx").run(["probabilities"], {"numbers": x.astype(float)})[0]
    assert np.abs(shares - model.predict_proba(x)).max() < 1e-5


def test_mistakes(engram, table, tmp_path):
    for words, sentence in (
        (("export", "--onnx", "m.onnx"), "--onnx takes one model's file and 0 were named"),
        (("export", "no.engram", "--onnx", "m.onnx"), "there is no model no.engram"),
    ):
        said = engram(*words)
        assert (said.code, said.err.count("\n")) == (2, 1)
        assert sentence in said.err
    x = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    library.ContinualClassifier("icarl", iterations=3, widths=(5,)).partial_fit(x, np.arange(40) % 3).save("i.engram")
    said = engram("export", "i.engram", "--onnx", "m.onnx")
    assert said.code == 2
    assert "learner 'icarl' cannot be exported" in said.err
    assert not (tmp_path / "m.onnx").exists()
