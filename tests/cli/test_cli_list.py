from __future__ import annotations

import pytest

import engram as library
from engram.catalogue import LISTS as LISTED

LISTS = ["datasets", "streams", "learners", "networks", "protocols", "metrics", "papers"]
SOME = {
    "datasets": {"digits", "mnist", "blobs"},
    "streams": {"split", "permuted", "incremental", "pair", "concat", "d5-5a", "d9-1c", "dp10-10"},
    "learners": {"finetune", "joint", "independent", "new-head", "new-leg", "ewc", "online-ewc", "si", "ridge"},
    "networks": {"mlp", "rwalk-cnn", "pfuelb-conv"},
    "protocols": {"sequential", "task-level", "stream-level"},
    "metrics": {"average_accuracy", "forgetting_rwalk", "lca", "omega_all"},
    "papers": {"permuted-mnist"},
}


@pytest.mark.parametrize("what", LISTS)
def test_json_names_everything(engram, what):
    said = engram("list", what, "--json")
    assert (said.code, said.err) == (0, "")
    assert SOME[what] <= {row["name"] for row in said.json}


@pytest.mark.parametrize("what", LISTS)
def test_text_fits_eighty_columns_and_breaks_no_name(engram, what):
    said = engram("list", what)
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    assert all(any(line.split()[:1] == [name] for line in said.out.splitlines()) for name in SOME[what])


def test_no_metric_is_listed_that_no_command_produces(train, engram, brief_offline):
    words = ("--tasks", "2", "--references", "--curve", "0-1-2-3-4-5", "--json")
    produced = train("split-digits", "finetune", *words).json["metrics"]
    assert {row["name"] for row in engram("list", "metrics", "--json").json} == set(produced)
    assert all(value["mean"] is not None for value in produced.values())


def test_learners_are_one_screen(engram, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    lines = engram("list", "learners").out.splitlines()
    assert len(lines) <= len(LISTED["learners"]()) + 5
    assert next(line for line in lines if line.startswith("hat ")).split()[-1] == "told"
    assert next(line for line in lines if line.startswith("ewc ")).rstrip().endswith("two vectors for every task")


def test_one_learner_in_full(engram):
    said = engram("list", "learners", "ewc")
    text = " ".join(said.out.split())
    assert text.startswith("ewc: Elastic weight consolidation (Kirkpatrick et al. 2017)")
    assert "paper: Kirkpatrick et al.: Overcoming catastrophic forgetting in neural networks, PNAS 2017" in text
    assert "strength 100.0 λ, the weight of the penalty" in text
    assert said.out.splitlines()[-1] == "engram run split-digits --learner ewc --set strength=100.0"
    assert engram("list", "learners", "pi", "--json").json == engram("list", "learners", "si", "--json").json


@pytest.mark.parametrize("what", LISTS)
@pytest.mark.parametrize("columns", ["60", "80"])
def test_one_thing_in_full_fits_the_screen(engram, monkeypatch, what, columns):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("NO_COLOR", "1")
    said = engram("list", what, sorted(SOME[what])[0])
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= int(columns)
    assert "\x1b" not in said.out


@pytest.mark.parametrize("what, wrong, right", [("learners", "ewx", "ewc"), ("metrics", "lcaa", "lca")])
def test_an_unknown_name_gets_the_nearest(engram, what, wrong, right):
    said = engram("list", what, wrong)
    assert (said.code, said.out) == (2, "")
    assert said.err == f"engram: there is no {what[:-1]} '{wrong}'; did you mean '{right}'?\n"


def test_settings_in_json_have_default_and_help(engram):
    ewc = next(row for row in engram("list", "learners", "--json").json if row["name"] == "ewc")
    assert ewc["settings"]["strength"]["default"] == 100.0
    assert ewc["settings"]["fisher"]["choices"] == ["empirical", "predicted", "sampled", "batch"]


def test_data_list_names_test_samples_that_are_training_samples(engram):
    shown = " ".join(engram("data", "list").out.split())
    assert "dtd37: 8 of its test samples are training samples too; streams leave them out" in shown
    assert shown.count("are training samples too") == 2
    rows = {row["name"]: row["test_in_train"] for row in engram("data", "list", "--json").json}
    assert rows["audioset100"] == 8
    assert rows["mnist"] == 0


def test_data_list_is_list_datasets(engram):
    assert engram("data", "list", "--json").json == engram("list", "datasets", "--json").json


def test_help_of_every_command_is_whole(engram):
    said = engram("--help")
    assert said.code == 0
    assert "..." not in said.out.replace("[ARGS]...", "")
    assert engram().out.strip() == said.out.strip()


def test_the_version(engram):
    said = engram("--version")
    assert (said.code, said.out, said.err) == (0, f"engram {library.__version__}\n", "")


def test_a_learner_is_shown_with_its_other_name(engram):
    assert any(line.startswith("si (= pi) ") for line in engram("list", "learners").out.splitlines())
    assert {row["name"]: row["also"] for row in engram("list", "learners", "--json").json}["si"] == ["pi"]


def test_a_paper_says_what_it_trains_by_name_alone_and_what_its_tiers_are(engram):
    text = " ".join(engram("list", "papers", "veniat2021").out.split())
    assert "table13: Table 13: S- - table14: Table 14: S+ (by its name alone at quick)" in text
    assert "table2: Table 2: the long stream (by its name alone at small, alexnet, paper)" in text
    assert "The tier `alexnet` has the paper's sizes" in text
    text = " ".join(engram("list", "papers", "chaudhry2018").out.split())
    assert "each at three strengths, on mnist (by its name alone) - table2" in text
