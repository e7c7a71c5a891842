"""What would take more memory than there is: one sentence, before anything is built."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import warnings

import pytest
import torch

from engram import memory
from engram.core import Outline
from engram.errors import BadSetting, TooLarge
from engram.learners import create, learner_settings, learners, look_ahead
from engram.networks import NETWORKS, Blueprint
from engram.request import prepare

OUTLINE = Outline((1, 8, 8), tuple(range(10)))


def defaults(learner, **settings):
    return [{**{name: s.default for name, s in learner_settings(learner).items()}, **settings}]


@pytest.mark.parametrize(
    "learner, network, settings",
    [
        ("finetune", "mlp", {"widths": (10**9, 10**9)}),
        ("finetune", "pfuelb-conv", {"full_width": 10**9}),
        ("ewc", "resnet18-reduced", {"width": 10_000}),
        ("joint", "mlp", {"widths": (10**9,)}),
        ("ridge", "mlp", {"features": 10**8}),
        ("ridge", "mlp", {"features": [5, 10**8]}),
        ("exemplars-only", "mlp", {"copies": 10**9, "points": 10**9}),
        ("exemplars-only", "mlp", {"filters": 10**9}),
        ("geppnet", "mlp", {"map_side": 30_000}),
        ("geppnet+stm", "mlp", {"memory_size": 10**9}),
    ],
)
def test_more_than_the_machine_has_is_refused_before_it_is_built(learner, network, settings, monkeypatch):
    monkeypatch.delenv("ENGRAM_MAX_BYTES", raising=False)
    protocol = "stream-level" if any(isinstance(value, list) for value in settings.values()) else "sequential"
    began = time.process_time()
    with pytest.raises(
        TooLarge, match=rf"learner '{re.escape(learner)}'.* of memory and .* this machine has; .*ENGRAM_MAX_BYTES="
    ):
        prepare("split-digits", learner, network=network, protocol=protocol, settings=settings)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("name", NETWORKS.everything())
def test_parameters_are_counted_without_building(name):
    blueprint = Blueprint.of(name)
    network = blueprint.build((3, 32, 32), seed=0)
    network.append(torch.zeros(7, network.row_size))
    assert blueprint.parameters((3, 32, 32), 7) == len(network.theta)


SEARCHING = ("mntdp-d", "mntdp-s")  # what is trained while a path is looked for is gone afterwards
GROWING = ("den", "rcl", "pnn")  # a later task takes more than the first, which is all that is known before


@pytest.mark.parametrize("name", [n for n in learners() if "epochs" in learner_settings(n) and n not in SEARCHING])
def test_no_learner_is_said_to_take_more_than_it_takes(name, digits_lessons, teach):
    (settings,) = defaults(name)
    blueprint = Blueprint.of("mlp", widths="12")
    learner = teach(create(name, OUTLINE, 0, blueprint, settings), digits_lessons)
    vectors = [learner.network.theta, learner.network.grad, *learner.optimiser.vectors.values()]
    taken = sum(vector.numel() * vector.element_size() for vector in vectors)
    least = learner.least_bytes(OUTLINE, blueprint, settings)
    assert least <= taken
    assert name in GROWING or taken / 2 < least


def test_what_is_large_but_possible_is_said(monkeypatch):
    monkeypatch.setenv("ENGRAM_MAX_BYTES", str(10**12))
    with pytest.warns(UserWarning, match="100002 classes takes at least 412 MB of memory in every worker process"):
        look_ahead("finetune", Outline((2,), tuple(range(100_002))), Blueprint.of(), defaults("finetune"))
    with pytest.warns(UserWarning, match=r"1000000 numbers a sample .* takes at least 4\.1 GB of memory"):
        look_ahead("finetune", Outline((10**6,), (0, 1)), Blueprint.of(), defaults("finetune"))
    with pytest.warns(UserWarning, match=r"takes at least 1\.28 GB of memory"):
        look_ahead("exemplars-only", OUTLINE, Blueprint.of(), defaults("exemplars-only", copies=10**9))
    with pytest.warns(UserWarning, match="takes at least 436 MB of memory"):
        look_ahead("finetune", OUTLINE, Blueprint.of("resnet18-reduced", width=100), defaults("finetune"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        look_ahead("finetune", OUTLINE, Blueprint.of(), defaults("finetune"))


def test_a_number_that_is_hardly_meant_is_said():
    with pytest.warns(UserWarning, match=r"strength=1e\+30 is very large; its default is 100"):
        prepare("split-digits", "ewc", settings={"strength": 1e30})


def test_one_may_insist(monkeypatch):
    monkeypatch.setenv("ENGRAM_MAX_BYTES", "99")
    with pytest.raises(TooLarge, match="it would take at least 0.1 kB of memory and 0.099 kB ENGRAM_MAX_BYTES allows"):
        memory.require(100, "it", "shrink it")
    memory.require(99, "it", "shrink it")
    monkeypatch.setenv("ENGRAM_MAX_BYTES", str(2**62))
    memory.require(2**62, "it", "shrink it", most=1)
    monkeypatch.setenv("ENGRAM_MAX_BYTES", "-3")
    with pytest.raises(BadSetting, match="ENGRAM_MAX_BYTES=-3 is out of range"):
        memory.require(1, "it", "shrink it")


def test_a_container_has_what_its_limit_says(monkeypatch, tmp_path):
    whole = memory.machine_bytes()
    monkeypatch.setattr(memory, "_CONTAINER", tmp_path / "memory.max")
    assert memory.machine_bytes() >= whole
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.machine_bytes() >= whole
    (tmp_path / "memory.max").write_text("1000000\n")
    assert memory.machine_bytes() == 1_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other allocators")
def test_memory_that_was_freed_is_used_again_without_asking_the_system_for_it():
    script = (
        "import resource, sys\n"
        "from engram.memory import keep_freed\n"
        "if len(sys.argv) > 1: keep_freed()\n"
        "bytearray(100 << 20)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "bytearray(100 << 20)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)"
    )
    kept, plain = (
        int(subprocess.run([sys.executable, "-c", script, *word], check=True, capture_output=True).stdout)
        for word in (["kept"], [])
    )
    assert kept < 100 < plain  # pages
