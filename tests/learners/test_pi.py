"""PI is SI by another name."""

from __future__ import annotations

import torch

from engram.learners import learner_settings


def test_pi_is_si_to_the_bit(make, teach, digits_lessons):
    first, second = (teach(make(name), digits_lessons[:3]) for name in ("pi", "si"))
    assert torch.equal(first.parameters(), second.parameters())
    assert torch.equal(first.vectors["importance"], second.vectors["importance"])
    assert learner_settings("pi") == learner_settings("si")
