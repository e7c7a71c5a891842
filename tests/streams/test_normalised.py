"""The option `normalised`: each task's samples by the mean and the deviation of its own training samples."""

import pytest
import torch

from engram.errors import BadSetting
from engram.learners import create
from engram.networks import Blueprint
from engram.streams import kinds, rebuild, stream

from .toys import toy

COLOUR = {"shape": (3, 4, 4)}


def made(kind, **options):
    dataset = [toy("one", **COLOUR), toy("two", classes=3, shape=(4,), seed=1)] if kind == "concat" else toy(**COLOUR)
    return stream(kind, dataset=dataset, **options)


def whole(split):
    return split.batch(slice(None))[0]


def offering():
    """Kinds that do it where it is asked for. Those of CTrL do it unless it is not, see `test_ctrl`."""
    asked = {name: kind.options["normalised"] for name, kind in kinds().items() if "normalised" in kind.options}
    return [name for name, option in asked.items() if not option.default]


@pytest.mark.parametrize("kind", offering())
def test_every_kind_that_offers_it_has_its_spec_as_before_without(kind):
    plain, without, normalised = made(kind), made(kind, normalised=False), made(kind, normalised=True)
    assert plain.digest() == without.digest() != normalised.digest()
    assert "normalised" not in without.spec["options"]
    assert normalised.spec["options"]["normalised"] is True


@pytest.mark.parametrize("kind", ["split", "incremental", "pair", "permuted"])
def test_every_task_s_training_samples_have_mean_0_and_deviation_1_in_every_channel(kind):
    for before, after in zip(made(kind), made(kind, normalised=True), strict=True):
        order = before.train.transform.permutation
        back = torch.arange(48) if order is None else order.argsort()
        x = whole(after.train).flatten(1)[:, back].view(-1, 3, 4, 4)
        assert x.mean((0, 2, 3)).abs().max() < 1e-5
        assert (x.std((0, 2, 3), correction=0) - 1).abs().max() < 1e-5


def test_test_samples_are_normalised_by_training_samples():
    before, after = (made("split", normalised=n)[1] for n in (False, True))
    x = whole(before.train).double()
    mean, deviation = x.mean((0, 2, 3)).view(3, 1, 1), x.std((0, 2, 3), correction=0).view(3, 1, 1)
    for part in ("validation", "test"):
        expected = (whole(getattr(before, part)) - mean) / deviation
        assert torch.allclose(whole(getattr(after, part)).double(), expected, atol=1e-5)


def test_padding_stays_zero_and_is_no_part_of_the_statistics():
    _, two = made("concat", normalised=True)
    x = whole(two.train)
    assert not x[:, 4:].any()
    assert abs(float(x[:, :4].mean())) < 1e-5
    assert abs(float(x[:, :4].std(correction=0)) - 1) < 1e-5


def test_samples_without_any_difference_become_zero():
    flat = toy(shape=(4,))
    flat.x_train.fill_(7)
    assert not whole(stream("split", dataset=flat, normalised=True)[0].train).any()


def test_two_means_are_refused():
    with pytest.raises(BadSetting, match="both subtract a mean; give only one"):
        made("split", centred=True, normalised=True)


def test_its_spec_gives_the_same_bytes():
    first = stream("split-digits", normalised=True)
    assert rebuild(first.spec).digest() == first.digest()


@pytest.mark.parametrize("learner", ["finetune", "exemplars-only", "joint", "gem", "icarl"])
@pytest.mark.parametrize("kind", ["split", "permuted"])
def test_kept_samples_are_seen_again_as_they_were(learner, kind, teach):
    """In bytes, however the tasks differ, and with the same bits after saving and loading."""
    digits = stream(f"{kind}-digits", normalised=True, tasks=2)
    settings = {"exemplars": 3} if learner in ("finetune", "icarl", "exemplars-only") else {}
    found = create(learner, digits.outline, 0, Blueprint.of("mlp", widths=(8,)), settings)
    teach(found, [task.lesson() for task in digits])
    kept = dict.fromkeys(("joint", "gem"), lambda: found.samples) | {"exemplars-only": lambda: found.memory.split()}
    split = kept.get(learner, lambda: found.rehearsal.memory.split())()
    assert split.x.dtype == torch.uint8
    seen = torch.cat([whole(task.train) for task in digits]).flatten(1)
    x = whole(split).flatten(1)
    assert all((seen == row).all(1).any() for row in x[:: max(1, len(x) // 20)])
    heir = create(learner, digits.outline, 0, Blueprint.of("mlp", widths=(8,)), settings)
    heir.load(found.state())
    sample = whole(digits[0].test)
    assert torch.equal(heir.predict(sample), found.predict(sample))
