"""The option `standardised`: every feature by the first task's training samples, the same for all tasks."""

import pytest
import torch

from engram.errors import BadSetting
from engram.streams import kinds, plan, rebuild, stream

from .toys import toy

COLOUR = {"shape": (3, 4, 4)}
KINDS = [name for name, kind in kinds().items() if "standardised" in kind.options]


def made(kind, **options):
    dataset = [toy("one", **COLOUR), toy("two", classes=3, shape=(4,), seed=1)] if kind == "concat" else toy(**COLOUR)
    return stream(kind, dataset=dataset, **options)


def whole(split):
    return split.batch(slice(None))[0].double()


@pytest.mark.parametrize("kind", KINDS)
def test_the_spec_is_as_before_without_it_and_remakes_the_stream_with_it(kind):
    plain, without, standardised = made(kind), made(kind, standardised=False), made(kind, standardised=True)
    assert plain.digest() == without.digest() != standardised.digest()
    assert "standardised" not in without.spec["options"]
    assert standardised.spec["options"]["standardised"] is True


@pytest.mark.parametrize("kind", ["split", "incremental", "pair", "drifting"])
def test_all_tasks_and_splits_use_the_first_task_s_training_samples(kind):
    before, after = made(kind), made(kind, standardised=True)
    first = whole(before[0].train)
    mean, deviation = first.mean(0), first.std(0, correction=0)
    for old, new in zip(before, after, strict=True):
        for part in ("train", "validation", "test"):
            expected = (whole(getattr(old, part)) - mean) / deviation
            assert torch.allclose(whole(getattr(new, part)), expected, atol=1e-5)
    assert whole(after[0].train).mean(0).abs().max() < 1e-5


def test_a_feature_keeps_its_numbers_where_a_permutation_puts_it():
    original, permuted = made("permuted", standardised=True, first_permuted=False, tasks=2)
    order = permuted.train.transform.permutation
    assert torch.allclose(whole(permuted.test).flatten(1), whole(original.test).flatten(1)[:, order], atol=1e-6)


def test_every_dataset_has_a_first_task_of_its_own_and_padding_stays_zero():
    _, narrow = made("concat", standardised=True)
    x = whole(narrow.train)
    assert x[:, :4].mean(0).abs().max() < 1e-5
    assert (x[:, :4].std(0, correction=0) - 1).abs().max() < 1e-5
    assert not x[:, 4:].any()


def test_a_feature_that_is_always_the_same_becomes_zero():
    data = toy()
    data.x_train[:, 0, 0] = 7
    assert not whole(stream("split", dataset=data, standardised=True)[0].train)[:, 0, 0].any()


def test_it_is_made_again_from_its_spec():
    made = stream("incremental-digits", standardised=True)
    assert rebuild(made.spec).digest() == made.digest()


@pytest.mark.parametrize("other", ["centred", "normalised"])
def test_only_one_mean_is_subtracted(other):
    with pytest.raises(BadSetting, match=f"{other}=true came with standardised=true, and both subtract a mean"):
        made("split", standardised=True, **{other: True})


def test_the_first_task_is_measured_once_for_all(monkeypatch):
    measured = []
    real = plan.feature_statistics
    monkeypatch.setattr(plan, "feature_statistics", lambda *given: measured.append(1) or real(*given))
    many = made("incremental", standardised=True)
    assert len(many.tasks) > 2
    assert len(measured) == 1
    assert len(many.with_validation(0.3).tasks) > 2
    assert len(measured) == 2
