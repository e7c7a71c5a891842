"""The five transfer streams of CTrL, on small images in the place of the published datasets."""

import csv
import json
import re
from collections import Counter
from dataclasses import replace
from importlib.resources import files

import pytest
import torch

from engram.core import Split
from engram.errors import BadSetting, DataUnavailable, UnknownName
from engram.request import prepare
from engram.streams import ctrl, kinds, rebuild, stream
from engram.streams.source import Source

from .toys import rows, toy

TRANSFER = list(ctrl.KINDS)
SIZES = {"large": 8, "small": 4, "test_samples": 3}


def actors(name, **given):
    """A toy for every role, grey ones with fewer pixels; the textures have more classes."""
    shapes = {"mnist": (1, 6, 6), "fashion-mnist": (1, 6, 6)}
    return [
        toy(
            f"toy-{role}",
            classes=12 if role == "dtd" else 10,
            per_class=40,
            shape=shapes.get(role, (3, 8, 8)),
            seed=k,
            **given,
        )
        for k, role in enumerate(ctrl.roles(name))
    ]


def make(name, seed=0, **options):
    return stream(name, seed=seed, dataset=actors(name), **{**SIZES, **options})


def labels(task, split):
    """What the paper calls a label: the place of a class in the task's list."""
    return [task.classes.index(label) for label in split.y.tolist()]


@pytest.mark.parametrize("name", TRANSFER)
def test_counts_of_the_published_table(name):
    """Classes as large as the official ones; of the test set of the textures there are only 40."""
    sizes = {"cifar10": (5000, 1000), "mnist": (6000, 1200), "svhn": (7000, 2000), "fashion-mnist": (6000, 1000)}
    sources = []
    for k, role in enumerate(ctrl.roles(name)):
        train, test = sizes.get(role, (80, 40))
        data = toy(role, 47 if role == "dtd" else 10, train, (1, 1, 1), k, test)
        sources.append(Source(data, role))
    options = {option: setting.default for option, setting in ctrl.OPTIONS.items()}
    parts = ctrl.plan(name, sources, 0, options).parts
    published = ctrl.table(name)
    assert len(parts) == len(published) == (5 if name == "ctrl-pl" else 6)
    for index, (part, row) in enumerate(zip(parts, published, strict=True)):
        found = part.rows(0, index, 0.0)
        assert len(part.classes) == int(row["n_classes"])
        assert len(found.train) == int(row["n_train"])
        assert len(found.validation) == int(row["n_val"])
        per_class = 40 if row["dataset"] == "dtd" else int(row["n_test_per_class_cap"])
        assert len(found.test) == 10 * per_class
        chosen = Counter(part.source.dataset.y_train[found.train].tolist())
        assert set(chosen.values()) == {int(row["n_train_per_class"])}


@pytest.mark.parametrize("name", TRANSFER)
def test_every_task_has_ten_classes_and_as_many_samples_of_each(name):
    made = make(name)
    assert made.outline.shape == (3, 32, 32)
    for task in made:
        assert len(set(task.classes)) == 10
        train, validation, test = (Counter(split.y.tolist()) for split in (task.train, task.validation, task.test))
        assert set(train) == set(validation) == set(test) == set(task.classes)
        (count,) = set(train.values())
        assert set(validation.values()) == {-(-count // 2)}
        assert set(test.values()) == {3}


@pytest.mark.parametrize("name", TRANSFER)
def test_what_one_task_trains_on_no_task_validates_on(name):
    """Within a task all three are disjoint, and the first and the last task of a dataset do not mix either."""
    by_data = {}
    for task in make(name):
        train, validation = by_data.setdefault(id(task.train.x), (set(), set()))
        train |= set(rows(task.train))
        validation |= set(rows(task.validation))
        assert len(rows(task.train)) == len(set(rows(task.train)))
        assert task.test.x is not task.train.x
    assert all(not train & validation for train, validation in by_data.values())


@pytest.mark.parametrize("name", ["ctrl-minus", "ctrl-long"])
def test_nor_where_one_dataset_has_several_roles(name):
    """Roles have other numbers of samples set apart, a dataset has one; the spec, and so every key, says so."""
    data = toy("one", classes=100, per_class=80, shape=(1, 6, 6))
    options = {"tasks": 60, "large": 30} if name == "ctrl-long" else {"large": 30, "small": 20}
    made = stream(name, dataset=[data] * 5, test_samples=3, **options)
    train = {row for task in made for row in rows(task.train)}
    assert not train & {row for task in made for row in rows(task.validation)}
    assert made.spec["set apart"] == "by dataset"
    assert "set apart" not in make("ctrl-minus").spec


@pytest.mark.parametrize("name", ["ctrl-minus", "ctrl-plus"])
def test_the_last_task_is_the_first_one_with_samples_of_its_own(name):
    made = make(name)
    first, last = made[0], made[-1]
    assert first.classes == last.classes
    small, large = sorted([first, last], key=lambda task: len(task.train))
    assert (len(small.train), len(large.train)) == (40, 80)
    assert not set(rows(small.train)) <= set(rows(large.train))


def test_in_ctrl_out_every_class_gets_the_next_label():
    first, *_, last = make("ctrl-out")
    assert sorted(first.classes) == sorted(last.classes)
    assert all(last.classes.index(c) == (first.classes.index(c) + 1) % 10 for c in first.classes)
    minus = make("ctrl-minus")[-1]
    assert rows(minus.train) == rows(last.train)
    assert labels(last, last.train) == [(label + 1) % 10 for label in labels(minus, minus.train)]


def plain_images(split):
    """A split's images before they were normalised."""
    x, _ = split.batch(slice(None))
    return x * split.transform.deviation + split.transform.shift


def test_in_ctrl_in_only_the_background_changes():
    """Equal after removing the colour: the channels that are not full hold the digit as it was."""
    first, *middle, last = make("ctrl-in")
    assert first.classes == last.classes
    colours = [task.train.transform.colour for task in (first, last)]
    assert colours[0] != colours[1]
    for task, colour in zip((first, last), colours, strict=True):
        for split in (task.train, task.validation, task.test):
            full = colour.index(1.0)
            others = [channel for channel in range(3) if channel != full]
            images, grey = plain_images(split), plain_grey(split)
            assert torch.allclose(images[:, full], torch.ones(()))
            assert torch.allclose(images[:, others], grey.expand(-1, 2, -1, -1), atol=1e-5)
    assert all(task.train.transform.colour is None for task in middle)
    assert last.name.endswith(", 5 a class")
    assert (len(last.train), len(last.validation)) == (50, 30)


def test_a_task_is_named_by_the_samples_that_there_are():
    """Of 40 samples a class half are set apart for validation."""
    first, *_, last = make("ctrl-minus", large=400)
    assert first.name == "toy-cifar10, 20 a class"
    assert len(first.train) == 200
    assert last.name == "toy-cifar10, 4 a class"


def plain_grey(split):
    x = split.x[split.rows].float() / 255
    return torch.nn.functional.interpolate(x, (32, 32), mode="bilinear")


def test_black_is_the_colour_and_white_is_white():
    data = actors("ctrl-in")
    x = data[0].x_train.clone()
    x[:, :, :3], x[:, :, 3:] = 0, 255
    data[0] = replace(data[0], x_train=x)
    task = stream("ctrl-in", dataset=data, **SIZES)[0]
    image = plain_images(task.train)[0]
    assert torch.allclose(image[:, 0, 0], torch.tensor(task.train.transform.colour), atol=1e-6)
    assert torch.allclose(image[:, -1, -1], torch.ones(3), atol=1e-6)


def test_colours_are_drawn_without_repetition():
    drawn = {tuple(make("ctrl-in", seed)[k].train.transform.colour for k in (0, -1)) for seed in range(12)}
    assert len(drawn) == 6
    assert all(one != other for one, other in drawn)


@pytest.mark.parametrize("name", TRANSFER)
def test_every_task_is_normalised_by_its_own_training_samples(name):
    for task in make(name):
        x, _ = task.train.batch(slice(None))
        deviation = x.std((0, 2, 3), correction=0)
        assert x.shape[1:] == (3, 32, 32)
        assert x.mean((0, 2, 3)).abs().max() < 1e-4
        full = task.train.transform.colour or (0.0, 0.0, 0.0)
        assert torch.allclose(deviation, 1 - torch.tensor(full), atol=1e-4)
        assert task.train.transform == task.validation.transform == task.test.transform


def test_or_not_where_that_is_asked_for():
    plain, usual = make("ctrl-in", normalised=False), make("ctrl-in")
    x, _ = plain[0].train.batch(slice(None))
    assert (x.min(), x.max()) == (0, 1)
    assert torch.allclose(x, plain_images(usual[0].train), atol=1e-6)
    assert plain.spec["options"]["normalised"] is False
    assert "normalised" not in usual.spec["options"]  # keys of before there was a choice stay


def test_the_five_streams_of_a_seed_have_the_same_classes():
    minus, out, plus = (make(name, seed=4) for name in ("ctrl-minus", "ctrl-out", "ctrl-plus"))
    assert minus.outline == plus.outline
    assert [task.classes for task in minus][:5] == [task.classes for task in out][:5]
    assert minus[0].classes != make("ctrl-minus", seed=5)[0].classes


def test_the_seed_decides_the_samples():
    one, again, other = (make("ctrl-minus", seed) for seed in (1, 1, 2))
    assert rows(one[0].train) == rows(again[0].train) != rows(other[0].train)
    assert one.digest() == again.digest() != other.digest()


def test_classes_have_numbers_of_the_whole_stream():
    made = make("ctrl-minus")
    assert len(made.outline.classes) == 50
    assert made.class_names[made[1].classes[0]].startswith("toy-mnist class ")
    assert [set(task.classes) & set(made[0].classes) != set() for task in made] == [True] + [False] * 4 + [True]


@pytest.mark.parametrize("name", TRANSFER)
def test_tasks_can_be_joined_whatever_their_images_were(name):
    """What the joint reference and whoever keeps samples do."""
    tasks = make(name, middle=2).tasks
    joined = Split.join([task.train for task in tasks])
    assert torch.equal(joined.batch(slice(None))[0], torch.cat([task.train.batch(slice(None))[0] for task in tasks]))


def test_fewer_tasks_and_samples_for_smaller_machines():
    made, whole = make("ctrl-minus", middle=1, probe=3), make("ctrl-minus")
    assert len(made) == 3
    assert [len(task.train) for task in made] == [80, 40, 30]
    assert rows(made[1].train) == rows(whole[1].train)
    assert set(rows(made[2].train)) < set(rows(whole[-1].train))


def test_a_class_with_too_few_samples_gives_all_it_has():
    task = make("ctrl-minus", large=400)[0]
    assert len(task.train) == len(task.validation) == 200


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_protocol_has_no_say_in_what_is_held_out(share):
    made = make("ctrl-pl")
    assert made.with_validation(share) is made


def test_it_is_made_again_from_its_spec():
    made = stream("ctrl-pl", seed=3, datasets="digits+digits+digits+digits+digits", large=10, small=5)
    assert made.name == "ctrl-pl-digits+digits+digits+digits+digits@1"
    assert len(made.outline.classes) == 10, "one dataset has one number for each class"
    spec = json.loads(json.dumps(made.spec))
    assert rebuild(spec).spec == spec
    assert rebuild(spec).digest() == made.digest()


def test_runs_of_all_protocols_share_their_nodes_and_a_share_is_refused():
    asked = {"dataset": "digits+digits+digits+digits+digits", "settings": {"middle": 0, "large": 10, "small": 5}}
    one, other = (prepare("ctrl-pl", "finetune", protocol=p, **asked) for p in ("sequential", "task-level"))
    assert [root.key for root in one.roots] == [root.key for root in other.roots]
    with pytest.raises(UnknownName, match="called 'validation'"):
        prepare("ctrl-pl", "finetune", dataset=asked["dataset"], settings={"validation": 0.2})


def here(monkeypatch, *names):
    monkeypatch.setattr("engram.streams.drawn.is_here", lambda name: name in names)


def test_the_published_datasets_where_they_are_here_and_stand_ins_elsewhere(monkeypatch):
    choose = kinds()["ctrl-minus"].choose
    here(monkeypatch, "cifar10", "mnist", "fashion-mnist", "svhn", "svhn-crops", "dtd37")
    assert choose("available") == ["cifar10", "mnist", "dtd37", "fashion-mnist", "svhn"]
    here(monkeypatch, "mnist", "tiny-imagenet100-32", "svhn-crops", "dtd37")
    assert choose("available") == ["tiny-imagenet100-32", "mnist", "dtd37", "fashion-mnist", "svhn-crops"]
    assert choose("stand-ins") == ["tiny-imagenet100-32", "mnist", "dtd37", "fashion-mnist", "svhn-crops"]
    assert choose("a+b.npz") == ["a", "b.npz"]


def test_official_datasets_are_the_published_ones():
    assert kinds()["ctrl-minus"].choose("official") == ["cifar10", "mnist", "dtd", "fashion-mnist", "svhn"]


def test_an_official_dataset_that_is_not_here_is_said_to_be_so(monkeypatch, tmp_path):
    for folder in ("ENGRAM_DATA", "ENGRAM_CACHE"):
        monkeypatch.setenv(folder, str(tmp_path))
    with pytest.raises(DataUnavailable, match="'cifar10' is not on this machine; run 'engram data fetch cifar10'"):
        stream("ctrl-minus", datasets="official")


@pytest.mark.parametrize(
    "datasets, message",
    [
        ([toy()], "takes 5 datasets, in the place of cifar10+mnist+dtd+fashion-mnist+svhn, and got toy"),
        ([toy()] * 5, "samples of toy have the shape (2, 3), and stream 'ctrl-minus' needs images"),
        ([toy(shape=(2, 8, 8))] * 5, "samples of toy have the shape (2, 8, 8)"),
        ([toy(classes=9, shape=(3, 8, 8))] * 5, "needs 10 classes of every dataset, and toy has 9"),
    ],
)
def test_datasets_that_cannot_be_used(datasets, message):
    with pytest.raises(BadSetting, match=re.escape(message)):
        stream("ctrl-minus", dataset=datasets)


def test_dataset_and_datasets():
    with pytest.raises(BadSetting, match="datasets=stand-ins came with another dataset"):
        stream("ctrl-minus", dataset=actors("ctrl-minus"), datasets="stand-ins")


def test_the_table_is_the_published_one():
    text = (files("engram.streams") / "data" / "ctrl_streams.csv").read_text()
    table = list(csv.DictReader(text.splitlines()))
    assert len(table) == 29
    for row in table:
        classes = int(row["n_classes"])
        assert int(row["n_train"]) == classes * int(row["n_train_per_class"])
        assert int(row["n_val"]) == classes * int(row["n_val_per_class"])
        assert int(row["n_val_per_class"]) == -(-int(row["n_train_per_class"]) // 2), "what Drawn takes for granted"
