import re
from dataclasses import replace

import pytest
import torch

from engram.core import Split
from engram.errors import BadSetting
from engram.streams import stream

from .toys import toy


def other():
    data = toy("other", classes=3, shape=(4,), seed=1)
    return replace(data, x_train=data.x_train.half(), x_test=data.x_test.half(), scale=1.0)


def test_widths_are_padded_with_zeros_and_classes_follow_each_other():
    made = stream("concat", dataset=[toy(), other()])
    assert made.outline.shape == (6,)
    assert made.outline.classes == tuple(range(13))
    assert made[1].classes == (10, 11, 12)
    x, y = made[1].test.batch(slice(None))
    assert torch.equal(x, torch.nn.functional.pad(other().x_test.float(), (0, 2)))
    assert torch.equal(y, other().y_test + 10)


def test_every_task_keeps_the_scale_of_its_dataset():
    first, second = stream("concat", dataset=[toy(), other()])
    assert torch.equal(first.test.batch(slice(None))[0], toy().x_test.flatten(1) * (1 / 255))
    assert second.test.transform.scale == 1.0


def test_names():
    made = stream("concat", dataset=[toy(), other()])
    assert made.name == "concat-toy+other@1"
    assert [task.name for task in made] == ["toy", "other"]
    assert made.class_names[10] == "other class 0"


@pytest.mark.parametrize("how", [("concat-digits+blobs", {}), ("concat", {"dataset": "digits+blobs"})])
def test_names_joined_by_plus(how):
    expected = stream("concat", datasets="digits+blobs")
    assert stream(how[0], **how[1]).spec == expected.spec
    assert expected.spec["dataset"] == ["digits", "blobs"]


def test_one_dataset_is_too_few():
    with pytest.raises(BadSetting, match="concat got only toy"):
        stream("concat", dataset=toy())


def test_dataset_and_datasets():
    with pytest.raises(BadSetting, match="give only one of the two"):
        stream("concat-digits+blobs", datasets="blobs+digits")


def test_datasets_of_images_can_be_brought_to_one_shape():
    grey, colour = toy("grey", classes=2, shape=(1, 4, 4)), toy("colour", classes=3, shape=(3, 8, 8), seed=1)
    made = stream("concat", dataset=[grey, colour], images="3-8-8", normalised=True)
    assert made.outline.shape == (3, 8, 8)
    assert made.spec["options"]["images"] == [3, 8, 8]
    x, _ = made[0].train.batch(slice(None))
    assert x.shape[1:] == (3, 8, 8)
    assert torch.equal(x[:, 0], x[:, 2])
    assert made[0].train.raw(slice(0, 1)).shape == (1, 1, 4, 4)
    assert Split.join([task.train for task in made]).shape == (3, 8, 8)


@pytest.mark.parametrize("images, words", [("3-8", "is no shape"), ("3-8-8", "have the shape (4,) and cannot")])
def test_what_cannot_become_an_image_is_refused(images, words):
    with pytest.raises(BadSetting, match=re.escape(words)):
        stream("concat", dataset=[toy("one", shape=(1, 4, 4)), toy("two", shape=(4,))], images=images)
