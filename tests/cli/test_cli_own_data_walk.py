"""The commands of docs/own-data.md, one after another, as a new user would type them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_iris

PAGE = Path(__file__).parents[2] / "docs" / "own-data.md"
COMMANDS = re.findall(r"^    \$ engram (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture
def files(tmp_path):
    """Irises as birds: the third species is there from the second week on."""
    x, y = load_iris(return_X_y=True)
    names = np.array(["finch", "tit", "robin"])

    def write(name: str, rows: np.ndarray, labelled: bool = True) -> None:
        lines = ["length,width,wing,tail" + ",species" * labelled]
        lines += [",".join([*map(str, x[row]), *[names[y[row]]] * labelled]) for row in rows]
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("\n".join(lines) + "\n")

    rows = np.random.default_rng(0).permutation(len(y))
    write("week1.csv", rows[y[rows] < 2][:60])
    write("week2.csv", rows[y[rows] > 0][60:])
    write("wrong.csv", rows[:10])
    write("new.csv", rows[:20], labelled=False)
    for name in ("holdout.csv", "all.csv", "sessions/s1.csv", "sessions/s2.csv", "sessions/s10.csv"):
        write(name, rows)
    for label, grey in (("dark", 0), ("light", 200)):
        (tmp_path / "photos" / label).mkdir(parents=True)
        for number in range(5):
            Image.new("L", (16, 12), grey + number).save(tmp_path / "photos" / label / f"{number}.png")


def test_the_walk(engram, files, tmp_path):
    said = {command: engram(*shlex.split(command)) for command in COMMANDS}
    assert len(COMMANDS) >= 11
    assert {command: one.err for command, one in said.items() if one.code} == {}
    assert "new: robin" in said["learn birds.engram week2.csv"].out
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == 21
    assert engram("predict", "birds.engram", "new.csv", "--json").json["rows"][0]["label"] in ("finch", "tit")
