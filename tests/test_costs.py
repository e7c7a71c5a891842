"""Bytes and operations, against the formulas of the papers and counting by hand."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
import torch
from rich.console import Console
from torch import nn

import engram
from engram.core import Lesson, Outline, Split, State
from engram.costs import count_forward, counter, forward_flops, head_flops, itemise, solve_flops
from engram.learners import create
from engram.networks import NETWORKS, Blueprint
from engram.reports.tables import print_runs
from engram.transform import Transform

STEM, REST, FEATURES = 65 * 12, 13 * 10, 10
TRUNK = STEM + REST
HEAD = 2 * (FEATURES + 1)
SHARED = TRUNK + 10 * (FEATURES + 1)  # the permuted lessons' one head of ten


def _bytes(learner):
    return itemise(learner.state())


@pytest.mark.parametrize(
    "name, settings, count",
    [
        ("finetune", {}, lambda tasks: TRUNK + tasks * HEAD),
        ("finetune", {"heads": "per-task"}, lambda tasks: TRUNK + tasks * HEAD),
        ("finetune", {"optimizer_reset": "none"}, lambda tasks: 3 * (TRUNK + tasks * HEAD)),
        ("independent", {}, lambda tasks: tasks * (TRUNK + HEAD)),
        ("new-head", {}, lambda tasks: TRUNK + tasks * HEAD),
        ("new-leg", {}, lambda tasks: TRUNK + HEAD + (tasks - 1) * STEM),
        ("ewc", {"heads": "per-task"}, lambda tasks: (1 + 2 * tasks) * TRUNK + tasks * HEAD),
        ("online-ewc", {"heads": "per-task"}, lambda tasks: 3 * TRUNK + tasks * HEAD),
        ("si", {"heads": "per-task"}, lambda tasks: 4 * TRUNK + tasks * HEAD),
    ],
)
def test_bytes_of_split_tasks(name, settings, count, make, teach, digits_lessons):
    learner = make(name, **settings)
    for tasks, lesson in enumerate(digits_lessons[:3], start=1):
        teach(learner, [lesson])
        assert _bytes(learner)["total"] == 4 * count(tasks)


RESNET, OUTPUTS, STATISTICS, FIRST = 606_400, 650, 20 * 129, 1_856 + 129  # of Veniat et al. 2021
WHOLE, IMAGE = RESNET + OUTPUTS + STATISTICS, 3 * 32 * 32


@pytest.mark.parametrize(
    "name, settings, count",
    [
        ("independent", {}, lambda tasks: tasks * WHOLE),
        ("finetune", {"heads": "shared"}, lambda tasks: WHOLE),
        ("new-head", {}, lambda tasks: RESNET + STATISTICS + tasks * OUTPUTS),
        ("new-leg", {}, lambda tasks: WHOLE + (tasks - 1) * FIRST),
        ("pnn", {}, lambda tasks: tasks * WHOLE + tasks * (tasks - 1) // 2 * (WHOLE - FIRST)),
        # the paper leaves the statistics out with these three
        ("ewc", {"heads": "per-task"}, lambda tasks: (1 + 2 * tasks) * RESNET + tasks * OUTPUTS + STATISTICS),
        ("online-ewc", {"heads": "per-task"}, lambda tasks: 3 * RESNET + tasks * OUTPUTS + STATISTICS),
        ("er", {}, lambda tasks: RESNET + tasks * (OUTPUTS + 10 * 15 * (IMAGE + 2)) + STATISTICS),
    ],
)
def test_bytes_are_those_of_the_papers_resnet(name, settings, count):
    """Batch normalisation keeps two numbers a channel, and how many batches it has seen."""
    images, places = torch.zeros(150, 3, 32, 32, dtype=torch.uint8), torch.arange(150) % 10
    images.random_(generator=torch.Generator().manual_seed(0))
    network = Blueprint.of("ctrl-resnet", side=4)
    classes = [tuple(range(10 * task, 10 * task + 10)) for task in range(2)]
    learner = create(name, Outline((3, 32, 32), classes[0] + classes[1]), 0, network, {"batch": 75, **settings})
    for task in range(2):
        train, none = (Split(images[:n], 10 * task + places[:n], transform=Transform(1 / 255)) for n in (150, 0))
        for _ in learner.learn(Lesson(f"task {task + 1}", task, classes[task], train, none)):
            pass
        assert _bytes(learner)["total"] == 4 * count(task + 1)


@pytest.mark.parametrize(
    "name, count",
    [
        ("finetune", lambda tasks: SHARED),
        ("ewc", lambda tasks: (1 + 2 * tasks) * SHARED),
        ("online-ewc", lambda tasks: 3 * SHARED),
        ("si", lambda tasks: 4 * SHARED),
    ],
)
def test_bytes_of_a_shared_head(name, count, make, teach, permuted_lessons):
    learner = make(name)
    for tasks, lesson in enumerate(permuted_lessons, start=1):
        teach(learner, [lesson])
        assert _bytes(learner)["total"] == 4 * count(tasks)


@pytest.mark.parametrize("buffer", ["ring", "reservoir"])
def test_a_replay_memory_holds_no_more_of_a_class_than_there_are_samples(buffer, make, teach, digits_lessons):
    """Unlike the printed memory of er, which has 15 of every class of every task."""
    few = replace(digits_lessons[1], train=digits_lessons[1].train.take(torch.arange(12)))
    learner = teach(make("er", buffer=buffer, heads="per-task"), [digits_lessons[0], few])
    assert _bytes(learner)["memory"] == 4 * (2 * 15 + 12) * (64 + 2)


def test_bytes_are_itemised(make, teach, permuted_lessons):
    learner = teach(make("ewc"), permuted_lessons[:2])
    assert _bytes(learner) == {
        "parameters": 4 * TRUNK,
        "heads": 4 * 110,
        "importance": 2 * 4 * SHARED,
        "anchor": 2 * 4 * SHARED,
        "total": 5 * 4 * SHARED,
    }


def test_joint_training_keeps_the_samples(make, teach, digits_lessons):
    items = _bytes(teach(make("joint"), digits_lessons[:2]))
    assert items["samples"] == 180 * (64 + 8)


def test_bytes_of_any_number_format():
    tensors = {
        "a.x": torch.zeros(3, dtype=torch.uint8),
        "a.y": torch.zeros(2, dtype=torch.float64),
        "b": torch.zeros(1),
    }
    assert itemise(State(tensors, {})) == {"a": 19, "b": 4, "total": 23}


def test_published_sizes():
    """Kemker et al.: D-400-400-C; Veniat et al.: 784-1000-1000-10 has 1 796 010 parameters."""
    for widths, inputs, classes, count in (
        ("400-400", 2048, 200, 2048 * 400 + 400 + 400 * 400 + 400 + 400 * 200 + 200),
        ("1000-1000", 784, 10, 1_796_010),
    ):
        network = Blueprint.of("mlp", widths=widths).build((inputs,), seed=0)
        assert network.trunk_size + classes * network.row_size == count


def test_operations_of_training_an_mlp(make, teach, permuted_lessons):
    learner = teach(make("finetune", epochs=2), permuted_lessons[:1])
    multiplications = 64 * 12 + 12 * 10 + 10 * 10
    assert learner.flops() == 2 * 150 * 3 * 2 * multiplications


def test_the_head_counts_as_large_as_it_is(make, teach, digits_lessons):
    learner = teach(make("finetune"), digits_lessons[:2])
    per_sample = [3 * 2 * (64 * 12 + 12 * 10 + 10 * rows) for rows in (2, 4)]
    assert learner.flops() == 90 * sum(per_sample)


def test_the_fisher_information_adds_its_own_operations(make, teach, permuted_lessons):
    """Forward, the outputs' gradients and their products: three forward passes for each of the fifty samples."""
    multiplications = 64 * 12 + 12 * 10 + 10 * 10
    learner = teach(make("ewc", fisher_samples=50), permuted_lessons[:1])
    assert learner.flops() == (150 * 3 + 50 * 3) * 2 * multiplications


@pytest.mark.parametrize("name", ["ewc", "online-ewc", "ewc++"])
def test_what_a_fisher_pass_is_charged_is_what_torch_counts(name, make, teach, permuted_lessons):
    """But for the gradient of the samples, which nobody needs, and the head's biases, which torch sees as inputs."""
    learner = make(name, estimator="empirical", fisher_samples=0)
    with counter() as counted:
        teach(learner, permuted_lessons[:1])
    nobody_needs = 2 * 150 * 2 * 64 * 12  # in training and in the Fisher pass
    assert learner.flops() == pytest.approx(counted.get_total_flops() + nobody_needs, rel=0.01)


def test_frozen_parts_cost_less(make, teach, digits_lessons):
    stem, rest, head = 64 * 12, 12 * 10, 10 * 2
    new_head, new_leg, independent = (
        teach(make(name), digits_lessons[:2]).flops() for name in ("new-head", "new-leg", "independent")
    )
    whole = 3 * (stem + rest + head)
    assert independent == 90 * 2 * (2 * whole)
    assert new_head == 90 * 2 * (whole + stem + rest + 3 * head)
    assert new_leg == 90 * 2 * (whole + 2 * (stem + rest + head) + stem)


@pytest.mark.parametrize(
    "name, multiplications",
    [
        ("rwalk-cnn", 1024 * (27 * 32 + 288 * 32) + 256 * (288 * 64 + 576 * 64)),
        ("pfuelb-conv", 1024 * 75 * 32 + 256 * 800 * 64 + 4096 * 1024),
    ],
)
def test_operations_of_convolutions(name, multiplications):
    network = Blueprint.of(name).build((3, 32, 32), seed=0)
    assert forward_flops(network.trunk, (3, 32, 32)) == 2 * multiplications
    assert head_flops(network, 7) == 2 * 7 * network.trunk.features


def gru(shape):
    return nn.Sequential(nn.Flatten(1, 2), _LastOf(nn.GRU(shape[2], 5, batch_first=True)))


def lstm(shape):
    return nn.Sequential(nn.Flatten(1, 2), _LastOf(nn.LSTM(shape[2], 5, batch_first=True)))


class _LastOf(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0][:, -1]


def test_layers_that_are_neither_full_nor_convolutions_are_counted_too(make):
    gates = 3 * 5 * (8 + 5)
    assert make("finetune", network=Blueprint.of(NETWORKS.name_of(gru))).forward_flops == 8 * 2 * gates


def test_a_full_layer_over_positions_is_counted_at_each():
    layers = nn.Sequential(nn.Flatten(1, 2), nn.Linear(8, 64), nn.ReLU(), nn.Flatten())
    assert count_forward(layers, (1, 8, 8)) == (2 * 8 * 8 * 64, ())


def test_attention_is_counted():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.norm = nn.MultiheadAttention(8, 2, batch_first=True), nn.LayerNorm(8)

        def forward(self, x):
            return self.norm(self.layer(x, x, x)[0])

    projections, products = 4 * 7 * 8 * 8, 2 * 7 * 7 * 8
    assert count_forward(Attention(), (7, 8)) == (2 * (projections + products), ())


def test_layers_that_cannot_be_counted_are_named(tmp_path):
    with pytest.warns(UserWarning, match="operations of LSTM layers are not counted; compute will be too low"):
        record = engram.run("split-digits", "finetune", network=lstm, tasks=2, store=tmp_path)
    assert record.uncounted == record.to_json()["uncounted"] == "LSTM"
    console = Console(file=io.StringIO(), width=100)
    print_runs(console, [record])
    assert "operations of LSTM layers are not counted" in console.file.getvalue()


def test_operations_of_a_solution():
    with counter() as counted:
        torch.cholesky_solve(torch.ones(30, 4), torch.linalg.cholesky_ex(torch.eye(30))[0])
    assert counted.get_total_flops() == solve_flops(30, 4)
    assert solve_flops(30, 4) == 9000 + 2 * 900 * 4
