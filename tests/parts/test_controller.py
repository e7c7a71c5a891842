"""The controller of RCL: it learns which decisions are worth more."""

from __future__ import annotations

import torch
from torch import nn

from engram.parts.controller import UNITS, Controller
from engram.randomness import generator


def test_it_finds_the_decisions_that_are_rewarded():
    controller = Controller(2, 4, 0.03, 0, "test")
    for number in range(120):
        made = controller.decide(generator(0, "decide", number))
        controller.learn(made, float(made[0] == 3) + float(made[1] == 1))
    found = [controller.decide(generator(1, "decide", number)) for number in range(20)]
    assert sum(made == [3, 1] for made in found) >= 15


def test_a_cell_is_that_of_torch():
    controller = Controller(1, 5, 0.01, 3, "test")
    sizes = [rows * columns for rows, columns in controller.shapes]
    first, second, out, _ = (p.view(s) for p, s in zip(controller.theta.split(sizes), controller.shapes, strict=True))
    x = controller.start
    for weights, inputs in ((first, 5), (second, UNITS)):
        cell = nn.LSTMCell(inputs, UNITS)
        cell.weight_ih.data, cell.weight_hh.data = weights[:, :inputs].clone(), weights[:, inputs:-1].clone()
        cell.bias_ih.data, cell.bias_hh.data = weights[:, -1].clone(), torch.zeros(4 * UNITS)
        x = cell(x)[0].detach()
    ((chances, _),) = controller._walk(controller.theta, [0])
    wanted = torch.log_softmax(x @ out[:, :-1].T + out[:, -1], 1)
    assert torch.allclose(chances, wanted, atol=1e-6)
