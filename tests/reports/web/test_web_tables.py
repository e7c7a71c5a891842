"""Tables of a page: results, differences, what was chosen, what a paper published."""

from __future__ import annotations

from dataclasses import replace

import pytest
from web_records import HOSTILE, records, run

from engram.reports.content import Column, Number, Page, Section, Table, TableRow, Verdict
from engram.reports.web.choosing import chosen, settings
from engram.reports.web.differences import difference_tables, headlines
from engram.reports.web.methods import Names, topics
from engram.reports.web.page import Subject, page
from engram.reports.web.results import results
from engram.reports.web.routes import csv_file, route_maps
from engram.reports.web.words import protocol_words

DECISION = {
    "by": "validation accuracy on the current task",
    "candidates": [{"rate": 0.1}, {"rate": 0.01}],
    "scores": [0.9, 0.8],
    "chosen": 0,
}

DROPS = {"joint": 0.01, "middle": 0.1, "low": 0.3}


@pytest.fixture
def topic():
    return topics(records())[0]


def test_results_have_intervals_and_mark_the_best(topic):
    first, *others = results(topic).rows
    assert (first.method.label, first.kind) == ("ridge", "best")
    assert first.accuracy.text == "0.940"  # 0.93, 0.94 and 0.95 by seed; t is 4.303 for three
    assert first.accuracy.interval == "0.915 to 0.965"
    assert [row.kind for row in others] == ["", "", ""]
    assert others[-1].whisker is None
    assert others[-1].runs == "0 of 1"


def test_a_row_chosen_by_test_data_is_not_the_best_beside_others():
    marked = run("cheat", 0, 0.0, 1, warning="chosen by the test data that it reports", protocol="prescient")
    rows = results(topics([marked, run("honest", 0, 0.1, 1)])[0]).rows
    assert [(row.method.label, row.kind) for row in rows] == [("cheat", ""), ("honest", "best")]


def test_differences_are_those_of_the_comparison(topic):
    (table,) = difference_tables(topic)
    assert table.title == "ridge minus each of the others"
    ewc = table.rows[0]
    assert ewc.method.label == "ewc"
    assert ewc.mean.startswith("+0.0")
    assert ewc.whisker[0] <= ewc.whisker[2] <= ewc.whisker[1]
    few = table.rows[1]
    assert (few.method.label, few.verdict) == (HOSTILE, "n too small to tell")


def test_readings_are_not_compared_with_each_other():
    told = [run(name, seed, drop, 1, head="multi") for name, drop in (("a", 0.1), ("b", 0.2)) for seed in range(3)]
    untold = [run(name, seed, drop, 1) for name, drop in (("c", 0.3), ("d", 0.4)) for seed in range(3)]
    topic = topics([*told, *untold])[0]
    assert {label for label, kind in topic.kinds.items() if kind == "best"} == {"a", "c"}
    assert [table.title for table in difference_tables(topic)] == [
        "a minus each of the others",
        "c minus each of the others",
    ]
    assert headlines(topic)[0].startswith("Multi-head: the task is given: a has the highest mean accuracy, 0.8")
    words = dict(protocol_words(topic, {}))
    assert words["Reading"][0] == "Multi-head: the task is given. So read: a and b."


def test_who_chooses_by_which_validation_data_and_what_is_not_as_usual_in_the_stream():
    spec = {"kind": "ctrl-minus", "version": 2, "options": {"middle": 1, "large": 400}}
    settings = {"stop": "no"}
    runs = [run(name, 0, 0.1, 1, stream_spec=spec, settings=settings) for name in ("mntdp-d", "finetune")]
    (topic,) = topics(runs)
    words = dict(protocol_words(topic, {each.key: {"validation": 0.0} for each in runs}))
    assert words["Stream"][0].endswith("(Veniat et al. 2021); middle=1.")
    assert words["Protocol"][1] == "mntdp-d uses validation data while learning, which the stream has."
    words = dict(protocol_words(topic, {each.key: {"validation": 0.1} for each in runs}))
    assert words["Protocol"][1] == "mntdp-d uses validation data while learning, 10 % of every class's training data."
    (topic,) = topics(runs[1:])
    words = dict(protocol_words(topic, {each.key: {"validation": 500.0} for each in runs}))
    held = "Where data is held out to choose by, it is 500 training samples of every class."
    assert words["Protocol"][1] == held


def test_paths_say_which_task_made_a_module():
    chosen = [(0, 0, 0), (0, 1, 1), (2, 1, 2)]
    plain = run("mntdp-d", 0, 0.0, 1)
    notes = [{"path": list(path), "kind": "branch", "source": None, "kept": 1, "validation": 0.5} for path in chosen]
    rows = tuple(replace(row, notes=own) for row, own in zip(plain.rows, notes))
    (topic,) = topics([replace(plain, rows=rows), run("ewc", 0, 0.1, 1)])
    (found,) = route_maps(topic)
    assert (found.method.label, found.layers) == ("mntdp-d", ["1", "2", "outputs"])
    assert [route.makers for route in found.routes] == [[1, 1, 1], [1, 2, 2], [3, 2, 3]]
    assert [route.new for route in found.routes] == [3, 2, 2]
    assert csv_file(topic).rows[1] == ["mntdp-d", 0, 2, 1, 2, 2, "branch", "", 1, 0.5]
    whole = page([replace(plain, rows=rows)], {})
    assert "<h3>Paths</h3>" in whole
    assert (
        '<tr><th scope="row">2</th><td class="h0">1</td><td class="h20">2</td><td class="h20">2</td><td>2</td>' in whole
    )
    assert "<h3>Paths</h3>" not in page([run("ewc", 0, 0.1, 1)], {})


def test_the_headline_tells_what_is_better_from_what_is_worse():
    runs = [run(name, seed, drop * (1 + 0.05 * (seed % 2)), 1) for name, drop in DROPS.items() for seed in range(4)]
    names = Names({}, frozenset(record.key for record in runs if record.learner == "joint"))
    (line,) = headlines(topics(runs, names)[0])
    assert line.startswith("middle has the highest mean accuracy of those compared, floors apart, 0.8")
    assert line.endswith(" It is better than low. It is worse than joint.")


def test_a_page_goes_by_the_metric_that_was_asked_for():
    runs = [run(name, seed, drop, 1) for name, drop in (("a", 0.1), ("b", 0.2)) for seed in range(3)]
    topic = topics(runs, by="forgetting_rwalk")[0]
    assert headlines(topic)[0].startswith("a has the lowest mean forgetting, 0.15")
    assert difference_tables(topic)[0].title == "forgetting of a minus each of the others"
    other = topics(runs, by="backward_transfer")[0]
    assert "backward transfer" in [title for title, _ in results(other).columns]


def test_trials_are_counted_and_choices_told():
    runs = [run("ewc", seed, 0.1, 1000, decisions=(DECISION, DECISION), search_flops=10**6) for seed in (0, 1)]
    (found,) = chosen(topics(runs)[0])
    assert found.trials == "8 in 4 decisions over 2 runs; 2 MFLOP in all, 60 kFLOP on the path kept"
    assert found.lines[0] == "chosen rate, task by task: 0.1, 0.1 (seed 0) · 0.1, 0.1 (seed 1)"
    assert chosen(topics(records())[0]) == []


def test_shared_settings_are_told_once():
    runs = [run(name, 0, 0.1, 1, settings={"rate": rate, "batch": 8}) for name, rate in (("a", 0.1), ("b", 0.2))]
    found = settings(topics(runs)[0])
    assert "batch=8" in found.common
    assert [own for _, own in found.own] == ["rate=0.1", "rate=0.2"]


def test_runs_have_the_names_that_somebody_gave_them():
    runs = records()[:6]
    names = Names({record.key: f"our {record.learner}" for record in runs}, frozenset(r.key for r in runs[:3]))
    topic = topics(runs, names)[0]
    assert [method.label for method in topic.methods] == ["our ridge", "our ewc"]
    assert topic.kinds == {"our ridge": "", "our ewc": "floor"}


def test_a_papers_tables_stand_beside_ours_and_stay_text():
    data = Table(
        ("method",),
        (Column("average_accuracy", "A %", 1, 100.0),),
        (TableRow((HOSTILE,), (Number(0.5, 0.1, 2, 0.6),)),),
    )
    verdicts = (Verdict("ours is better", "NOT held"),)
    section = Section("table1", "Table 1", "about it", (data,), data, verdicts, ("a note",), ("p. 3",), None, {})
    content = Page("A paper", "What it asks", "engram report", "quick", (0,), (section,), "caveats")
    text = page(records(), {}, "", Subject(content.title, content.about, Names(), content))
    for part in ("A paper", "What it asks", "Table 1", "60.0", "50.0 ± 10.0", "NOT held", "a note", "caveats"):
        assert part in text
    assert "<img" not in text
