"""Code that is unpacked elsewhere is the same code, by its digest, and does what it did."""

from __future__ import annotations

import shutil
import sys
import tempfile

import pytest

from engram.errors import BadSetting
from engram.learners import LEARNERS
from engram.own import pack, unpack

LEARNER = (
    "from engram.learners.finetune import Finetune\n{}\nclass Mine(Finetune):\n    name = 'mine'\n    half = HALF\n"
)


def write(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def elsewhere(monkeypatch):
    """Be a process that has imported nothing of this yet; at the end, too."""
    monkeypatch.setattr(sys, "path", [*sys.path])

    def leave(folder):
        shutil.rmtree(folder)
        LEARNERS.users.clear()
        for name in [name for name in sys.modules if name.partition(".")[0] in ("parcelled", "helpers", "beside")]:
            del sys.modules[name]

    yield leave
    leave(tempfile.mkdtemp())


def test_a_file_and_what_it_imports_from_beside_it(tmp_path, elsewhere):
    write(tmp_path / "here" / "beside.py", "from helpers.more import HALF")
    write(tmp_path / "here" / "helpers" / "__init__.py")
    write(tmp_path / "here" / "helpers" / "more.py", "HALF = 0.5")
    write(tmp_path / "here" / "unrelated.py", "1 / 0")
    place = f"{write(tmp_path / 'here' / 'mine.py', LEARNER.format('from beside import HALF'))}:Mine"
    digest = LEARNERS.origin(LEARNERS.name_of(place)).digest
    parcel = pack(place)
    assert sorted(parcel["files"]) == ["beside.py", "helpers/__init__.py", "helpers/more.py", "mine.py"]
    elsewhere(tmp_path / "here")
    there = unpack(parcel, tmp_path / "there")
    assert there == f"{tmp_path / 'there' / 'mine.py'}:Mine"
    assert LEARNERS[LEARNERS.find_again(there, digest)].half == 0.5


def half_there(place, tmp_path, elsewhere):
    """A module of the folder `here` arrives under its name where that folder is not, with the same digest."""
    sys.path.insert(0, str(tmp_path / "here"))
    digest = LEARNERS.origin(LEARNERS.name_of(place)).digest
    parcel = pack(place)
    elsewhere(tmp_path / "here")
    there = unpack(parcel, tmp_path / "there")
    assert there == place
    assert LEARNERS[LEARNERS.find_again(there, digest)].half == 0.5


def test_a_module_of_a_package_by_its_name(tmp_path, elsewhere):
    write(tmp_path / "here" / "parcelled" / "__init__.py", "from parcelled.first import ONE")
    write(tmp_path / "here" / "parcelled" / "first.py", "ONE = 1")
    write(tmp_path / "here" / "parcelled" / "deep" / "__init__.py")
    write(tmp_path / "here" / "parcelled" / "deep" / "number.py", "HALF = 0.5")
    write(tmp_path / "here" / "parcelled" / "deep" / "mine.py", LEARNER.format("from .number import HALF"))
    half_there("parcelled.deep.mine:Mine", tmp_path, elsewhere)


def test_a_source_that_is_gone_is_a_sentence(tmp_path):
    with pytest.raises(BadSetting, match=r"the source of mine\.py cannot be read any more; put it back"):
        pack(f"{tmp_path / 'mine.py'}:Mine")


def test_a_module_of_a_folder_that_is_a_package_by_name_alone(tmp_path, elsewhere):
    write(tmp_path / "here" / "parcelled" / "mine.py", LEARNER.format("from parcelled.number import HALF"))
    write(tmp_path / "here" / "parcelled" / "number.py", "from helpers.more import HALF")
    write(tmp_path / "here" / "helpers" / "more.py", "HALF = 0.5")
    half_there("parcelled.mine:Mine", tmp_path, elsewhere)
