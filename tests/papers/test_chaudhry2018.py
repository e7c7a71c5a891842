from __future__ import annotations

import pytest

from engram.core import Cost, Row
from engram.errors import UnknownName
from engram.papers import paper
from engram.papers.figures import draw_lines, draw_plane
from engram.papers.paper import Line
from engram.record import Record

RWALK = paper("chaudhry2018")


def experiment(name, tier="quick", dataset=None):
    return RWALK.find(name, tier, dataset)[0]


def lines(name, record_like, accuracy):
    """The rows of an experiment with made-up records: `accuracy` by label."""
    return [
        Line(entry, tuple(record_like(accuracy(entry.label), seed) for seed in (0, 1)))
        for entry in experiment(name, "paper").entries
    ]


@pytest.fixture
def record_like():
    def make(accuracy, seed):
        rows = [Row((accuracy,) * k, (accuracy,) * k, {}, {}, {}, Cost({"total": 8}, 2, 30.0), "0") for k in (1, 2)]
        how = ("split-mnist@1", "si", "mlp", {}, "sequential", "single", seed, "key", "done", None)
        return Record(*how, tuple(rows), ({}, {}), joint=(1.0, min(accuracy + 0.1, 1.0)))

    return make


def test_every_row_of_table_1_has_its_published_values():
    rows = {entry.label: entry for entry in experiment("table1", "paper").entries}
    assert len(rows) == 13 + 2
    assert rows["single: RWalk"].published == {
        "average_accuracy": pytest.approx(0.825),
        "forgetting_rwalk": 0.15,
        "intransigence": 0.14,
    }
    assert rows["multi: Vanilla"].published["intransigence"] == 6.6e-4
    assert rows["single: exemplars"].published == {}


def test_each_half_of_table_1_declares_its_regime():
    rows = {entry.label: entry.run["settings"] for entry in experiment("table1", "paper").entries}
    assert rows["single: EWC-S"]["class_weighted"] is True
    assert (rows["single: EWC-S"]["epochs"], rows["single: EWC-S"]["loss_over"]) == (5, "seen")
    assert rows["single: EWC"]["optimizer_reset"] == "slots"
    assert (rows["single: EWC"]["epochs"], rows["single: EWC"]["loss_over"]) == (1, "task")
    assert rows["single: EWC"]["strength"] == 75000
    assert "exemplars" not in rows["single: EWC"]


def test_cifar_has_its_own_columns_and_strengths():
    rows = {entry.label: entry for entry in experiment("table1", "paper", "tiny-imagenet100-32").entries}
    assert rows["single: EWC-S"].published["average_accuracy"] == pytest.approx(0.336)
    assert rows["single: EWC-S"].run["settings"]["strength"] == 1.5e6
    assert rows["single: EWC-S"].run["network"] == "rwalk-cnn"
    assert rows["single: EWC-S"].run["tasks"] == 10


def test_the_weight_is_varied_over_what_was_published_and_two_more():
    labels = [entry.label for entry in experiment("table3", "paper").entries]
    assert [label for label in labels if label.startswith("RWalk")] == [
        *("RWalk λ=0.1", "RWalk λ=10", "RWalk λ=100", "RWalk λ=1000", "RWalk λ=10000")
    ]
    assert len(labels) == 9 + 2


def test_the_rows_of_ewc_and_rwalk_follow_the_text():
    """F at every iteration (after equation 6); a score is a sum from one iteration to another, set to 0 if negative."""
    for name, data in (("table1", "mnist"), ("table3", "mnist"), ("fig4", "mnist"), ("table2", "tiny-imagenet100-32")):
        for entry in experiment(name, "paper", data).entries:
            settings = entry.run["settings"]
            if entry.run["learner"] in ("ewc++", "rwalk"):
                assert settings["fisher_update"] == "step"
            if entry.run["learner"] == "rwalk":
                assert (settings["clip"], settings.get("score_fisher", "start")) == ("task", "start")


def test_each_variant_of_rwalk_differs_from_the_code_in_what_its_name_says():
    rows = {entry.label: entry.run["settings"] for entry in experiment("variants", "paper").entries}
    table1 = next(e.run["settings"] for e in experiment("table1", "paper").entries if e.label == "single: RWalk")
    assert len(rows) == 14 * 3
    assert rows["as in Table 1: F at every step, negative sums clipped @ 1000"] == table1
    base = rows["as in the code @ 1000"]
    for name, expected in (
        ("not normalised, ε = 1e-8", {"normalise": "none", "damping": 1e-8}),
        ("F at every step", {"fisher_update": "step"}),
        ("as in Table 1: F at every step, negative sums clipped", {"fisher_update": "step", "clip": "task"}),
    ):
        changed = {k: v for k, v in rows[f"{name} @ 1000"].items() if v != base.get(k)}
        assert changed == expected


def test_of_rows_that_were_not_asked_for_nothing_is_claimed(record_like):
    some = [line for line in lines("variants", record_like, lambda label: 0.5) if "F at every" in line.entry.label]
    verdicts = [verdict["verdict"] for verdict in experiment("variants", "paper").verdicts(some)]
    assert verdicts == ["unknown", "NOT held"]


def test_what_there_is_on_each_kind_of_data():
    names = {data: [e.name for e in RWALK.find(None, "paper", data)] for data in ("mnist", "tiny-imagenet100-32")}
    assert names["mnist"] == ["table1", "table3", "variants", "fig2", "fig3", "fig4", "fig5"]
    assert names["tiny-imagenet100-32"] == ["table1", "table3", "table2", "fig6", "fig3", "fig4", "fig5"]
    gem = experiment("table2", "paper", "tiny-imagenet100-32").entries[1]
    assert (gem.run["learner"], gem.run["tasks"], gem.run["settings"]["memory"]) == ("gem", 20, 256)


def test_an_unknown_dataset():
    with pytest.raises(UnknownName, match="did you mean 'mnist'"):
        RWALK.find(None, "quick", "mnits")


def test_claims_are_true_or_false_of_the_numbers(record_like):
    perfect = lines("table1", record_like, lambda label: 0.99)
    verdicts = {v["claim"]: v["verdict"] for v in experiment("table1", "paper").verdicts(perfect)}
    assert verdicts["multi: EWC: average accuracy ≥ 0.985"] == "held"
    assert verdicts["single: EWC: within 5 points of published"] == "NOT held"
    assert verdicts["exemplars lift Vanilla, EWC and PI by at least 15 points"] == "NOT held"
    published = {e.label: e.published.get("average_accuracy", 0.94) for e in experiment("table1", "paper").entries}
    as_printed = lines("table1", record_like, published.get)
    verdicts = {v["claim"]: v["verdict"] for v in experiment("table1", "paper").verdicts(as_printed)}
    assert verdicts["RWalk with exemplars is ahead of EWC and PI with exemplars"] == "held"
    assert verdicts["single: EWC: within 5 points of published"] == "held"


def test_the_figures_are_drawn(record_like, tmp_path):
    assert draw_plane(lines("fig3", record_like, lambda label: 0.5), tmp_path / "plane.png").stat().st_size > 1000
    assert draw_lines(lines("fig5", record_like, lambda label: 0.5), tmp_path / "lines.png").stat().st_size > 1000
