"""A user's own file: what is accepted, and one clear sentence for everything else."""

import io
import zipfile

import numpy as np
import pytest
import torch

from engram import datasets, readers
from engram.datasets import npz
from engram.errors import BadData, DataUnavailable, TooLarge
from engram.readers import blocks

X = np.arange(24, dtype=np.float32).reshape(6, 4)
Y = np.array([0, 1, 2, 0, 1, 2])


@pytest.fixture
def load(tmp_path):
    def save_and_load(**values):
        path = tmp_path / "mine.npz"
        np.savez_compressed(path, **values)
        return datasets.load(path)

    return save_and_load


def with_test(x=X, y=Y, **more):
    return {"x_train": x, "y_train": y, "x_test": x[:3], "y_test": y[:3], **more}


def test_vectors(load):
    found = load(**with_test())
    assert torch.equal(found.x_train, torch.from_numpy(X))
    assert (found.scale, found.classes) == (1.0, ("0", "1", "2"))
    assert found.name.endswith("mine.npz")


@pytest.mark.parametrize(
    "saved, kept, scale",
    [("uint8", "uint8", 1 / 255), ("float16", "float16", 1.0), ("float64", "float32", 1.0), (">f4", "float32", 1.0)]
    + [("int64", "float32", 1.0), ("bool", "float32", 1.0)],
)
def test_number_formats(load, saved, kept, scale):
    found = load(**with_test(X.astype(saved)))
    assert found.x_train.dtype == getattr(torch, kept)
    assert found.scale == scale
    assert np.array_equal(found.x_train.numpy(), X.astype(saved).astype(kept))


@pytest.mark.parametrize(
    "given, shape",
    [((6, 5, 4), (1, 5, 4)), ((6, 5, 4, 3), (3, 5, 4)), ((6, 5, 4, 1), (1, 5, 4)), ((6, 3, 5, 4), (3, 5, 4))]
    + [((6, 2, 5, 4), (2, 5, 4)), ((6, 1, 5, 3), (1, 5, 3))],
)
def test_images_become_channels_first(load, given, shape):
    x = np.random.RandomState(0).randint(0, 256, given).astype(np.uint8)
    found = load(**with_test(x))
    assert found.shape == shape
    expected = x.transpose(0, 3, 1, 2) if given[-1] == shape[0] else x.reshape(6, *shape)
    assert np.array_equal(found.x_train.numpy(), expected)


def test_blocks_do_not_change_the_result(load, monkeypatch):
    x = np.random.RandomState(0).rand(6, 5, 4, 3)
    whole = load(**with_test(x))
    monkeypatch.setattr(blocks, "_BLOCK_BYTES", 500)
    blockwise = load(**with_test(x), ignored=np.zeros(1))
    assert torch.equal(whole.x_train, blockwise.x_train)


def test_fortran_order(load):
    assert np.array_equal(load(**with_test(np.asfortranarray(X))).x_train.numpy(), X)


@pytest.mark.parametrize(
    "labels, names",
    [
        ([7, -1, 300], ("-1", "7", "300")),
        (["dog", "cat", "bird"], ("bird", "cat", "dog")),
        ([b"dog", b"cat", b"bird"], ("bird", "cat", "dog")),
        ([1.0, 2.0, 0.0], ("0", "1", "2")),
    ],
)
def test_labels_are_numbered_in_sorted_order(load, labels, names):
    found = load(**with_test(y=np.array(labels * 2)))
    assert found.classes == names
    order = sorted(range(3), key=lambda k: labels[k])
    assert found.y_train.tolist() == [order.index(k) for k in range(3)] * 2


def test_a_column_of_labels(load):
    assert load(**with_test(y=Y[:, None])).y_train.tolist() == Y.tolist()


def test_class_names(load):
    assert load(**with_test(classes=np.array(["a", "b", "c", "unused"]))).classes == ("a", "b", "c")


def test_without_a_test_set_a_fifth_of_every_class_is_drawn(load, monkeypatch):
    x, y = np.arange(200, dtype=np.float32).reshape(100, 2), np.repeat([0, 1, 2, 3], 25)
    found = load(x=x, y=y)
    assert torch.bincount(found.y_test).tolist() == [5, 5, 5, 5]
    rows = torch.cat([found.x_train, found.x_test])[:, 0] / 2
    assert sorted(rows.tolist()) == list(range(100))
    assert torch.equal(torch.cat([found.y_train, found.y_test]), (rows // 25).long())
    monkeypatch.setattr(blocks, "_BLOCK_BYTES", 64)
    assert torch.equal(load(x=x, y=y, other=y).x_train, found.x_train)


def test_a_single_sample_of_a_class_is_for_training(load):
    found = load(x=X[:3], y=np.array([0, 0, 1]))
    assert sorted(found.y_train.tolist()) == [0, 1]
    assert found.y_test.tolist() == [0]


def test_a_changed_file_is_read_again(load):
    first = load(**with_test())
    second = load(**with_test(X + 1))
    assert first.digest != second.digest
    assert not torch.equal(first.x_train, second.x_train)


NAN = X.copy()
NAN[4, 2] = np.nan
BAD = {
    "nan": (with_test(NAN), "x_train holds nan in row 4"),
    "infinite": (with_test(np.where(np.isnan(NAN), -np.inf, X)), "x_train holds -inf in row 4"),
    "beyond float32": (with_test(X.astype(float) * 1e300), "x_train holds inf in row 0"),
    "empty": (with_test(X[:0], Y[:0]), r"_train has shape \(0,"),
    "no features": (with_test(X[:, :0]), r"x_train has shape \(6, 0\)"),
    "no axis": (with_test() | {"x_train": np.float32(3)}, r"x_train has shape \(\)"),
    "lengths": (with_test(y=Y[:5]), "x_train has 6 samples and y_train has 5 labels"),
    "fractions": (with_test(y=Y + np.array([0, 0, 0, 0.5, 0, 0])), "y_train holds 0.5 in row 3"),
    "nan label": (with_test(y=np.where(Y == 2, np.nan, Y)), "y_train holds nan in row 2"),
    "huge label": (with_test(y=np.array([2**63] * 6, np.uint64)), "y_train holds 9223372036854775808 in row 0"),
    "complex": (with_test(X + 1j), "x_train holds complex64"),
    "complex labels": (with_test(y=Y + 1j), "y_train holds complex128"),
    "text samples": (with_test(X.astype(str)), "x_train holds <U32 instead of real numbers"),
    "one axis": (with_test(X[:, 0]), r"x_train has shape \(6,\)"),
    "five axes": (with_test(X.reshape(6, 1, 1, 2, 2)), r"x_train has shape \(6, 1, 1, 2, 2\)"),
    "two label axes": (with_test(y=np.stack([Y, Y], 1)), r"y_train has shape \(6, 2\)"),
    "shapes": (with_test() | {"x_test": X[:3, :2]}, r"\(4,\) float32 and those of x_test \(2,\) float32"),
    "formats": (with_test() | {"x_test": X[:3].astype(np.uint8)}, "float32 and those of x_test .* uint8"),
    "label kinds": (with_test() | {"y_test": np.array(["0", "1", "2"])}, "y_train holds int64 and y_test <U1"),
    "unseen class": (with_test() | {"y_test": np.array([0, 9, 2])}, "y_test holds the class '9' in row 1"),
    "one class": (with_test(y=Y * 0), "only the class '0'"),
    "no name for a class": (
        with_test(classes=np.array(["a", "b"])),
        "label 2, for which there is none of the 2 classes",
    ),
    "names of no kind": (with_test(classes=np.arange(3)), "classes has shape"),
    "other arrays": ({"images": X}, "holds images; it needs x_train"),
    "dates": (with_test(y=Y.astype("datetime64[D]")), "y_train holds datetime64"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arrays_are_refused_in_one_sentence(load, case):
    values, message = BAD[case]
    with pytest.raises(BadData, match=message) as caught:
        load(**values)
    assert "mine.npz" in str(caught.value)
    assert "\n" not in str(caught.value)


class Trap:
    """Pickled, it would create a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_object_arrays_never_run_code(load, tmp_path):
    with pytest.raises(BadData, match="x_train holds object"):
        load(**with_test() | {"x_train": np.array([Trap(tmp_path / "marker")] * 6, object)})
    assert not (tmp_path / "marker").exists()


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(DataUnavailable, match="there is no file nowhere.npz"):
        datasets.load("nowhere.npz")
    with pytest.raises(BadData, match="has no images; give one folder a class"):
        datasets.load(tmp_path)


def test_a_file_of_another_kind(tmp_path):
    path = tmp_path / "mine.npz"
    path.write_bytes(b"x_train,y_train\n1,2\n")
    with pytest.raises(BadData, match="not a readable .npz file"):
        datasets.load(path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_every_flipped_or_missing_byte_is_noticed_or_harmless(tmp_path, save):
    path = tmp_path / "mine.npz"
    save(path, **with_test())
    good = path.read_bytes()
    reference = npz.read(path, "mine")
    for position in range(0, len(good), 3):
        for bad in (good[:position], good[:position] + bytes([good[position] ^ 1]) + good[position + 1 :]):
            path.write_bytes(bad)
            try:
                found = npz.read(path, "mine")
            except BadData:
                continue
            assert np.array_equal(found.x_train, reference.x_train)
            assert np.array_equal(found.y_train, reference.y_train)


def archive_with(path, member: bytes, name="x_train.npy"):
    np.savez(path, **{key: value for key, value in with_test().items() if f"{key}.npy" != name})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, member)


def test_an_array_that_promises_more_than_it_holds(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10**12, 4)})
    archive_with(tmp_path / "mine.npz", header.getvalue() + b"\0" * 64)
    with pytest.raises(BadData, match="promises 16000000000128 bytes but its entry holds 192"):
        datasets.load(tmp_path / "mine.npz")


def test_an_array_with_negative_sizes(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (-1, -16)})
    archive_with(tmp_path / "mine.npz", header.getvalue() + b"\0" * 64)
    with pytest.raises(BadData, match="x_train"):
        datasets.load(tmp_path / "mine.npz")


def test_a_zip_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(readers.npz, "_SMALL_BYTES", 1 << 20)
    np.savez_compressed(tmp_path / "mine.npz", **with_test(np.zeros((6, 1 << 20), np.uint8)))
    with pytest.raises(TooLarge, match=r"a file of .* kB, would take at least 9\.44 MB of memory and .* is allowed"):
        datasets.load(tmp_path / "mine.npz")
