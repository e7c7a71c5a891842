"""All tensors of a learner are on one device: steps and predictions on `meta`, which needs no hardware.

That device computes nothing, and lets a product or a choice of rows with a tensor pass that was left behind on the CPU:
so every operation is watched. Where a method asks for values, it is told the same ones each time.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from quick import quick
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

import engram
from engram.core import Outline, Split
from engram.learners import learners
from engram.networks import Blueprint
from engram.transform import Transform

TRAINED = [name for name, cls in learners().items() if hasattr(cls, "epochs")]
OUTLINE = Outline((1, 8, 8), tuple(range(10)))
CPU = torch.device("cpu")
# herding looks for the nearest sample, the projection for conflicts, den for weights that are zero or have drifted
NEED_VALUES = ("gem", "icarl", "icarl-hb1", "den")
FULL_LAYERS = ("den", "rcl")  # take perceptrons only


class OneDevice(TorchDispatchMode):
    """Refuses every operation on tensors of two devices, but for single numbers and positions, which all take. What is
    fetched from the device without values has zeros."""

    ALLOWED = ("aten.index.Tensor", "aten.index_put_.default")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        tensors = [value for value in tree_flatten((args, kwargs or {}))[0] if isinstance(value, Tensor)]
        if str(func) not in self.ALLOWED and len({t.device for t in tensors if t.dim()}) > 1:
            raise RuntimeError(f"{func} is given tensors of {sorted({str(t.device) for t in tensors})}")
        if str(func) == "aten._to_copy.default" and args[0].is_meta and (kwargs or {}).get("device") == CPU:
            return torch.zeros(args[0].shape, dtype=kwargs.get("dtype") or args[0].dtype)
        return func(*args, **(kwargs or {}))


@pytest.fixture
def valueless(monkeypatch):
    """Numbers that a program asks of tensors without values."""

    def answered(name, value):
        real = getattr(Tensor, name)
        monkeypatch.setattr(Tensor, name, lambda t, *a: value(t) if t.is_meta else real(t, *a))

    answered("item", lambda t: 0.0)
    answered("__int__", lambda t: 0)
    answered("__bool__", lambda t: True)
    answered("__float__", lambda t: 0.0)
    with OneDevice():
        yield


def test_a_tensor_left_behind_is_noticed(valueless):
    with pytest.raises(RuntimeError, match=r"aten.mm.default is given tensors of \['cpu', 'meta'\]"):
        torch.zeros(2, 3, device="meta") @ torch.zeros(3, 2)


def test_a_split_moves_with_its_transform(valueless):
    order, shift = torch.arange(64).flip(0), torch.ones(1, 8, 8)
    split = Split(
        torch.zeros(6, 1, 8, 8), torch.arange(6), torch.tensor([3, 1]).repeat(3), Transform(0.5, order, shift=shift)
    )
    moved = split.to("meta")
    assert split.to("cpu") is split
    for index in (slice(None), torch.tensor([0, 2])):
        x, y = moved.batch(index)
        assert x.is_meta
        assert y.is_meta
        assert x.shape == split.batch(index)[0].shape
    assert moved.take(torch.tensor([1])).batch(slice(None))[0].is_meta


@pytest.mark.parametrize(
    "network", ["mlp", "fel", "rwalk-cnn", "pfuelb-conv", "resnet18-reduced", "ctrl-resnet", "ctrl-alexnet"]
)
def test_every_network_is_built_on_its_device(network):
    blueprint = replace(Blueprint.of(network), device="meta")
    built = blueprint.build((3, 32, 32), 0)
    assert built.theta.is_meta
    assert built.grad.is_meta
    assert all(value.is_meta for value in built.buffers().values())
    assert built.features(torch.zeros(2, 3, 32, 32, device="meta")).is_meta


def _predicts_where_it_is_asked(learner, lesson):
    for device in ("meta", "cpu"):
        x, _ = lesson.validation.to(device).batch(slice(None))
        assert learner.predict(x, lesson.index).device == x.device


@pytest.mark.parametrize(
    ("name", "network"),
    [(name, net) for net in ("mlp", "rwalk-cnn") for name in TRAINED if net == "mlp" or name not in FULL_LAYERS],
)
def test_steps_and_predictions_leave_no_tensor_on_the_cpu(name, network, valueless, digits_lessons):
    blueprint = replace(Blueprint.of(network), device="meta")
    learner = learners()[name](OUTLINE, 0, blueprint, batch=45)
    for step in learner.learn(digits_lessons[0]):
        if step.done == 2:
            break
    assert learner.step == 2
    tensors = learner.state().tensors
    assert {n for n, t in tensors.items() if not t.is_meta} == set()
    _predicts_where_it_is_asked(learner, digits_lessons[0])


@pytest.mark.parametrize("name", [name for name in TRAINED if name not in NEED_VALUES])
def test_whole_lessons_leave_no_tensor_on_the_cpu(name, valueless, teach, digits_lessons):
    """With a penalty, a frozen part or the like, which come with the second lesson."""
    learner = learners()[name](OUTLINE, 0, replace(Blueprint.of("mlp", widths=(12,)), device="meta"), **quick(name))
    teach(learner, digits_lessons[:2])
    assert {n for n, t in learner.state().tensors.items() if not t.is_meta} == set()
    for task in (0, 1):
        _predicts_where_it_is_asked(learner, digits_lessons[task])


@pytest.mark.parametrize("name", TRAINED)
def test_a_state_from_elsewhere_is_taken_to_the_learner_s_device(name, make, teach, snapshot, digits_lessons):
    state = snapshot(teach(make(name), digits_lessons[:2]))
    learner = learners()[name](OUTLINE, 0, replace(make(name).blueprint, device="meta"))
    learner.load(state)
    assert {n for n, t in learner.state().tensors.items() if not t.is_meta} == set()


@pytest.mark.parametrize("name", [name for name in TRAINED if name not in NEED_VALUES])
def test_a_run_on_a_device_is_stored_and_measured(name, valueless, monkeypatch):
    monkeypatch.setattr("engram.networks.devices.devices", lambda: ["meta"])
    record = engram.run("split-digits", name, tasks=2, widths="12", device="meta", **quick(name))
    assert (record.status, len(record.rows), record.settings["device"]) == ("done", 2, "meta")
