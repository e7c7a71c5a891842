"""engram export: the numbers that the tables show, in the files of other tools."""

from __future__ import annotations

import csv
import importlib.util
import json
from pathlib import Path

import pytest

import engram as package
from engram.cli import exporting


@pytest.fixture
def runs(train):
    """Two learners, two seeds each; what `engram run --json` said of them."""
    words = ("--head", "multi", "--tasks", "2", "--seeds", "0,1", "--json")
    return [train("split-digits", learner, *words).json for learner in ("finetune", "ewc")]


def rows_of(file):
    return list(csv.DictReader(Path(file).read_text().splitlines()))


def shown_means(runs):
    return {each["learner"]: f"{each['metrics']['average_accuracy']['mean']:.3f}" for each in runs}


def test_pandas_finds_the_means_of_the_table_in_every_file(engram, runs):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    said = engram("export", "--csv", "a.csv", "--parquet", "a.parquet", "--latex", "a.tex")
    assert (said.code, said.out) == (0, "wrote a.csv\nwrote a.parquet\nwrote a.tex\n")
    for frame in (pandas.read_csv("a.csv"), pandas.read_parquet("a.parquet"), package.results("engram-store")):
        means = frame.groupby("learner").average_accuracy.mean()
        assert {learner: f"{mean:.3f}" for learner, mean in means.items()} == shown_means(runs)
        assert list(frame.seed) == [0, 1, 0, 1]
        assert not frame.chosen_by_test_data.any()
        assert (frame.setting_widths.astype(str) == "12").all()
    table = Path("a.tex").read_text()
    assert all(f"${mean} \\pm" in table for mean in shown_means(runs).values())


def test_json_and_means_of_chosen_runs(engram, runs):
    keys = [run["key"] for run in runs[1]["runs"]]
    said = engram("export", keys[0][:12], keys[0], "--json").json
    assert [row["key"] for row in said["runs"]] == keys[:1]
    (row,) = engram("export", *keys, "--means", "--metrics", "average_accuracy", "--json").json["methods"]
    assert row["average_accuracy_mean"] == pytest.approx(runs[1]["metrics"]["average_accuracy"]["mean"])
    engram("export", "--means", "--csv", "means.csv")
    assert [row["n"] for row in rows_of("means.csv")] == ["2", "2"]


@pytest.mark.parametrize(
    "words, sentence",
    [
        ([], "where to?"),
        (["--csv", "x", "--latex", "x"], "'x' is given twice"),
        (["--csv", "x", "--latex", "./x"], "is given twice"),
        (["--csv", "x", "--metrics", "lca"], "--metrics names columns of --latex and --means"),
        (["m.engram", "--onnx", "m.onnx", "--csv", "x"], "--csv is of runs and --onnx of a model"),
        (["--csv", "engram-store/workers.log"], "would be overwritten"),
        (["--csv", "."], "--csv '.' "),
        (["--csv", "t.csv", "--metrics", "nonsense"], "there is no metric 'nonsense'"),
        (["--latex", "t.tex", "--metrics", "forgetting_rwal"], "did you mean 'forgetting_rwalk'?"),
        (["--latex", "t.tex", "--metrics", "accuracy"], "did you mean 'average_accuracy'?"),
        (["nothing", "--csv", "a.csv"], "no run in engram-store begins with 'nothing'"),
        (["--csv", "a.csv", "--store", "none"], "there is no store in 'none'"),
        (["--mlflow", "nowhere://x", "--csv", "a.csv"], "nowhere://x"),
    ],
)
def test_mistakes_are_said_in_a_sentence(engram, train, tmp_path, words, sentence):
    train("split-digits", "finetune", "--tasks", "2")
    said = engram("export", *words)
    assert said.code == 2
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} <= {"engram-store", "a.csv"}


def test_nothing_is_written_where_a_package_is_missing(engram, train, tmp_path, monkeypatch):
    train("split-digits", "finetune", "--tasks", "2")
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in missing else find(name))
    missing = {"pandas", *(package for package, _ in exporting.NEEDED.values())}
    for kind, (name, extra) in exporting.NEEDED.items():
        said = engram("export", "--csv", "a.csv", f"--{kind}", "place")
        assert (said.code, said.err) == (
            2, f"engram: {name} is not installed; get it with: pip install 'engram[{extra}]'\n"
        )  # fmt: skip
    with pytest.raises(package.errors.MissingPackage, match="pandas is not installed"):
        package.results("engram-store")
    assert [path.name for path in tmp_path.iterdir()] == ["engram-store"]


def test_a_hostile_learner_is_no_formula(engram, train, tmp_path):
    code = "from engram.learners.finetune import Finetune\nclass Mine(Finetune):\n    name = '=cmd()'\n"
    (tmp_path / "=cmd.py").write_text(code)
    assert train("split-digits", "=cmd.py:Mine", "--tasks", "2").code == 0
    engram("export", "--csv", "a.csv")
    (row,) = rows_of("a.csv")
    assert row["learner"].startswith("'=")
    assert json.loads(row["seed"]) == 0


def test_an_experiment_is_a_comparison(engram, train):
    train("split-digits", "finetune,ridge", "--tasks", "2", "--seeds", "0-2", "--save", "two.toml")
    said = engram("export", "two.toml", "--means", "--latex", "two.tex", "--json").json
    assert [(row["row"], row["n"]) for row in said["methods"]] == [("finetune", 3), ("ridge", 3)]
    assert r"\textbf{ridge}" in Path("two.tex").read_text()
    assert said["methods"][0]["bytes_std"] == 0


def test_runs_go_to_another_store_and_come_out_as_the_same_table(engram, runs):
    said = engram("export", "--runs", "a.runs")
    assert (said.code, said.out) == (0, "wrote a.runs\n")
    assert engram("import", "a.runs", "--store", "other").out == "a.runs: 4 runs taken in, 0 were here already\n"
    assert engram("import", "engram-store", "--store", "other", "--json").json["engram-store"]["known"] == 4
    tables = [engram("export", "--json", "--store", store).json["runs"] for store in ("engram-store", "other")]
    assert tables[0] == tables[1]


def test_an_experiment_goes_with_its_runs(engram):
    words = ("--set", "widths=8", "--tasks", "2", "--jobs", "1")
    engram("run", "split-digits", "--learner", "finetune,ewc", *words, "--save", "two.toml")
    engram("export", "two.toml", "--runs", "a.runs")
    assert engram("import", "a.runs", "--store", "other", "--json").json["a.runs"]["experiments"] == 1
    here, there = (engram("show", "two.toml", "--store", store).out for store in ("engram-store", "other"))
    assert here == there


def test_mistakes_of_import_make_no_store(engram, tmp_path):
    (tmp_path / "notes.txt").write_text("not ours")
    for source, sentence in (("nothing", "there is no 'nothing' to import"), ("notes.txt", "'notes.txt' is damaged")):
        said = engram("import", source)
        assert (said.code, said.err.count("\n")) == (2, 1)
        assert sentence in said.err
    assert engram("import").code == 2
    assert not Path("engram-store").exists()


def test_of_several_sources_all_come_in_or_none(engram, runs):
    engram("export", "--runs", "a.runs")
    Path("b.runs").write_text("not ours")
    assert engram("import", "a.runs", "b.runs", "--store", "other").code == 2
    assert not Path("other").exists()
    assert (
        engram("import", "a.runs", "a.runs", "--store", "other").out == "a.runs: 4 runs taken in, 0 were here already\n"
    )


@pytest.mark.parametrize("option", ["--runs", "--csv", "--latex"])
def test_the_store_is_not_written_over(engram, runs, option):
    said = engram("export", option, "engram-store/store.db")
    assert said.code == 2
    assert "is what is read, and would be overwritten" in said.err
    assert engram("runs").code == 0


def test_where_nothing_can_be_packed_nothing_else_is_written(engram):
    engram("run", "split-digits", "--learner", "finetune", "--set", "optimizer=sgd", "--rate", "1e30", "--tasks", "2")
    said = engram("export", "--csv", "a.csv", "--runs", "a.runs")
    assert (said.code, "none of these runs" in said.err) == (2, True)
    assert not Path("a.csv").exists()
