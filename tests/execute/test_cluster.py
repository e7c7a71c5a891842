"""A cluster that cannot be used is a sentence, and soon."""

from __future__ import annotations

import socket
import sys

import pytest

from engram.errors import BadSetting, ClusterTrouble, UnknownName
from engram.execute import cluster, execute, remote
from engram.request import prepare


@pytest.fixture
def mute():
    """The address of somebody who listens and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_the_time_for_an_answer_is_less_than_half_a_minute():
    assert cluster.CONNECT_SECONDS + cluster.ANSWER_SECONDS < 30


def test_an_address_where_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    with pytest.raises(ClusterTrouble, match=f"no Ray cluster answers at 127.0.0.1:{free} .Connection refused.; start"):
        cluster._require_answer(f"127.0.0.1:{free}")


def test_an_address_that_does_not_answer(mute, monkeypatch):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'engram[cluster]'")
    monkeypatch.setattr(cluster, "ANSWER_SECONDS", 0.5)
    with pytest.raises(ClusterTrouble, match=f"no Ray cluster answers at {mute} .no word from Ray.; start"):
        cluster._require_answer(mute)


@pytest.mark.parametrize("address", ["head", ":6379", "head:", "head:x", "ray://head:10001", "head:99999999999"])
def test_what_is_no_address(address):
    with pytest.raises((BadSetting, ClusterTrouble), match=f"{address}.* give "):
        cluster._require_answer(address)


def test_without_ray_a_sentence_says_what_to_install(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    run = prepare("split-digits", "finetune", tasks=2)
    with pytest.raises(BadSetting, match=r"needs Ray, which is not here; pip install 'engram\[cluster\]'"):
        execute([run], store, engine="ray")
    assert [entry["status"] for entry in store.runs()] == ["pending"]


def test_an_engine_that_there_is_not(store):
    with pytest.raises(UnknownName, match="there is no engine 'rya'; did you mean 'ray'?"):
        execute([], store, engine="rya")


def test_a_worker_with_other_versions_is_named():
    remote._require_same("process 1 on there", remote.versions())
    with pytest.raises(
        ClusterTrouble, match="process 1 on there has Engram 9, and here is Engram .*; install the same"
    ):
        remote._require_same("process 1 on there", "Engram 9")
