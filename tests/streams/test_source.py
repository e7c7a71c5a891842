from dataclasses import replace

import pytest
import torch

from engram.errors import BadData, BadSetting
from engram.samples import rows_by_class
from engram.streams.source import open_source

from .toys import toy


def test_rows_by_class_are_ascending_and_hold_only_what_occurs():
    found = rows_by_class(torch.tensor([5, 0, 5, 10**12, 0]))
    assert {c: own.tolist() for c, own in found.items()} == {0: [1, 4], 5: [0, 2], 10**12: [3]}


def test_no_labels_no_classes():
    assert rows_by_class(torch.tensor([], dtype=torch.int64)) == {}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"y_train": torch.arange(3)}, "200 training samples and 3 labels"),
        ({"y_test": torch.full((50,), 10)}, "labels from 10 to 10, but 10 classes"),
        ({"y_test": torch.full((50,), -1)}, "labels from -1"),
        ({"y_test": torch.zeros(50)}, "test labels of type torch.float32"),
        ({"x_test": torch.full((50, 2, 3), float("nan"))}, "test samples that are nan"),
    ],
)
def test_damaged_dataset_objects(change, message):
    with pytest.raises(BadData, match=message):
        open_source(replace(toy(), **change))


def test_no_dataset_at_all():
    with pytest.raises(BadSetting, match="cannot be a int"):
        open_source(3)
