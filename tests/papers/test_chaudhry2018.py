from __future__ import annotations

from dataclasses import replace

import pytest

from engram.core import Cost, Row
from engram.errors import UnknownName
from engram.papers import paper
from engram.papers.paper import Answer
from engram.record import Record
from engram.reports.figure import png
from engram.reports.page import page_files

RWALK = paper("chaudhry2018")


def experiment(name, tier="quick", dataset=None):
    return RWALK.find(name, tier, dataset)[0]


def answers(name, record_like, accuracy):
    """The rows of an experiment with made-up records: `accuracy` by label."""
    return [
        Answer(question, tuple(record_like(accuracy(question.label), seed) for seed in (0, 1)))
        for question in experiment(name, "paper").questions
    ]


@pytest.fixture
def record_like():
    def make(accuracy, seed):
        rows = [Row((accuracy,) * k, (accuracy,) * k, {}, {}, {}, Cost({"total": 8}, 2, 30.0), "0") for k in (1, 2)]
        how = ("split-mnist@1", "si", "mlp", {}, "sequential", "single", seed, "key", "done", None)
        return Record(*how, tuple(rows), ({}, {}), joint=(1.0, min(accuracy + 0.1, 1.0)))

    return make


def test_every_row_of_table_1_has_its_published_values():
    rows = {question.label: question for question in experiment("table1", "paper").questions}
    assert len(rows) == 13 + 2
    assert rows["single: RWalk"].published == {
        "average_accuracy": pytest.approx(0.825),
        "forgetting_rwalk": 0.15,
        "intransigence": 0.14,
    }
    assert rows["multi: Vanilla"].published["intransigence"] == 6.6e-4
    assert rows["single: exemplars"].published == {}


def test_each_half_of_table_1_declares_its_regime():
    rows = {question.label: question.run["settings"] for question in experiment("table1", "paper").questions}
    assert rows["single: EWC-S"]["class_weighted"] is True
    assert (rows["single: EWC-S"]["epochs"], rows["single: EWC-S"]["loss_over"]) == (5, "seen")
    assert rows["single: EWC"]["optimizer_reset"] == "slots"
    assert (rows["single: EWC"]["epochs"], rows["single: EWC"]["loss_over"]) == (1, "task")
    assert rows["single: EWC"]["strength"] == 75000
    assert "exemplars" not in rows["single: EWC"]


def test_cifar_has_its_own_columns_and_strengths():
    rows = {question.label: question for question in experiment("table1", "paper", "tiny-imagenet100-32").questions}
    assert rows["single: EWC-S"].published["average_accuracy"] == pytest.approx(0.336)
    assert rows["single: EWC-S"].run["settings"]["strength"] == 1.5e6
    assert rows["single: EWC-S"].run["network"] == "rwalk-cnn"
    assert rows["single: EWC-S"].run["tasks"] == 10


def test_the_weight_is_varied_over_what_was_published_and_two_more():
    labels = [question.label for question in experiment("table3", "paper").questions]
    assert [label for label in labels if label.startswith("RWalk")] == [
        *("RWalk λ=0.1", "RWalk λ=10", "RWalk λ=100", "RWalk λ=1000", "RWalk λ=10000")
    ]
    assert len(labels) == 9 + 2


def test_the_rows_of_ewc_and_rwalk_follow_the_text():
    """F at every iteration (after equation 6); a score is a sum from one iteration to another, set to 0 if negative."""
    for name, data in (("table1", "mnist"), ("table3", "mnist"), ("fig4", "mnist"), ("table2", "tiny-imagenet100-32")):
        for question in experiment(name, "paper", data).questions:
            settings = question.run["settings"]
            if question.run["learner"] in ("ewc++", "rwalk"):
                assert settings["fisher_update"] == "step"
            if question.run["learner"] == "rwalk":
                assert (settings["clip"], settings.get("score_fisher", "start")) == ("task", "start")


def test_each_variant_of_rwalk_differs_from_the_code_in_what_its_name_says():
    rows = {question.label: question.run["settings"] for question in experiment("variants", "paper").questions}
    table1 = next(e.run["settings"] for e in experiment("table1", "paper").questions if e.label == "single: RWalk")
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
    some = [
        answer
        for answer in answers("variants", record_like, lambda label: 0.5)
        if "F at every" in answer.question.label
    ]
    verdicts = [verdict.verdict for verdict in experiment("variants", "paper").verdicts(some)]
    assert verdicts == ["unknown", "unknown"]


def tables_with_claims():
    found = [(e, data) for data in ("mnist", "tiny-imagenet100-32") for e in RWALK.find(None, "paper", data)]
    found.append((experiment("variants", "paper"), "mnist"))
    return [pytest.param(e, id=f"{data}-{e.name}") for e, data in found if e.claims]


def of_all(found, record_like, broken=None):
    """Rows whose claims are held or not; the runs of one have failed."""
    made = [
        Answer(question, tuple(record_like(0.3 + 0.01 * place, seed) for seed in (0, 1)))
        for place, question in enumerate(found.questions)
    ]
    failed = [replace(a, records=tuple(replace(r, status="failed", rows=()) for r in a.records)) for a in made]
    return [bad if a.question.label == broken else a for a, bad in zip(made, failed, strict=True)]


@pytest.mark.parametrize("found", tables_with_claims())
def test_a_claim_is_about_all_of_its_rows(found, record_like):
    """Each row that a claim needs to be known is needed whether it is not there or its runs failed."""
    whole = found.verdicts(of_all(found, record_like))
    assert "unknown" not in {v.verdict for v in whole}
    for label in (question.label for question in found.questions):
        failed = found.verdicts(of_all(found, record_like, label))
        absent = found.verdicts([a for a in of_all(found, record_like) if a.question.label != label])
        assert [v.verdict for v in failed] == [v.verdict for v in absent]
        for before, after in zip(whole, failed, strict=True):
            assert after.verdict in ("unknown", before.verdict)
            assert (label in after.why) == (after.verdict == "unknown")


@pytest.mark.parametrize("label", ["iCaRL-hb1", "iCaRL", "Vanilla-S", "EWC-S", "PI-S", "RWalk"])
def test_exemplars_alone_beat_every_row_or_it_is_not_known(record_like, label):
    table = experiment("table1", "paper")
    text = "the stored exemplars alone, augmented, beat every row of the table that stores exemplars"
    for missing in (f"single: {label}", None):
        said = {v.claim: v.verdict for v in table.verdicts(of_all(table, record_like, missing))}
        assert said[text] == ("unknown" if missing else "held")


def test_exemplars_alone_are_not_compared_with_nothing(record_like):
    table = RWALK.find("table1", "paper", None, ["single: exemplars"])[0]
    said = {v.claim: v.verdict for v in table.verdicts(of_all(table, record_like))}
    assert {claim for claim, verdict in said.items() if verdict != "unknown"} == {
        "single: exemplars: average accuracy ≥ 0.93",
        "the learner that keeps nothing but exemplars keeps less than 100 kB",
    }


def test_of_one_seed_there_is_no_spread(record_like):
    table = experiment("table3", "paper")
    made = [replace(a, records=a.records[:1]) for a in of_all(table, record_like)]
    found = table.verdicts(made)[0]
    assert (found.verdict, found.why) == ("unknown", "a second seed of RWalk λ=10000 is not there")


def test_what_there_is_on_each_kind_of_data():
    names = {data: [e.name for e in RWALK.find(None, "paper", data)] for data in ("mnist", "tiny-imagenet100-32")}
    assert names["mnist"] == ["table1", "table3", "fig2", "fig3", "fig4", "fig5"]
    assert [e.name for e in paper("chaudhry2018").find("variants", "paper", None)] == ["variants"]  # by its name only
    assert names["tiny-imagenet100-32"] == ["table1", "table3", "table2", "fig6", "fig3", "fig4", "fig5"]
    gem = experiment("table2", "paper", "tiny-imagenet100-32").questions[1]
    assert (gem.run["learner"], gem.run["tasks"], gem.run["settings"]["memory"]) == ("gem", 20, 256)


def test_an_unknown_dataset():
    with pytest.raises(UnknownName, match="did you mean 'mnist'"):
        RWALK.find(None, "quick", "mnits")


def test_claims_are_true_or_false_of_the_numbers(record_like):
    perfect = answers("table1", record_like, lambda label: 0.99)
    verdicts = {v.claim: v.verdict for v in experiment("table1", "paper").verdicts(perfect)}
    assert verdicts["multi: EWC: average accuracy ≥ 0.985"] == "held"
    assert verdicts["single: EWC: within 5 points of published"] == "NOT held"
    assert verdicts["exemplars lift Vanilla, EWC and PI by at least 15 points"] == "NOT held"
    published = {e.label: e.published.get("average_accuracy", 0.94) for e in experiment("table1", "paper").questions}
    as_printed = answers("table1", record_like, published.get)
    verdicts = {v.claim: v.verdict for v in experiment("table1", "paper").verdicts(as_printed)}
    assert verdicts["RWalk with exemplars is ahead of EWC and PI with exemplars"] == "held"
    assert verdicts["single: EWC: within 5 points of published"] == "held"


def test_the_figures_are_drawn(record_like):
    plane = experiment("fig3", "paper").section(answers("fig3", record_like, lambda label: 0.5)).figure
    assert next(iter(plane.points)) == "multi: Vanilla (50.0 %)"
    assert len(plane.points) == 15
    assert len(png(plane)) > 1000
    series = experiment("fig5", "paper").section(answers("fig5", record_like, lambda label: 0.5)).figure
    assert list(series.lines) == ["Vanilla", "EWC", "PI", "RWalk"]
    assert list(series.lines["PI"]) == ["uniform", "plane-distance", "entropy", "mof"]
    assert len(png(series)) > 1000


def test_the_picture_of_table_1_and_figure_2_is_on_the_page_once(record_like):
    answered = [
        (experiment(n, "paper"), answers(n, record_like, lambda label: 0.5)) for n in ("table1", "fig2", "fig3")
    ]
    files = page_files(RWALK.page(answered, "paper", None, "engram paper …"), "rwalk")
    assert [name for name in files if name.endswith(".png")] == ["rwalk-table1.png", "rwalk-fig3.png"]


@pytest.mark.parametrize(
    "tier, dataset, without, with_exemplars",
    [
        ("paper", None, "one epoch,", "5 epochs and"),
        ("quick", None, "3 epochs,", "3 epochs and"),
        ("paper", "tiny-imagenet100-32", "5 epochs,", "5 epochs and"),
        ("paper", "cifar100", "10 epochs,", "10 epochs and"),
    ],
)
def test_the_introduction_says_the_epochs_of_its_tier(tier, dataset, without, with_exemplars):
    words = RWALK.about(tier, dataset)
    assert f"over the current task's labels, {without}" in words
    assert f"over all labels seen, {with_exemplars} centred images" in words
    rows = {q.label: q.run["settings"] for q in experiment("table1", tier, dataset).questions}
    assert without.split()[0] in ("one", str(rows["single: Vanilla"]["epochs"]))
    assert with_exemplars.split()[0] == str(rows["single: Vanilla-S"]["epochs"])


def test_what_was_seen_on_mnist_is_said_on_its_page_alone():
    assert "Both iCaRL rows are far above the published ones" in RWALK.caveats("paper", None)
    for tier, dataset in (("paper", "tiny-imagenet100-32"), ("quick", None)):
        assert "far above" not in RWALK.caveats(tier, dataset)
        assert "98.4" not in RWALK.caveats(tier, dataset)
    assert "joint models" not in RWALK.about("paper", "tiny-imagenet100-32")
