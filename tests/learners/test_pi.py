"""PI is SI by another name: the same method, the same nodes, and runs of older stores that have it are still shown."""

from __future__ import annotations

import pytest
import torch

import engram
from engram.errors import BadSetting
from engram.execute import execute
from engram.learners import learner_class, learner_settings, learners
from engram.request import prepare
from engram.runs import Run, record_of
from engram.store import Store


def test_pi_is_si_to_the_bit(make, teach, digits_lessons):
    first, second = (teach(make(name), digits_lessons[:3]) for name in ("pi", "si"))
    assert torch.equal(first.parameters(), second.parameters())
    assert torch.equal(first.kept["importance"], second.kept["importance"])
    assert learner_settings("pi") == learner_settings("si")


def test_whoever_asks_for_pi_gets_the_nodes_of_si():
    assert learner_class("pi") is learner_class("si")
    assert "pi" not in learners()
    first, second = (prepare("split-digits", name, tasks=2) for name in ("pi", "si"))
    assert (first.key, first.root.key, first.learner) == (second.key, second.root.key, "si")


def test_a_run_called_pi_of_an_older_store_goes_on_and_is_shown(tmp_path):
    asked = prepare("split-digits", "si", tasks=2)
    old = Run.from_json({**asked.to_json(), "learner": "pi"})
    store = Store(tmp_path)
    execute([old, asked], store)
    first, second = (record_of(entry, store) for entry in store.runs())
    assert (first.learner, second.learner, first.key) == ("pi", "si", old.key)
    assert first.accuracy == second.accuracy
    assert first.settings == second.settings


def test_the_other_name_is_taken_too():
    class Mine(learner_class("si")):
        name = "pi"

    with pytest.raises(BadSetting, match="there is a learner 'pi' in the library; give Mine another name"):
        engram.register(Mine)
