"""A learner's state as one file that proves itself: safetensors and JSON behind our own sha256. Loading runs no code.

    engram-checkpoint 1 <sha256 of the rest>\\n  <safetensors bytes, the plain part and the owner's key in its metadata>

A file appears under its name whole or not at all: temporary file, fsync, rename, fsync of the folder.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
from pathlib import Path

import safetensors
import safetensors.numpy
import safetensors.torch

from engram.core import State
from engram.errors import DamagedFile, StoreTrouble

_MAGIC = b"engram-checkpoint 1 "
_HEADER = len(_MAGIC) + 64 + 1


def encode(state: State, key: str) -> bytes:
    """The bytes of a checkpoint that belongs to `key`."""
    arrays = {name: tensor.detach().contiguous().numpy() for name, tensor in state.tensors.items()}
    body = safetensors.numpy.save(arrays, {"plain": json.dumps(state.plain), "key": key})
    return _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def decode(content: bytes, key: str, where: object) -> State:
    """The state in a checkpoint's bytes, or `DamagedFile`: nothing is used that is not what was written."""
    body = content[_HEADER:]
    if not content.startswith(_MAGIC):
        raise DamagedFile(f"{where} is not a checkpoint; it was not used")
    expected, found = content[len(_MAGIC) : _HEADER - 1].decode("ascii", "replace"), hashlib.sha256(body).hexdigest()
    if expected != found:
        raise DamagedFile(f"{where} is damaged (expected sha256 {expected}, found {found}); it was not used")
    try:
        tensors = safetensors.torch.load(body)
        metadata = json.loads(body[8 : 8 + int.from_bytes(body[:8], "little")])["__metadata__"]
        plain, owner = json.loads(metadata["plain"]), metadata["key"]
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise DamagedFile(f"{where} cannot be read ({error}); it was not used") from error
    if owner != key:
        raise DamagedFile(f"{where} belongs to another node ({owner[:12]}, not {key[:12]}); it was not used")
    return State(tensors, plain)


def write(path: Path, content: bytes) -> None:
    """Put the content under the path, whole or not at all."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise trouble(error, path, len(content)) from error


def trouble(error: OSError, path: Path, size: int) -> StoreTrouble:
    """What went wrong with a file of the store, in a sentence."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreTrouble(f"the disk is full: {path} needs {size} bytes; free some space and run 'engram resume'")
    return StoreTrouble(f"{path} cannot be written ({error.strerror or error}); check the folder's permissions")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
