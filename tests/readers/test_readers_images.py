"""Folders of images, one folder a class."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from engram.errors import BadData, TooLarge
from engram.readers import read


@pytest.fixture
def folder(tmp_path):
    for label, names in (("tit", ("2.png", "10.png")), ("finch", ("1.jpg",))):
        (tmp_path / label).mkdir()
        for name in names:
            Image.new("L", (4, 3), int(name.split(".")[0])).save(tmp_path / label / name)
    return tmp_path


def test_images_in_natural_order_with_their_folder_as_label(folder):
    (folder / ".DS_Store").write_text("hidden")
    (folder / "tit" / ".hidden.png").write_text("hidden")
    table = read(folder)
    assert table.x.shape == (3, 1, 3, 4)
    assert table.x.dtype == np.uint8
    assert table.labels.tolist() == ["finch", "tit", "tit"]
    assert table.x[:, 0, 0, 0].tolist() == [1, 2, 10]
    assert table.place(2) == "the image tit/10.png"


def test_images_become_what_is_declared(folder):
    Image.new("RGB", (8, 8), (10, 20, 30)).save(folder / "finch" / "2.png")
    with pytest.raises(BadData, match="different sizes .3x4 and 8x8.; say what they become: --image-size 32"):
        read(folder)
    table = read(folder, side=(2, 5))
    assert table.x.shape == (4, 3, 2, 5)
    assert table.x[1, :, 0, 0].tolist() == [10, 20, 30]
    assert read(folder, shape=(1, 2, 2)).x.shape == (4, 1, 2, 2)


def test_without_class_folders_there_are_no_labels(folder):
    table = read(folder / "tit", labelled=False)
    assert table.labels is None
    assert len(table) == 2
    with pytest.raises(BadData, match="has images and no folders; give one folder a class"):
        read(folder / "tit")


def test_a_photograph_on_its_side_is_turned(tmp_path):
    (tmp_path / "a").mkdir()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("L", (4, 2), 7).save(tmp_path / "a" / "1.jpg", exif=exif)
    assert read(tmp_path).x.shape == (1, 1, 4, 2)


def test_what_is_wrong_names_the_file(folder, monkeypatch):
    whole = (folder / "tit" / "2.png").read_bytes()
    (folder / "tit" / "2.png").write_bytes(whole[:-30])
    with pytest.raises(BadData, match="2.png is not a whole image"):
        read(folder)
    (folder / "tit" / "2.png").write_text("no image")
    with pytest.raises(BadData, match="2.png is not a whole image"):
        read(folder)
    (folder / "tit" / "2.png").write_bytes(whole)
    monkeypatch.setenv("ENGRAM_MAX_BYTES", "10")
    with pytest.raises(TooLarge, match="say --image-size 32"):
        read(folder)


def test_folders_that_are_laid_out_in_another_way(folder, tmp_path):
    (folder / "tit" / "notes.txt").write_text("words")
    with pytest.warns(UserWarning, match="tit/notes.txt is no image and left out"):
        assert len(read(folder)) == 3
    (folder / "tit" / "notes.txt").unlink()
    (folder / "tit" / "young").mkdir()
    with pytest.raises(BadData, match="the class 'tit' has a folder 'young' in it"):
        read(folder)
    (folder / "tit" / "young").rmdir()
    (folder / "loose.png").write_bytes((folder / "tit" / "2.png").read_bytes())
    with pytest.raises(BadData, match="beside them images such as loose.png"):
        read(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadData, match="has no images"):
        read(tmp_path / "empty")


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.pgm"])
def test_images_of_16_bits_become_8(tmp_path, name):
    Image.fromarray(np.array([[0, 256], [32768, 65535]], np.uint16)).save(tmp_path / name)
    assert read(tmp_path, labelled=False).x.tolist() == [[[[0, 1], [128, 255]]]]


@pytest.mark.parametrize("mode", ["I", "F"])
def test_images_of_32_bits_are_refused(tmp_path, mode):
    Image.new(mode, (2, 2), 7).save(tmp_path / "a.tif")
    with pytest.raises(BadData, match="a.tif has pixels of 32 bits"):
        read(tmp_path, labelled=False)


@pytest.mark.parametrize("error", [TypeError, KeyError, RuntimeError, ZeroDivisionError])
def test_whatever_pillow_says_of_a_damaged_image_is_a_sentence(folder, monkeypatch, error):
    def damaged(*_, **__):
        raise error("bad tag")

    monkeypatch.setattr(Image, "open", damaged)
    with pytest.raises(BadData, match="is not a whole image .*bad tag"):
        read(folder)
