"""A user's CSV file or folder of images as a dataset."""

from __future__ import annotations

import statistics

import pytest
from PIL import Image

from engram import datasets
from engram.errors import BadData, BadSetting, DataUnavailable, UnknownName
from engram.streams import rebuild, stream


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "trees.csv"
    path.write_text(
        "length,colour,kind\n" + "".join(f"{n},{'rg'[n % 2]},{'ash oak'.split()[n % 2]}\n" for n in range(20))
    )
    return path


def test_a_table_with_its_label(table):
    found = datasets.load(f"{table}#kind")
    assert found.classes == ("ash", "oak")
    assert found.shape == (3,)
    assert (len(found.x_train), len(found.x_test)) == (16, 4)
    assert datasets.load(f"{table}#kind") is found
    made = stream("split", dataset=f"{table}#kind", tasks=2)
    assert made.name == "split-trees@1"
    assert rebuild(made.spec).digest() == made.digest()
    table.write_text(table.read_text().replace("19,", "190,"))
    with pytest.raises(BadData, match="is not the one that stream"):
        rebuild(made.spec)


def test_the_training_rows_decide_how_columns_become_numbers(table):
    """A median and texts that are those of all rows would be other ones."""
    tested = datasets.load(f"{table}#kind").x_test[:, 0].int().tolist()
    lines = [line.split(",") for line in table.read_text().splitlines()]
    for number in tested:
        lines[1 + number][:2] = ["1000", "only here"]
    gap = next(number for number in range(20) if number not in tested)
    lines[1 + gap][0] = ""
    table.write_text("\n".join(map(",".join, lines)))
    found = datasets.load(f"{table}#kind")
    lengths = [number for number in range(20) if number not in [*tested, gap]]
    assert found.x_train[:, 0].tolist() == [statistics.median(lengths), *lengths]
    assert found.shape == (3,)
    assert found.x_test[:, 1:].sum() == 0


def test_a_folder_of_images(tmp_path):
    for label in ("ash", "oak"):
        (tmp_path / "leaves" / label).mkdir(parents=True)
        for number in range(5):
            Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / "leaves" / label / f"{number}.png")
    found = datasets.load(tmp_path / "leaves")
    assert found.shape == (3, 8, 8)
    assert found.scale == 1 / 255
    assert datasets.load(f"{tmp_path / 'leaves'}#4").shape == (3, 4, 4)
    with pytest.raises(BadSetting, match="'kind' is no size of images"):
        datasets.load(f"{tmp_path / 'leaves'}#kind")


def test_mistakes(table, tmp_path):
    with pytest.raises(BadSetting, match="trees.csv needs the name of its label column; say --label NAME"):
        datasets.load(table)
    with pytest.raises(UnknownName, match="called 'kid'; did you mean 'kind'"):
        datasets.load(f"{table}#kid")
    with pytest.raises(DataUnavailable, match="there is no file .*no.csv"):
        datasets.load(tmp_path / "no.csv")
    (tmp_path / "trees.xlsx").write_text("")
    with pytest.raises(BadData, match="is nothing that can be read as samples"):
        datasets.load(tmp_path / "trees.xlsx")
