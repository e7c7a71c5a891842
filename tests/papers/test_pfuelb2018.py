from __future__ import annotations

import csv
from dataclasses import replace

import pytest

from engram.core import Cost, Curve, Row
from engram.errors import UnknownName
from engram.papers import paper
from engram.papers.cross_table import Cell
from engram.papers.paper import Answer
from engram.papers.pfuelb2018 import MODELS, TABLES, TIERS
from engram.papers.pfuelb2018_claims import total_forgetting
from engram.record import Record
from engram.reports.cells import full
from engram.reports.page import write_page
from engram.request import prepare

PFUELB = paper("pfuelb2018")


def experiment(name, tier="small", only=()):
    return PFUELB.find(name, tier, None, only)[0]


def record(d1: float, d2: float, union: float, stop: int = 50) -> Record:
    first = Curve((0, 50), (0.1, 0.9), ((0.1,), (0.9,)), (0.1, 0.9), (0.1, 0.9))
    second = Curve((0, 50), (0.0, d2), ((0.9, 0.0), (d1, d2)), (0.5, union), (0.0, d2))
    cost = Cost({"total": 8}, 2, 30.0)
    rows = (
        Row((0.9,), (0.9,), {}, {}, {"single": first}, cost, "0", {"single": 0.9}),
        Row((d1, d2), (d1, d2), {}, {}, {"single": second}, cost, "0", {"single": union}),
    )
    how = ("d5-5a-mnist@1", "finetune", "mlp", {}, "realistic", "single", 0, "key", "done", None)
    return Record(*how, rows, ({}, {}), stop=stop, warning="chosen by test data")


def answers(found, value, d1=0.0):
    """The cells of an experiment with made-up records: `value(cell)` is the accuracy on both tasks."""
    return [Answer(cell, (record(d1, 0.9, value(cell)),)) for cell in found.questions]


def published(cell: Cell) -> float:
    return next(iter(cell.published.values()), 0.0)


def verdicts(found, made_up):
    return {v.claim: v.verdict for v in found.verdicts(made_up)}


def test_the_tables_hold_what_was_published():
    values = {(c.model, c.dataset): published(c) for c in experiment("table3").questions}
    assert len(values) == 72
    assert (values["fc", "d5-5a"], values["D-EWC", "d5-5b"], values["LWTA", "dp10-10"]) == (0.69, 0.92, 0.97)
    realistic = {(c.model, c.dataset): published(c) for c in experiment("table4").questions if c.variant == "realistic"}
    assert (realistic["D-fc", "d9-1a"], realistic["conv", "d9-1b"]) == (0.52, 0.33)


def test_the_published_column_of_dp10_10_is_compared_with_d1_alone():
    cell = next(c for c in experiment("table3").questions if c.dataset == "dp10-10")
    assert list(cell.published) == ["first_task_accuracy"]


@pytest.mark.parametrize("model, topologies", [("fc", 36), ("LWTA", 36), ("D-EWC", 36), ("conv", 1), ("D-conv", 1)])
def test_the_paper_tier_is_the_published_grid(model, topologies):
    """36 topologies × 2 first rates × 3 second rates; the convolutional networks have one topology."""
    cell = next(c for c in experiment("table3", "paper").questions if c.model == model)
    run = prepare(**{**cell.run, "dataset": "digits"})
    assert (len(run.networks), len(run.grid)) == (topologies, 2)
    assert run.size() == topologies * 2 * (1 + 3)
    assert {settings["iterations"] for settings in run.grid} == {2500}


def test_a_hidden_size_of_lwta_counts_blocks_of_two():
    widths = {
        m: next(c for c in experiment("table3").questions if c.model == m).run["settings"] for m in ("fc", "LWTA")
    }
    assert widths["fc"]["widths"] == ["200-200", "400-400"]
    assert widths["LWTA"]["widths"] == ["400-400", "800-800"]


def test_models_are_combinations_of_what_there_is():
    assert set(TABLES) < set(MODELS)
    assert MODELS["D-EWC"].settings["per_rate"] is True
    assert {m.learner for m in MODELS.values()} == {"finetune", "ewc"}
    for tier in TIERS:
        for cell in experiment("ewc", tier).questions:
            prepare(**{**cell.run, "dataset": "digits"})


def test_prescient_and_realistic_choose_among_the_same_nodes():
    """Only the protocol and its options differ between the variants of a cell."""
    cells = [c for c in experiment("gap").questions if (c.model, c.dataset) == ("fc", "d9-1a")]
    roots = {prepare(**{**c.run, "dataset": "digits"}).root.key for c in cells}
    assert len(cells) == 4
    assert len(roots) == 1


def test_total_forgetting_is_the_share_of_the_second_task():
    levels = [total_forgetting(f"d9-1{letter}") for letter in "abc"]
    assert levels == [0.1009, 0.0980, 0.1135]
    levels = [total_forgetting(f"d5-5{letter}") for letter in "abcdefgh"]
    assert levels == [0.4861, 0.5074, 0.5067, 0.5110, 0.5001, 0.5045, 0.5168, 0.5046]


def test_claims_hold_of_the_published_numbers_where_they_are_the_papers_own():
    table4 = experiment("table4")
    held = verdicts(table4, answers(table4, lambda c: published(c) or total_forgetting_or(c, 0.5)))
    assert held["on D5-5 every model but EWC is within 0.03 of total forgetting (stop at 0.999)"] == "NOT held"
    assert held["on D9-1 EWC is ahead of every other model"] == "held"


def total_forgetting_or(cell: Cell, value: float) -> float:
    return value if cell.dataset == "dp10-10" else total_forgetting(cell.dataset)


def test_being_at_the_level_of_total_forgetting_is_held_and_being_off_is_not():
    table4 = experiment("table4")
    text = "on D5-5 every model but EWC is within 0.03 of total forgetting (realistic)"
    assert verdicts(table4, answers(table4, lambda c: total_forgetting_or(c, 0.9)))[text] == "held"
    off = answers(table4, lambda c: total_forgetting_or(c, 0.9) + 0.04 * (c.label == "LWTA d5-5h realistic"))
    assert verdicts(table4, off)[text] == "NOT held"


def test_a_realistic_value_above_the_prescient_one_is_noticed():
    gap = experiment("gap")
    text = "realistic evaluation exceeds prescient in no cell (realistic)"
    values = {"prescient": 0.9, "realistic": 0.5, "without 1e-5": 0.45, "strict": 0.4}
    assert verdicts(gap, answers(gap, lambda c: values[c.variant]))[text] == "held"
    worse = answers(gap, lambda c: 0.91 if c.label == "conv d5-5a realistic" else values[c.variant])
    assert verdicts(gap, worse)[text] == "NOT held"


def test_a_claim_about_rows_that_were_not_asked_for_is_unknown():
    gap = experiment("gap", only=["conv d5-5a"])
    found = verdicts(gap, answers(gap, lambda c: 0.5))
    assert found["on D9-1 prescient exceeds realistic by at least 0.3 for fc"] == "unknown"
    assert found["realistic evaluation exceeds prescient in no cell (strict)"] == "held"


def test_of_some_cells_it_is_said_of_how_many():
    whole, some = (experiment("table4", only=only) for only in ((), ["conv d5-5a", "D-fc d5-5b"]))
    every, few = (
        {v.claim: v.why for v in e.verdicts(answers(e, lambda c: total_forgetting_or(c, 0.9)))} for e in (whole, some)
    )
    text = "on D5-5 every model but EWC is within 0.03 of total forgetting (realistic)"
    assert not any(every.values())
    assert few[text] == "of 2 of 40 cells"


def test_of_a_cell_whose_run_failed_nothing_is_claimed():
    gap = experiment("gap")
    values = {"prescient": 0.9, "realistic": 0.5, "without 1e-5": 0.45, "strict": 0.4}
    made = answers(gap, lambda c: values[c.variant])
    label = "conv d5-5a strict"
    failed = [replace(a, records=tuple(replace(r, status="failed", rows=()) for r in a.records)) for a in made]
    some = [bad if a.question.label == label else a for a, bad in zip(made, failed, strict=True)]
    said = {v.claim: (v.verdict, v.why) for v in gap.verdicts(some)}
    text = "realistic evaluation exceeds prescient in no cell (strict)"
    assert said.pop(text) == ("unknown", f"a finished run of {label} is not there")
    assert said == {v.claim: (v.verdict, v.why) for v in gap.verdicts(made) if v.claim != text}


def test_cells_that_are_far_from_the_published_ones_are_listed_with_a_reason():
    table3 = experiment("table3", only=["fc d5-5a", "D-EWC d5-5a", "conv d5-5b"])
    far = {"fc": 0.6, "D-EWC": 0.8, "conv": 0.52}
    notes = table3.notes(answers(table3, lambda c: far[c.model]))
    assert len(notes) == 2
    assert notes[0].startswith("fc on d5-5a (prescient): 0.60, published 0.69. The best of 6 retrainings")
    assert "100 test samples" in notes[1]


def test_the_matrix_has_datasets_as_rows_and_models_as_columns():
    table3 = experiment("table3", only=["fc", "LWTA"])
    header, *rows = full(table3.tables(answers(table3, lambda c: 0.5, d1=0.25))[0])
    assert header == ["", "fc", "LWTA"]
    assert rows[0] == ["d5-5a", "0.69 / 0.50", "0.66 / 0.50"]
    assert rows[-2:] == [
        ["dp10-10", "– / 0.50", "– / 0.50"],
        ["dp10-10, D1 alone", "0.97 / 0.25", "0.97 / 0.25"],
    ]


def test_every_experiment_becomes_a_page_with_tables_and_figures(tmp_path):
    answered = [(e, answers(e, lambda c: 0.5)) for e in PFUELB.find(None, "small", None, ["fc d5-5a", "D-EWC d5-5a"])]
    page = PFUELB.page(answered, "small", None, "engram paper pfuelb2018")
    paths = write_page(page, tmp_path, "pfuelb2018")
    assert {path.suffix for path in paths} == {".md", ".csv", ".png"}
    assert all(path.stat().st_size > 0 for path in paths)
    assert "chosen by the test data that it reports" in paths[0].read_text(encoding="utf-8")
    rows = list(csv.DictReader((tmp_path / "pfuelb2018-gap.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["variant"] for row in rows} == {"prescient", "realistic", "without 1e-5", "strict"}
    assert rows[0]["stopped_after_steps_mean"] == "50"


@pytest.mark.parametrize("only", ["fcc", "fc d5-5z"])
def test_an_unknown_row_is_named(only):
    with pytest.raises(UnknownName, match=f"row of 'pfuelb2018' called '{only}'"):
        PFUELB.find("table3", "small", None, [only])


def test_an_unknown_tier_is_named():
    with pytest.raises(UnknownName, match="there is no tier 'smal'; did you mean 'small'"):
        PFUELB.find(None, "smal", None)


def test_the_introduction_and_the_caveats_are_those_of_the_tier():
    assert "6 models on 12 datasets" in PFUELB.about("small", None)
    assert "every 50 steps (of the convolutional networks every 100) on" in PFUELB.about("small", None)
    assert "6 models on 3 datasets" in PFUELB.about("quick", None)
    assert "every 50 steps on" in PFUELB.about("paper", None)
    assert "200-200" in PFUELB.caveats("small", None)
    assert "200-200" not in PFUELB.caveats("paper", None)
    assert "60,000" not in PFUELB.caveats("quick", None)


def test_bars_go_from_realistic_to_prescient_and_panels_show_the_first_variant():
    gap = experiment("gap", only=["fc d5-5a", "conv d5-5a"])
    values = {"prescient": 0.9, "realistic": 0.5, "without 1e-5": 0.45, "strict": 0.4}
    spans = gap.section(answers(gap, lambda c: values[c.variant])).figure
    assert spans.bars == {("d5-5a", "fc"): (0.5, 0.9, 0.4), ("d5-5a", "conv"): (0.5, 0.9, 0.4)}
    table4 = experiment("table4", only=["fc d5-5a"])
    phases = table4.section(answers(table4, lambda c: values.get(c.variant, 0.1))).figure
    assert [(key, run.rows[1].union["single"]) for key, run in phases.panels.items()] == [(("fc", "d5-5a"), 0.5)]


def test_a_model_shows_its_settings_once_and_no_stream():
    table4 = experiment("table4", only=["fc", "LWTA"])
    settings = table4.section(answers(table4, lambda c: 0.5)).settings
    assert list(settings) == ["fc", "LWTA"]
    assert all("stream" not in own for own in settings.values())
