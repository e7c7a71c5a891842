"""PathNet: the tournament, what is frozen, what it weighs, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import engram
from engram.core import Lesson, Outline
from engram.costs import itemise
from engram.errors import BadData, BadSetting, Diverged
from engram.learners import create
from engram.learners.pathnet import NEVER, PathNet, mutated
from engram.networks import Blueprint
from engram.randomness import generator
from engram.request import prepare

SMALL = {"modules": 4, "active": 2, "units": 8}


def accuracy(learner, lesson):
    x, y = lesson.validation.batch(slice(None))
    columns = torch.tensor(learner.columns(lesson.index))
    return (columns[learner.predict(x, lesson.index).argmax(1)] == y).double().mean().item()


def near(one, other, modules=10):
    """At most two modules away, gene by gene."""
    distance = (one - other) % modules
    return bool(((distance <= 2) | (distance >= modules - 2)).all())


def first(lesson, count):
    return replace(lesson, train=lesson.train.take(torch.arange(count)))


@given(st.integers(1, 4), st.integers(1, 5), st.integers(5, 12), st.integers(0, 10**6))
def test_a_mutation_moves_genes_by_at_most_two_around_the_circle(layers, active, modules, seed):
    draw = generator(seed, "test")
    genes = torch.randint(0, modules, (layers, active), generator=draw)
    child = mutated(genes, modules, draw)
    assert near(child, genes, modules)
    assert ((child >= 0) & (child < modules)).all()


def test_one_gene_in_as_many_as_there_are_is_drawn_and_every_shift_is_as_likely():
    draw, genes = generator(0, "test"), torch.full((2, 5), 7)
    shifts = torch.stack([mutated(genes, 10, draw) - genes for _ in range(10_000)]).flatten()
    shares = [(shifts % 10 == shift).double().mean().item() for shift in (8, 9, 1, 2)]
    assert shares == pytest.approx([0.02] * 4, abs=0.003)  # a tenth of them move, each by one of five


def test_a_tournament_is_as_the_paper_says(make, digits_lessons):
    """The loser becomes a mutated copy of the winner; nobody else changes; the fittest path is in use."""
    learner = make("pathnet", population=6, generations=30, units=8, target=0)
    before = None
    for step in learner.learn(digits_lessons[0]):
        if step.done == step.total:
            break
        genes, tried = learner.genes.clone(), list(learner.tried)
        if before is None:
            assert all(len(set(layer)) == 5 for path in genes.tolist() for layer in path)
        else:
            (winner,) = (k for k in range(6) if tried[k][1] == step.done - 1)
            others = [k for k in range(6) if k != winner]
            changed = [k for k in others if tried[k] != before[1][k] or not torch.equal(genes[k], before[0][k])]
            assert torch.equal(genes[winner], before[0][winner])
            assert len(changed) <= 1  # none where the loser was new too, and the copy of the winner is like it
            assert all(tried[k] == NEVER and near(genes[k], genes[winner]) for k in changed)
            assert torch.equal(learner.pathways.path, genes[max(range(6), key=lambda k: tried[k])])
        before = genes, tried


def test_old_outputs_keep_every_bit_and_the_frozen_never_fall(make, teach, digits_lessons):
    learner, scores, frozen = make("pathnet", **SMALL), {}, 0
    for lesson in digits_lessons:
        teach(learner, [lesson])
        for task, (x, expected) in scores.items():
            assert learner.predict(x, task).numpy().tobytes() == expected.numpy().tobytes()
        x, _ = lesson.validation.batch(slice(None))
        scores[lesson.index] = x, learner.predict(x, lesson.index)
        assert learner.changed_by(lesson) == {lesson.index}
        assert frozen <= (frozen := int(learner.frozen.sum())) <= 2 * 4
        assert learner.frozen.gather(1, learner.paths[lesson.index]).all()
        assert sum(learner.notes()["frozen"]) == frozen


def test_modules_off_the_path_are_new_for_the_next_task(make, teach, digits_lessons):
    learner = teach(make("pathnet", **SMALL), digits_lessons[:1])
    before, frozen = learner.parameters().clone(), learner.frozen.clone()
    next(learner.learn(digits_lessons[1]))
    for number in range(2):
        weights = learner.pathways.layer(number)[0]
        old = before[: learner.pathways.trunk_size]
        start = weights.storage_offset()
        same = (old[start : start + weights.numel()].view(weights.shape) == weights).flatten(1).all(1)
        assert torch.equal(same, frozen[number])


def test_with_everything_frozen_the_head_still_learns(make, teach, permuted_lessons):
    learner = teach(make("pathnet", modules=1, active=1, generations=20, units=80), permuted_lessons[:1])
    assert learner.frozen.all()
    trunk = learner.parameters()[: learner.pathways.trunk_size].clone()
    teach(learner, permuted_lessons[1:])
    assert torch.equal(learner.parameters()[: learner.pathways.trunk_size], trunk)
    assert all(accuracy(learner, lesson) > 0.4 for lesson in permuted_lessons)  # of ten classes


def test_it_learns_permutations(make, teach, permuted_lessons):
    learner = teach(make("pathnet", generations=20, batches=8, units=20), permuted_lessons)
    assert all(accuracy(learner, lesson) > 0.7 for lesson in permuted_lessons)


@pytest.mark.parametrize(
    "shape, classes, published", [((1, 28, 28), 10, 2.80), ((2048,), 200, 7.46), ((1280,), 100, 4.68)]
)
def test_it_weighs_what_table_2_says(shape, classes, published):
    """10(80D+80) + 10(80·80+80) + T(80C+C) numbers with ten tasks, and nothing else between two."""
    learner = PathNet(Outline(shape, tuple(range(classes))), generations=1, population=2, batches=1, batch=1)
    x, y = torch.zeros(classes, *shape), torch.arange(classes)
    for task in range(10):
        split = engram.core.Split(x, y)
        for _ in learner.learn(Lesson("permutation", task, tuple(range(classes)), split, split)):
            pass
    inputs = x[0].numel()
    numbers = 10 * (80 * inputs + 80) + 10 * (80 * 80 + 80) + 10 * (80 * classes + classes)
    weight = itemise(learner.state())
    assert weight["total"] == 4 * numbers
    assert weight["heads"] == 4 * 10 * 81 * classes
    assert round(weight["total"] / 1e6, 2) == published


def test_memory_is_foreseen():
    settings = {"layers": 2, "modules": 10, "active": 5, "units": 80}
    outline = Outline((784,), tuple(range(10)))
    trunk = 10 * 80 * 785 + 10 * 80 * 81
    assert PathNet.least_bytes(outline, Blueprint.of(), settings) == 4 * trunk + 16 * trunk // 2


def test_early_stopping_goes_back_to_the_best_path_and_is_counted(make, digits_lessons):
    given = {"target": 0, "stop": "patience", "patience": 6, "look_every": 2, "generations": 200, **SMALL}
    learner, lesson, looks = make("pathnet", **given), digits_lessons[0], []
    for step in learner.learn(lesson):
        if step.done and step.done % 2 == 0 and step.done < step.total:
            looks.append(accuracy(learner, lesson))
    assert step.done == step.total < 200
    assert accuracy(learner, lesson) == max(looks)
    assert (
        looks.index(max(looks)) == len(looks) - 3
    )  # three looks of two generations are the patience; one more ended it
    assert not any(name.startswith("best") for name in learner.state().tensors)


def test_a_search_left_in_the_middle_with_a_best_state_goes_on_to_the_same_bits(
    make, teach, snapshot, same_state, digits_lessons
):
    given = {
        "target": 0,
        "stop": "patience",
        "patience": 4,
        "look_every": 1,
        "generations": 40,
        "optimizer": "sgd",
        **SMALL,
    }
    through = teach(make("pathnet", momentum=0.9, **given), digits_lessons[:2])
    learner = teach(make("pathnet", momentum=0.9, **given), digits_lessons[:1])
    for step in learner.learn(digits_lessons[1]):
        if step.done == 3:
            break
    heir = make("pathnet", momentum=0.9, **given)
    heir.load(snapshot(learner))
    assert same_state(snapshot(teach(heir, digits_lessons[1:2])), snapshot(through))


def test_a_task_ends_when_a_path_is_fit_enough(make, digits_lessons):
    """And with early stopping goes back to the best look all the same, at which the end is one."""
    for more in ({}, {"stop": "patience", "look_every": 1000}):
        learner = make("pathnet", generations=200, target=0.95, **SMALL, **more)
        seen = [(step, max(learner.tried)[0]) for step in learner.learn(digits_lessons[0])]
        steps, fitness = zip(*seen)
        assert steps[-1].done == steps[-1].total == len(steps) - 1 < 200
        assert fitness[-1] >= 0.95 > max(fitness[:-1])


def test_samples_come_in_an_order_of_every_epoch(make, digits_lessons):
    learner, lesson = make("pathnet", batches=3, batch=20), digits_lessons[0]
    order = torch.cat([learner._samples(lesson, turn * 60) for turn in range(6)])
    assert len(order) == 360
    for epoch in order.split(90):
        assert sorted(epoch.tolist()) == list(range(90))
    assert not torch.equal(order[:90], order[90:180])


def test_a_task_of_one_sample_is_learned(make, teach, digits_lessons):
    learner = teach(make("pathnet", **SMALL), [first(digits_lessons[0], 1), digits_lessons[1]])
    x, y = digits_lessons[0].train.batch(slice(0, 1))
    assert learner.columns(0)[int(learner.predict(x, 0).argmax())] == int(y)


def test_a_task_of_one_class_is_refused(make, digits_lessons):
    lesson = digits_lessons[0]
    bare = Lesson(
        "only nulls", 0, (0,), lesson.train.take((lesson.train.y == 0).nonzero().squeeze(1)), lesson.validation
    )
    with pytest.raises(BadData, match=r"task 1 \(only nulls\) has 1 of at least 2 classes: .* decides nothing; give"):
        next(make("pathnet").learn(bare))


def test_one_class_at_a_time_is_refused_before_anything_is_trained():
    with pytest.raises(BadData, match="task 2 .* has 1 of at least 2 classes: learner 'pathnet' has a head") as caught:
        prepare("incremental-digits", "pathnet")
    assert caught.value.exit_code == 2


def test_other_refusals(make, digits_lessons):
    lesson = digits_lessons[0]
    with pytest.raises(BadSetting, match="active=5 is more than modules=4 of a layer"):
        make("pathnet", modules=4)
    bare = replace(lesson, validation=lesson.validation.take(torch.empty(0, dtype=torch.long)))
    with pytest.raises(BadData, match=r"no validation data for stop=patience .* hold some out with validation=0\.1"):
        next(make("pathnet", stop="patience").learn(bare))
    with pytest.raises(BadSetting, match="has no single-head accuracy"):
        prepare("permuted-digits", "pathnet", head="single")
    with pytest.raises(Diverged, match=r"not finite at task 1 .*, generation \d+; lower the rate \(now 1e\+30\)"):
        list(make("pathnet", rate=1e30, optimizer="sgd").learn(lesson))


def test_its_tensors_are_on_the_device_of_the_network(teach, snapshot, digits_lessons):
    """On `meta` nothing can be compared, so it is only built and given a state there."""
    outline, meta = Outline((1, 8, 8), tuple(range(10))), replace(Blueprint.of(), device="meta")
    quick = {**SMALL, "generations": 2, "population": 2, "batches": 2}
    learner = create("pathnet", outline, 0, meta, quick)
    learner.load(snapshot(teach(create("pathnet", outline, 0, Blueprint.of(), quick), digits_lessons[:1])))
    assert all(values.is_meta for values in learner.state().tensors.values())
    assert learner.predict(torch.zeros(2, 1, 8, 8, device="meta"), 0).is_meta
