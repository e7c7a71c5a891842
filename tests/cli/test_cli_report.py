from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import engram as library
from engram import errors as library_errors
from engram.request import prepare

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
def trained(engram, train):
    said = train("split-digits", "ridge", "--seeds", "0,1", "--json")
    assert said.code == 0
    return [run["key"] for run in said.json["runs"]]


def test_all_runs_are_one_page(engram, trained):
    said = engram("report")
    assert (said.code, said.err) == (0, "")
    assert said.out == f"report: {Path('report.html').resolve()}\n"
    text = Path("report.html").read_text(encoding="utf-8")
    assert "ridge on split-digits@1" in text
    assert "engram run split-digits@1 --tasks 5 --learner ridge" in text


def test_json_says_what_was_written(engram, trained):
    said = engram("report", trained[0][:10], "--out", "folder/one.html", "--json")
    written = Path("folder/one.html")
    expected = {
        "report": str(written.resolve()),
        "bytes": written.stat().st_size,
        "runs": 1,
        "failed": 0,
        "unfinished": 0,
    }
    assert said.json == expected
    assert trained[0][:10] in written.read_text(encoding="utf-8")
    assert trained[1][:10] not in written.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--store", "nowhere"), "there is no store in 'nowhere'"),
        (("zzz",), "no run in engram-store begins with 'zzz'"),
        (("--out", "."), "--out '.' cannot be written (Is a directory); choose another place"),
        (("--out", "/proc/page.html"), "--out '/proc/page.html' cannot be written"),
    ],
)
def test_mistakes_are_told_in_a_sentence(engram, trained, words, sentence):
    said = engram("report", *words)
    assert (said.code, said.out) == (2, "")
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert not Path("report.html").exists()


def test_without_a_finished_run_there_is_nothing_to_report(engram, train):
    assert train("split-digits", "finetune", "--rate", "1e30", "--tasks", "1").code == 1
    said = engram("report")
    assert (said.code, said.out) == (2, "")
    assert "there is no finished run in engram-store to report; 'engram runs' shows" in said.err
    (only,) = engram("runs", "--json").json["runs"]
    assert "none of these runs is finished; 'engram runs' shows" in engram("report", only["key"]).err


def test_a_failed_run_is_on_the_page_beside_the_others(engram, train, trained):
    assert train("split-digits", "finetune", "--rate", "1e30").code == 1
    assert engram("report", "--json").json["failed"] == 1
    text = Path("report.html").read_text(encoding="utf-8")
    assert "1 of 1 failed" in text
    assert "the loss became nan" in text


def test_hostile_names_of_classes_and_files_stay_text(engram, train):
    x, y = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32), np.arange(40) % 4
    names = np.array([HOSTILE, "=cmd()", "\u202eeman", "plain"])
    path = "<img src=x onerror=alert(2)>.npz"
    np.savez(path, x_train=x, y_train=y, x_test=x + 0.5, y_test=y, classes=names)
    assert train("split", "ridge", "--dataset", path, "--tasks", "2").code == 0
    assert engram("report").code == 0
    text = Path("report.html").read_text(encoding="utf-8")
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in text
    assert "<img" not in text
    assert "\u202e" not in text
    assert "%27=cmd()" in text or "'=cmd()" in text


def test_a_papers_runs_are_reported_beside_what_it_published(engram):
    assert engram("paper", "permuted-mnist", "--jobs", "1", "--only", "SI").code == 0
    said = engram("report", "--paper", "permuted-mnist", "--json")
    assert said.json["runs"] == 2
    text = Path("report.html").read_text(encoding="utf-8")
    assert "EWC and SI on permuted MNIST" in text
    assert "Published, and ours" in text
    assert "engram report --paper permuted-mnist --tier quick" in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("--paper", "permuted-mnist"),
            "no run of permuted-mnist (tier quick) in engram-store is finished; 'engram paper",
        ),
        (("--paper", "permutd-mnist"), "did you mean 'permuted-mnist'"),
        (("--tier", "quick"), "--tier quick is for the runs of a paper; add --paper NAME or leave it out"),
        (("--paper", "permuted-mnist", "--tier", "huge"), "there is no tier 'huge'"),
        (("a", "--paper", "permuted-mnist"), "--paper permuted-mnist came with keys of runs; give one of the two"),
    ],
)
def test_mistakes_about_papers_are_told(engram, trained, words, sentence):
    said = engram("report", *words)
    assert (said.code, said.out) == (2, "")
    assert sentence in said.err


def test_an_experiments_rows_have_their_names_floors_and_metric(engram, trained):
    by = ("--by", "first_task_accuracy")
    words = ("--learner", "ewc", "--floors", "--head", "multi", "--tasks", "1", "--epochs", "1", "--set", "widths=12")
    assert engram("run", "split-digits", *words, "--jobs", "1", "--save", "x.toml", "--seeds", "0,1", *by).code == 0
    found = engram("report", "x.toml", "--json").json
    text = Path("report.html").read_text(encoding="utf-8")
    assert found["runs"] > 2
    assert trained[0][:10] not in text
    assert '<span class="tag">floor</span>' in text
    assert "ewc has the highest mean first task accuracy of those compared, floors apart" in text


def test_python_writes_the_same_page_of_a_whole_store(engram, trained):
    assert engram("report").code == 0
    by_command = Path("report.html").read_text(encoding="utf-8")
    place = library.report("engram-store", "python.html")
    assert place.read_text(encoding="utf-8") == by_command.replace(
        "<dt>command of this page</dt><dd>engram report</dd>\n", ""
    )
    with pytest.raises(library_errors.BadSetting, match="there is no store in 'nowhere'"):
        library.report("nowhere")


def test_the_demo_writes_the_report_of_its_own_runs_and_says_where(engram, monkeypatch):
    runs = [prepare("split-digits", "ridge", tasks=2, seed=seed) for seed in (0, 1)]
    monkeypatch.setattr("engram.demo.demo_runs", lambda: runs)
    said = engram("demo", "--jobs", "1")
    assert said.code == 0, said.err
    assert said.out.splitlines()[-1] == f"report: {Path('engram-demo.html').resolve()}"
    text = Path("engram-demo.html").read_text(encoding="utf-8")
    assert all(run.key[:10] in text for run in runs)
    assert "engram run split-digits@1 --tasks 2 --learner ridge" in text


def test_what_a_page_is_made_from_is_not_overwritten(engram, train, tmp_path):
    train("split-digits", "finetune", "--tasks", "2")
    for option in ("report --out", "export --csv", "export --latex"):
        said = engram(*option.split(), "engram-store/store.db")
        assert (said.code, "would be overwritten" in said.err) == (2, True)
    engram("run", "split-digits", "--learner", "ridge", "--tasks", "2", "--jobs", "1", "--save", "x.toml")
    text = (tmp_path / "x.toml").read_text(encoding="utf-8")
    assert engram("report", "x.toml", "--out", "x.toml").code == engram("export", "x.toml", "--csv", "x.toml").code == 2
    assert (tmp_path / "x.toml").read_text(encoding="utf-8") == text
    assert engram("runs").code == 0
