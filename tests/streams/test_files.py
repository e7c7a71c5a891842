"""Streams of files of one's own: one task a file, in natural order."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import engram
from engram.errors import BadData, BadSetting, UnknownName
from engram.streams import from_files, rebuild, stream


@pytest.fixture
def sessions(tmp_path):
    folder = tmp_path / "sessions"
    folder.mkdir()
    _write(
        folder / "session1.csv", [(n, "red", "ash") for n in range(10)] + [(n, "blue", "oak") for n in range(50, 60)]
    )
    _write(
        folder / "session2.csv", [(n, "red", "ash") for n in range(20, 25)] + [("", "green", "elm") for _ in range(5)]
    )
    _write(folder / "session10.csv", [(n, "blue", "fir") for n in range(100, 105)])
    return folder


def _write(path, rows):
    path.write_text("length,colour,kind\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))


def test_a_file_is_a_task_and_new_labels_are_new_classes(sessions):
    made = stream(str(sessions), label="kind", standardised=False)
    assert made.name == "sessions@1"
    assert made.class_names == ("ash", "elm", "fir", "oak")
    assert [task.classes for task in made] == [(0, 3), (0, 1), (2,)]
    assert [(len(task.train) + len(task.validation), len(task.test)) for task in made] == [(16, 4), (8, 2), (4, 1)]
    x = made[1].train.x
    assert x.shape[1] == 3  # length, and the two colours of the first file, of which green is none
    elm = x[4:]
    first = made.with_validation(0.0)[0].train.x[:, 0]
    assert elm[:, 0].unique().tolist() == [float(first.double().quantile(0.5))]  # the first file's median
    assert elm[:, 1:].sum() == 0


def test_the_first_files_training_rows_decide_the_scale(sessions):
    made = from_files(sessions, label="kind").with_validation(0.0)
    first = made[0].train.x
    assert first.mean(0).abs().max() < 1e-6
    assert (first.std(0, correction=0) - 1).abs().max() < 1e-5
    assert made[2].train.x[:, 0].min() > 2


def test_columns_that_vary_in_what_float32_does_not_hold_are_standardised_before_they_are_rounded(tmp_path):
    draw = np.random.default_rng(0)
    for week in (1, 2):
        rows = [(1.7e9 + 60 * week + n, 1e3 * draw.random() + week, "ab"[n % 2]) for n in range(50)]
        (tmp_path / f"{week}.csv").write_text("time,size,kind\n" + "".join(f"{t:.0f},{s},{k}\n" for t, s, k in rows))
    made = from_files(tmp_path, label="kind").with_validation(0.0)
    time = made[0].train.x[:, 0]
    assert len(time.unique()) == len(time) == 40
    assert abs(float(time.mean())) < 1e-6
    assert float(time.std(correction=0)) == pytest.approx(1, abs=1e-6)
    assert len(made[1].train.x[:, 0].unique()) == 40
    assert made[1].train.x[:, 0].min() > time.max()
    plain = from_files(tmp_path, label="kind", without="time").with_validation(0.0)
    assert all(one.train.x[:, 1].equal(other.train.x[:, 0]) for one, other in zip(made, plain))


def test_test_rows_are_drawn_by_the_seed(sessions):
    def tested(seed):
        return stream(str(sessions), seed=seed, label="kind")[0].test.x.tolist()

    assert tested(0) == tested(0)
    assert len({str(tested(seed)) for seed in range(5)}) > 1


def test_it_is_rebuilt_from_its_spec_while_its_files_are_what_they_were(sessions):
    made = stream(str(sessions), seed=3, label="kind", tasks=2)
    again = rebuild(made.spec)
    assert again.digest() == made.digest()
    assert again.spec == made.spec
    _write(sessions / "session2.csv", [(n, "red", "ash") for n in range(6)])
    with pytest.raises(BadData, match="are not what they were; restore them or make a new stream"):
        rebuild(made.spec)


def test_a_run_on_a_folder(sessions):
    record = engram.run(str(sessions), "ridge", label="kind", tasks=2)
    assert len(record.accuracy[-1]) == 2
    assert record.accuracy[-1][0] == 1.0


def test_images_and_arrays(tmp_path):
    for week, labels in (("week1", "ab"), ("week2", "bc")):
        for label in labels:
            (tmp_path / week / label).mkdir(parents=True)
            for number in range(3):
                Image.new("L", (4, 4), 255).save(tmp_path / week / label / f"{number}.png")
    made = from_files(tmp_path, image_size=2)
    assert made.outline.shape == (1, 2, 2)
    assert made[0].train.batch(slice(None))[0].max() == 1.0
    assert made.class_names == ("a", "b", "c")
    with pytest.raises(BadData, match="has one folder a class, which is a dataset: say 'engram run split --dataset"):
        from_files(tmp_path / "week1")
    np.savez(tmp_path / "week1.npz", x=np.eye(4), y=[0, 0, 1, 1])
    assert from_files([tmp_path / "week1.npz"]).outline.shape == (4,)


@pytest.mark.parametrize("order", [("bytes", "floats"), ("floats", "bytes"), ("floats", "photos")])
def test_images_of_bytes_and_of_other_numbers_are_no_one_stream(tmp_path, order):
    shades, labels = np.arange(4 * 16, dtype=np.uint8).reshape(4, 4, 4), ["a", "a", "b", "b"]
    np.savez(tmp_path / "bytes.npz", x=shades, y=labels)
    np.savez(tmp_path / "floats.npz", x=shades / 255, y=labels)
    for number, label in enumerate(labels):
        (tmp_path / "photos" / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(shades[number]).save(tmp_path / "photos" / label / f"{number}.png")
    paths = [tmp_path / (name if name == "photos" else f"{name}.npz") for name in order]
    with pytest.raises(BadData, match=f"{order[1]}.* has images of .* and .*{order[0]}.npz of .*; save all of them in"):
        from_files(paths)
    rows = (4, 16)  # tables of small numbers are what they are
    np.savez(tmp_path / "bytes.npz", x=shades.reshape(rows), y=labels)
    np.savez(tmp_path / "floats.npz", x=shades.reshape(rows) * 1.0, y=labels)
    assert len(from_files([tmp_path / "bytes.npz", tmp_path / "floats.npz"])) == 2


def test_mistakes(sessions, tmp_path):
    def refused(kind, words, **options):
        with pytest.raises(kind, match=words):
            stream(str(sessions), **{"label": "kind", **options})

    refused(BadData, "session1.csv has no labels; name their column", label="")
    refused(UnknownName, "called 'kin'; did you mean 'kind'", label="kin")
    refused(UnknownName, "setting of a stream of files called 'lable'", lable="kind")
    refused(BadSetting, "tasks=4 is not possible with the 3 files", tasks=4)
    refused(UnknownName, "called 'size'", without="size")
    (sessions / "notes.md").write_text("words")
    with pytest.warns(UserWarning, match="notes.md holds no samples and is left out"):
        assert len(from_files(sessions, label="kind", without="colour")) == 3
    (sessions / "notes.md").unlink()
    (sessions / "session3.csv").write_text("length,kind\n1,ash\n2,ash\n")
    refused(BadData, "session3.csv lacks colour; give the columns of the first file: length, colour")
    (sessions / "session3.csv").write_text("length,colour,kind\nlong,red,ash\n2,red,ash\n")
    refused(BadData, "column 'length' held numbers before and holds 'long' in line 2")
    (sessions / "session3.csv").write_text("length,colour,kind\n1,red,ash\n")
    refused(BadData, "one row of each class, of which none can be held out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadData, match="has no files to learn from"):
        from_files(tmp_path / "empty")


def test_what_is_in_columns_that_are_left_out_does_not_matter(tmp_path):
    for name, rows in (("s1.csv", range(10)), ("s2.csv", range(10, 20))):
        (tmp_path / name).write_text("x;price;y\n" + "".join(f"{n};1,{n};{'ab'[n % 2]}\n" for n in rows))
    assert len(from_files(tmp_path, label="y", without="price")) == 2
    with pytest.raises(BadData, match="decimal comma"):
        from_files(tmp_path, label="y")


def test_files_that_have_rows_of_earlier_ones_are_named_once(tmp_path):
    for week in (1, 2, 3):  # cumulative exports
        _write(tmp_path / f"week{week}.csv", [(n if n != 7 else "", f"c{n}", "ab"[n % 2]) for n in range(40 * week)])
    words = r"40 of the 80 samples of .*week2.csv are in .*week1.csv too \(and so with 1 later file\), so .*; leave"
    with pytest.warns(UserWarning, match=words) as said:
        made = stream(str(tmp_path), label="kind", without="colour", standardised=False)
    assert len(said) == 1
    assert rebuild(made.spec).digest() == made.digest()  # workers do not repeat it
    assert len(from_files(tmp_path, label="kind", tasks=1)) == 1
    (tmp_path / "week3.csv").unlink()
    (tmp_path / "week2.csv").write_text(
        "kind,colour,length\n" + "".join(f"z,c{n},{n}.0\n" for n in range(1, 7)) + "z,new,1\nz,new,2\n"
    )
    with pytest.warns(UserWarning, match="6 of the 8 samples of .*week2.csv are in .*week1.csv too, so"):
        from_files(tmp_path, label="kind")


def test_chance_duplicates_are_not_named(tmp_path):
    draw = np.random.default_rng(0)
    for count, few in ((3000, 8), (400, 60), (60, 30)):  # rows, and different values of two columns
        for week in (1, 2):
            _write(tmp_path / f"{week}.csv", [(*draw.integers(0, few, 2), "ab"[n % 2]) for n in range(count)])
        assert len(from_files(tmp_path, label="kind")) == 2
    for week in (1, 2):  # a cumulative export of rows that say little
        _write(tmp_path / f"{week}.csv", [(n % 5, "red", "ab"[n % 2]) for n in range(50 * week)])
    assert len(from_files(tmp_path, label="kind")) == 2
    _write(tmp_path / "1.csv", [(n, "red", "ab"[n % 2]) for n in range(1000)])
    _write(tmp_path / "2.csv", [(n, "red", "ab"[n % 2]) for n in range(990, 2000)])  # 1 %
    assert len(from_files(tmp_path, label="kind")) == 2


def test_images_and_arrays_that_earlier_files_have_are_named(tmp_path):
    draw = np.random.default_rng(0)
    for week, numbers in ((1, range(8)), (2, range(2, 12))):
        for number in numbers:
            shades = np.random.default_rng(number).integers(0, 255, (4, 4), np.uint8)
            (tmp_path / "photos" / f"week{week}" / "ab"[number % 2]).mkdir(parents=True, exist_ok=True)
            Image.fromarray(shades).save(tmp_path / "photos" / f"week{week}" / "ab"[number % 2] / f"{number}.png")
    with pytest.warns(UserWarning, match="6 of the 10 samples of .*week2 are in .*week1 too"):
        from_files(tmp_path / "photos")
    (tmp_path / "arrays").mkdir()
    x, y = draw.integers(0, 1000, (20, 3)), np.arange(20) % 2
    np.savez(tmp_path / "arrays" / "1.npz", x=x, y=y)
    np.savez(tmp_path / "arrays" / "2.npz", x=np.vstack([x, x + 0.5]), y=np.tile(y, 2))
    with pytest.warns(UserWarning, match="20 of the 40 samples of .*2.npz are in .*1.npz too"):
        from_files(tmp_path / "arrays")


def test_a_folder_does_not_hide_a_stream(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "split-digits").mkdir()
    assert stream("split-digits").spec["kind"] == "split"


def test_vectors_of_bytes_are_standardised_and_not_scaled_once_more(tmp_path):
    draw = np.random.default_rng(0)
    for name in ("1.npz", "2.npz"):
        np.savez(tmp_path / name, x=draw.integers(0, 256, (60, 5)).astype(np.uint8), y=np.arange(60) % 2)
    x, _ = from_files([str(tmp_path / name) for name in ("1.npz", "2.npz")])[0].train.batch(slice(None))
    assert (x.std(0) - 1).abs().max() < 0.2
    bare, _ = from_files([str(tmp_path / "1.npz"), str(tmp_path / "2.npz")], standardised=False)[0].test.batch(
        slice(None)
    )
    assert 0.9 < bare.max() <= 1
