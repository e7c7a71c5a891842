"""Any torch module as a trunk: a class, or a function of a sample's shape that returns a module.

    class Net(nn.Module):
        def __init__(self, shape, width=32): ...      # `shape` is without the batch; `width` becomes a setting

Whatever it gives for a batch is flattened to features. Its weights begin as it initialises them itself, from the run's
seed, and random numbers that it draws in training come from a generator of that step.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from engram.errors import BadData, BadSetting
from engram.networks.blocks import Modules, fold
from engram.networks.trunk import Trunk
from engram.own.parameters import needs, settings_of
from engram.randomness import derived_seed

KEPT = (torch.float32, torch.float64, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)


def is_network(thing: Any) -> bool:
    """A module's class, or a function, which may return one."""
    return inspect.isfunction(thing) or (isinstance(thing, type) and issubclass(thing, nn.Module))


def adopt(make: Any) -> tuple[str, type[Trunk]]:
    """The name of a user's network, and a trunk around it; one that is a trunk stays as it is."""
    if isinstance(make, type) and issubclass(make, Trunk):
        return make.name or make.__name__, make
    if len(needs(make)) > 1:
        raise BadSetting(
            f"the network {make.__name__} wants {', '.join(needs(make))}; it is called with the shape of a sample, so "
            "give its other parameters defaults"
        )
    settings = settings_of(make, but=("shape",))
    taken = next((name for name in settings if hasattr(Module, name)), None)
    if taken is not None:
        raise BadSetting(f"the network {make.__name__} has a parameter '{taken}', a name that is taken; rename it")
    return make.__name__, type(
        make.__name__, (Module,), {"make": staticmethod(make), "name": make.__name__, **settings}
    )


class Module(Trunk):
    """A trunk around a module of a user's own."""

    make: ClassVar[Callable[..., nn.Module]]
    init = "uniform"  # of the outputs; withdraws the setting, because the module initialises itself
    _step_seed = _calls = 0

    def assemble(self, shape: tuple[int, ...]) -> nn.Sequential:
        torch.manual_seed(derived_seed(self.seed, "initialisation", "trunk"))
        module = self.make(*([shape] if needs(self.make) else []), **self.settings)
        if not isinstance(module, nn.Module):
            raise BadSetting(f"network '{self.name}' returned a {type(module).__name__}; return a torch.nn.Module")
        parts = list(module) if type(module) is nn.Sequential else [module]
        layers = nn.Sequential(*parts, nn.Flatten())
        self.features = self._features(layers, shape)
        self._check(module)
        return layers

    def _check(self, module: nn.Module) -> None:
        """Refuse what one vector of trained numbers or a checkpoint cannot hold."""
        for name, parameter in module.named_parameters():
            if parameter.dtype != torch.float32:
                raise BadSetting(f"the parameter {name} of network '{self.name}' is not float32; make it so")
            if not parameter.requires_grad:
                raise BadSetting(f"the parameter {name} of network '{self.name}' is not trained; make it a buffer")
        for name, buffer in module.named_buffers():
            if buffer.dtype not in KEPT:
                raise BadSetting(
                    f"the buffer {name} of network '{self.name}' is {buffer.dtype}, which checkpoints do not keep; "
                    "make it float32"
                )

    def _features(self, layers: nn.Sequential, shape: tuple[int, ...]) -> int:
        """How many features come out; also gives lazy layers their parameters."""
        layers.eval()
        try:
            with torch.no_grad():
                features = layers(torch.zeros(2, *shape))
        except Exception as error:
            text = " ".join(str(error).split())
            raise BadData(
                f"network '{self.name}' cannot take a sample of shape {shape} ({type(error).__name__}: {text}); use "
                "another network, or correct it"
            ) from error
        finally:
            layers.train()
        if not isinstance(features, Tensor) or features.dim() != 2 or features.dtype != torch.float32:
            raise BadSetting(f"network '{self.name}' gives no float32 features of shape (samples, …); return those")
        if len(features) != 2:
            raise BadSetting(
                f"network '{self.name}' gives features of {len(features)} for 2 samples; give each its own"
            )
        return int(features.shape[1])

    def _find_modules(self) -> Modules:
        """The module's own children; itself where there are none, or where it keeps something beside them."""
        module = self.layers[0]
        children = [*module.named_children()]
        kept = [*module.parameters(recurse=False), *module.buffers(recurse=False)]
        if len(self.layers) > 2 or kept or not children:
            return super()._find_modules()
        return fold(children)

    def _initialise(self, generator: torch.Generator) -> None:
        """It has initialised itself."""

    @property
    def draws(self) -> bool:
        return True

    def reseed(self, generator: torch.Generator) -> None:
        self._step_seed, self._calls = generator.initial_seed(), 0

    @contextmanager
    def running(self) -> Iterator[None]:
        with torch.random.fork_rng(devices=[], enabled=self.training):
            if self.training:
                torch.manual_seed(self._step_seed + self._calls)
                self._calls += 1
            yield
