"""Readers of the official formats, on small files of the same format."""

import gzip
import io
import struct

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat
from toy_entries import entry_of, tar_gz

from engram import datasets
from engram.errors import BadData, DamagedFile

RNG = np.random.RandomState(0)


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def idx_files(train=5, test=2):
    images = RNG.randint(0, 256, (train + test, 28, 28))
    labels = np.arange(train + test) % 10
    parts = [images[:train], labels[:train], images[train:], labels[train:]]
    names = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
    return parts, dict(zip(names, map(idx, parts)))


@pytest.mark.parametrize("packed", [False, True])
def test_idx(install, packed):
    parts, files = idx_files()
    stored = {f"{name}.gz": gzip.compress(raw) for name, raw in files.items()} if packed else files
    install(entry_of("idx", files, labels=tuple("0123456789")), stored)
    found = datasets.load("toy")
    assert found.shape == (1, 28, 28)
    assert np.array_equal(found.x_train.numpy()[:, 0], parts[0])
    assert found.y_test.tolist() == parts[3].tolist()
    assert found.scale == 1 / 255
    assert [row["status"] for row in datasets.verify()] == ["ok"] * 4


@pytest.mark.parametrize("content", [b"", b"\0\0\x0d\x01", b"\0\0\x08\x03\0\0\0\x01", idx(np.zeros((2, 3)))[:-1]])
def test_idx_with_another_content_than_promised(install, content):
    _, files = idx_files()
    files["t10k-images-idx3-ubyte"] = content
    install(entry_of("idx", files), files)
    with pytest.raises(BadData, match="t10k-images-idx3-ubyte"):
        datasets.load("toy")


def test_idx_with_more_labels_than_images(install):
    _, files = idx_files()
    files["train-labels-idx1-ubyte"] = idx(np.zeros(9))
    install(entry_of("idx", files), files)
    with pytest.raises(BadData, match="training files of toy"):
        datasets.load("toy")


def cifar_records(count: int, label_bytes: int) -> tuple[np.ndarray, np.ndarray, bytes]:
    images = RNG.randint(0, 256, (count, 3, 32, 32)).astype(np.uint8)
    labels = RNG.randint(0, 10, (count, label_bytes)).astype(np.uint8)
    return images, labels, np.hstack([labels, images.reshape(count, -1)]).tobytes()


def test_cifar10(install):
    first, second, test = (cifar_records(count, 1) for count in (3, 3, 2))
    files = {"data_batch_1.bin": first[2], "data_batch_2.bin": second[2], "test_batch.bin": test[2]}
    install(entry_of("cifar", files, train=6, test=2), files)
    found = datasets.load("toy")
    assert np.array_equal(found.x_train.numpy(), np.concatenate([first[0], second[0]]))
    assert found.y_train.tolist() == [*first[1][:, 0], *second[1][:, 0]]
    assert np.array_equal(found.x_test.numpy(), test[0])


def test_cifar100_takes_the_fine_label(install):
    train, test = cifar_records(4, 2), cifar_records(2, 2)
    files = {"train.bin": train[2], "test.bin": test[2]}
    install(entry_of("cifar", files, train=4, test=2, classes=100), files)
    found = datasets.load("toy")
    assert found.y_train.tolist() == train[1][:, 1].tolist()
    assert np.array_equal(found.x_test.numpy(), test[0])


def test_cifar_with_another_content_than_promised(install):
    train, test = cifar_records(4, 1)[2], cifar_records(2, 1)[2]
    install(
        entry_of("cifar", {"a.bin": train, "b.bin": test[:-1]}, train=4, test=2), {"a.bin": train, "b.bin": test[:-1]}
    )
    with pytest.raises(BadData, match="b.bin has 6145 bytes"):
        datasets.load("toy")
    install(entry_of("cifar", {"a.bin": train, "b.bin": test}, train=4, test=2, classes=1), {"b.bin": test})
    with pytest.raises(BadData, match="labels up to"):
        datasets.load("toy")


def mat(x: np.ndarray, y: np.ndarray) -> bytes:
    stream = io.BytesIO()
    savemat(stream, {"X": x, "y": y}, do_compression=True)
    return stream.getvalue()


@pytest.mark.parametrize("packed", [False, True])
def test_svhn(install, packed):
    x = RNG.randint(0, 256, (32, 32, 3, 12)).astype(np.uint8)
    y = np.array([1, 10, 3, 9, 10, 2, 4, 5, 6, 7, 8, 1], np.uint8)[:, None]
    files = {"train_32x32.mat": mat(x, y), "test_32x32.mat": mat(x[..., :2], y[:2])}
    stored = {f"{name}.gz": gzip.compress(raw) for name, raw in files.items()} if packed else files
    install(entry_of("svhn", files, labels=tuple("0123456789")), stored)
    found = datasets.load("toy")
    assert np.array_equal(found.x_train.numpy(), x.transpose(3, 2, 0, 1))
    assert found.y_train[:5].tolist() == [1, 0, 3, 9, 0]
    assert found.x_test.shape == (2, 3, 32, 32)


@pytest.mark.parametrize(
    "content",
    [
        b"no MATLAB file",
        mat(np.zeros((32, 32, 3, 2), np.uint8), np.array([[0], [1]])),
        mat(np.zeros((32, 32, 3, 2), np.uint8), np.array([[1]])),
        mat(np.zeros((32, 32, 3, 2)), np.array([[1], [2]])),
        mat(np.zeros((32, 32)), np.array([[1], [2]])),
    ],
)
def test_svhn_with_another_content_than_promised(install, content):
    files = {"train_32x32.mat": content, "test_32x32.mat": content}
    install(entry_of("svhn", files), files)
    with pytest.raises(BadData, match="train_32x32.mat"):
        datasets.load("toy")


def flipped(raw: bytes) -> bytes:
    return raw[:9] + bytes([raw[9] ^ 1]) + raw[10:]


@pytest.mark.parametrize("damage", [flipped, lambda raw: raw[:-1], lambda raw: raw + b"\0", lambda raw: b""])
@pytest.mark.parametrize("packed", [False, True])
def test_damaged_files_are_never_used(install, damage, packed):
    _, files = idx_files()
    bad = {name: damage(raw) for name, raw in files.items()}
    stored = {f"{name}.gz": gzip.compress(raw) for name, raw in bad.items()} if packed else bad
    entry = install(entry_of("idx", files), stored)
    with pytest.raises(DamagedFile, match=rf"expected {entry.files[0].digest} .* found sha256:"):
        datasets.load("toy")
    assert {row["status"] for row in datasets.verify()} == {"damaged"}


def test_a_damaged_gz_is_never_used(install):
    _, files = idx_files()
    stored = {f"{name}.gz": gzip.compress(raw)[:-40] for name, raw in files.items()}
    install(entry_of("idx", files), stored)
    with pytest.raises(DamagedFile, match="bytes until: "):
        datasets.load("toy")


def test_a_gz_that_unpacks_without_end_is_left_early(install):
    _, files = idx_files()
    bomb = gzip.compress(b"\0" * (64 << 20))
    install(entry_of("idx", files), {f"{name}.gz": bomb for name in files})
    with pytest.raises(DamagedFile, match="1048576 bytes and more"):
        datasets.load("toy")


def test_an_intact_copy_elsewhere_is_used_instead_of_a_damaged_one(install, cache):
    _, files = idx_files()
    entry = install(entry_of("idx", files), {name: raw[:-1] for name, raw in files.items()})
    (cache / entry.name).mkdir(parents=True)
    for name, raw in files.items():
        (cache / entry.name / name).write_bytes(raw)
    assert len(datasets.load("toy").y_train) == 5
    assert {row["status"] for row in datasets.verify()} == {"damaged"}


TEXTURES = "dtd.tar.gz"


def jpeg(colours: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(colours).save(stream, "JPEG", quality=100, subsampling=0)
    return stream.getvalue()


def striped(height: int, width: int, lost: int) -> np.ndarray:
    """Grey, but for `lost` black pixels at both ends of the longer side."""
    image = np.full((height, width, 3), 128, np.uint8)
    for end in (slice(lost), slice(-lost, None)):
        image[end if height > width else slice(None), end if width > height else slice(None)] = 0
    return image


def texture_files(**changed: bytes | str) -> dict[str, bytes]:
    inside = {
        "labels/train1.txt": "dotted/a.jpg\nwoven/b.jpg\n",
        "labels/val1.txt": "woven/c.jpg\n",
        "labels/test1.txt": "dotted/d.jpg\n",
        "labels/train2.txt": "dotted/d.jpg\n",
        "images/dotted/a.jpg": jpeg(striped(64, 128, 32)),
        "images/woven/b.jpg": jpeg(striped(192, 96, 48)),
        "images/woven/c.jpg": jpeg(np.full((40, 40, 3), (200, 30, 90), np.uint8)),
        "images/dotted/d.jpg": jpeg(np.full((33, 47, 3), 255, np.uint8)),
        **changed,
    }
    packed = {f"dtd/{name}": text.encode() if isinstance(text, str) else text for name, text in inside.items()}
    return {TEXTURES: tar_gz(packed)}


def textures(install, files, **values):
    install(entry_of("dtd", files, **{"train": 3, "test": 1, "labels": ("dotted", "woven"), **values}), files)
    return datasets.load("toy")


def test_textures_are_the_middle_of_photographs_in_the_order_of_the_lists(install):
    found = textures(install, texture_files())
    assert found.y_train.tolist() == [0, 1, 1]
    assert found.y_test.tolist() == [0]
    assert found.x_train.shape == (3, 3, 32, 32)
    middle = found.x_train[:2, :, 2:-2, 2:-2].numpy()  # stripes are cut away, but for what lies between two pixels
    assert np.abs(middle.astype(int) - 128).max() <= 1
    assert np.abs(found.x_train[2].float().mean((1, 2)).numpy() - (200, 30, 90)).max() < 2
    assert [row["status"] for row in datasets.verify()] == ["ok"]


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"labels/val1.txt": "smooth/c.jpg"}, "dtd.tar.gz does not hold dtd/images/smooth/c.jpg"),
        ({"labels/val1.txt": "bumpy/c.jpg", "images/bumpy/c.jpg": jpeg(striped(40, 50, 2))}, "nobody knows, 'bumpy/c"),
        ({"labels/val1.txt": "woven/b.jpg"}, "lists an image twice"),
        ({"labels/val1.txt": ""}, "lists 2 and 1 images, not 3 and 1"),
        ({"images/woven/c.jpg": b"no image"}, "dtd/images/woven/c.jpg of dtd.tar.gz is not a whole JPEG image"),
    ],
)
def test_textures_with_another_content_than_promised(install, changed, message):
    with pytest.raises((BadData, DamagedFile), match=message):
        textures(install, texture_files(**changed))


def test_a_damaged_archive_is_never_read(install, data):
    files = texture_files()
    entry = entry_of("dtd", files, train=3, test=1, labels=("dotted", "woven"))
    install(entry, {TEXTURES: files[TEXTURES][:-1] + b"?"})
    with pytest.raises(DamagedFile, match="is not the published dtd.tar.gz"):
        datasets.load("toy")
