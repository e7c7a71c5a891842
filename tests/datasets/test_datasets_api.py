"""The catalogue, and what `engram.datasets` promises of every dataset."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from engram import datasets
from engram.datasets import api
from engram.datasets.catalogue import ENTRIES
from engram.datasets.overlap import in_both
from engram.errors import BadSetting, DamagedFile, DataUnavailable, UnknownName

HERE = [name for name in datasets.names() if datasets.describe(name)["available"]]


@pytest.mark.parametrize("name", HERE)
def test_a_dataset_is_what_the_catalogue_says(name):
    """Runs on the real files where ENGRAM_DATA or the cache has them, and always on the embedded ones."""
    found, said = datasets.load(name), datasets.describe(name)
    assert list(found.shape) == said["shape"]
    assert (len(found.x_train), len(found.x_test)) == (said["train"], said["test"])
    assert len(found.classes) == said["classes"]
    for x, y in ((found.x_train, found.y_train), (found.x_test, found.y_test)):
        assert y.dtype == torch.int64
        assert y.unique().tolist() == list(range(said["classes"]))
        assert x.is_contiguous()
        assert len(x) == len(y)
        assert torch.isfinite(x[:100].float()).all()
    assert len(found.digest) == 64
    assert datasets.load(name) is found


@pytest.mark.parametrize("name", HERE)
def test_the_catalogue_names_every_test_sample_that_is_a_training_sample(name):
    found, said = datasets.load(name), datasets.describe(name)
    assert list(found.in_both) == in_both(found.x_train.numpy(), found.x_test.numpy())
    assert said["test_in_train"] == len(found.in_both)


def test_samples_in_both_sets_are_found_by_all_their_bytes():
    x = np.array([[0.0, 1.0], [0.0, 2.0], [3.0, 1.0]], np.float32)
    assert in_both(x, x[[2, 1, 0]]) == [0, 1, 2]
    assert in_both(x[:1], np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], np.float32)) == [1, 2]
    assert in_both(x[:, :, None, None], x[:0, :, None, None]) == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_catalogue_is_complete(entry):
    said = datasets.describe(entry.name)
    assert json.loads(json.dumps(said)) == said
    assert said["licence"]
    assert said["source"]
    sizes = {"sha256": 64, "sha1": 40}
    for file in entry.files:
        algorithm, _, digest = file.digest.partition(":")
        assert len(digest) == sizes[algorithm]
        assert file.bytes > 0
    assert entry.labels == () or len(entry.labels) == entry.classes


def test_listing_does_not_import_torch():
    code = (
        "import sys; from engram import datasets; [datasets.describe(n) for n in datasets.names()]; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], env=os.environ).returncode == 0


def test_unknown_names_get_a_suggestion():
    with pytest.raises(UnknownName, match="did you mean 'mnist'"):
        datasets.load("mnits")
    with pytest.raises(UnknownName):
        datasets.describe("nothing")
    with pytest.raises(UnknownName):
        datasets.fetch("nothing")


def test_only_blobs_has_settings():
    with pytest.raises(BadSetting, match=r"dataset 'digits' has no settings, but noise=3"):
        datasets.load("digits", noise=3)


def test_embedded_and_synthetic_data_need_no_fetching(data):
    assert datasets.fetch("digits") is None
    assert datasets.fetch("blobs") is None
    assert datasets.describe("digits")["available"]


def test_digits_are_split_by_order_of_the_file():
    digits = datasets.load("digits")
    assert digits.x_train.dtype == torch.uint8
    assert digits.x_train.max() * digits.scale == 1.0
    assert torch.bincount(digits.y_test).tolist() == [35, 36, 35, 36, 36, 36, 36, 35, 34, 36]
    assert digits.y_train[:10].tolist() == list(range(10))


def test_data_that_is_not_here_says_what_to_put_where(data):
    assert not datasets.describe("dtd37")["available"]
    with pytest.raises(DataUnavailable) as caught:
        datasets.load("dtd37")
    message = str(caught.value)
    assert "no public address" in message
    assert f"dtd37.npz ({api.find('dtd37').files[0].digest}) into {data / 'dtd37'}" in message
    with pytest.raises(DataUnavailable, match="run 'engram data fetch cifar100'"):
        datasets.load("cifar100")
    with pytest.raises(DataUnavailable, match="install the Debian package dataset-fashion-mnist"):
        raise_missing("fashion-mnist")


def raise_missing(name):
    from engram.datasets import local

    raise local.missing(api.find(name))


def test_a_dataset_without_any_road_cannot_be_fetched(data):
    with pytest.raises(DataUnavailable, match="no public address"):
        datasets.fetch("audioset100")


@pytest.mark.parametrize("variable", ["ENGRAM_DATA", "ENGRAM_CACHE"])
def test_a_wrong_file_of_a_known_name_is_never_loaded(data, cache, variable):
    folder = data if variable == "ENGRAM_DATA" else cache
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dtd37.npz").write_bytes(b"not a dataset")
    with pytest.raises(DamagedFile, match=r"expected sha256:c44914f2.* found sha256:[0-9a-f]{64} \(13 bytes\)"):
        datasets.load("dtd37")
    row = datasets.verify(["dtd37"])[0]
    assert row["status"] == "damaged"
    assert row["expected"] != row["found"]


def test_verify_reports_missing_files(data):
    assert {row["status"] for row in datasets.verify()} == {"missing"}
    assert {row["name"] for row in datasets.verify(["mnist", "svhn"])} == {"mnist", "svhn"}
