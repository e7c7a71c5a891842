"""What is drawn: the axes, lines, bars and words of matplotlib's own figures."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from engram.core import Cost, Curve, Row
from engram.record import Record
from engram.reports.content import Bars, Column, Number, Paths, Phases, Plane, Radar, Series, Spans, TaskPanels
from engram.reports.figure import drawn, png
from engram.reports.progress_figure import progress

PERCENT = Column("average_accuracy", "accuracy %", 1, 100)


def words(legend) -> list[str]:
    return [text.get_text() for text in legend.get_texts()]


def points(line) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def test_progress_has_a_panel_for_every_method_and_a_row_for_every_stream(record, failed):
    others = [record(learner="si"), failed(seed=2), record(stream="pair-digits@1")]
    figure = drawn(progress([record(seed=0), record(seed=1), *others]))
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in shown] == ["ewc (single)", "si (single)", "ewc (single)"]
    assert [axes.get_ylabel().split("\n")[0] for axes in (shown[0], shown[2])] == [record().stream, "pair-digits@1"]
    assert "Accuracy on every task" in figure.get_suptitle()
    assert figure.get_supxlabel() == "tasks learned so far"


def test_progress_draws_each_task_from_when_it_is_learned_and_the_average_in_black(record):
    low, high = record(seed=0), record(seed=1)
    rows = tuple(replace(row, single=tuple(a / 2 for a in row.single)) for row in low.rows)
    (axes,) = drawn(TaskPanels([("a stream", [("a method", [replace(low, rows=rows), high])])])).axes
    *tasks, average = axes.get_lines()
    length = len(low.rows)
    assert [line.get_xdata()[0] for line in tasks] == list(range(1, length + 1))
    for task, line in enumerate(tasks):
        assert points(line) == [(k + 1, pytest.approx(0.75 * high.accuracy[k][task])) for k in range(task, length)]
    assert average.get_color() == "black"
    assert points(average) == [(k + 1, pytest.approx(0.75 * sum(high.accuracy[k]) / (k + 1))) for k in range(length)]
    assert len(axes.collections) == length  # a band of one deviation for each task


def test_one_seed_has_no_band(record):
    (axes,) = drawn(progress([record()])).axes
    assert not axes.collections


def test_what_was_not_measured_is_a_gap_in_the_line(record):
    whole = record().rows[-1]
    rows = (replace(whole, single=(), multi=(), places=()), *record().rows[1:])
    (axes,) = drawn(progress([record(rows=rows, evaluate="every 2")])).axes
    first, *_, average = axes.get_lines()
    assert isnan(first.get_ydata()[0])
    assert not isnan(first.get_ydata()[1])
    assert average.get_marker() == "o"


def test_a_plane_has_a_point_and_a_name_for_every_row():
    across, up = Number(0.1, 0.02, 2), Number(0.3, nan, 2)
    figure = drawn(Plane("forgetting", "intransigence", {"EWC": (across, up), "SI": (up, across)}))
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("forgetting", "intransigence")
    assert words(axes.get_legend()) == ["EWC", "SI"]
    assert [points(bar[0]) for bar in axes.containers] == [[(0.1, 0.3)], [(0.3, 0.1)]]
    ewc, si = (bar[2] for bar in axes.containers)
    assert [float(x) for x, _ in ewc[0].get_segments()[0]] == pytest.approx([0.08, 0.12])
    assert (axes.containers[0].has_xerr, axes.containers[0].has_yerr, len(ewc), len(si)) == (True, False, 1, 1)


def test_a_series_has_a_line_for_every_method_along_the_values():
    lines = {"EWC": {"1": Number(0.5, 0.1, 2), "10": Number(0.75, nan)}, "SI": {"1": Number(0.25), "10": Number(0.2)}}
    (axes,) = drawn(Series("strength λ", PERCENT, lines)).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("strength λ", "accuracy %")
    assert words(axes.get_legend()) == ["EWC", "SI"]
    assert [list(bar[0].get_ydata()) for bar in axes.containers] == [[50.0, 75.0], [25.0, 20.0]]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "10"]
    bars = axes.containers[0][2][0].get_segments()
    assert [float(y) for y in bars[0][:, 1]] == pytest.approx([40.0, 60.0])


def two_tasks(stop: int | None = 50) -> Record:
    first = Curve((0, 50), (0.1, 0.9), ((0.1,), (0.9,)), (0.1, 0.9), ())
    second = Curve((0, 50, 100), (0.0, 0.7, 0.8), ((0.9, 0.0), (0.4, 0.7), (0.3, 0.8)), (0.5, 0.6, 0.55), ())
    cost = Cost({"total": 8}, 2, 30.0)
    rows = tuple(Row((0.9,), (0.9,), {}, {}, {"single": curve}, cost, "0") for curve in (first, second))
    how = ("d5-5a-mnist@1", "finetune", "mlp", {}, "realistic", "single", 0, "key", "done", None)
    return Record(*how, rows, ({}, {}), stop=stop)


def test_phases_have_a_panel_for_each_model_and_dataset():
    figure = drawn(Phases({("fc", "d5-5a"): two_tasks(), ("fc", "d9-1a"): None, ("conv", "d5-5a"): two_tasks(None)}))
    assert [axes.get_title() for axes in figure.axes[:2]] == ["d5-5a", "d9-1a"]
    assert [figure.axes[place].get_ylabel() for place in (0, 2)] == ["fc", "conv"]
    assert words(figure.legends[0]) == ["D1", "D2", "D1 ∪ D2"]
    assert [len(axes.get_lines()) for axes in figure.axes] == [4, 0, 3, 0]


def test_phases_draw_the_second_task_after_the_first_and_where_it_stops():
    d1, d2, both, stop = drawn(Phases({("fc", "d5-5a"): two_tasks()})).axes[0].get_lines()
    assert points(d1) == [(0, 0.1), (50, 0.9), (50, 0.9), (100, 0.4), (150, 0.3)]
    assert points(d2) == [(50, 0.0), (100, 0.7), (150, 0.8)]
    assert points(both) == [(50, 0.5), (100, 0.6), (150, 0.55)]
    assert set(stop.get_xdata()) == {100}


def test_spans_are_bars_from_the_lower_to_the_higher_number_with_a_dot():
    bars = {("d5-5a", "fc"): (0.4, 0.7, 0.3), ("d5-5a", "conv"): (0.5, 0.5, 0.2), ("d9-1a", "fc"): (0.1, 0.9, nan)}
    (axes,) = drawn(Spans("accuracy", "strict", bars)).axes
    assert axes.get_ylabel() == "accuracy"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["d5-5a", "d9-1a"]
    assert sorted(words(axes.get_legend())) == ["conv", "fc", "strict"]
    fc, conv = axes.containers
    assert [(bar.get_y(), pytest.approx(bar.get_y() + bar.get_height())) for bar in fc] == [(0.4, 0.7), (0.1, 0.9)]
    assert isnan(conv[1].get_height())
    assert [line.get_ydata()[0] for line in axes.get_lines()] == [0.3, 0.2]
    assert fc[0].get_x() < conv[0].get_x()


def test_the_same_content_is_the_same_picture():
    content = Phases({("fc", "d5-5a"): two_tasks()})
    assert png(content) == png(Phases({("fc", "d5-5a"): two_tasks()}))
    assert png(content) != png(Phases({("fc", "d5-5a"): two_tasks(stop=None)}))


def test_bars_have_a_panel_for_every_title_and_the_first_label_on_top():
    column = Column("average_accuracy", "A")
    figure = drawn(
        Bars(column, {"pMNIST": {"EWC": Number(0.9), "ER": Number(0.5, 0.1)}, "CIFAR": {"EWC": Number(0.2)}})
    )
    first, second = figure.axes
    assert [label.get_text() for label in first.get_yticklabels()] == ["ER", "EWC"]
    assert [bar.get_width() for bar in first.patches] == [0.5, 0.9]
    assert (first.get_title(), second.get_title()) == ("pMNIST", "CIFAR")


def test_a_radar_has_a_closed_line_for_every_label():
    one = {"EWC": (0.0, 0.5, 1.0), "ER": (1.0, 1.0, 0.0)}
    figure = drawn(Radar(("A", "F", "memory"), {"large": one, "small": {"EWC": (1.0, 1.0, 1.0)}}))
    assert [half.get_suptitle() for half in figure.subfigs] == ["large", "small"]
    panel, half = figure.axes[0], figure.subfigs[0]
    lines = {line.get_label(): line.get_ydata() for line in panel.lines}
    assert list(lines["EWC"]) == [0.0, 0.5, 1.0, 0.0]
    assert [label.get_text() for label in panel.get_xticklabels()] == ["A", "F", "memory"]
    assert words(half.legends[0]) == ["EWC", "ER"]
    assert not drawn(Radar((), {})).axes


def test_nothing_of_a_radar_with_many_labels_is_cut_off():
    lines = {f"a learner with a long name {k}": (0.5, 0.5, 1.0) for k in range(16)}
    figure = drawn(Radar(("A", "F", "memory"), {"ResNet": lines, "AlexNet": {"HAT": (1.0, 1.0, 1.0)}}))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    parts = [part for half in figure.subfigs for part in (*half.legends, *half.texts, *half.axes[0].get_xticklabels())]
    assert len(parts) == 2 + 2 + 6
    for part in parts:
        box = part.get_window_extent(canvas.get_renderer())
        assert box.y0 >= 0
        assert box.y1 <= figure.bbox.height


def test_paths_have_a_dot_where_a_module_is_new_and_a_panel_for_every_graph():
    paths = {"task 1": (0, 0, 0), "task 2": (0, 1, 1)}
    figure = drawn(Paths({"S-": paths, "S_out": paths, "S_in": paths}))
    shown = [panel for panel in figure.axes if panel.get_visible()]
    assert [panel.get_title() for panel in shown] == ["S-", "S_out", "S_in"]
    dots = [list(line.get_xdata()) for line in shown[0].lines if line.get_marker() == "o"]
    assert dots == [[1, 2, 3], [2, 3]]
