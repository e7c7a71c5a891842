"""A file is there whole or not at all."""

from __future__ import annotations

import errno
import os

import pytest

from engram import files
from engram.errors import StoreTrouble


def test_writing_replaces_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "folder" / "file"
    for content in (b"first", b"second"):
        files.write(path, content)
        assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_keeps_the_old_file_and_names_path_and_bytes(call, tmp_path, monkeypatch):
    path = tmp_path / "file"
    files.write(path, b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(StoreTrouble, match=f"disk is full: {path} needs 12345 bytes; free some space"):
        files.write(path, b"x" * 12345)
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    files.write(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_folder_that_is_a_file_is_named(tmp_path):
    (tmp_path / "folder").write_text("in the way")
    with pytest.raises(StoreTrouble, match=r"folder/file cannot be written \(.+\); check the folder's permissions"):
        files.write(tmp_path / "folder" / "file", b"")


@pytest.mark.parametrize("name", ["file", ".writing-file"])
def test_a_pipe_in_the_way_of_a_write_is_replaced(name, tmp_path):
    os.mkfifo(tmp_path / name)
    files.write(tmp_path / "file", b"content")
    assert (tmp_path / "file").read_bytes() == b"content"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_goes_wrong_in_between_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    files.write(path, b"old")

    def half():
        yield b"half of the "
        raise KeyError

    with pytest.raises(KeyError), files.replacing(path) as file:
        file.writelines(half())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
