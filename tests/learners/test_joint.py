"""Joint training is finetune from scratch on the union of what was seen."""

from __future__ import annotations

import pytest
import torch

from engram.core import Lesson, Split


@pytest.mark.parametrize("heads", ["growing", "masked"])
def test_it_equals_training_on_the_union(heads, make, teach, digits_lessons):
    joint = make("joint", heads=heads, epochs=2)
    for count in (1, 2, 3):
        teach(joint, digits_lessons[count - 1 : count])
        union = Lesson.union(digits_lessons[:count])
        assert torch.equal(joint.parameters(), teach(make("finetune", heads=heads, epochs=2), [union]).parameters())
    assert joint.columns() == list(range(6))
    assert joint.columns(1) == [2, 3]


def test_permuted_samples_are_kept_as_they_were_shown(make, teach, permuted_lessons):
    joint = teach(make("joint"), permuted_lessons[:2])
    union = Lesson.union(permuted_lessons[:2])
    assert torch.equal(joint.parameters(), teach(make("finetune"), [union]).parameters())
    assert joint.samples.x.dtype == torch.uint8


def test_samples_of_another_format_are_kept_scaled(make, teach, digits_lessons):
    second = digits_lessons[1]
    x, y = second.train.batch(slice(None))
    floats = Lesson(second.name, 1, second.classes, Split(x, y), second.validation)
    joint = teach(make("joint"), [digits_lessons[0], floats])
    assert torch.equal(joint.parameters(), teach(make("joint"), digits_lessons[:2]).parameters())
