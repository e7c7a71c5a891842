"""The nouns: splits, lessons without a test set, streams that are built when asked for."""

from __future__ import annotations

import dataclasses
import json

import pytest
import torch

from engram.core import ALIGNMENT, Lesson, Outline, Split, State, Stream, Task, canonical
from engram.errors import BadData, BadState
from engram.transform import Transform

X = torch.arange(24, dtype=torch.uint8).view(6, 1, 2, 2)
Y = torch.tensor([0, 1, 2, 0, 1, 2])


def test_a_batch_is_scaled_floats_and_labels():
    x, y = Split(X, Y, transform=Transform(scale=0.5)).batch(torch.tensor([5, 0]))
    assert x.dtype == torch.float32
    assert x.flatten(1).tolist() == [[10, 10.5, 11, 11.5], [0, 0.5, 1, 1.5]]
    assert y.tolist() == [2, 0]


def test_rows_choose_and_labels_belong_to_the_rows():
    split = Split(X, torch.tensor([7, 8]), torch.tensor([4, 1]))
    x, y = split.batch(slice(None))
    assert len(split) == 2
    assert x[:, 0, 0, 0].tolist() == [16, 4]
    assert y.tolist() == [7, 8]


def test_permutation_and_width():
    order = torch.tensor([3, 2, 1, 0])
    permuted = Split(X, Y, transform=Transform(permutation=order))
    assert permuted.shape == (1, 2, 2)
    assert permuted.raw(slice(0, 1)).flatten().tolist() == [3, 2, 1, 0]
    padded = Split(X, Y, transform=Transform(permutation=order, width=6))
    assert padded.shape == (6,)
    assert padded.raw(slice(0, 1)).tolist() == [[3, 2, 1, 0, 0, 0]]


def test_take_keeps_everything_else():
    split = Split(X, Y, transform=Transform(scale=0.5, permutation=torch.tensor([1, 0, 3, 2]), width=5))
    chosen, twice = split.take(torch.tensor([4, 2, 0])), split.take(torch.tensor([4, 2, 0])).take(torch.tensor([2, 1]))
    assert torch.equal(chosen.batch(slice(None))[0], split.batch(torch.tensor([4, 2, 0]))[0])
    assert torch.equal(twice.batch(slice(None))[0], split.batch(torch.tensor([0, 2]))[0])
    assert twice.y.tolist() == [0, 2]


def test_batches_show_every_sample_once_in_order():
    parts = list(Split(X, Y).batches(4))
    assert [len(y) for _, y in parts] == [4, 2]
    assert torch.equal(torch.cat([x for x, _ in parts]), X.float())
    assert torch.equal(torch.cat([y for _, y in parts]), Y)


def test_labels_must_be_as_many_as_samples():
    with pytest.raises(BadData, match="6 samples came with 5 labels"):
        Split(X, Y[:5])
    with pytest.raises(BadData, match="2 samples came with 6 labels"):
        Split(X, Y, torch.tensor([0, 1]))


def test_joining_keeps_the_number_format_where_it_is_shared():
    one = Split(X, Y, transform=Transform(scale=0.5, permutation=torch.tensor([3, 2, 1, 0])))
    two = Split(X, Y[:2], torch.tensor([1, 0]), Transform(scale=0.5))
    joined = Split.join([one, two])
    assert joined.x.dtype == torch.uint8
    assert torch.equal(joined.batch(slice(None))[0], torch.cat([one.batch(slice(None))[0], two.batch(slice(None))[0]]))
    assert joined.y.tolist() == [*Y.tolist(), 0, 1]


def test_joining_different_formats_scales():
    one, other = Split(X, Y, transform=Transform(scale=0.5)), Split(X.float() / 2, Y)
    joined = Split.join([one, other])
    assert joined.transform.scale == 1.0
    assert torch.equal(joined.batch(slice(None))[0], torch.cat([s.batch(slice(None))[0] for s in (one, other)]))


SHIFT = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])


def test_a_shift_is_subtracted_after_scaling_and_stays_with_what_is_taken():
    plain, shifted = (Split(X, Y, transform=Transform(scale=0.5, shift=shift)) for shift in (None, SHIFT))
    some = torch.tensor([4, 1])
    assert torch.equal(shifted.batch(some)[0], plain.batch(some)[0] - SHIFT)
    assert torch.equal(shifted.take(some).batch(slice(None))[0], shifted.batch(some)[0])
    assert torch.equal(shifted.raw(some), plain.raw(some))


def test_a_shift_does_not_change_the_samples_it_is_subtracted_from():
    x = X.float()
    Split(x, Y, transform=Transform(shift=SHIFT)).batch(slice(None))
    assert torch.equal(x, X.float())


def test_joining_keeps_a_shift_that_is_shared():
    same = (Transform(scale=0.5, shift=shift) for shift in (SHIFT, SHIFT.clone()))
    joined = Split.join([Split(X, Y, transform=transform) for transform in same])
    assert joined.x.dtype == torch.uint8
    assert torch.equal(joined.batch(slice(None))[0], (X.float() * 0.5 - SHIFT).repeat(2, 1, 1, 1))


@pytest.mark.parametrize(
    "other", [Transform(), Transform(shift=2 * SHIFT), Transform(scale=0.25), Transform(0.5, deviation=SHIFT)]
)
def test_joining_different_transforms_keeps_each_sample_s_own(other):
    parts = [Split(X, Y, transform=Transform(shift=SHIFT)), Split(X, Y, transform=other)]
    joined = Split.join(parts)
    assert joined.x.dtype == torch.uint8
    whole = torch.cat([s.batch(slice(None))[0] for s in parts])
    assert torch.equal(joined.batch(slice(None))[0], whole)
    some = torch.tensor([7, 0, 11, 3])
    assert torch.equal(joined.batch(some)[0], whole[some])
    assert torch.equal(joined.take(some).batch(slice(1, 3))[0], whole[some][1:3])


def test_joining_what_was_joined_keeps_equal_transforms_once():
    one, two = Transform(shift=SHIFT), Transform(scale=0.25)
    first = Split.join([Split(X, Y, transform=one), Split(X, Y, transform=two)])
    again = Split.join([first, Split(X, Y, transform=Transform(shift=SHIFT.clone()))])
    assert again.transform.each == (one, two)
    assert Split.join([again.take(torch.tensor([0, 13]))]).transform == one
    heir = Split.load(again.tensors(), json.loads(json.dumps(again.plain())))
    assert torch.equal(heir.batch(slice(None))[0], again.batch(slice(None))[0])


def test_joining_different_shapes_is_refused():
    with pytest.raises(BadData, match=r"\(1, 2, 2\), \(4,\)"):
        Split.join([Split(X, Y), Split(X.flatten(1), Y)])


def _task(index, classes):
    split = Split(X, Y)
    return Task(f"task {index}", index, classes, split, split, split)


def test_a_lesson_has_no_test_data():
    lesson = _task(0, (0, 1)).lesson()
    assert not hasattr(lesson, "test")
    assert {f.name for f in dataclasses.fields(Lesson)} == {"name", "index", "classes", "train", "validation"}
    with pytest.raises(TypeError):
        Lesson("cheat", 0, (0,), Split(X, Y), Split(X, Y), test=Split(X, Y))


def test_a_union_of_lessons():
    lessons = [_task(0, (2, 0)).lesson(), _task(3, (0, 1)).lesson()]
    union = Lesson.union(lessons)
    assert union.name == "task 0 ∪ task 3"
    assert union.index == 3
    assert union.classes == (2, 0, 1)
    assert len(union.train) == len(union.validation) == 12
    assert Lesson.union(lessons[:1]) is lessons[0]


def _stream(built):
    def build(index, validation):
        built.append((index, validation))
        return _task(index, (0, 1, 2))

    return Stream({"name": "mine@1"}, Outline((1, 2, 2), (0, 1, 2)), 3, build)


def test_a_stream_builds_each_task_once_and_only_when_asked():
    built: list = []
    stream = _stream(built)
    assert (len(stream), stream.name, built) == (3, "mine@1", [])
    assert stream[1] is stream[1]
    assert stream[-1].index == 2
    assert built == [(1, 0.1), (2, 0.1)]
    assert [task.index for task in stream] == [0, 1, 2]
    with pytest.raises(IndexError, match="task 3 of a stream of 3"):
        stream[3]


def test_another_share_of_validation_builds_anew():
    built: list = []
    stream = _stream(built)
    assert stream.with_validation(0.1) is stream
    stream[0], stream.with_validation(0.25)[0]
    assert built == [(0, 0.1), (0, 0.25)]


def test_the_digest_changes_with_any_label():
    def stream(y):
        split = Split(X, y)
        return Stream({}, Outline((1, 2, 2), (0, 1, 2)), 1, lambda k, v: Task("t", k, (0, 1, 2), split, split, split))

    assert stream(Y).digest() == stream(Y.clone()).digest() != stream(Y.flip(0)).digest()


COLUMNS = {
    "a matrix": torch.zeros(3, 2).t(),
    "one column": torch.zeros(1, 3).t(),
    "one channel, last": torch.zeros(3, 8, 8, 1).permute(0, 3, 1, 2),
}


@pytest.mark.parametrize("values", COLUMNS.values(), ids=COLUMNS)
def test_no_state_is_made_of_a_tensor_that_a_file_would_give_back_in_another_order(values):
    with pytest.raises(BadState, match=r"tensor 'w' of shape .* use engram.core.canonical"):
        State({"w": values}, {})
    assert State({"w": canonical(values)}, {}).tensors["w"].stride() == torch.zeros(values.shape).stride()


def test_canonical_tensors_are_left_as_they_are_and_others_copied():
    values = torch.arange(40.0)
    assert canonical(values) is values
    assert canonical(values[16:]).data_ptr() == values[16:].data_ptr()
    shifted = canonical(values[1:])
    assert torch.equal(shifted, values[1:])
    assert shifted.data_ptr() % ALIGNMENT == 0 != values[1:].data_ptr() % ALIGNMENT


def test_neither_the_order_nor_the_address_of_the_data_reaches_a_batch():
    images = torch.rand(6, 8, 8, 1, generator=torch.Generator().manual_seed(0)).permute(0, 3, 1, 2)
    elsewhere = torch.empty(1 + images.numel())[1:].view(6, 1, 8, 8).copy_(images)
    for x in (images, elsewhere):
        split = Split(x, torch.arange(6))
        for found in (split.batch(slice(1, 5))[0], next(split.batches(4))[0], Split.join([split]).x):
            assert canonical(found) is found
