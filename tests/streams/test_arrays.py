import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from engram.core import Lesson
from engram.errors import BadData, BadSetting
from engram.streams import from_arrays


def good(labels=(0, 1), samples=10, shape=(3,), dtype=np.float32):
    x = np.arange(samples * int(np.prod(shape))).reshape(samples, *shape).astype(dtype)
    y = np.array(labels)[np.arange(samples) % len(labels)]
    return {"x_train": x, "y_train": y, "x_test": x[:4], "y_test": y[:4]}


def everything(split):
    return split.batch(slice(None))


def test_tuples_mappings_tensors_and_lists_are_the_same():
    task = good()
    expected = from_arrays([task])
    for given_task in (
        tuple(task.values()),
        {name: torch.tensor(value) for name, value in task.items()},
        [value.tolist() for value in task.values()],
    ):
        assert from_arrays([given_task]).spec == expected.spec
        assert from_arrays([given_task]).digest() == expected.digest()


def test_labels_may_be_any_whole_numbers_and_classes_may_return():
    made = from_arrays([good((7, 1000)), good((3, 7))], validation=0)
    assert made.outline.classes == (7, 1000, 3)
    assert [task.classes for task in made] == [(7, 1000), (3, 7)]
    assert [task.name for task in made] == ["arrays 7,1000", "arrays 3,7"]
    assert torch.equal(everything(made[0].train)[0], torch.from_numpy(good()["x_train"]))


TEXT = [good(("cat", "a dog")), good(("bird", "cat"))]


@pytest.mark.parametrize("as_", [np.array, list, lambda y: np.array(y, object), lambda y: np.array(y, "S")])
def test_labels_may_be_text_of_any_kind(as_):
    made = from_arrays([{**task, **{y: as_(task[y].tolist()) for y in ("y_train", "y_test")}} for task in TEXT])
    assert made.class_names == ("a dog", "bird", "cat")
    assert [task.classes for task in made] == [(0, 2), (1, 2)]
    assert made[0].test.y.tolist() == [2, 0, 2, 0]
    assert made.spec == from_arrays(TEXT).spec


@pytest.mark.parametrize("labels, names", [((-1, 5), ("-1", "5")), ((10**9, -(10**18)), (f"-{10**18}", f"{10**9}"))])
def test_labels_that_are_no_class_numbers_are_numbered_in_order(labels, names):
    made = from_arrays([good(labels)], validation=0)
    assert made.class_names == names
    assert made.outline.classes == (0, 1)
    assert made[0].train.y.tolist() == [sorted(labels).index(label) for label in good(labels)["y_train"]]


def test_names_are_part_of_the_spec_and_class_numbers_have_none():
    """Streams of class numbers keep the digests that they had before labels could be anything."""
    named, numbered = from_arrays([good(("a", "b"))]), from_arrays([good()])
    assert named.spec["digest"] != from_arrays([good(("a", "c"))]).spec["digest"] != numbered.spec["digest"]
    assert numbered.class_names == ()
    assert numbered.spec["digest"] == "c3108908202fa1333b1d11e55f5fe10206f85e4747e6107bf64b6001d1cce1a5"
    for y in (np.array([0.0, 1.0] * 5), np.array([False, True] * 5), np.array([[0], [1]] * 5)):
        assert from_arrays([{**good(), "y_train": y, "y_test": y[:4]}]).spec == numbered.spec


@pytest.mark.parametrize("part", ["x_train", "x_test"])
def test_features_that_no_network_was_made_for_are_said(part):
    task = good()
    task[part] = task[part] * -1e30
    with pytest.warns(UserWarning, match=rf"task 1: {part} holds numbers as large as .*e\+3.*; standardise"):
        from_arrays([task])


def test_one_sample_of_one_class():
    task = from_arrays([good((4,), samples=1)], validation=0.5)[0]
    assert (len(task.train), len(task.validation), len(task.test)) == (1, 0, 1)


def test_later_changes_to_the_arrays_do_not_matter():
    task = good()
    made = from_arrays([task])
    before = made.digest()
    task["x_train"][:] = 0
    assert from_arrays([good()]).digest() == before == made.with_validation(0.1).digest()
    assert torch.equal(everything(made[0].train)[0], everything(from_arrays([good()])[0].train)[0])


def test_content_is_part_of_the_spec():
    other = good()
    other["x_test"] = other["x_test"] + 1
    specs = [from_arrays(tasks).spec for tasks in ([good()], [other], [good(), good()], [good(shape=(3, 1))])]
    assert len({spec["digest"] for spec in specs}) == 4
    assert specs[0]["kind"] == "arrays"


def test_seed_decides_the_validation_samples():
    assert from_arrays([good()], seed=1).digest() != from_arrays([good()], seed=2).digest()


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float64, np.int16, np.uint64, bool, ">f4", ">i2"])
def test_number_formats(dtype):
    made = from_arrays([good(dtype=dtype)], validation=0)
    x, _ = everything(made[0].train)
    assert x.dtype == torch.float32
    assert torch.equal(x, torch.from_numpy(good()["x_train"].astype(dtype).astype(np.float32)))


def test_read_only_reversed_and_bfloat16_arrays():
    task = good()
    task["x_train"] = task["x_train"][::-1]
    task["x_train"].flags.writeable = False
    task["x_test"] = torch.tensor(task["x_test"]).bfloat16().requires_grad_()
    assert everything(from_arrays([task], validation=0)[0].train)[0][0].tolist() == [27, 28, 29]


def test_tasks_of_different_formats_can_be_taught_together():
    made = from_arrays([good(dtype=np.uint8), good((2, 3))])
    union = Lesson.union([task.lesson() for task in made])
    assert union.classes == (0, 1, 2, 3)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"x_train": np.full((10, 3), np.nan)}, "task 2: x_train holds nan in sample 0"),
        ({"x_test": np.full((4, 3), -np.inf)}, "task 2: x_test holds -inf"),
        ({"x_train": np.full((10, 3), 1e300)}, r"x_train holds 1e\+300"),
        ({"x_train": np.zeros((0, 3)), "y_train": np.zeros(0, int)}, r"x_train has shape \(0, 3\); give at least one"),
        ({"x_test": np.zeros((0, 3)), "y_test": np.zeros(0, int)}, r"x_test has shape \(0, 3\)"),
        ({"x_train": np.zeros((9, 3))}, "x_train has 9 samples and y_train has 10 labels"),
        ({"x_test": np.zeros((5, 3))}, "x_test has 5 samples and y_test has 4 labels"),
        ({"x_test": np.zeros((4, 2))}, r"task 2: a sample of x_test has shape \(2,\), but task 1 started with \(3,\)"),
        ({"x_train": np.zeros(10)}, r"shape \(10,\)"),
        ({"x_train": np.zeros((10, 0))}, r"shape \(10, 0\)"),
        ({"x_train": np.zeros((10, 3), complex)}, "type complex128"),
        ({"x_train": [["a"]] * 10}, "type <U1"),
        ({"x_train": [[1, 2], [3]]}, "makes no array"),
        ({"x_train": torch.zeros(10, 3).to_sparse()}, "makes no array"),
        ({"x_train": None}, "type object"),
        ({"y_train": np.full(10, 0.5)}, "y_train holds 0.5 in row 0; labels must be whole numbers below 2⁶³, or text"),
        ({"y_train": np.full(10, np.nan)}, "y_train holds nan in row 0"),
        ({"y_train": np.full(10, 1j)}, "labels of type complex128"),
        ({"y_train": [None] * 10}, "labels of type object such as None; give whole numbers or text"),
        ({"y_train": ["a", 1] * 5, "y_test": ["a"] * 4}, "holds text, but the labels of task 1 started with whole"),
        ({"y_train": np.array(["a", 1] * 5, object)}, "labels of type object such as a"),
        ({"y_train": np.zeros(10, "datetime64[D]")}, "labels of type datetime64"),
        ({"y_train": np.full(10, 2**63, np.uint64)}, "y_train holds 9223372036854775808 in row 0"),
        ({"y_train": np.zeros((10, 2), int)}, r"y_train has shape \(10, 2\); give one label a sample"),
        ({"y_train": ["a"] * 10, "y_test": ["a"] * 4}, "y_train holds text, but the labels of task 1 started with"),
        ({"y_test": np.full(4, -8)}, "y_test has classes that y_train has not: -8"),
        ({"y_test": np.full(4, 8)}, "y_test has classes that y_train has not: 8"),
    ],
)
def test_bad_arrays(change, message):
    with pytest.raises(BadData, match=message) as caught:
        from_arrays([good(), {**good(), **change}])
    assert str(caught.value).startswith("task 2: ")


@pytest.mark.parametrize(
    "tasks, message",
    [
        ([], "there are 0 tasks"),
        (good(), "tasks is a dict"),
        (3, "tasks is a int"),
        (tuple(good().values()), "task 1 is a ndarray of 10"),
        ([tuple(good().values())[:3]], "task 1 is a tuple of 3"),
        ([good(), None], "task 2 is a NoneType"),
        ([{"x": 1}], "task 1 has the keys x; it needs x_train, y_train, x_test, y_test"),
    ],
)
def test_bad_lists_of_tasks(tasks, message):
    with pytest.raises(BadData, match=message):
        from_arrays(tasks)


@pytest.mark.parametrize("options", [{"validation": 1.5}, {"seed": -1}, {"name": 3}])
def test_bad_settings(options):
    with pytest.raises(BadSetting, match=next(iter(options))):
        from_arrays([good()], **options)


SAMPLES = hnp.arrays(
    st.sampled_from([np.uint8, np.int32, np.float32, np.float64]), hnp.array_shapes(min_dims=2, max_dims=4, max_side=4)
)


@pytest.mark.filterwarnings("ignore:.*holds numbers as large as")
@settings(max_examples=50, deadline=None)
@given(SAMPLES, st.data())
def test_any_arrays_are_taken_as_they_are_or_refused_in_one_sentence(x, data):
    y = data.draw(hnp.arrays(np.int64, len(x), elements=st.integers(-1, 5)))
    share = data.draw(st.floats(0, 0.9))
    with np.errstate(over="ignore"):
        as_float = x.astype(np.float32)
    if not np.isfinite(as_float).all():
        with pytest.raises(BadData, match="task 1: "):
            from_arrays([(x, y, x, y)], validation=share)
        return
    made = from_arrays([(x, y, x, y)], validation=share)
    task = made[0]
    y = y if y.min() >= 0 else np.searchsorted(list(map(int, made.class_names)), y)
    assert sorted(torch.cat([task.train.y, task.validation.y]).tolist()) == sorted(y.tolist())
    assert set(task.train.y.tolist()) == set(y.tolist())
    assert np.array_equal(everything(task.test)[0].numpy(), as_float)
