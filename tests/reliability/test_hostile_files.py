"""Damaged and hostile files where a checkpoint should be: detected, never used, nothing executed, quickly."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import random
import struct
import time
import warnings
import zipfile

import numpy as np
import pytest
import torch

from engram import checkpoint
from engram.core import State
from engram.errors import DamagedFile
from engram.request import prepare
from engram.store import Store
from engram.tree import grow

STATE = State({"w": torch.arange(50.0), "b": torch.zeros(3)}, {"step": 2})
GOOD = checkpoint.encode(STATE, "n")


class Bomb:
    """Creates a marker file if anybody unpickles it."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return (open, (self.marker, "w"))


def signed(body: bytes) -> bytes:
    """What an attacker can do: our own magic and a right digest before anything."""
    return b"engram-checkpoint 1 " + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def with_header(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(shape, start, end):
    return {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}


def torch_file(value) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def object_array(marker) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([Bomb(marker)], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def zip_bomb() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", bytes(50_000_000))
    return buffer.getvalue()


def hostile(marker) -> dict[str, bytes]:
    meta = {"__metadata__": {"engram": json.dumps({"key": "n", "names": ["w"], "plain": {}})}}
    return {
        "pickle": pickle.dumps(Bomb(marker)),
        "torch": torch_file({"w": Bomb(marker)}),
        "object array": object_array(marker),
        "zip bomb": zip_bomb(),
        "header of 4 GB": with_header(b"{}", length=4 << 30),
        "header of 2**63": with_header(b"{}", length=(1 << 63) - 1),
        "overlapping tensors": with_header({**meta, "w": tensor([2], 0, 8), "v": tensor([2], 4, 12)}, bytes(12)),
        "hole between tensors": with_header({**meta, "w": tensor([1], 4, 8)}, bytes(8)),
        "negative shape": with_header({**meta, "w": tensor([-1], 0, 4)}, bytes(4)),
        "huge shape": with_header({**meta, "w": tensor([1 << 40, 1 << 40], 0, 4)}, bytes(4)),
        "short data": with_header({**meta, "w": tensor([8], 0, 32)}, bytes(4)),
        "unknown type": with_header({**meta, "w": {**tensor([1], 0, 4), "dtype": "PICKLE"}}, bytes(4)),
        "no metadata": with_header({"w": tensor([1], 0, 4)}, bytes(4)),
        "a name without tensor": with_header(meta),
        "plain is no JSON": with_header({"__metadata__": {"engram": "__import__('os')"}}),
        "plain is a list": with_header({"__metadata__": {"engram": "[1]"}}),
        "deep JSON": with_header({"__metadata__": {"engram": "[" * 100_000}}),
        "no JSON": with_header(b"\xff\xfe not json"),
        "empty": b"",
    }


@pytest.mark.parametrize("sign", [False, True])
@pytest.mark.parametrize("name", hostile("x"))
def test_hostile_content_is_refused_quickly_and_runs_nothing(name, sign, tmp_path):
    marker, path = tmp_path / "marker", tmp_path / "file"
    content = hostile(marker)[name]
    path.write_bytes(signed(content) if sign else content)
    began = time.monotonic()
    with pytest.raises(DamagedFile, match="it was not used"):
        checkpoint.read(path, "n")
    assert time.monotonic() - began < 2
    assert not marker.exists()


def test_the_bomb_is_live(tmp_path):
    """The test above can fail: unpickling does create the marker."""
    pickle.loads(pickle.dumps(Bomb(tmp_path / "marker"))).close()
    assert (tmp_path / "marker").exists()


def test_a_huge_file_that_is_no_checkpoint_is_not_read(tmp_path):
    with (tmp_path / "file").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(DamagedFile, match="is not a checkpoint"):
        checkpoint.read(tmp_path / "file", "n")


def test_every_truncation_is_detected():
    for length in range(len(GOOD)):
        with pytest.raises(DamagedFile):
            checkpoint.decode(GOOD[:length], "n", "file")


def test_every_appended_byte_is_detected():
    for extra in (b"\0", b"\n", GOOD):
        with pytest.raises(DamagedFile):
            checkpoint.decode(GOOD + extra, "n", "file")


def test_every_flipped_bit_is_detected():
    for bit in range(8 * len(GOOD)):
        flipped = bytearray(GOOD)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(DamagedFile):
            checkpoint.decode(bytes(flipped), "n", "file")


def test_random_bytes_are_detected():
    chance = random.Random(0)
    for length in (1, 10, 84, 85, 86, 200, 5000):
        for start in (b"", b"engram-checkpoint 1 "):
            with pytest.raises(DamagedFile):
                checkpoint.decode(start + chance.randbytes(length), "n", "file")


@pytest.mark.parametrize("name", ["pickle", "torch", "zip bomb", "header of 4 GB", "empty"])
def test_a_run_goes_on_past_a_hostile_checkpoint_to_the_same_bits(name, tmp_path):
    """In the place of a parent's checkpoint, and of both positions inside the lesson."""
    run = prepare("split-digits", "finetune", settings={"widths": "12-10", "batch": 96})
    first = run.root.child([0], run.grid[0])
    second = first.child([1], run.grid[0])
    whole, attacked, marker = Store(tmp_path / "whole"), Store(tmp_path / "attacked"), tmp_path / "marker"
    expected = grow(second, whole).parameters_sha256
    grow(first, attacked)
    (attacked.folder / "partial").mkdir(exist_ok=True)
    attacked._checkpoint(first.key).write_bytes(hostile(marker)[name])
    for slot in (0, 1):
        attacked._partial(second.key, slot).write_bytes(signed(hostile(marker)[name]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert grow(second, attacked).parameters_sha256 == expected
    assert len([w for w in caught if "it was not used" in str(w.message)]) >= 3
    assert not marker.exists()
    whole.close()
    attacked.close()
