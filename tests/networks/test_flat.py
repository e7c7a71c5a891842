"""One flat vector: views stay views, growth moves nothing, and an output that is masked does not exist."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from engram.core import is_row_by_row
from engram.networks import Blueprint, FlatNetwork, Outputs, network_class


@pytest.fixture
def network():
    network = Blueprint.of("mlp", widths="5-4").build((1, 2, 3), seed=0)
    network.append(torch.randn(3, 5, generator=torch.Generator().manual_seed(1)))
    return network


def _assert_views(network):
    """Every parameter and gradient lies in theta and grad, one after the other, without a gap."""
    start = 0
    for parameter in [*network.trunk.parameters(), network.head]:
        for tensor, vector in ((parameter.data, network.theta), (network.grad_of(parameter), network.grad)):
            assert tensor.data_ptr() == vector[start:].data_ptr()
            assert torch.equal(tensor.flatten(), vector[start : start + tensor.numel()])
        start += parameter.numel()
    assert start == len(network.theta) == len(network.grad)


def _backward(network, outputs=None):
    x = torch.linspace(-1, 1, 24).view(4, 1, 2, 3)
    outputs = outputs or Outputs(0, network.rows)
    loss = F.cross_entropy(network.training_scores(x, outputs), torch.tensor([0, 0, 2, 2]))
    network.backward(loss)
    return loss


def test_parameters_and_gradients_are_views(network):
    _assert_views(network)
    _backward(network)
    _assert_views(network)
    assert (network.grad != 0).sum() > len(network.grad) // 2


def test_views_stay_views_after_growth_and_training(network):
    for rows in (1, 4):
        network.append(torch.randn(rows, network.row_size, generator=torch.Generator().manual_seed(rows)))
        _backward(network)
        network.theta.sub_(network.grad)
        _assert_views(network)
    assert network.rows == 8


def test_growth_appends_and_moves_nothing(network):
    before, new = network.theta.clone(), torch.arange(10.0).view(2, 5)
    network.append(new)
    assert torch.equal(network.theta[: len(before)], before)
    assert torch.equal(network.theta[len(before) :], new.flatten())
    assert torch.equal(network.head[3:], new)


def test_assign_takes_the_values_and_as_many_rows_as_they_have(network):
    for rows in (3, 1, 6):
        values = torch.randn(network.trunk_size + rows * network.row_size, generator=torch.Generator().manual_seed(9))
        network.assign(values)
        assert torch.equal(network.theta, values)
        assert network.rows == rows
        assert network.theta.data_ptr() != values.data_ptr()
        _assert_views(network)


def test_a_head_row_is_weights_then_bias(network):
    features = torch.randn(2, 4, generator=torch.Generator().manual_seed(2))
    expected = features @ network.head[:, :4].t() + network.head[:, 4]
    assert torch.allclose(network.scores(features), expected, atol=1e-6)
    assert torch.allclose(network.scores(features, Outputs.of([1, 2])), expected[:, 1:], atol=1e-6)


def test_span_finds_a_parameter(network):
    for parameter in network.trunk.parameters():
        assert torch.equal(network.theta[network.span(parameter)], parameter.data.flatten())


def test_neighbouring_rows_need_no_mask():
    assert Outputs.of([2, 4, 3]) == Outputs(2, 5, None)


def test_a_gap_has_exactly_no_probability_and_no_gradient(network):
    outputs = Outputs.of([0, 2])
    assert outputs.mask.tolist() == [0, float("-inf"), 0]
    probabilities = network.scores(network.features(torch.ones(4, 1, 2, 3)), outputs).softmax(1)
    assert (probabilities[:, 1] == 0).all()
    loss = _backward(network, outputs)
    assert (network.head_grad[1] == 0).all()
    assert (network.head_grad[[0, 2]] != 0).any()
    assert torch.isfinite(network.grad).all()
    network.head.data[1] = 7.0
    assert _backward(network, outputs) == loss


def test_rows_beyond_the_active_ones_get_no_gradient(network):
    network.append(torch.ones(2, 5))
    _backward(network, Outputs(0, 3))
    assert (network.head_grad[3:] == 0).all()


def test_buffers_are_laid_out_row_by_row_whatever_a_trunk_made():
    trunk = network_class("mlp")((4,), 0, Blueprint.of("mlp", widths="3").settings)
    trunk.register_buffer("basis", torch.arange(6.0).view(2, 3).t())
    buffer = FlatNetwork(trunk).buffers()["basis"]
    assert buffer is trunk.basis
    assert torch.equal(buffer, torch.arange(6.0).view(2, 3).t())
    assert is_row_by_row(buffer)
