"""Checkpoints come back exactly as they were, appear whole or not at all, and say what is wrong."""

from __future__ import annotations

import os

import pytest
import torch

from engram import checkpoint
from engram.core import State, canonical
from engram.errors import DamagedFile

KEY = "k" * 40
STATE = State({"z": torch.tensor([1.5, -0.0]), "a": torch.arange(6).view(2, 3)}, {"step": 3, "names": [[None, 1]]})


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool]
)
def test_every_number_format_comes_back_bit_for_bit(dtype):
    tensor = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(dtype)
    found = checkpoint.decode(checkpoint.encode(State({"t": tensor}, {}), KEY), KEY, "here").tensors["t"]
    assert found.dtype == dtype
    assert torch.equal(found, tensor)


@pytest.mark.parametrize("tensor", [torch.tensor(3.0), torch.empty(0), torch.arange(12.0)[1:], torch.empty(2, 0)])
def test_every_shape_comes_back_where_torch_would_put_it(tensor):
    found = checkpoint.decode(checkpoint.encode(State({"t": tensor}, {}), KEY), KEY, "here").tensors["t"]
    assert found.shape == tensor.shape
    assert torch.equal(found, tensor)
    assert canonical(found) is found


def test_special_values_keep_their_bits():
    tensor = torch.tensor([float("nan"), float("inf"), -0.0, 1e-45])
    found = checkpoint.decode(checkpoint.encode(State({"t": tensor}, {}), KEY), KEY, "here").tensors["t"]
    assert torch.equal(found.view(torch.int32), tensor.view(torch.int32))


def test_order_and_plain_part_come_back():
    names = [f"private.{k}" for k in (2, 10, 1)] + ["a"]
    state = State({name: torch.zeros(1) for name in names}, STATE.plain)
    found = checkpoint.decode(checkpoint.encode(state, KEY), KEY, "here")
    assert list(found.tensors) == names
    assert found.plain == STATE.plain


def test_the_same_state_is_always_the_same_bytes():
    assert len({checkpoint.encode(STATE, KEY) for _ in range(20)}) == 1


def test_a_checkpoint_of_another_node_is_refused():
    with pytest.raises(DamagedFile, match=r"file\.x belongs to another node \(kkkkkkkkkkkk, not other\)"):
        checkpoint.decode(checkpoint.encode(STATE, KEY), "other", "file.x")


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_a_pipe_or_a_device_is_not_opened(make, tmp_path):
    make(tmp_path / "file")
    with pytest.raises(DamagedFile, match="file is not a regular file; it was not used"):
        checkpoint.read(tmp_path / "file", KEY)
