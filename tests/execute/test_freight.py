"""A stream that travels task by task is the same stream, whatever made it, and its bytes go when nobody needs them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from engram.errors import DamagedFile
from engram.execute.freight import Receiver, Sender, describe
from engram.streams import from_arrays, stream


class Place:
    """Where things are put; only what somebody still refers to by its number is there."""

    def __init__(self):
        self.things, self.numbers = {}, itertools.count()

    def put(self, content):
        number = next(self.numbers)
        self.things[number] = content
        return number

    def get(self, number):
        return self.things[number]


def arrays(seed=0):
    draw = np.random.default_rng(seed)
    return [(draw.normal(size=(12, 5)), np.arange(12) % 2 + 2 * k, draw.normal(size=(6, 5)), np.arange(6) % 2 + 2 * k)
            for k in range(3)]  # fmt: skip


STREAMS = {
    "split-digits": lambda: stream("split-digits"),
    "permuted-digits": lambda: stream("permuted-digits", tasks=3),
    "rotated-digits": lambda: stream("rotated-digits", tasks=3),
    "normalised": lambda: stream("split-digits", normalised=True),
    "d5-5a": lambda: stream("d5-5a-digits"),
    "concat": lambda: stream("concat-digits+blobs"),
    "arrays": lambda: from_arrays(arrays()),
}


def received(sender, receiver, name, made):
    lots = {task: sender.lot(name, made, task) for task in range(len(made))}
    return receiver.stream(describe(name, made), lots)


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_a_stream_that_was_sent_has_the_same_bytes(kind, share):
    place, made = Place(), STREAMS[kind]().with_validation(share)
    there = received(Sender(place.put), Receiver(place.get), "it", made)
    assert there.digest() == made.digest()
    assert (there.spec, there.outline, len(there)) == (made.spec, made.outline, len(made))
    assert [(t.name, t.index, t.classes) for t in there] == [(t.name, t.index, t.classes) for t in made]


def test_samples_that_tasks_and_streams_share_travel_once():
    place = Place()
    sender = Sender(place.put)
    for seed in range(3):
        made = stream("permuted-digits", tasks=2, seed=seed)
        for task in (0, 1, 0):
            sender.lot(f"stream {seed}", made, task)
    assert len(sender.samples) == 2  # those of training and of test
    assert len(place.things) == 2 + 3 * 2


def test_nothing_is_built_here_for_good():
    made = from_arrays(arrays())
    Sender(Place().put).lot("it", made, 1)
    assert made._built == {}


def test_what_no_run_needs_is_let_go_and_what_some_need_stays():
    place = Place()
    sender, receiver = Sender(place.put), Receiver(place.get)
    one, other = stream("permuted-digits", tasks=2, seed=0), stream("permuted-digits", tasks=2, seed=1)
    own = from_arrays(arrays())
    streams = [received(sender, receiver, name, made) for name, made in (("a", one), ("b", other), ("c", own))]
    for made in streams:
        assert made.tasks
    assert len(receiver.samples) == 2 + 2 * 3
    gone = sender.keep({"b"})
    receiver.forget(gone)
    assert gone == {"a", "c"}
    assert {name for name, _ in sender.lots} == {name for name, _ in receiver.lots} == {"b"}
    assert len(sender.samples) == len(receiver.samples) == 2
    assert sender.keep(set()) == {"b"}
    assert (sender.lots, sender.samples) == ({}, {})


def test_the_same_stream_with_another_share_held_out_is_sent_beside_it():
    place = Place()
    sender, receiver = Sender(place.put), Receiver(place.get)
    made = [stream("split-digits").with_validation(share) for share in (0.1, 0.3)]
    there = [received(sender, receiver, "it", one) for one in made]
    assert [len(one[0].validation) for one in there] == [len(one[0].validation) for one in made]
    assert len(sender.samples) == 2


def test_a_task_that_changed_on_its_way_is_not_used():
    place = Place()
    there = received(Sender(place.put), Receiver(place.get), "it", from_arrays(arrays()))
    place.things = {number: content[:-1] + bytes([content[-1] ^ 1]) for number, content in place.things.items()}
    with pytest.raises(DamagedFile, match="that (was|were) sent is damaged"):
        there[0]
