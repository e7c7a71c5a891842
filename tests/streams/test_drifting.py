"""All classes at once, then block by block."""

import pytest
import torch

from engram.errors import BadSetting
from engram.streams import rebuild, stream

from .toys import rows, toy

EVEN = {"dataset": toy(), "validation": 0}  # 20 training and 5 test samples of each of ten classes


def counts(split):
    return torch.bincount(split.y, minlength=10).tolist()


def test_a_quarter_of_the_samples_drifts():
    made = stream("drifting", share=0.25, **EVEN)
    assert [task.name for task in made] == ["toy 0-9", "toy 0-4", "toy 5-9"]
    assert [counts(task.train) for task in made] == [[15] * 10, [5] * 5 + [0] * 5, [0] * 5 + [5] * 5]
    assert [counts(task.test) for task in made] == [[5] * 10, [5] * 5 + [0] * 5, [0] * 5 + [5] * 5]
    assert sorted(row for task in made for row in rows(task.train)) == list(range(200))


def test_the_ends_are_training_on_everything_and_block_after_block():
    (everything,) = stream("drifting", share=0, **EVEN)
    assert counts(everything.train) == [20] * 10
    blocks = stream("drifting", share=1, blocks=3, **EVEN)
    assert [task.classes for task in blocks] == [(0, 1, 2, 3), (4, 5, 6), (7, 8, 9)]
    assert [len(task.train) for task in blocks] == [80, 60, 60]


@pytest.mark.parametrize("share", [0, 0.25, 0.5, 1])
def test_a_sample_is_seen_once_and_the_same_ones_are_seen_whatever_drifts(share):
    made = stream("drifting", seed=3, share=share, samples=80, **EVEN)
    found = sorted(row for task in made for row in rows(task.train))
    assert len(set(found)) == len(found) == 80
    assert found == sorted(rows(stream("drifting", seed=3, share=0, samples=80, **EVEN)[0].train))


def test_the_seed_chooses_samples_and_on_demand_the_order_of_classes():
    first, again, other = (stream("drifting", seed=seed, samples=80, **EVEN) for seed in (0, 0, 1))
    assert first.digest() == again.digest() != other.digest()
    assert first[1].classes == other[1].classes == (0, 1, 2, 3, 4)
    seeded = [stream("drifting", seed=seed, order="seeded", **EVEN)[1].classes for seed in (0, 1)]
    assert seeded[0] != seeded[1]


def test_validation_samples_are_held_out_of_every_phase():
    made = stream("drifting", dataset=toy(), share=0.5, validation=0.2)
    assert [(len(task.train), len(task.validation)) for task in made] == [(80, 20), (40, 10), (40, 10)]
    found = [row for task in made for part in (task.train, task.validation) for row in rows(part)]
    assert sorted(found) == list(range(200))


def test_it_is_made_again_from_its_spec():
    made = stream("drifting-digits", share=0.75, samples=500)
    assert made.name == "drifting-digits@1"
    assert rebuild(made.spec).digest() == made.digest()


@pytest.mark.parametrize(
    "options, words",
    [
        ({"blocks": 11}, "blocks=11 is more than the 10 classes of toy; give fewer"),
        ({"share": 0.01}, "share=0.01 leaves no sample .* for toy 0-4; give more samples or another share"),
        ({"share": 1.5}, "share=1.5 "),
    ],
)
def test_what_cannot_be_divided_is_refused(options, words):
    with pytest.raises(BadSetting, match=words):
        stream("drifting", **EVEN, **options)
