"""A learner's state as one file that proves itself: safetensors and JSON behind our own sha256. Loading runs no code.

engram-checkpoint 1 <sha256 of the rest>\\n  <safetensors bytes, the plain part and the owner's key in its metadata>
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from pathlib import Path

import safetensors
import safetensors.numpy
import safetensors.torch

from engram.core import State, canonical
from engram.errors import DamagedFile

_MAGIC = b"engram-checkpoint 1 "
_HEADER = len(_MAGIC) + 64 + 1


def encode(state: State, key: str) -> bytes:
    """The bytes of a checkpoint that belongs to `key`."""
    return b"".join(parts(state, key))


def parts(state: State, key: str) -> tuple[bytes, bytes]:
    """The same in two parts, of which the second is large: joining them would take as much memory again."""
    arrays = {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in state.tensors.items()}
    # One entry, since several would be written in random order; with the names, since safetensors sorts the tensors.
    rest = json.dumps({"key": key, "names": list(arrays), "plain": state.plain})
    body = safetensors.numpy.save(arrays, {"engram": rest})
    return _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n", body


def decode(content: bytes, key: str, where: object) -> State:
    """The state in a checkpoint's bytes, or `DamagedFile`: nothing is used that is not what was written."""
    return _decode(content[:_HEADER], content[_HEADER:], key, where)


def _decode(start: bytes, body: bytes, key: str, where: object) -> State:
    if not start.startswith(_MAGIC):
        newer = re.match(rb"engram-checkpoint (\d+) ", start)
        what = f"of format {newer[1].decode()}, which a newer Engram reads" if newer else "not a checkpoint"
        raise DamagedFile(f"{where} is {what}; it was not used")
    expected, found = start[len(_MAGIC) :].decode("ascii", "replace"), hashlib.sha256(body).hexdigest() + "\n"
    if expected != found:
        raise DamagedFile(
            f"{where} is damaged (expected sha256 {expected.strip()}, found {found.strip()}); it was not used"
        )
    try:
        tensors = safetensors.torch.load(body)
        metadata = json.loads(body[8 : 8 + int.from_bytes(body[:8], "little")])["__metadata__"]
        rest = json.loads(metadata["engram"])
        plain, owner = rest["plain"], str(rest["key"])
        tensors = {name: canonical(tensors.pop(name)) for name in rest["names"]}  # they lie wherever they were read
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedFile(f"{where} cannot be read ({error}); it was not used") from error
    if owner != key:
        raise DamagedFile(f"{where} belongs to another node ({owner[:12]}, not {key[:12]}); it was not used")
    return State(tensors, plain)


def owner(path: Path) -> str | None:
    """Whose checkpoint a file says it is, without a look at the rest; None where it does not say."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        if not file.read(_HEADER).startswith(_MAGIC):
            return None
        size = int.from_bytes(file.read(8), "little")
        try:
            metadata = json.loads(file.read(min(size, os.path.getsize(path))))["__metadata__"]
            return str(json.loads(metadata["engram"])["key"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return None


def digest(path: Path) -> str | None:
    """What the file says its sha256 is: another one for every other content. None where there is no checkpoint."""
    try:
        with path.open("rb") as file:
            start = file.read(_HEADER)
    except FileNotFoundError:
        return None
    return start[len(_MAGIC) :].decode("ascii", "replace").strip() if start.startswith(_MAGIC) else ""


def read(path: Path, key: str) -> State:
    """The state in a file. What does not begin like a checkpoint is refused before it is read, however large it is;
    a pipe or a device is not even opened."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise DamagedFile(f"{path} is not a regular file; it was not used")
    with path.open("rb") as file:
        start = file.read(_HEADER)
        return _decode(start, file.read() if start.startswith(_MAGIC) else b"", key, path)
