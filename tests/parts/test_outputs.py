"""Which row stands for which class."""

from __future__ import annotations

import json
import time

import pytest

from engram.errors import NeedsTask
from engram.parts.outputs import OutputLayer


def _layer(kind):
    layer = OutputLayer(kind, (4, 2, 0, 1, 3))
    layer.add(0, (4, 2))
    layer.add(1, (2, 1))
    return layer


@pytest.mark.parametrize("kind", ["growing", "masked", "per-task"])
def test_a_layer_that_was_loaded_goes_on_as_the_one_that_was_saved(kind):
    layer, loaded = _layer(kind), OutputLayer(kind, (4, 2, 0, 1, 3))
    loaded.add(7, (3,))
    loaded.load(json.loads(json.dumps(layer.state())))
    assert loaded.add(2, (0, 4)) == layer.add(2, (0, 4))
    assert (loaded.state(), loaded.rows(2), loaded.classes(2)) == (layer.state(), layer.rows(2), layer.classes(2))
    if kind != "per-task":
        assert loaded.rows(None) == layer.rows(None)
        assert loaded.classes(None) == [4, 2, 1, 0]


@pytest.mark.parametrize(
    "kind, names",
    [
        ("growing", [(None, 4), (None, 2), (None, 1)]),
        ("masked", [(None, c) for c in (4, 2, 0, 1, 3)]),
        ("per-task", [(0, 4), (0, 2), (1, 2), (1, 1)]),
    ],
)
def test_rows_in_order_of_appearance(kind, names):
    assert _layer(kind).names == names


def test_a_known_class_gets_no_second_row():
    layer = OutputLayer("growing", (0, 1, 2))
    assert layer.add(0, (0, 1)) == [(None, 0), (None, 1)]
    assert layer.add(1, (1, 2)) == [(None, 2)]


@pytest.mark.parametrize(
    "kind, loss_over, active, places",
    [
        ("growing", "task", (1, 3, None), {2: 0, 1: 1}),
        ("growing", "seen", (0, 3, None), {4: 0, 2: 1, 1: 2}),
        ("masked", "all", (0, 5, None), {4: 0, 2: 1, 0: 2, 1: 3, 3: 4}),
        ("masked", "seen", (0, 4, [0, 0, float("-inf"), 0]), {4: 0, 2: 1, 1: 3}),
        ("masked", "task", (1, 4, [0, float("-inf"), 0]), {2: 0, 1: 2}),
        ("per-task", "seen", (2, 4, None), {2: 0, 1: 1}),
    ],
)
def test_active_outputs_and_places(kind, loss_over, active, places):
    outputs, found = _layer(kind).active(1, loss_over)
    assert (outputs.start, outputs.stop) == active[:2]
    assert (outputs.mask.tolist() if outputs.mask is not None else None) == active[2]
    assert {label: place for label, place in enumerate(found.tolist()) if place >= 0} == places


def test_classes_and_what_is_missing():
    layer = _layer("growing")
    assert layer.classes(None) == [4, 2, 1]
    assert layer.rows(1) == [1, 2]
    with pytest.raises(NeedsTask, match=r"task 6 has not been learned \(learned: 1, 2\)"):
        layer.classes(5)
    with pytest.raises(NeedsTask, match="learned: none yet"):
        OutputLayer("growing", (0, 1)).rows(0)
    with pytest.raises(NeedsTask, match="say which task"):
        _layer("per-task").classes(None)


@pytest.mark.parametrize("kind", ["growing", "masked", "per-task"])
def test_state_survives_text(kind):
    layer, copy = _layer(kind), OutputLayer(kind, (4, 2, 0, 1, 3))
    copy.load(json.loads(json.dumps(layer.state())))
    assert (copy.names, copy.tasks) == (layer.names, layer.tasks)


@pytest.mark.parametrize("kind", ["growing", "masked", "per-task"])
def test_a_state_of_pairs_as_older_versions_wrote_is_read(kind):
    layer, copy = _layer(kind), OutputLayer(kind, (4, 2, 0, 1, 3))
    copy.load(json.loads(json.dumps({"names": layer.names, "tasks": list(layer.tasks.items())})))
    assert (copy.names, copy.tasks, copy.state()) == (layer.names, layer.tasks, layer.state())


def test_many_classes_take_linear_time():
    """With 100,000 classes the square of it took minutes."""
    layer, began = OutputLayer("growing", range(100_000)), time.process_time()
    layer.add(0, range(50_000))
    layer.add(1, range(100_000))
    assert layer.rows(None) == list(range(100_000))
    assert time.process_time() - began < 2
