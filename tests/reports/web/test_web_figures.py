"""Charts as values: where things are drawn, on cases computed by hand."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace
from urllib.parse import unquote

import pytest
from web_records import FORMULA, run

from engram.reports.web import learning, matrices, planes
from engram.reports.web.chart import Axis, Chart, ChartLine, accuracies, counted, logarithmic, shares
from engram.reports.web.classes import class_table
from engram.reports.web.csv_file import CsvFile
from engram.reports.web.labels import label_places
from engram.reports.web.methods import evenly, topics
from engram.streams import stream


@pytest.fixture
def topic():
    return topics([run("ewc", seed, 0.1, 4000) for seed in (0, 1)] + [run("ridge", 0, 0.0, 9000)])[0]


def chart(**changes):
    across, up = counted("tasks", 3), Axis("accuracy", 0.0, 1.0, ())
    return replace(Chart("name", "text", across, up, width=120, height=120, margins=(10, 10, 10, 10)), **changes)


def test_a_line_goes_from_corner_to_corner():
    assert chart().path(ChartLine([(1, 0.0), (3, 1.0)], "")) == "M10 110h0L110 10"


def test_a_gap_is_a_gap_and_a_lonely_point_is_a_dot():
    line = ChartLine([(1, 0.5), (2, math.nan), (3, 1.0)], "")
    assert chart().path(line) == "M10 60h0M110 10h0"


def test_a_logarithmic_axis_puts_the_geometric_mean_in_the_middle():
    axis = logarithmic("memory", [1e3, 1e5], "B")
    assert axis.at(1e4) == pytest.approx(0.5)
    assert [text for _, text in axis.ticks] == ["1 kB", "10 kB", "100 kB"]


@pytest.mark.parametrize("values", [[0.5], [0.5, 0.5], [math.nan], [0.1234, 0.1235], [-3.0, 9.0]])
def test_an_axis_has_its_values_inside(values):
    axis = shares("accuracy", values)
    assert all(0 < axis.at(value) < 1 for value in values if not math.isnan(value))
    assert all(0 <= axis.at(value) <= 1 for value, _ in axis.ticks)


@pytest.mark.parametrize(("lowest", "start"), [(0.93, 0.8), (0.7, 0.6), (0.0, 0.0), (0.39, 0.2)])
def test_accuracies_begin_below_the_lowest(lowest, start):
    assert accuracies([lowest, 1.0]).low == start


def test_labels_avoid_each_other_and_the_edge():
    (x, _, side, text), (_, y, *_) = label_places([(95, 50), (95, 52)], ["a long name", "other"], 100, 100)
    assert (side, text) == ("end", "a long name")
    assert x < 95
    assert abs(y - 54) > 8


def test_lines_over_time_are_means_over_seeds(topic):
    ewc = next(method for method in topic.methods if method.label == "ewc")
    average, matrix = matrices.means(matrices.lives(ewc, [0, 1, 2]))
    assert matrix[2] == pytest.approx([0.755, 0.855, 0.955])
    assert average[2] == pytest.approx(0.855)


def test_a_long_stream_shows_some_tasks_and_averages_over_all():
    rows = [tuple(0.5 + k / 200 if j == 0 else 0.5 for j in range(k + 1)) for k in range(100)]
    whole = run("ewc", 0, 0.1, 1)
    long = replace(whole, rows=tuple(replace(whole.rows[0], single=r, multi=r) for r in rows))
    found = matrices.life(long, evenly(100, 20))
    assert len(found.average) == 20
    assert found.average[-1] == pytest.approx((0.995 + 99 * 0.5) / 100)
    assert found.on[-1][0] == pytest.approx(0.995)


def test_a_map_has_a_square_for_every_pair(topic):
    ewc = next(method for method in topic.methods if method.label == "ewc")
    found = matrices.heat_map(topic, ewc)
    assert [square.text for square in found.squares] == [".95", ".85", ".95", ".76", ".85", ".95"]
    assert found.squares[-1].x == found.squares[-1].y == pytest.approx(400 / 3, abs=0.1)
    assert "task 1 0.755" in found.text
    assert sum(path.count("M") for _, path in found.paths) == 6
    assert matrices.map_file(topic).rows[-1] == ["ewc", 3, *map(pytest.approx, (0.755, 0.855, 0.955))]


def test_the_front_is_of_those_that_nobody_beats(topic):
    found = planes.cost_plane(topic, "bytes")
    assert found.text.endswith("for less memory: ewc, ridge.")
    assert [dot.label for dot in found.dots] == ["ridge", "ewc"]
    worse = topics([run("ewc", 0, 0.1, 9000), run("ridge", 0, 0.0, 4000)])[0]
    assert planes.cost_plane(worse, "bytes").text.endswith("for less memory: ridge.")


def test_forgetting_is_set_against_intransigence_where_it_was_measured(topic):
    found = planes.loss_plane(topic)
    assert found is not None
    assert "ridge: forgetting 0.000, intransigence 0.020" in found.text
    bare = topics([run("ewc", 0, 0.1, 1, joint=None)])[0]
    assert planes.loss_plane(bare) is None


def test_learning_curves_are_means_at_moments_that_all_seeds_have(topic):
    (_, ridge), (_, ewc) = learning.panels(topic)
    assert ewc.lines[0].values == [(0.0, pytest.approx(0.1)), (1.0, pytest.approx(0.405)), (10.0, pytest.approx(0.955))]
    assert len(ridge.lines) == 3
    file = learning.csv_file(topic)
    assert file.header == ["learner", "task", "step 0", "step 1", "step 10"]
    assert file.rows[0] == ["ridge", 1, *map(pytest.approx, (0.1, 0.4, 0.95))]


def test_classes_have_the_names_that_the_dataset_has():
    spec = stream("split-digits").spec
    found = class_table(topics([run("ewc", 0, 0.1, 1, stream_spec=spec)])[0])
    assert found is not None
    assert [name for name, _ in found.rows] == ["0", "1", "2"]
    assert found.rows[2][1] == [(19, ".95")]


def test_a_csv_file_holds_every_number_and_runs_nothing(topic):
    made = CsvFile("x", ["learner", "value"], [[FORMULA, -0.5], ["a,b", math.nan]])
    assert list(csv.reader(io.StringIO(made.text))) == [["learner", "value"], [f"'{FORMULA}", "-0.5"], ["a,b", ""]]
    assert unquote(made.link.removeprefix("data:text/csv;charset=utf-8,")) == made.text
    rows = list(csv.reader(io.StringIO(matrices.csv_file(topic).text)))
    assert rows[0] == ["learner", "seed", "after task", "average", "on task 1", "on task 2", "on task 3"]
    assert rows[-1] == ["ewc", "1", "3", "0.86", "0.76", "0.86", "0.96"]
