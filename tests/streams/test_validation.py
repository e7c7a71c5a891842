import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.errors import BadSetting
from engram.streams.validation import hold_out


@pytest.mark.parametrize(
    "samples, share, held",
    [
        (100, 0.1, 10),
        (100, 0.0, 0),
        (3, 0.1, 1),
        (2, 0.9, 1),
        (1, 0.5, 0),
        (10, 0.99, 9),
        (24, 0.1, 2),
        (26, 0.1, 3),
        (100, 25, 25),
        (30, 1.0, 1),
        (20, 25, 19),
        (1, 25, 0),
    ],
)
def test_number_held_out(samples, share, held):
    train, validation = hold_out({0: torch.arange(samples)}, share, 0, 0)
    assert (len(train), len(validation)) == (samples - held, held)


def test_share_is_taken_from_every_class():
    train, validation = hold_out({0: torch.arange(0, 20), 1: torch.arange(20, 120)}, 0.1, 0, 0)
    assert [int((validation < 20).sum()), int((validation >= 20).sum())] == [2, 10]
    assert len(train) == 108


def test_what_a_class_gives_does_not_depend_on_the_others():
    one, two = torch.arange(0, 40, 2), torch.arange(1, 40, 2)
    alone = hold_out({0: one}, 0.3, 5, 2)[1].tolist()
    together = hold_out({1: two, 0: one}, 0.3, 5, 2)[1].tolist()
    assert [row for row in together if row % 2 == 0] == alone


def test_seed_task_and_class_decide():
    own = torch.arange(100)
    held = {
        tuple(hold_out({c: own}, 0.2, s, t)[1].tolist()) for s, t, c in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    }
    assert len(held) == 4


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(st.integers(0, 9), st.integers(1, 30), min_size=1, max_size=5),
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 2**70),
)
def test_disjoint_complete_ascending_and_never_a_whole_class(counts, share, seed):
    starts, rows = 0, {}
    for label, count in counts.items():
        rows[label] = torch.arange(starts, starts + count)
        starts += count
    train, validation = (part.tolist() for part in hold_out(rows, share, seed, 0))
    assert sorted(train + validation) == list(range(starts))
    assert train == sorted(train)
    assert validation == sorted(validation)
    assert all(set(own.tolist()) & set(train) for own in rows.values())


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan"), float("inf")])
def test_impossible_share(share):
    with pytest.raises(BadSetting, match="validation"):
        hold_out({0: torch.arange(3)}, share, 0, 0)
