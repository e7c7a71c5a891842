import json
import os
import subprocess
import sys
import weakref
from dataclasses import replace

import numpy as np
import pytest

from engram.errors import BadData, BadSetting, DataUnavailable, UnknownName
from engram.settings import Setting
from engram.streams import ctrl, from_arrays, kind_of, kinds, making, rebuild, stream, two_tasks

from .toys import toy

SHORT = [
    "split-digits", "permuted-digits", "incremental-digits", "pair-digits", "concat-digits+blobs", "d5-5c-digits",
    "dp10-10-digits",
]  # fmt: skip
GOLDEN = {
    "split-digits": "26fbee4df14ee3577e37812783d98d5a615c3219929e1821c94083cc927f49a9",
    "permuted-digits": "5124cbd460cedc2a8ad7964549863b4213e04f91fc2bd78aa4a79f93c38dc240",
}
NAMED_TWICE = "87317979171eb55dc8e0138d71d50fabb31cd670ed22edde9dcbdad79928a46a"
IN_ANOTHER_PROCESS = """
import json, sys
from engram.streams import rebuild
print(json.dumps([rebuild(spec).digest() for spec in json.load(sys.stdin)]))
"""


def test_who_asks_for_the_same_stream_of_a_published_dataset_gets_the_same_one():
    """Its tasks are built once for all rows of a table; of data of one's own nothing is kept."""
    made = stream("split-digits", seed=2, normalised=True)
    assert stream("split", dataset="digits", seed=2, normalised=True) is made
    assert stream("split-digits", seed=2) is not made
    assert stream("split-digits", seed=3, normalised=True) is not made
    for own in (toy(), toy("digits")):  # whatever it is called
        gone = weakref.ref(stream("split", dataset=own))
        assert gone() is None
        assert stream("split", dataset=own) is not stream("split", dataset=own)


def test_a_dataset_that_is_named_twice_is_measured_twice():
    assert stream("concat-digits+digits", standardised=True).digest() == NAMED_TWICE
    assert rebuild(stream("concat-digits+digits", standardised=True).spec).digest() == NAMED_TWICE


@pytest.mark.parametrize("name", GOLDEN)
def test_version_1_never_changes(name):
    assert stream(name).digest() == GOLDEN[name]


def test_same_bytes_in_another_process():
    made = [stream(name, seed=3) for name in SHORT]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "1"}
    answer = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS],
        input=json.dumps([each.spec for each in made]),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(answer.stdout) == [each.digest() for each in made]


@pytest.mark.parametrize("name", SHORT)
def test_the_seed_changes_the_bytes(name):
    assert stream(name, seed=0).digest() == stream(name, seed=0).digest() != stream(name, seed=1).digest()


@pytest.mark.parametrize("name", SHORT)
def test_spec_is_plain_json_and_complete(name):
    made = stream(name, seed=2)
    spec = json.loads(json.dumps(made.spec))
    assert spec == made.spec
    assert rebuild(spec).spec == spec
    assert "validation" not in json.dumps(spec)


def test_options_survive_the_spec():
    made = stream("split-digits", seed=5, sizes="3-3-4", order="seeded")
    assert rebuild(json.loads(json.dumps(made.spec))).outline == made.outline


def test_name_forms():
    expected = stream("split-digits").spec
    assert expected["name"] == "split-digits@1"
    assert stream("split-digits@1").spec == stream("split", dataset="digits").spec == expected
    assert stream("split@1", dataset="digits", seed="0", tasks="5").spec == expected


@pytest.mark.parametrize(
    "name, kind",
    [
        ("split", "split"), ("split-digits@1", "split"), ("concat-digits+blobs", "concat"), ("split-a-b.npz", "split"),
        ("d5-5a", "d5-5a"), ("d5-5a@1", "d5-5a"), ("d5-5a-fashion-mnist@7", "d5-5a"), ("dp10-10-digits", "dp10-10"),
        ("d5", None), ("d5-5a2", None), ("splits", None), ("-digits", None), ("", None),
    ],
)  # fmt: skip
def test_the_kind_that_a_name_begins_with(name, kind):
    found = kind_of(name)
    assert (found and found.name) == kind


def test_file_of_ones_own(tmp_path, monkeypatch):
    data = toy()
    path = tmp_path / "mine.npz"
    arrays = {n: getattr(data, n).numpy() for n in ("x_train", "y_train", "x_test", "y_test")}
    np.savez(path, **arrays)
    monkeypatch.chdir(tmp_path)
    made = stream("split-mine.npz")
    assert made.name == "split-mine@1"
    assert made[0].name == "mine 0-1"
    assert made.spec["dataset"] == str(path)
    assert stream("split", dataset=path).spec == made.spec
    np.savez(path, **{**arrays, "x_train": arrays["x_train"] ^ 1})
    with pytest.raises(BadData, match="is not the one that stream 'split-mine@1' was made from"):
        rebuild(made.spec)


def test_changed_dataset_is_refused_before_its_options_are_read():
    spec = {**stream("split-digits").spec, "digest": "other", "options": {"sizes": [3]}}
    with pytest.raises(BadData, match="digest is .* and was other"):
        rebuild(spec)


def test_arrays_cannot_be_rebuilt():
    task = ([[1.0]], [0], [[1.0]], [0])
    with pytest.raises(BadData, match="'mine' was made from arrays in memory"):
        rebuild(from_arrays([task], name="mine").spec)


def test_no_spec():
    with pytest.raises(BadData, match="it lacks kind, version"):
        rebuild({})


def test_kinds_list_their_options():
    found = kinds()
    own = sorted(set(found) - set(two_tasks.KINDS) - set(ctrl.KINDS))
    assert own == ["concat", "ctrl-long", "drifting", "incremental", "pair", "permuted", "rotated", "split"]
    for kind in found.values():
        assert kind.help
        offered = {"validation", "centred", "normalised", "standardised"} & set(kind.options)
        assert offered == {"normalised"} if kind.name.startswith("ctrl-") else len(offered) == 4
        assert all(isinstance(option, Setting) and option.help for option in kind.options.values())


def test_validation_share():
    made = stream("split", dataset=toy(), validation=0.25)
    assert len(made[0].validation) == 10
    assert len(made.with_validation(0.5)[0].validation) == 20
    assert made.with_validation(0.5).spec == made.spec


@pytest.mark.parametrize(
    "name, message",
    [
        ("splt-digits", "there is no stream 'splt-digits'; did you mean 'split-digits'?"),
        ("permutd", "did you mean 'permuted'?"),
        ("nonsense", "choose one of: concat, ctrl-in, ctrl-long, ctrl-minus, ctrl-out, ctrl-pl, ctrl-plus, d5-5a, "),
        ("nonsense", "incremental, pair, permuted, rotated, split"),
        ("d5-5i-digits", "there is no stream 'd5-5i-digits'; did you mean 'd5-5"),
        ("D5-5a", "did you mean 'd5-5a'?"),
        ("dp10-mnist", "did you mean 'dp10-10-mnist'?"),
        ("d5-5adigits", "did you mean 'd5-5a-digits'?"),
        ("", "there is no stream ''"),
        (None, "there is no stream 'None'"),
        ("split-digit", "there is no dataset 'digit'; did you mean 'digits'?"),
    ],
)
def test_unknown_names(name, message):
    with pytest.raises(UnknownName) as caught:
        stream(name)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["lost.csv", "lost.csv#species", "in/a/lost/folder", "LOST.NPZ"])
def test_a_path_that_is_not_there_is_not_taken_for_a_misspelt_stream(name):
    with pytest.raises(DataUnavailable, match=f"there is no file or folder {name.partition('#')[0]}; give the path"):
        stream(name)


def test_a_file_of_samples_is_not_yet_a_stream(tmp_path):
    path = tmp_path / "flowers.csv"
    path.write_text("length,species\n1,a\n")
    with pytest.raises(BadSetting, match=f"has samples, and a stream has tasks; 'split-{path}#species' makes one"):
        stream(f"{path}#species")


@pytest.mark.parametrize("kind", ["incremental", "pair", "concat"])
def test_unknown_options(kind):
    with pytest.raises(BadSetting, match=f"tasks=3 is not possible: stream '{kind}' says itself which tasks it has"):
        stream(kind, dataset=[toy(), toy()] if kind == "concat" else toy(), tasks=3)


@pytest.mark.parametrize(
    "name, options, message",
    [
        ("split-digits@2", {}, "no version 2; known versions: 1"),
        ("split-digits@new", {}, "no version new"),
        ("split", {}, "needs a dataset; name one, for example 'split-digits'"),
        ("concat", {}, "for example 'concat-digits\\+blobs'"),
        ("split-digits", {"dataset": "mnist"}, "names its dataset already"),
        ("split-digits", {"seed": -1}, "seed=-1"),
        ("split-digits", {"seed": 0.5}, "seed=0.5 is not a whole number"),
        ("split-digits", {"validation": 1.5}, "validation=1.5"),
        ("permuted-digits", {"tasks": "many"}, "tasks='many'"),
        ("split", {"dataset": ["digits", "blobs"]}, "cannot be a list"),
    ],
)
def test_impossible_settings(name, options, message):
    with pytest.raises(BadSetting, match=message):
        stream(name, **options)


def test_datasets_of_one_kind_are_told_apart_by_their_digest():
    one, two = toy(), replace(toy(), digest="two")
    assert stream("split", dataset=one).spec != stream("split", dataset=two).spec


def test_every_kind_is_in_the_catalogue_under_its_own_name():
    assert all(name == kind.name for name, kind in making.KINDS.items())
