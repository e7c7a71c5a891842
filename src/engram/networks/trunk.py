"""What every network's trunk has in common: settings, initialisation from the seed, dropout from a named generator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from engram.networks.blocks import Modules, fold, spans
from engram.randomness import generator
from engram.settings import apply, setting

LOWEST = torch.iinfo(torch.int64).min
FLOAT32, BF16 = "float32", "bf16"
PRECISION = setting(
    FLOAT32,
    "of products and convolutions: float32, or bf16 (bfloat16 by torch's autocast; weights and outputs stay float32)",
    choices=(FLOAT32, BF16),
    # frozen modules of a library had float32 between them; masks were drawn with numbers rounded to bfloat16
    revised=((BF16, 2),),
)
"""For networks of convolutions, which are faster by it where the processor has such instructions."""


class Dropout(nn.Module):
    """Dropout whose mask comes from a generator that the learner sets before each training step."""

    def __init__(self, rate: float):
        super().__init__()
        self.rate = rate
        self.generator: torch.Generator | None = None
        self._least_kept = round(rate * 2**16) - 2**15
        kept = torch.tensor(1 / (1 - rate), dtype=torch.bfloat16, device="cpu")
        self._half = int(kept.view(torch.int16))  # its bits
        self._draws = self._lots = torch.empty(0, dtype=torch.int64)

    def forward(self, x: Tensor) -> Tensor:
        mask = self.mask(x) if self.training else None
        return x if mask is None else x * mask

    def mask(self, x: Tensor) -> Tensor | None:
        """What training multiplies a batch by: 0, or 1 over the share that is kept."""
        if self.rate == 0:
            return None
        if self.generator is None:
            raise RuntimeError("a network with dropout is trained without a generator; call Trunk.reseed first")
        lots = self._draw_lots(x, self.generator).to(x.device)
        if x.dtype == torch.bfloat16:  # as wide as the lots: never converted, in half the time
            return lots.ge_(self._least_kept).mul(self._half).view(x.dtype)
        # as floats, which hold them exactly and are compared faster than integers
        return lots.to(x.dtype).ge_(self._least_kept).mul_(1 / (1 - self.rate))

    def _draw_lots(self, x: Tensor, source: torch.Generator) -> Tensor:
        """Random numbers of 16 bits, four from one draw of 64: `bernoulli_` takes one for each, and half the time of a
        step. The next call overwrites them, because fresh memory at every step is slow. They lie in memory as the batch
        does: images that lie pixel by pixel take more than twice as long to multiply by a mask that does not."""
        strides = torch.empty_like(x, device="meta").stride()
        if self._lots.shape != x.shape or self._lots.stride() != strides:
            self._draws = torch.empty(math.ceil(x.numel() / 4), dtype=torch.int64)
            self._lots = self._draws.view(torch.int16).as_strided(x.shape, strides)
        self._draws.random_(LOWEST, None, generator=source)
        return self._lots


class Trunk(nn.Module):
    """Turns a batch of samples into features. Subclasses declare settings and give their layers in `assemble`.

    `modules_by_name` are its modules in order, each a list of layers: what can be trained, frozen or renewed by name.
    """

    name: ClassVar[str] = ""
    bits: ClassVar[int] = 0  # raised by every change of this network alone that changes its bits: part of its keys
    channels_last: ClassVar[bool] = False  # images go in pixel by pixel, which convolutions of many channels do faster
    precision: str = FLOAT32  # a setting where a class says `precision = PRECISION`
    features: int
    begins = 0  # the module with which it begins: later ones take what those before them give
    ends = True  # whether it gives features, and not what other modules are to take
    home = torch.device("cpu")  # where it is if it has no parameters

    init = setting(
        "uniform",
        "initial weights: uniform (±1/√inputs), truncated (normal of deviation 0.1, biases 0.1) or truncated-fan-in "
        "(normal of deviation 1/√inputs, biases 0)",
        choices=("uniform", "truncated", "truncated-fan-in"),
    )

    def __init__(self, shape: tuple[int, ...], seed: int, settings: Mapping[str, Any]):
        super().__init__()
        apply(self, settings)
        self.seed, self.settings = seed, dict(settings)
        with torch.random.fork_rng(devices=[]):  # modules initialise themselves from the global generator: undo that
            assembled = self.assemble(shape)
        if isinstance(assembled, dict):
            self.layers, self.modules_by_name = nn.Sequential(*chain.from_iterable(assembled.values())), assembled
        else:
            self.layers = assembled
            self.modules_by_name = self._find_modules()
        if spans(self, self.modules_by_name) is None:
            self.modules_by_name = {"trunk": list(self.children())}
        self.dropouts = [m for m in self.modules() if isinstance(m, Dropout) and m.rate > 0]
        self._initialise(generator(seed, "initialisation", "trunk"))

    def assemble(self, shape: tuple[int, ...]) -> Modules | nn.Sequential:
        """The layers of every module by its name, in order; or a plain sequence, of which each layer is a module."""
        raise NotImplementedError

    def _find_modules(self) -> Modules:
        """Those of a plain sequence."""
        return fold(self.layers.named_children())

    def forward(self, x: Tensor) -> Tensor:
        self.check(x)
        with self.running():
            features = self.layers(self.laid_out(x))
        return features.float() if self.ends else features

    def check(self, x: Tensor) -> None:
        """Refuse a batch that it cannot take."""

    def running(self) -> AbstractContextManager[Any]:
        """Inside it layers compute in the network's precision, and find the random numbers of their step."""
        whole = self.precision == FLOAT32
        return nullcontext() if whole else torch.autocast(self.device.type, torch.bfloat16)

    def laid_out(self, x: Tensor) -> Tensor:
        """Samples as the first layer is to find them in memory."""
        # a clone, because images of one channel lie both ways at once until their strides say which
        return x.clone(memory_format=torch.channels_last) if self.channels_last and not self.begins else x

    @property
    def device(self) -> torch.device:
        """Where its parameters and buffers are."""
        first = next(chain.from_iterable((self.parameters(), self.buffers())), None)
        return self.home if first is None else first.device

    @property
    def is_ours(self) -> bool:
        """Whether all its code is the library's, or torch's."""
        return all(type(m).__module__.startswith(("engram.networks.", "torch.nn.")) for m in self.modules())

    @property
    def draws(self) -> bool:
        """Whether training draws random numbers, so that `reseed` has to come before a step."""
        return bool(self.dropouts)

    def reseed(self, generator: torch.Generator) -> None:
        """The generator of the next step's dropout masks."""
        for dropout in self.dropouts:
            dropout.generator = generator

    def head_rows(self, rows: int, generator: torch.Generator) -> Tensor:
        """Initial rows of an output layer on these features: weights, then bias."""
        drawn = self._draw(torch.empty(rows, self.features + 1), self.features, generator)
        if self.init != "uniform":
            drawn[:, -1] = self._bias()
        return drawn

    def _initialise(self, generator: torch.Generator) -> None:
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Conv2d)):
                inputs = module.weight[0].numel()
                self._draw(module.weight.data, inputs, generator)
                if module.bias is not None:
                    self._draw(module.bias.data, inputs, generator)

    def _draw(self, values: Tensor, inputs: int, generator: torch.Generator) -> Tensor:
        if self.init == "uniform":
            bound = 1 / math.sqrt(inputs)
            return values.uniform_(-bound, bound, generator=generator)
        deviation = 0.1 if self.init == "truncated" else 1 / math.sqrt(inputs)
        nn.init.trunc_normal_(values, std=deviation, a=-2 * deviation, b=2 * deviation, generator=generator)
        return values if values.dim() > 1 else values.fill_(self._bias())

    def _bias(self) -> float:
        """The initial biases that go with truncated weights: 0.1 (Chaudhry et al. 2018) or 0 (Pfülb et al. 2018)."""
        return 0.1 if self.init == "truncated" else 0.0
