"""The prior's classifier by nearest neighbours."""

from __future__ import annotations

import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier

from engram.parts.nearest import accuracy
from engram.randomness import generator


@pytest.mark.parametrize("count, neighbours", [(200, 5), (3, 5), (1, 5), (50, 1)])
def test_it_is_right_as_often_as_another_implementation(count, neighbours):
    draw = generator(count, "neighbours")
    known, asked = (torch.randn(size, 6, generator=draw) for size in (count, 80))
    labels, truth = (torch.randint(0, 4, (size,), generator=draw) for size in (count, 80))
    model = KNeighborsClassifier(min(neighbours, count)).fit(known, labels)
    found, operations = accuracy(known, labels, asked, truth, neighbours)
    assert found == pytest.approx(model.score(asked, truth))
    assert operations == 2 * count * 80 * 6
