"""Any torch module is a network."""

from __future__ import annotations

import importlib
import sys
import textwrap

import pytest
import torch
from torch import nn

import engram
from engram.errors import BadData, BadSetting
from engram.networks import NETWORKS, Blueprint
from engram.own import origin

SMALL = {"batch": 64, "tasks": 2}


class Net(nn.Module):
    """Convolutions with batch normalisation and dropout, and a recurrent layer over the rows."""

    def __init__(self, shape, width=6, drop=0.3):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(shape[0], width, 3), nn.BatchNorm2d(width), nn.ReLU(), nn.Dropout(drop))
        self.rows = nn.GRU(width * (shape[2] - 2), 5, batch_first=True)

    def forward(self, x):
        x = self.conv(x).permute(0, 2, 1, 3).flatten(2)
        return self.rows(x)[0]


def lazy(shape):
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(9), nn.Tanh())


def built(network, seed=0, **settings):
    return Blueprint.of(NETWORKS.name_of(network), **settings).build((1, 8, 8), seed)


@pytest.mark.parametrize("network, features", [(Net, 30), (lazy, 9)])
def test_its_output_is_flattened_to_features_and_the_seed_decides_its_weights(network, features):
    state = torch.get_rng_state()
    first, again, other = (built(network, seed) for seed in (0, 0, 1))
    assert first.features(torch.zeros(2, 1, 8, 8)).shape == (2, features)
    assert torch.equal(first.theta, again.theta)
    assert not torch.equal(first.theta, other.theta)
    assert torch.equal(torch.get_rng_state(), state)


def test_parameters_with_defaults_are_settings():
    assert built(Net, width=3).trunk.features == 30
    assert len(built(Net, width=3).theta) < len(built(Net).theta)
    assert engram.run("split-digits", "finetune", network=Net, width=3, **SMALL).settings["width"] == 3


@pytest.mark.parametrize(
    "learner, settings", [("finetune", {}), ("si", {}), ("ewc", {"fisher": "batch"}), ("gem", {"rate": 0.01})]
)
def test_the_same_bits_again_and_after_being_left_inside_a_task(learner, settings, tmp_path, monkeypatch):
    whole = engram.run("split-digits", learner, network=Net, **SMALL, **settings)
    steps = iter(range(1, 10**6))

    def stop_at_five(self):
        if next(steps) % 5 == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr("engram.execute.progress.Silence.check", stop_at_five)
    for _ in range(100):
        try:
            record = engram.run("split-digits", learner, network=Net, store=tmp_path, **SMALL, **settings)
            break
        except KeyboardInterrupt:
            continue
    assert record.parameters_sha256 == whole.parameters_sha256
    assert record.accuracy == whole.accuracy


def test_the_global_generators_are_left_alone():
    state = torch.get_rng_state()
    engram.run("split-digits", "finetune", network=Net, **SMALL)
    assert torch.equal(torch.get_rng_state(), state)


def test_dropout_differs_from_step_to_step():
    network = built(Net, drop=0.9)
    x = torch.arange(256.0).view(4, 1, 8, 8) / 256  # of samples that are alike batch normalisation leaves nothing
    network.trunk.reseed(torch.Generator().manual_seed(1))
    first = network.features(x, training=True)
    network.trunk.reseed(torch.Generator().manual_seed(2))
    second = network.features(x, training=True)
    network.trunk.reseed(torch.Generator().manual_seed(1))
    assert not torch.equal(first, second)
    assert torch.equal(first, network.features(x, training=True))


def test_by_its_place_in_workers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(
        textwrap.dedent("""
            from torch import nn

            def small(shape, width=7):
                return nn.Sequential(nn.Flatten(), nn.Linear(shape[0] * shape[1] * shape[2], width), nn.ReLU())
        """)
    )
    records = engram.run(
        "split-digits", "finetune", network="net.py:small", store="store", seeds=[0, 1], jobs=2, **SMALL
    )
    assert [record.network for record in records] == ["small", "small"]
    assert engram.run("split-digits", "finetune", network="net.py:small", **SMALL) != records[0]
    same = engram.run("split-digits", "finetune", network="net.py:small", **SMALL)
    assert same.parameters_sha256 == records[0].parameters_sha256


def test_registered_by_name():
    engram.register(Net)
    engram.register(lazy, kind="network")
    assert {"Net", "lazy"} <= set(NETWORKS.everything())
    assert engram.run("split-digits", "finetune", network="lazy", **SMALL).network == "lazy"


def wants_more(shape, width):
    return nn.Linear(1, width)


def returns_a_number(shape):
    return 3


def takes_vectors(shape):
    return nn.Linear(3, 4)


def doubles(shape):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 4)).double()


def pair(shape):
    class Pair(nn.Module):
        def forward(self, x):
            return x, x

    return Pair()


def frozen(shape):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 3).requires_grad_(False))


def short(shape):
    made = nn.Flatten()
    made.register_buffer("scale", torch.ones(2, dtype=torch.bfloat16))
    return made


def one_for_all(shape):
    return nn.Sequential(nn.Flatten(), nn.Flatten(0), nn.Unflatten(0, (1, -1)))


@pytest.mark.parametrize(
    "network, error, says",
    [
        (frozen, BadSetting, "the parameter 1.weight of network 'frozen' is not trained; make it a buffer"),
        (short, BadSetting, "the buffer scale of network 'short' is torch.bfloat16, which checkpoints do not keep"),
        (one_for_all, BadSetting, "network 'one_for_all' gives features of 1 for 2 samples; give each its own"),
        (wants_more, BadSetting, "the network wants_more wants shape, width; it is called with the shape of a sample"),
        (returns_a_number, BadSetting, "network 'returns_a_number' returned a int; return a torch.nn.Module"),
        (takes_vectors, BadData, r"network 'takes_vectors' cannot take a sample of shape \(1, 8, 8\)"),
        (doubles, BadData, "network 'doubles' cannot take a sample of shape"),
        (pair, BadData, "network 'pair' cannot take a sample of shape"),
        (3, engram.errors.EngramError, "3 is not a network; give a name or a torch.nn.Module"),
    ],
)
def test_what_is_no_network_is_refused_before_any_work(network, error, says):
    with pytest.raises(error, match=says):
        engram.run("split-digits", "finetune", network=network)


def test_a_setting_that_learner_and_network_both_have():
    def net(shape, rate=3):
        return nn.Flatten()

    with pytest.raises(BadSetting, match="both the learner 'finetune' and its network or stream have a setting 'rate'"):
        engram.run("split-digits", "finetune", network=net, rate=0.1)


def test_a_function_must_say_what_it_is():
    with pytest.raises(BadSetting, match="say kind='network'"):
        engram.register(lazy)


LAMBDAS = """
    from torch import nn

    narrow = lambda shape: nn.Sequential(nn.Flatten(), nn.LazyLinear(3))
    wide = lambda shape: nn.Sequential(nn.Flatten(), nn.LazyLinear(4))
    several = [lambda shape: narrow(shape), lambda shape: wide(shape)]
"""


def test_lambdas_go_by_the_names_that_they_were_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lambdas.py").write_text(textwrap.dedent(LAMBDAS))
    wanted = [f"lambdas.py:{name}" for name in ("narrow", "wide")]
    records = [engram.run("split-digits", "finetune", network=place, store="store", **SMALL) for place in wanted]
    assert len({record.parameters_sha256 for record in records}) == 2


def test_lambdas_without_a_name_are_never_taken_for_the_same(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "lambdas.py").write_text(textwrap.dedent(LAMBDAS))
    lambdas = importlib.import_module("lambdas")
    digests = {origin(network).digest for network in lambdas.several}
    monkeypatch.delitem(sys.modules, "lambdas")
    assert len(digests) == 2


@pytest.mark.filterwarnings("ignore:.*has changed")
def test_an_edited_function_of_plain_layers_finds_nothing_that_was_trained_before(tmp_path, monkeypatch):
    """Its network begins with the same weights, and its modules are torch's own."""
    monkeypatch.chdir(tmp_path)
    found = []
    for activation, store in (("ReLU", "store"), ("Sigmoid", "store"), ("Sigmoid", "another")):
        (tmp_path / "net.py").write_text(
            "from torch import nn\n\n\ndef plain(shape):\n"
            f"    return nn.Sequential(nn.Flatten(), nn.Linear(64, 9), nn.{activation}())\n"
        )
        found.append(engram.run("split-digits", "independent", network="net.py:plain", store=store, **SMALL))
    relu, edited, alone = (record.parameters_sha256 for record in found)
    assert relu != edited
    assert edited == alone


DECORATED = """
    import functools
    from torch import nn

    def hidden(width):
        def around(make):
            @functools.wraps(make)
            def made(shape):
                return nn.Sequential(make(shape), nn.LazyLinear(width))
            return made
        return around

    def flat(shape):
        return nn.Flatten()

    narrow = hidden(3)(flat)
    wide = hidden(4)(flat)
    several = [hidden(5)(flat), hidden(6)(flat)]
"""


def test_what_a_decorator_made_goes_by_the_name_that_it_was_given(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "decorated.py").write_text(textwrap.dedent(DECORATED))
    decorated = importlib.import_module("decorated")
    made = [origin(network) for network in (decorated.narrow, decorated.wide, decorated.flat, *decorated.several)]
    monkeypatch.delitem(sys.modules, "decorated")
    assert [found.place for found in made] == [f"decorated:{name}" for name in ("narrow", "wide", "flat")] + [None] * 2
    assert len({found.digest for found in made}) == 5
