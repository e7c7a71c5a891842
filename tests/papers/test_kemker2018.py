"""Kemker et al. 2018: published values, settings, sizes, what is derived from what, claims on made-up records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engram.api import run
from engram.core import Cost, Row
from engram.errors import UnknownName
from engram.papers import paper
from engram.papers.kemker2018 import TIERS
from engram.papers.kemker2018_models import MODELS, PAPERS_MODELS, READOUTS, SHAPES, numbers
from engram.papers.kemker2018_more import GOOD, GROWS, TICKS, TIME, capacity_table, is_small
from engram.papers.kemker2018_tables import PRINTED_AS, printed_ratio, printed_size
from engram.papers.paper import Answer
from engram.papers.published import printed
from engram.record import Ideals, Record
from engram.reports.cells import full
from engram.reports.page import write_page
from engram.request import Request

KEMKER = paper("kemker2018")
EXPERIMENTS = ["table2", "table3", "table4", "table5", "fig2", "s2", "s3", "s8", "s6", "s7", "s9", "s4", "s10"]


def experiment(name, tier="paper", dataset=None, only=()):
    return KEMKER.find(name, tier, dataset, only)[0]


def row(base: float, new: float, classes: int, total: int = 4_000_000) -> Row:
    """A first session of two classes, and of one class for each later one."""
    each = {"0": base, "1": base, **{str(k): new for k in range(2, classes)}}
    accuracy = (base, *[new] * (classes - 2))
    cost = Cost({"total": total}, 10, 30.0)
    return Row(accuracy, accuracy, {"single": each}, {"single": accuracy}, {}, cost, "0", {"single": base})


def record(base: float, new: float, ideal: float = 1.0) -> Record:
    how = ("incremental-toy@1", "finetune", "mlp", {}, "sequential", "single", 0, "key", "done", None)
    rows = (row(base, 0, 2), row(base, new, 3), row(base, new, 4))
    seen = tuple(row(ideal, ideal, k) for k in (2, 3, 4))
    return Record(*how, rows, ({}, {}, {}), ideals=Ideals(seen[:1], seen))


def answers(found, of=lambda cell: (0.8, 0.8)):
    return [Answer(question, (record(*of(question)),)) for question in found.questions]


def test_every_table_and_figure_is_there():
    for tier in TIERS:
        assert [e.name for e in KEMKER.experiments(tier, None)] == EXPERIMENTS
    assert [e.name for e in KEMKER.find(None, "paper", None)] == EXPERIMENTS[:-1]  # free capacity only by its name
    with pytest.raises(UnknownName, match="table22"):
        experiment("table22")


def test_table_2_holds_what_was_published():
    cells = {(c.model, c.dataset, c.variant): dict(c.published) for c in experiment("table2").questions}
    assert cells["MLP", "MNIST", "permutation"] == {"omega_base": 0.434, "omega_new_share": 0.996, "omega_all": 0.702}
    assert cells["EWC", "AS", "incremental"] == {"omega_base": 0.021, "omega_new": 0.58, "omega_all": 0.034}
    assert cells["FEL", "CUB", "multimodal"] == {"omega_base": 0.11, "omega_new": 0.329, "omega_all": 0.412}
    assert cells["ridge", "CUB", "incremental"] == {}


def test_the_settings_are_those_of_tables_s1_to_s5():
    stated = {(r["model"], r["parameter"]): r["value"] for r in printed("kemker2018", "settings")}
    for model in ("MLP", "EWC", "FEL"):
        assert MODELS[model].settings["batch"] == int(stated[model, "batch_size"])
        assert MODELS[model].settings["rate"] == float(stated[model, "lr"])
        assert MODELS[model].settings["stop"] == "patience"
    asked = experiment("table2", only=("MLP MNIST permutation",)).questions[0].run
    run = Request(**{**asked, "dataset": "digits"}).run()  # MNIST need not be on this machine
    assert run.networks[0].settings["widths"] == (400, 400)
    assert run.grid[0]["optimizer"] == "nadam"
    assert (len(run.stream), run.stream.spec["options"]["first_permuted"]) == (10, False)


def test_fel_has_as_many_units_as_the_paper_says():
    cells = experiment("table2", only=("FEL",)).questions
    units = {(c.dataset, c.variant): c.run["settings"]["units"] for c in cells}
    assert units["CUB", "permutation"] == units["AS", "multimodal"] == 1200
    assert units["AS", "incremental"] == units["MNIST", "incremental"] == 2000


@pytest.mark.parametrize("data", SHAPES)
@pytest.mark.parametrize("model", PAPERS_MODELS)
def test_sizes_by_formula_are_those_of_table_2_to_the_digit(model, data):
    assert round(4 * numbers(model, data, READOUTS.get(data)) / 1e6, 2) == printed_size(model, data)


def test_of_cub_the_printed_size_has_ten_readouts():
    assert round(4 * numbers("GeppNet", "CUB") / 1e6, 2) == 53.88


def features(path, classes: int, width: int) -> str:
    """A file of a user's own: two samples a class to train on, one to test."""
    x, y = np.random.RandomState(classes).rand(3, classes, width).astype(np.float32), np.arange(classes)
    np.savez(path, x_train=np.concatenate(x[:2]), y_train=np.concatenate([y, y]), x_test=x[2], y_test=y)
    return str(path)


@pytest.mark.parametrize("name", ["MLP", "ridge"])
def test_features_of_the_users_own_stand_beside_the_numbers_of_their_class_count(tmp_path, name):
    """Of the published shape, and saying what was used."""
    found = experiment("table2", dataset=features(tmp_path / "resnet50.npz", 200, 2048), only=(name,))
    assert {c.variant for c in found.questions} == {"permutation", "incremental"}
    assert all(c.dataset == "CUB" for c in found.questions)
    assert found.tables(answers(found))[0].rows[0].names == (name, "resnet50.npz (as CUB)")
    assert all(Request(**c.run).run().stream.outline.shape == (2048,) for c in found.questions)


def test_two_files_of_ones_own_are_two_modalities_in_both_orders(tmp_path):
    files = features(tmp_path / "birds.npz", 4, 6), features(tmp_path / "sounds.npz", 3, 5)
    found = experiment("s8", dataset="+".join(files), only=("ridge",))
    outlines = [Request(**c.run).run().stream.outline for c in found.questions]
    assert [len(outline.classes) for outline in outlines] == [7, 7]
    assert [outline.shape for outline in outlines] == [(6,), (6,)]
    assert [row.names[1] for row in found.tables(answers(found))[0].rows] == [
        "birds.npz, then sounds.npz",
        "sounds.npz, then birds.npz",
    ]


def test_tables_are_views_of_the_same_runs():
    """Nothing is trained twice: what table 3 and the figures ask for are runs of table 2."""
    asked = {run.key for q in experiment("table2", "quick").questions for run in q.runs([0])}
    for name in ("table3", "table4", "table5", "fig2", "s2", "s3", "s8"):
        assert {run.key for q in experiment(name, "quick").questions for run in q.runs([0])} <= asked


def test_omegas_and_averages_of_made_up_runs():
    found = experiment("table3")
    table = found.tables(answers(found, lambda cell: (0.8, 0.4) if cell.model == "MLP" else (0.9, 0.9)))[0]
    values = {r.names[0]: [None if n is None else n.mean for n in r.numbers] for r in table.rows}
    assert values["MLP"][1] == pytest.approx((2 / 3 + 0.6) / 2)
    assert values["EWC"][1] == pytest.approx(0.9)
    assert [n.published for n in table.rows[0].numbers] == [0.594, 0.085, 0.6]


def test_the_rules_give_the_published_ticks_from_the_published_numbers():
    averages = {row["model"]: row for row in printed("kemker2018", "table3")}
    for row in printed("kemker2018", "table5"):
        model = row["model"]
        for column, kind in TICKS.items():
            value = averages[model][PRINTED_AS[kind]]
            assert (bool(value) and float(value) >= GOOD) == (row[column] == "1")
        sizes, of_mlp = ([printed_size(m, data) for data in SHAPES] for m in (model, "MLP"))
        assert (model not in GROWS and is_small(sizes, of_mlp)) == (row["memory_efficient"] == "1")
        times = [printed_ratio(model, kind) for kind in ("permutation", "incremental")]
        assert all(t <= TIME for t in times if t is not None) == (row["trains_quickly"] == "1")


def test_time_is_a_multiple_of_the_mlp():
    found = experiment("table4")
    time, operations = found.tables(answers(found))
    assert full(time)[1][1:] == ["1.00 / 1.00", "1.00 / 1.00"]
    assert next(r for r in time.rows if r.names == ("GeppNet",)).numbers[1].published == pytest.approx(1123 / 15)
    assert all(n is None or n.published is None for r in operations.rows for n in r.numbers)


def test_free_capacity_is_chosen_on_validation_data():
    found = experiment("s10", "quick", only=("MLP digits incremental",))
    small, large = found.questions
    made = [Answer(small, (record(0.9, 0.9),)), Answer(large, (record(0.5, 0.5),))]
    assert capacity_table(made)[0].rows[0].names[2] == "widths=50-50"
    assert capacity_table(made[::-1])[0].rows[0].names[2] == "widths=50-50"


def verdicts(found, made_up):
    return {v.claim: v.verdict for v in found.verdicts(made_up)}


def test_claims_are_held_or_not_held():
    found = experiment("table2")
    as_published = verdicts(found, answers(found, lambda c: (c.published.get("omega_all", 0.5),) * 2))
    assert as_published["MNIST, permutation: Ω all of MLP is within 0.10 of the published 0.702"] == "held"
    assert as_published["AS, incremental: GeppNet or GeppNet+STM has the best Ω all of the paper's models"] == "held"
    everything = verdicts(found, answers(found, lambda cell: (1.0, 1.0)))
    assert everything["MNIST, permutation: Ω all of MLP is within 0.10 of the published 0.702"] == "NOT held"
    assert everything["CUB, incremental: MLP and EWC forget nearly everything (Ω all at most 0.2)"] == "NOT held"


def without(made, label, how):
    """Rows of which one is not there, or has a run that failed."""
    failed = [replace(a, records=tuple(replace(r, status="failed", rows=()) for r in a.records)) for a in made]
    if how == "absent":
        return [a for a in made if a.question.label != label]
    return [bad if a.question.label == label else a for a, bad in zip(made, failed, strict=True)]


@pytest.mark.parametrize("how", ["absent", "failed"])
def test_nobody_is_the_best_of_models_of_which_one_is_not_known(how):
    found = experiment("table2")
    made = answers(found, lambda c: (c.published.get("omega_all", 0.5),) * 2)
    best = "MNIST, permutation: PathNet has the best Ω all of the paper's models"
    for model in PAPERS_MODELS:
        assert verdicts(found, without(made, f"{model} MNIST permutation", how))[best] == "unknown"
    assert verdicts(found, without(made, "SLDA MNIST permutation", how))[best] == "held"


@pytest.mark.parametrize("how", ["absent", "failed"])
def test_ticks_are_of_all_models_and_data(how):
    found = experiment("table5")
    assert verdicts(found, []) == {"every tick is as published": "unknown"}
    made = answers(found)
    assert verdicts(found, made) == {"every tick is as published": "NOT held"}
    for cell in found.questions:
        needed = cell.model in PAPERS_MODELS
        expected = "unknown" if needed else "NOT held"
        assert set(verdicts(found, without(made, cell.label, how)).values()) == {expected}


@pytest.mark.parametrize("how", ["absent", "failed"])
def test_means_over_digits_are_of_all_digits(how):
    found = experiment("s6")
    made = answers(found)
    assert "unknown" not in verdicts(found, made).values()
    assert set(verdicts(found, without(made, "Inc-3 GeppNet", how)).values()) == {"unknown"}
    known = {claim for claim, v in verdicts(found, without(made, "Inc-4 GeppNet+STM", how)).items() if v != "unknown"}
    assert [claim.partition(",")[0] for claim in known] == ["new class"]


@pytest.mark.parametrize("only", [(), ("EWC digits permutation", "MLP digits incremental")])
def test_every_experiment_becomes_a_page_with_tables_and_figures(tmp_path, only):
    found = KEMKER.find(None, "quick", None, only)
    page = KEMKER.page([(e, answers(e)) for e in found], "quick", None, "engram paper kemker2018")
    names = {path.name for path in write_page(page, tmp_path, "kemker2018")}
    assert {f"kemker2018-{e.name}.csv" for e in found} <= names
    assert {"kemker2018-fig2.png", "kemker2018-s2.png", "kemker2018-s3.png"} <= names
    assert "nan" not in (tmp_path / "kemker2018.md").read_text(encoding="utf-8")


def test_smaller_tiers_and_other_data_claim_nothing():
    for tier, dataset in (("quick", None), ("small", None), ("paper", "digits")):
        assert not any(e.claims for e in KEMKER.experiments(tier, dataset))


def test_what_is_far_from_the_published_value_is_noted():
    found = experiment("table2", only=("MLP MNIST incremental",))
    assert found.notes(answers(found, lambda cell: (0.2, 0.2))) == ()
    (note,) = found.notes(answers(found, lambda cell: (0.9, 0.9)))
    assert note.startswith("MLP on MNIST, incremental: Ω all 0.900, published 0.181.")


def test_table_s8_has_both_orders_with_their_published_accuracies():
    found = experiment("s8", only=("MLP",))
    table = found.tables(answers(found))[0]
    assert full(table)[1][2:] == ["61.8 / 80.0", "41.2 / 80.0", "20.3 / 80.0", "41.2 / 80.0"]
    assert full(table)[2][2:] == ["47.7 / 80.0", "60.9 / 80.0", "9.1 / 80.0", "60.9 / 80.0"]
    assert table.rows[0].names[1] == "cub200-lite0, then audioset100 (as CUB)"


def test_table_s7_by_share():
    found = experiment("s7")
    falling = iter((0.9, 0.7, 0.5, 0.49, 0.44))
    made = answers(found, lambda question: (next(falling), 0.5))
    assert full(found.tables(made)[0])[1:3] == [["0.00", "86.2", "90.0", "+3.8"], ["0.25", "67.9", "70.0", "+2.1"]]
    assert set(verdicts(found, made).values()) == {"held"}
    assert set(verdicts(found, answers(found)).values()) == {"NOT held"}
    small = {"dataset": "digits"}  # MNIST need not be on this machine
    runs = [Request(**q.run | small | {"settings": q.run["settings"] | {"samples": 500}}) for q in found.questions]
    shares = [request.run().stream.spec["options"]["share"] for request in runs]
    assert shares == [0, 0.25, 0.5, 0.75, 1]


def test_redundancy_needs_no_runs():
    found = experiment("s9", "quick")
    (table,) = found.tables(())
    assert table.rows[0].names == ("digits", "64")
    assert found.section(()).figure is None
    assert experiment("s4", "quick").section(()).figure.matrices["digits"].shape == (64, 64)


def test_multi_modal_omegas_follow_from_table_s8():
    """I10: the published accuracies give the published Ω, but for what is known to be misprinted."""
    ideal = {"CUB": 0.621, "AS": 0.461}
    wrong = []
    for row8 in printed("kemker2018", "s8"):
        first, second = row8["order"].split("/")
        row2 = next(r for r in printed("kemker2018", "table2") if (r["model"], r["dataset"]) == (row8["model"], first))
        ends = [float(row8[f"final_acc_{place}"]) / 100 for place in ("first", "second")]
        shares = ends[0] / ideal[first], ends[1] / ideal[second]
        expected = {"mm_omega_base": shares[0], "mm_omega_new": ends[1], "mm_omega_all": sum(shares) / 2}
        wrong += [(row8["model"], first, n) for n, v in expected.items() if abs(v - float(row2[n])) > 0.0021]
    assert wrong == [("EWC", "AS", "mm_omega_base"), ("GeppNet+STM", "CUB", "mm_omega_new")]


def test_a_row_of_the_quick_tier_is_trained_and_shown():
    """Table S6 on digits: nine classes are learned, then the tenth, and a map of 100 units knows most of them."""
    found = experiment("s6", "quick", only=("GeppNet",))
    (question,) = found.questions
    asked = {**question.run, **question.run["settings"]}
    made = [Answer(question, (run(**{name: value for name, value in asked.items() if name != "settings"}),))]
    (row,) = found.tables(made)[0].rows
    assert row.names == ("Inc-3", "GeppNet")
    base, new, overall = (number.mean for number in row.numbers)
    assert base > 0.8
    assert overall > 0.7
    assert 0 < new <= 1
