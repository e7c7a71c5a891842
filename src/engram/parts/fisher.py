"""The diagonal of the Fisher information, exact, in one pass over the data.

For a linear layer with inputs a and output gradients δ, the squared gradient of one sample is δ²aᵀ², so its sum over a
batch is the single matrix product (δ²)ᵀ(a²). A convolution is a linear layer on unfolded patches, but its gradient
is summed over positions before it is squared. Only δ is asked of autograd: no weight gradient is ever formed. The same
holds of absolute values, because |δa| is |δ||a|.

All of this holds of layers whose weights are used once for a sample, by their layer's own call: others are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

from engram.core import Split
from engram.errors import BadSetting
from engram.networks import HEAD, FlatNetwork, Outputs
from engram.networks.module import Module
from engram.networks.trunk import Trunk

Size: TypeAlias = Callable[[Tensor], Tensor]  # the square or the absolute value of every number

ESTIMATORS = {
    "empirical": "per-sample gradients of the true label's log-probability",
    "predicted": "per-sample gradients of the most probable label's log-probability",
    "sampled": "per-sample gradients of a label drawn from the model",
    "batch": "squared mean gradient of mini-batches (depends on their size)",
}


class Heard(NamedTuple):
    """One layer's call: the layer, what went in, and what came out. Of networks of one's own that is the place where
    autograd has its gradient: of the tensor a ReLU that works in place makes its own result."""

    layer: Any
    inputs: Tensor
    outputs: Tensor | GradientEdge


def diagonal(
    network: FlatNetwork,
    data: Split,
    targets: Callable[[Tensor], Tensor],
    outputs: Outputs,
    estimator: str,
    generator: torch.Generator,
    batch: int = 256,
) -> Tensor:
    """Mean over the data of the squared gradient of log p(label | sample), for every entry of theta.

    `targets` maps labels to positions among the head's `outputs`, over which the softmax runs.
    """
    total = torch.zeros_like(network.theta)
    add = _add_batch if estimator == "batch" else _add_samples
    parts = 0
    for x, y in data.batches(batch):
        parts += add(network, x, targets(y), outputs, estimator, generator, total)
    return total.div_(max(parts, 1))


def of_batch(
    network: FlatNetwork,
    x: Tensor,
    outputs: Outputs,
    loss: Callable[[Tensor], Tensor],
    size: Size = torch.square,
) -> Tensor:
    """Mean over a batch of its samples' squared gradients, for every entry of theta; with `torch.abs` as the `size`, of
    their absolute values.

    `loss` makes of the scores a sum over samples. As everywhere here the network runs as it does in prediction.
    """
    total = torch.zeros_like(network.theta)
    with _listening(network.trunk, len(x)) as heard:
        features = network.features(x)
    scores = network.scores(features, outputs)
    _add_sizes(network, loss(scores), scores, features, heard, outputs, total, size)
    return total.div_(len(x))


def _add_batch(
    network: FlatNetwork, x: Tensor, y: Tensor, outputs: Outputs, _: str, __: torch.Generator, total: Tensor
) -> int:
    """Square the mean gradient; one part."""
    network.backward(F.cross_entropy(network.scores(network.features(x), outputs), y))
    total.addcmul_(network.grad, network.grad)
    return 1


def _add_samples(
    network: FlatNetwork,
    x: Tensor,
    y: Tensor,
    outputs: Outputs,
    estimator: str,
    generator: torch.Generator,
    total: Tensor,
) -> int:
    """Add every sample's squared gradient; as many parts as samples."""
    with _listening(network.trunk, len(x)) as heard:
        features = network.features(x)
    scores = network.scores(features, outputs)
    log_p = F.log_softmax(scores, dim=1)
    labels = _labels(estimator, log_p.detach(), y, generator)
    loss = F.nll_loss(log_p, labels, reduction="sum")
    _add_sizes(network, loss, scores, features, heard, outputs, total, torch.square)
    return len(x)


def _add_sizes(
    network: FlatNetwork,
    loss: Tensor,
    scores: Tensor,
    features: Tensor,
    heard: list[Heard],
    outputs: Outputs,
    total: Tensor,
    size: Size,
) -> None:
    """Add the square, or what `size` says, of the gradient of every sample's part of the loss, a sum over samples."""
    if any(isinstance(h.outputs, GradientEdge) for h in heard):
        _require_single_uses(network.trunk, features, {each.layer for each in heard})
    places: list[Any] = [scores, *(h.outputs for h in heard)]
    deltas = torch.autograd.grad(loss, places, allow_unused=True)
    with torch.no_grad():
        head = total[network.blocks[HEAD]].view(-1, network.row_size)[outputs.start : outputs.stop]
        head[:, :-1].addmm_(size(deltas[0]).t(), size(features))
        head[:, -1] += size(deltas[0]).sum(0)
        for call, delta in zip(heard, deltas[1:], strict=True):
            if delta is not None:  # None: the features do not depend on what it gave
                _SIZES[type(call.layer)](network, call, delta.float(), total, size)


def _labels(estimator: str, log_p: Tensor, y: Tensor, generator: torch.Generator) -> Tensor:
    if estimator == "predicted":
        return log_p.argmax(1)
    if estimator == "sampled":
        return torch.multinomial(log_p.exp(), 1, generator=generator).squeeze(1)
    return y


class _listening:
    """Record the call of every layer that has parameters, for a batch of so many samples."""

    def __init__(self, trunk: Trunk, samples: int):
        self.samples = samples
        self.is_own = isinstance(trunk, Module) or not trunk.is_ours  # the library's write into nothing that is heard
        self.layers = {
            m: name for name, m in trunk.named_modules() if next(m.parameters(recurse=False), None) is not None
        }
        for layer, name in self.layers.items():
            _require_formula(layer, name)

    def __enter__(self) -> list[Heard]:
        self.heard: list[Heard] = []
        self.calls: Counter[nn.Module] = Counter()
        self.hooks = [layer.register_forward_hook(self._hear) for layer in self.layers]
        return self.heard

    def __exit__(self, failed: object, *_: object) -> None:
        for hook in self.hooks:
            hook.remove()
        for layer, name in self.layers.items() if failed is None else ():
            if self.calls[layer] > 1:
                raise _refusal(layer, name, "is called more than once", "give every call a layer of its own")

    def _hear(self, layer: nn.Module, inputs: tuple[Tensor, ...], outputs: Tensor) -> None:
        self.calls[layer] += 1
        if len(outputs) != self.samples or (isinstance(layer, nn.Linear) and outputs.dim() != 2):
            raise _refusal(layer, self.layers[layer], "is not given one input for every sample", "give it one")
        if not outputs.requires_grad and _is_trained(layer):
            raise _refusal(layer, self.layers[layer], "is called without gradients", "call it with them")
        if outputs.requires_grad:  # else nothing up to here is trained
            place = get_gradient_edge(outputs) if self.is_own else outputs
            self.heard.append(Heard(layer, inputs[0].detach().float(), place))


def _is_trained(layer: nn.Module) -> bool:
    return any(p.requires_grad for p in layer.parameters(recurse=False))


def _require_formula(layer: Any, name: str) -> None:
    """Refuse a layer whose gradient is not the one that `_SIZES` has for its type."""
    if type(layer) not in _SIZES:
        raise BadSetting(f"there is no exact Fisher information for a {type(layer).__name__} layer; use fisher=batch")
    if isinstance(layer, nn.Conv2d) and layer.padding_mode != "zeros":
        raise _refusal(layer, name, f"pads with padding_mode='{layer.padding_mode}'", "pad with zeros")
    if isinstance(layer, nn.Conv2d) and isinstance(layer.padding, str):
        raise _refusal(layer, name, f"has padding='{layer.padding}'", "say in numbers how wide it is")
    if not layer._parameters.keys() <= {"weight", "bias"}:
        raise _refusal(layer, name, "makes its weight of other parameters", "let it have the weight as a parameter")


def _require_single_uses(trunk: nn.Module, features: Tensor, heard: set[nn.Module]) -> None:
    """Refuse parameters that the features depend on in several ways (cross terms would be missing), or otherwise than
    by a call of their layer. A layer that nothing depends on has an importance of 0."""
    uses: Counter[int] = Counter()
    ahead: list[Node] = [features.grad_fn] if features.grad_fn else []
    seen = set(ahead)
    while ahead:
        for node, _ in ahead.pop().next_functions:
            if node is None:
                continue
            if type(node).__name__ == "AccumulateGrad":
                uses[id(node.variable)] += 1  # type: ignore[attr-defined]
            elif node not in seen:
                seen.add(node)
                ahead.append(node)
    for name, layer in trunk.named_modules():
        used = [uses[id(p)] for p in layer.parameters(recurse=False)]
        if any(used) and layer not in heard:
            raise _refusal(layer, name, "is not called", "call it, and not a function on its weights")
        if any(each > 1 for each in used):
            raise _refusal(layer, name, "has parameters that are used more than once", "give every use its own")


def _refusal(layer: nn.Module, name: str, why: str, cure: str) -> BadSetting:
    return BadSetting(
        f"there is no exact Fisher information for the {type(layer).__name__} '{name}', which {why}; {cure}, or use "
        "fisher=batch (estimator=batch of ewc++ and rwalk; mas has none)"
    )


def _slot(network: FlatNetwork, parameter: Tensor, total: Tensor) -> Tensor:
    """The part of `total` that belongs to a trunk parameter, as a matrix of outputs × inputs (or a vector)."""
    view = total[network.span(parameter)].view(parameter.shape)
    return view.flatten(1) if view.dim() > 1 else view


def _linear(network: FlatNetwork, call: Heard, delta: Tensor, total: Tensor, size: Size) -> None:
    _slot(network, call.layer.weight, total).addmm_(size(delta).t(), size(call.inputs))
    if call.layer.bias is not None:
        _slot(network, call.layer.bias, total).add_(size(delta).sum(0))


def _convolution(network: FlatNetwork, call: Heard, delta: Tensor, total: Tensor, size: Size) -> None:
    layer = call.layer
    if layer.groups != 1:
        raise BadSetting("there is no exact Fisher information for a grouped convolution; use fisher=batch")
    weight = _slot(network, layer.weight, total)
    for inputs, part in _chunks(call.inputs, delta.flatten(2)):
        patches = F.unfold(inputs, layer.kernel_size, layer.dilation, layer.padding, layer.stride)
        weight.add_(size(torch.bmm(part, patches.transpose(1, 2))).sum(0))
    if layer.bias is not None:
        _slot(network, layer.bias, total).add_(size(delta.flatten(2).sum(2)).sum(0))


def _batch_norm(network: FlatNetwork, call: Heard, delta: Tensor, total: Tensor, size: Size) -> None:
    """In evaluation mode a batch-norm layer is an affine map of each channel."""
    layer = call.layer
    mean, variance = layer.running_mean[:, None, None], layer.running_var[:, None, None]
    normal = (call.inputs - mean) / torch.sqrt(variance + layer.eps)
    _slot(network, layer.weight, total).add_(size((delta * normal).sum((2, 3))).sum(0))
    _slot(network, layer.bias, total).add_(size(delta.sum((2, 3))).sum(0))


def _chunks(inputs: Tensor, delta: Tensor, size: int = 32) -> Iterator[tuple[Tensor, Tensor]]:
    """Unfolded patches are large: a few samples at a time keep them in the cache."""
    return zip(inputs.split(size), delta.split(size), strict=True)


_SIZES: dict[type, Callable[[FlatNetwork, Heard, Tensor, Tensor, Size], None]] = {
    nn.Linear: _linear,
    nn.Conv2d: _convolution,
    nn.BatchNorm2d: _batch_norm,
}
