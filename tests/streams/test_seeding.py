from engram.streams.seeding import shuffled


def test_order_is_a_bijection():
    assert sorted(shuffled(1000, 3, "permutation", 1).tolist()) == list(range(1000))


def test_order_never_changes():
    assert shuffled(8, 0, "permutation", 0).tolist() == [0, 2, 7, 5, 1, 4, 6, 3]


def test_seed_and_every_part_of_the_purpose_count():
    given = [(0, "a", 0), (1, "a", 0), (0, "b", 0), (0, "a", 1), (0, "a"), (0, "a", "0")]
    assert len({tuple(shuffled(50, *each).tolist()) for each in given}) == len(given)


def test_nothing_to_shuffle():
    assert shuffled(0, 0).tolist() == []
    assert shuffled(1, 0).tolist() == [0]
