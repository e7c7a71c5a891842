"""Devices by name, and what a device other than the CPU changes: keys, specs and what a record shows."""

from __future__ import annotations

import pytest
import torch

from engram.errors import BadSetting
from engram.networks.devices import devices, find_device
from engram.nodes import Node
from engram.offline import Offline
from engram.request import prepare
from engram.runs import Run, settings_of


@pytest.fixture
def two_cards(monkeypatch):
    """A machine with two of them."""
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: torch.device("cuda"))
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)


def asked(**changes):
    return prepare("split-digits", "finetune", settings={"widths": "12"}, **changes)


def test_a_machine_s_devices(two_cards):
    assert devices() == ["cpu", "cuda:0", "cuda:1"]
    assert [find_device(name) for name in ("cpu", "cuda", "cuda:0", "cuda:1")] == ["cpu", "cuda:0", "cuda:0", "cuda:1"]


@pytest.mark.parametrize("name", ["cuda:2", "meta", "", "gpu", 0, None])
def test_one_that_is_not_there_is_refused_with_those_that_are(name, two_cards):
    with pytest.raises(BadSetting, match=r"no device .* on this machine; use one of: cpu, cuda:0, cuda:1, or auto"):
        find_device(name)


def test_auto_is_the_first_card(two_cards):
    assert find_device("auto") == "cuda:0"


def test_where_there_is_no_card_auto_is_the_cpu_and_says_so(monkeypatch):
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: None)
    with pytest.warns(UserWarning, match="torch finds no GPU on this machine: device auto is the CPU"):
        assert asked(device="auto").key == asked().key


def test_the_cpu_goes_without_saying():
    assert asked(device="cpu").key == asked().key
    assert asked().root.to_json()["network"] == ["mlp", dict(asked().networks[0].settings)]


def test_another_device_is_in_keys_and_specs_and_shown_among_settings(two_cards):
    plain, run, other = asked(), asked(device="cuda"), asked(device="cuda:1")
    assert len({one.root.child([0], one.grid[0]).key for one in (plain, run, other)}) == 3
    for again in (Run.from_json(run.to_json()), Node.from_json(run.root.to_json())):
        assert again.key == (run.key if isinstance(again, Run) else run.root.key)
    assert settings_of(run.to_json(), run.policy) == settings_of(plain.to_json(), plain.policy) | {"device": "cuda:0"}


def test_a_run_of_a_device_that_is_not_there_any_more_waits(two_cards, monkeypatch):
    spec = asked(device="cuda:1").to_json()
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 1)
    with pytest.raises(BadSetting, match="there is no device 'cuda:1' on this machine; use one of: cpu, cuda:0"):
        Run.from_json(spec)


@pytest.mark.parametrize("network", ["mlp", "rwalk-cnn"])
def test_references_are_trained_on_the_run_s_device(network, two_cards):
    run = prepare("split-digits", "finetune", network=network, device="cuda:1", offline="base")
    offline = Offline("base", run.stream.spec, 5, run.networks[0], 0)
    assert {node.network.device for node in next(offline.search())} == {"cuda:1"}
