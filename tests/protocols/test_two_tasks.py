"""What the prescient and the realistic policy grow and keep, on curves that are made up."""

from __future__ import annotations

import pytest
from made_up import World, key_of

from engram.protocols import RunFailed, protocol

BEGINNINGS = [(5, 0.1), (5, 0.01), (6, 0.1), (6, 0.01)]
RATES = (0.03, 0.02, 0.01)
STRICT = {"strict": True}


def make(name, **settings):
    return protocol(name, **{"second_rate": RATES, **settings})


def under(*beginnings):
    """The retrainings of these beginnings."""
    return [(*beginning, rate) for beginning in beginnings for rate in RATES]


def first(**d1):
    """The curves of the first task by letters a … d for the four beginnings; validation data say the same."""
    return {BEGINNINGS["abcd".index(k)]: {"d1": values, "d1_validation": values} for k, values in d1.items()}


def second(d2, union, validation=None):
    return {"d2": d2, "union": union, "d2_validation": d2 if validation is None else validation}


def kept(world, name, **settings):
    """The key of what is kept, the step at which it stops, the ties."""
    found = world.drive(make(name, **settings))
    assert found.path[1].parent.path == found.path[0].path
    return key_of(found.path[1]), found.stop, found.ties


def test_prescient_grows_everything_and_keeps_the_best_moment_on_both_tasks():
    world = World(first=first(a=(0.1, 0.9)))
    world.second[6, 0.01, 0.02] = second((0.0, 0.1, 0.0, 0.0), (0.3, 0.8, 0.8, 0.2))
    assert kept(world, "prescient") == ((6, 0.01, 0.02), 10, 0)
    assert world.asked == [BEGINNINGS, under(*BEGINNINGS)]


@pytest.mark.parametrize("settings", [{}, STRICT])
def test_realistic_retrains_only_what_was_best_on_the_first_task(settings):
    world = World(first=first(a=(0.1, 0.8), b=(0.95, 0.2), c=(0.9, 0.9)))
    world.second[5, 0.01, 0.02] = second((0.2, 0.99, 1.0), (0.5, 0.6, 0.5))
    world.second[5, 0.1, 0.03] = second((1.0, 1.0, 1.0), (1.0, 1.0, 1.0))
    assert kept(world, "realistic", **settings) == ((5, 0.01, 0.02), 20, 0)
    assert kept(world, "realistic", stop_fraction=0.98, **settings) == ((5, 0.01, 0.02), 10, 0)
    assert world.asked == [BEGINNINGS, under((5, 0.01))]


@pytest.mark.parametrize("name", ["realistic", "prescient"])
def test_the_path_that_is_kept_is_a_node_and_its_child(name):
    begun, retrained = World().drive(make(name)).path
    assert (begun.last.tasks, retrained.last.tasks) == ((0,), (1,))
    assert retrained.last.settings == {**begun.last.settings, "rate": 0.03}
    assert [growth.every for growth in retrained.path] == [50, 50]
    assert [growth.every for growth in World().drive(make(name, every=7)).path[1].path] == [7, 7]


def test_the_fixture_of_one_run():
    """METHODS.md, I18: D2 .5 .945 .95, union .9 .7 .4."""
    world = World(networks=(5,), first_rates=(0.1,), second_rates=(0.03,))
    world.second[5, 0.1, 0.03] = second((0.5, 0.945, 0.95), (0.9, 0.7, 0.4))
    one = {"second_rate": 0.03}
    assert kept(world, "realistic", **one) == ((5, 0.1, 0.03), 10, 0)
    assert kept(world, "realistic", stop_fraction=0.999, **one) == ((5, 0.1, 0.03), 20, 0)
    assert kept(world, "prescient", **one) == ((5, 0.1, 0.03), 0, 0)


def test_strict_chooses_by_the_second_task_where_the_paper_looks_at_both():
    world = World(first=first(a=(0.9,)))
    world.second[5, 0.1, 0.03] = second((0.5, 0.6), (0.9, 0.8))
    world.second[5, 0.1, 0.02] = second((0.5, 0.7), (0.4, 0.3))
    assert kept(world, "realistic")[0] == (5, 0.1, 0.03)
    assert kept(world, "realistic", strict=True)[0] == (5, 0.1, 0.02)


def test_strict_chooses_by_validation_data():
    world = World(first=first(a=(0.2, 0.2)) | {(6, 0.1): {"d1": (0.9,), "d1_validation": (0.1,)}})
    world.first |= {key: {"d1": (0.1,), "d1_validation": (0.1,)} for key in ((5, 0.01), (6, 0.01))}
    world.second[5, 0.1, 0.02] = second((0.1, 0.1, 0.9), (0.5, 0.5, 0.5), validation=(0.1, 0.8, 0.3))
    assert kept(world, "realistic", strict=True) == ((5, 0.1, 0.02), 10, 0)
    assert kept(world, "realistic")[0][:2] == (6, 0.1)


def test_the_earliest_of_equals_is_kept_and_the_others_are_counted():
    assert kept(World(), "prescient") == ((5, 0.1, 0.03), 0, 11)
    assert kept(World(), "realistic") == ((5, 0.1, 0.03), 10, 3 + 2)
    world = World(first=first(b=(0.6, 0.2), d=(0.2, 0.6)))
    world.second[5, 0.01, 0.01] = second((0.1, 0.5), (0.4, 0.9))
    assert kept(world, "realistic") == ((5, 0.01, 0.01), 10, 1)


@pytest.mark.parametrize("name", ["realistic", "prescient"])
def test_what_fails_is_passed_over(name):
    world = World(first=first(a=(1.0,), b=(0.8,)), failed={(5, 0.1), (5, 0.01, 0.02)})
    world.second[5, 0.01, 0.01] = second((0.5, 0.9), (0.9, 0.9))
    assert kept(world, name)[0] == (5, 0.01, 0.01)
    assert (5, 0.1, 0.03) not in world.asked[1]


@pytest.mark.parametrize("settings", [{}, {"start": "best"}])
@pytest.mark.parametrize("name", ["realistic", "prescient"])
def test_where_nothing_can_be_grown_the_run_ends_with_the_reason(name, settings):
    with pytest.raises(RunFailed, match=r"\(5, 0.1\) diverged"):
        World(failed=set(BEGINNINGS)).drive(make(name, **settings))
    with pytest.raises(RunFailed, match=r"\(5, 0.1, 0.03\) diverged"):
        World(failed=set(under(*BEGINNINGS))).drive(make(name))


@pytest.mark.parametrize("name", ["realistic", "prescient"])
def test_where_no_starting_point_can_be_grown_again_the_run_ends_with_the_reason(name):
    world = World(first=first(a=(0.1, 0.9)), failed={(*beginning, "10 steps") for beginning in BEGINNINGS})
    with pytest.raises(RunFailed, match=r"\(5, 0.1, '10 steps'\) diverged"):
        world.drive(make(name, start="best"))


def test_strict_without_validation_data_fails_before_retraining():
    world = World(first={key: {"d1": (0.5,)} for key in BEGINNINGS})
    with pytest.raises(RunFailed, match="no validation samples to choose by; give every class at least 2"):
        world.drive(make("realistic", strict=True))
    assert len(world.asked) == 1
    assert kept(world, "realistic")[0] == (5, 0.1, 0.03)


def test_strict_without_validation_data_of_the_second_task_fails_too():
    world = World(second={key: {"d2": (0.5,), "union": (0.5,)} for key in under(*BEGINNINGS)})
    with pytest.raises(RunFailed, match="no validation samples"):
        world.drive(make("realistic", strict=True))


def test_realistic_goes_on_from_the_earliest_best_weights():
    world = World(first=first(c=(0.2, 0.7, 0.9, 0.9)))
    key, _, _ = kept(world, "realistic", start="best")
    assert key == (6, 0.1, 0.03, "20 steps")
    assert world.asked == [BEGINNINGS, [(6, 0.1, "20 steps")], [(6, 0.1, rate, "20 steps") for rate in RATES]]
    shorter, retrained = world.nodes[-3].path
    assert (shorter.settings["iterations"], retrained.settings["iterations"]) == (20, 0)


def test_prescient_goes_on_from_the_best_weights_of_each_beginning():
    world = World(first=first(b=(0.2, 0.7, 0.9, 0.8)), failed={(6, 0.01)})
    kept(world, "prescient", start="best")
    starts = [(5, 0.1, "10 steps"), (5, 0.01, "20 steps"), (6, 0.1, "10 steps")]
    assert world.asked[1] == starts
    assert world.asked[2] == [(n, a, rate, steps) for n, a, steps in starts for rate in RATES]


def test_weights_before_the_first_step_are_not_taken():
    """A lesson of 0 steps is no lesson; where nothing was learned it is the first moment after the start."""
    world = World(first=first(a=(0.9, 0.3, 0.4)))
    assert kept(world, "realistic", start="best")[0] == (5, 0.1, 0.03, "20 steps")


def test_the_best_weights_of_a_strict_selection_are_best_on_validation_data():
    world = World(first={(5, 0.1): {"d1": (0.1, 0.9, 0.2), "d1_validation": (0.1, 0.5, 0.6)}})
    assert kept(world, "realistic", start="best", strict=True)[0] == (5, 0.1, 0.03, "20 steps")
    assert kept(world, "realistic", start="best")[0] == (5, 0.1, 0.03, "10 steps")


@pytest.mark.parametrize("start", ["last", "best"])
@pytest.mark.parametrize("name, settings", [("realistic", {}), ("realistic", STRICT), ("prescient", {})])
@pytest.mark.parametrize("networks, rates", [((5,), (0.1,)), ((5, 6, 7), (0.1, 0.01))])
def test_the_size_is_the_number_of_nodes_grown(name, settings, start, networks, rates):
    world, policy = World(networks, rates), make(name, start=start, **settings)
    world.drive(policy)
    assert policy.size(len(networks), 2, world.grid) == len(world.nodes)


def test_what_must_be_known_about_a_choice():
    assert "chosen by the test data that it reports" in protocol("prescient").warning
    assert "test data" in protocol("realistic").warning
    assert protocol("realistic", strict=True).warning == ""
    assert [protocol(name).warning for name in ("sequential", "task-level", "stream-level")] == ["", "", ""]
