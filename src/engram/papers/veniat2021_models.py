"""The learners and streams of Veniat et al. 2021, and how much of them each tier trains.

A learner is marked as in the paper: * has the AlexNet where the others have the ResNet, † is chosen by the whole stream
where the others are chosen task by task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engram.learners import LEARNERS
from engram.streams.drawn import ROLES, is_here

ALEXNET, STREAM_LEVEL = " *", " †"
INDEPENDENT, MODULAR, WIDE = "Independent", "MNTDP-D", "MNTDP-D wide"
ALEXNET_ALONE = INDEPENDENT + ALEXNET


class Benchmark(NamedTuple):
    """A stream: what it is made by, the table with its published results, and which family it belongs to."""

    stream: str
    table: str
    family: str


STREAMS = {
    "S-": Benchmark("ctrl-minus", "table13", "transfer"),
    "S+": Benchmark("ctrl-plus", "table14", "transfer"),
    "S_in": Benchmark("ctrl-in", "table15", "transfer"),
    "S_out": Benchmark("ctrl-out", "table16", "transfer"),
    "S_pl": Benchmark("ctrl-pl", "table17", "transfer"),
    "S_long": Benchmark("ctrl-long", "table18", "long"),
    "pMNIST": Benchmark("permuted", "table11", "digits"),
    "CIFAR-100": Benchmark("split", "table12", "classes"),
}
TRANSFER = tuple(name for name, place in STREAMS.items() if place.family == "transfer")
STANDARD = ("pMNIST", "CIFAR-100")
AGAIN = ("S-", "S_out")  # the last task is the first one again, with few samples


@dataclass(frozen=True)
class Entrant:
    """A learner with its settings, and the families of streams that the paper shows it on; `own` are settings of one
    family. Some have a `grid` of their own in the paper, or one by family (`grids`), and networks that are so many
    times `wider`. One that trains `by_itself` has its own number of epochs and rate. Where `ours`, it is not the
    paper's."""

    learner: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    families: tuple[str, ...] = ("transfer", "classes", "digits")
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    grid: Mapping[str, Sequence[float]] = field(default_factory=dict)
    grids: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    wider: Mapping[str, float] = field(default_factory=dict)
    by_itself: bool = False
    ours: bool = False

    def on(self, family: str) -> dict[str, Any]:
        return {**self.settings, **self.own.get(family, {})}


_EVERYWHERE = ("transfer", "classes", "digits", "long")
# As in the released code: batch normalisation of what is shared keeps the statistics of the first task.
_SHARED = {"freeze_bn_stats": True}
_TRAINED_ON = {"trunk": "finetune", **_SHARED}
# Fisher information and heads as in the released configurations; of permuted digits all tasks have the same outputs.
_EWC = {"heads": "per-task", "fisher": "predicted", "fisher_samples": 1024, **_SHARED}
_ONE_HEAD = {"digits": {"heads": "growing", "fisher": "empirical", "fisher_samples": 1000}}
_REPLAY = {"memory": 15, **_SHARED}
_FULLER = {"digits": {"memory": 25, "heads": "growing"}}
_GROWN = {"digits": {"widths": "312-128"}}  # the network of their papers
_HAT = {"rate": (5e-2, 1e-2, 5e-3, 1e-3)}
_HAT_BY_FAMILY: Mapping[str, Mapping[str, Sequence[float]]] = {
    "long": {"rate": (5e-2, 5e-3), "weight_decay": (0.0, 1e-4)},
    "digits": {"weight_decay": (0.0, 1e-5, 1e-4)},
}
_SAMPLED = {"gamma_rate": (1e-2, 1e-3)}
_WIDER = {"transfer": 2.5, "classes": 3.2, "long": 3.2, "digits": 4.0}  # by the printed memory

MODELS: Mapping[str, Entrant] = {
    INDEPENDENT: Entrant("independent", families=_EVERYWHERE),
    # The paper compares learners with the AlexNet with Independent's ResNet; this tells what is the network's doing.
    ALEXNET_ALONE: Entrant("independent", families=("transfer",), ours=True),
    "Finetune": Entrant("finetune", {"heads": "shared", **_SHARED}, _EVERYWHERE),
    "New-head freeze": Entrant("new-head", families=_EVERYWHERE),
    "New-head finetune": Entrant("new-head", _TRAINED_ON),
    "New-leg freeze": Entrant("new-leg"),
    "New-leg finetune": Entrant("new-leg", _TRAINED_ON),
    "EWC †": Entrant("ewc", _EWC, own=_ONE_HEAD),
    "Online EWC †": Entrant("online-ewc", {**_EWC, "decay": 0.9}, _EVERYWHERE, own=_ONE_HEAD),
    "ER (Reservoir) †": Entrant("er", {**_REPLAY, "buffer": "reservoir"}, own=_FULLER),
    "ER": Entrant("er", _REPLAY, own=_FULLER),
    "PNN": Entrant("pnn"),
    "MNTDP-S": Entrant("mntdp-s", families=_EVERYWHERE, grid=_SAMPLED),
    "MNTDP-S (k=all)": Entrant("mntdp-s", {"sources": 0}, grid=_SAMPLED),
    MODULAR: Entrant("mntdp-d", families=_EVERYWHERE),
    MODULAR + ALEXNET: Entrant("mntdp-d", families=("transfer", "classes", "long")),
    "HAT * †": Entrant("hat", families=_EVERYWHERE, grid=_HAT, grids=_HAT_BY_FAMILY),
    "HAT (Wide) * †": Entrant("hat", families=_EVERYWHERE, grid=_HAT, grids=_HAT_BY_FAMILY, wider=_WIDER),
    "DEN †": Entrant("den", families=("digits",), own=_GROWN, by_itself=True),
    "RCL †": Entrant("rcl", families=("digits",), own=_GROWN, by_itself=True),
    WIDE: Entrant(
        "mntdp-d",
        {"search": "wide"},
        ("transfer", "long"),
        own={"long": {"finalists": 8, "warm_sources": 1, "halving": 40, "halved": "all"}},
        ours=True,
    ),
}
# What the wide search is made of, one part at a time beside the paper's candidates.
PARTS: Mapping[str, Mapping[str, Any]] = {
    "front": {"front": True},
    "adapter": {"adapter": True},
    "adapter and screen": {"adapter": True, "screen": True},
    "warm": {"warm": True},
    "ridge": {"ridge": True},
}
# The ablation of section 5.3, with what is published about it: how much Δ between the first and the last task falls.
# Of all sources the paper says only that they do as well as the nearest.
ABLATION: Mapping[str, Mapping[str, Any]] = {
    "k = all": {"sources": 0},
    "random prior": {"prior": "random"},
    "3 modules": {"modules": 3},
    "10 modules": {"modules": 10},
}
FALLS = {("random prior", "S-"): -0.2, ("random prior", "S_out"): -0.3}
FALLS |= {("3 modules", "S_out"): -0.1, ("10 modules", "S_out"): 0.0}


def known(family: str) -> dict[str, Entrant]:
    """The learners of a family of streams that the library has."""
    here = LEARNERS.everything()
    return {label: model for label, model in MODELS.items() if family in model.families and model.learner in here}


def plain(label: str) -> str:
    """A learner without its marks.

    >>> plain("HAT (Wide) * †")
    'HAT (Wide)'
    """
    return label.removesuffix(STREAM_LEVEL).removesuffix(ALEXNET)


@dataclass(frozen=True)
class Effort:
    """How much of everything a tier trains. `fit` are settings of all learners, `rates` and `decays` the grid of those
    that are chosen task by task, `strengths` that of a penalty's weight."""

    fit: Mapping[str, Any]
    rates: Sequence[float]
    decays: Sequence[float] = (0.0,)
    strengths: Sequence[float] = (1.0, 100.0, 1_000.0, 10_000.0)
    networks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    streams: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # what differs by stream or family
    grids: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)  # the same of the grid
    own: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)  # what differs in it by learner
    data: Mapping[str, str] = field(default_factory=dict)  # datasets of the standard streams
    instances: Sequence[int] = (1,)
    alexnet: bool = False  # all learners on the AlexNet
    less: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of learners that train by themselves
    without: Sequence[str] = ()  # learners that are left out
    shown: Sequence[str] = TRANSFER  # transfer streams of the page; the tables of others are made by their names only

    def options(self, name: str) -> dict[str, Any]:
        """Those of a stream."""
        return {**self.streams.get(STREAMS[name].family, {}), **self.streams.get(name, {})}


# What stops a task: no rise of validation accuracy for 300 steps, as published; smaller batches have a floor in epochs,
# without which a large task ends after two of them.
_STOP = {"stop": "patience", "look_early": True}
_PAPER = {**_STOP, "patience": 300, "epochs": 300, "batch": 256}
_SMALL = {**_STOP, "patience": 120, "patience_epochs": 6, "iterations": 2200, "batch": 64}
_QUICK = {**_STOP, "patience": 30, "patience_epochs": 3, "iterations": 40, "batch": 32}
_PAPER_GRID: dict[str, Any] = {"rates": (1e-2, 1e-3), "decays": (0.0, 1e-5, 1e-4)}
_PERCEPTRON = {"mlp": {"widths": "1000-1000"}}
_PERCEPTRON_GRID = {"digits": {"rate": (1e-3, 1e-4), "weight_decay": (0.0, 1e-5)}}
_STRENGTHS = (1.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1e3, 5e3, 1e4)
# Held out of every class are the published 500 digits; of CIFAR-100 they are 50, which is the usual tenth.
_TEN: Mapping[str, Mapping[str, Any]] = {
    "digits": {"tasks": 10, "validation": 500, "normalised": True},
    "classes": {"tasks": 10, "order": "seeded", "normalised": True},
}
_FEW = {"probe": 5}

TIERS: Mapping[str, Effort] = {
    "quick": Effort(
        _QUICK,
        rates=(5e-3,),
        strengths=(100.0,),
        networks={
            "ctrl-resnet": {"width": 8, "side": 16},
            "ctrl-alexnet": {"width": 4},
            "mlp": {"widths": "100-100"},
        },
        streams={
            "transfer": {"middle": 1, "large": 100, "small": 20, "test_samples": 20},
            **dict.fromkeys(("S-", "S_in", "S_out"), _FEW),
            "long": {"tasks": 3, "large": 20, "test_samples": 20, "validation_copies": 0, "iterations": 20},
            "digits": {"tasks": 3, "normalised": True},
            "classes": {"tasks": 2, "normalised": True, "side": 0, "iterations": 20},
        },
        data={"digits": "digits", "classes": "digits"},
        less={"den": {"epochs": 5, "batch": 32, "rate": 5e-3}, "rcl": {"epochs": 5, "rate": 5e-3, "trials": 2}},
        without=(
            ALEXNET_ALONE,
            "New-head finetune",
            "New-leg finetune",
            "EWC †",
            "ER (Reservoir) †",
            "MNTDP-S (k=all)",
            "MNTDP-D *",
            "HAT (Wide) * †",
            WIDE,
        ),
        shown=("S-", "S_in"),
    ),
    "small": Effort(
        _SMALL,
        rates=(5e-3, 2e-3),
        networks={
            "ctrl-resnet": {"width": 16, "side": 16},
            "ctrl-alexnet": {"width": 16},
            "mlp": {"widths": "500-500"},
        },
        streams={
            "transfer": {"test_samples": 100},
            "long": {"large": 60, "test_samples": 100, "iterations": 600},
            "digits": {**_TEN["digits"], "iterations": 400},
            "classes": {**_TEN["classes"], "iterations": 400},
        },
        own={"hat": {"rate": (5e-3, 2e-3, 1e-3)}},  # the published rates of HAT reach further than those of others
        less={
            "den": {"epochs": 1, "batch": 128, "rate": 2e-3},
            "rcl": {"epochs": 1, "batch": 128, "rate": 2e-3, "trials": 3},
        },
    ),
    "alexnet": Effort(
        _PAPER,
        rates=(1e-3,),
        strengths=(100.0,),
        networks=_PERCEPTRON,
        streams=_TEN,
        alexnet=True,
        without=(ALEXNET_ALONE,),  # Independent has it in any case
    ),
    "paper": Effort(
        _PAPER,
        strengths=_STRENGTHS,
        networks=_PERCEPTRON,
        streams=_TEN,
        grids=_PERCEPTRON_GRID,
        instances=(1, 2, 3),
        **_PAPER_GRID,
    ),
}
WIDTHS = {"ctrl-alexnet": ("width", "64"), "mlp": ("widths", "1000-1000")}  # published, of those that may be wider
CIFAR = ("cifar100", ROLES["cifar100"].stand_in)


def dataset_of(name: str, scale: Effort) -> str | None:
    """The dataset of a standard stream, or what stands in for it; None where the stream finds its own."""
    family = STREAMS[name].family
    if family not in ("digits", "classes"):
        return None
    return scale.data.get(family) or ("mnist" if family == "digits" else next(filter(is_here, CIFAR), CIFAR[-1]))


def network_settings(network: str, scale: Effort, times: float = 1.0) -> dict[str, Any]:
    """Those of a network in this tier, so many times as wide.

    >>> network_settings("mlp", TIERS["quick"], 4)
    {'widths': '400-400'}
    """
    found = dict(scale.networks.get(network, {}))
    if times != 1:
        name, published = WIDTHS[network]
        found[name] = "-".join(str(round(times * int(w))) for w in str(found.get(name, published)).split("-"))
    return found
