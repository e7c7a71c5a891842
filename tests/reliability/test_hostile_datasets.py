"""Files that are not what they say, where a dataset should be: one sentence, within 2 s and 200 MB."""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

from engram import datasets
from engram.errors import EngramError, TooLarge

MOST_SECONDS, MOST_KILOBYTES = 2, 200_000
X, Y = np.arange(24, dtype=np.float32).reshape(6, 4), np.array([0, 1, 2] * 2)
GOOD = {"x_train": X, "y_train": Y, "x_test": X[:3] + 100, "y_test": Y[:3]}
LOAD = """
import resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
from engram import datasets
from engram.errors import EngramError
try:
    print("loaded", len(datasets.load(sys.argv[1]).x_train))
except EngramError as error:
    print(error)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(time.process_time(), peak.split()[1])
"""


def header(shape: str, descr: str = "'<f4'") -> bytes:
    """The beginning of an .npy file that says anything."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def save(path, members: dict[str, bytes] | None = None, **arrays):
    """The good arrays with some of them replaced, by others or by bytes under a name of one's own."""
    members = members or {}
    kept = {name: a for name, a in {**GOOD, **arrays}.items() if not {name, f"{name}.npy"} & set(members)}
    np.savez_compressed(path, **kept)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def zeros(path, name: str, dtype: str, shape: tuple[int, ...]):
    """An array of so many zeros, packed without ever being whole in memory."""
    start, left = header(repr(shape), repr(dtype)), int(np.prod(shape)) * np.dtype(dtype).itemsize
    save(path, {f"{name}.npy": b""})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for other, values in GOOD.items():
            if other != name:
                with archive.open(f"{other}.npy", "w") as member:
                    np.save(member, values)
        with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
            member.write(start)
            while left:
                member.write(bytes(min(left, 1 << 20)))
                left -= min(left, 1 << 20)


def many_entries(path):
    save(path)
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(5000):
            archive.writestr(f"{number}.npy", b"")


def sparse(path):
    with open(path, "wb") as file:
        file.truncate(1 << 40)


LONG_HEADER = b"\x93NUMPY\x02\x00" + (200_000_000).to_bytes(4, "little")
HOSTILE = {
    "an entry without .npy": (lambda path: save(path, {"x_train": b"1"}), "it needs x_train"),
    "a shape of booleans": (
        lambda path: save(path, {"x_train.npy": header("(True, True)") + bytes(4)}), "(True, True)"),
    "text beyond Unicode": (
        lambda path: save(path, {"y_train.npy": header("(6,)", "'<U1'") + b"\xff\xff\xff\x7f" * 6}), "0x7fffffff"),
    "half a character": (
        lambda path: save(path, {"y_train.npy": header("(6,)", "'<U1'") + b"\x00\xd8\x00\x00" * 6}), "0xd800"),
    "a class name beyond Unicode": (
        lambda path: save(path, {"classes.npy": header("(3,)", "'<U1'") + b"\xff\xff\xff\x7f" * 3}), "0x7fffffff"),
    "a header without end": (
        lambda path: save(path, {"x_train.npy": LONG_HEADER + b" " * 200_000_000}), "not a NumPy array"),
    "a header of brackets": (lambda path: save(path, {"x_train.npy": header("(" * 50_00)}), "not a NumPy array"),
    "268 MB of int8": (lambda path: zeros(path, "x_train", "|i1", (6, (1 << 28) // 6)), "ENGRAM_MAX_BYTES="),
    "268 MB of labels": (lambda path: zeros(path, "y_train", "|i1", (1 << 28,)), "ENGRAM_MAX_BYTES="),
    "268 MB of text labels": (lambda path: zeros(path, "y_train", f"<U{(1 << 28) // 24}", (6,)), "ENGRAM_MAX_BYTES="),
    "268 MB of class names": (lambda path: zeros(path, "classes", f"<U{(1 << 28) // 12}", (3,)), "ENGRAM_MAX_BYTES="),
    "5000 entries": (many_entries, "it needs x_train"),
    "a FIFO": (os.mkfifo, "is not a file"),
    "a folder": (os.mkdir, "is not a file"),
    "/dev/zero": (lambda path: os.symlink("/dev/zero", path), "is not a file"),
    "/dev/random": (lambda path: os.symlink("/dev/random", path), "is not a file"),
    "a sparse file of 1 TB": (sparse, "not a readable .npz file"),
}  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, pipes and devices")
@pytest.mark.parametrize("case", HOSTILE)
def test_one_sentence_in_little_time_and_memory(case, tmp_path):
    make, says = HOSTILE[case]
    path = tmp_path / "mine.npz"
    make(path)
    done = subprocess.run([sys.executable, "-c", LOAD, str(path)], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    sentence, used = done.stdout.splitlines()
    seconds, kilobytes = map(float, used.split())
    assert "mine.npz" in sentence
    assert says in sentence
    assert len(sentence) < 500 + len(str(path))
    assert seconds < MOST_SECONDS
    assert kilobytes < MOST_KILOBYTES


@pytest.mark.parametrize("name", ["a" * 300, "a" * 300 + ".npz", "a/" * 5000, "~nobody-of-this-name/x.npz", "a\0b.npz"])
def test_a_name_that_can_be_no_file(name):
    with pytest.raises(EngramError, match="there is no "):
        datasets.load(name)


def test_the_limit_can_be_raised_and_lowered(tmp_path, monkeypatch):
    zeros(tmp_path / "mine.npz", "x_train", "|i1", (6, 5_000_000))
    with pytest.raises(TooLarge, match=r"would take at least 120 MB of memory and \d+\.\d MB is allowed") as caught:
        datasets.load(tmp_path / "mine.npz")
    enough = str(caught.value).split("ENGRAM_MAX_BYTES=")[1].split()[0]
    monkeypatch.setenv("ENGRAM_MAX_BYTES", str(int(enough) - 1))
    with pytest.raises(TooLarge, match="ENGRAM_MAX_BYTES allows"):
        datasets.load(tmp_path / "mine.npz")
    monkeypatch.setenv("ENGRAM_MAX_BYTES", enough)
    with pytest.raises(EngramError, match="save both alike"):  # it was read
        datasets.load(tmp_path / "mine.npz")
    monkeypatch.setenv("ENGRAM_MAX_BYTES", "much")
    with pytest.raises(EngramError, match="ENGRAM_MAX_BYTES='much' is not a whole number"):
        datasets.load(tmp_path / "mine.npz")


def test_what_the_arrays_take_is_counted_in_their_final_format(tmp_path, monkeypatch):
    """Numbers become float32 (4 bytes), labels int64 (8); bytes of text become characters of 4 bytes."""
    for arrays, needed in (
        ({}, 4 * 24 + 8 * 6 + 4 * 12 + 8 * 3),
        ({"x_train": X.astype(np.int8), "x_test": X[:3].astype(np.int8)}, 4 * 24 + 8 * 6 + 4 * 12 + 8 * 3),
        ({"x_train": X.astype(np.uint8), "x_test": X[:3].astype(np.uint8)}, 24 + 8 * 6 + 12 + 8 * 3),
        ({"y_train": Y.astype("S2"), "y_test": Y[:3].astype("S2")}, 4 * 36 + (8 + 8) * 9),
        ({"classes": np.array(["a", "b", "c"])}, 4 * 36 + 8 * 9 + (4 + 8) * 3),
    ):
        save(tmp_path / f"{needed}.npz", **arrays)
        monkeypatch.setenv("ENGRAM_MAX_BYTES", str(needed - 1))
        with pytest.raises(TooLarge, match=f"ENGRAM_MAX_BYTES={needed} "):
            datasets.load(tmp_path / f"{needed}.npz")
        monkeypatch.setenv("ENGRAM_MAX_BYTES", str(needed))
        assert len(datasets.load(tmp_path / f"{needed}.npz").x_train) == 6


def test_many_classes_are_divided_in_linear_time(tmp_path):
    """With 200,000 classes of two samples the square of it took 20 s."""
    labels = np.arange(200_000).repeat(2)
    np.savez(tmp_path / "mine.npz", x=labels[:, None].astype(np.float32), y=labels)
    began = time.process_time()
    assert len(datasets.load(tmp_path / "mine.npz").y_test) == 200_000
    assert time.process_time() - began < 5


def array_bytes(values: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values)
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["x_train", "y_train", "classes"])
def test_whatever_an_array_says_of_itself_the_answer_is_data_or_our_own_error(name, tmp_path):
    """Bytes changed before they are packed, so that no checksum gives them away."""
    chance, loaded, said = random.Random(0), 0, []
    arrays = {**GOOD, "classes": np.array(["a", "b", "c"])}
    good = array_bytes(arrays[name])
    for number in range(300):
        content = bytearray(good)
        for _ in range(chance.choice((1, 1, 2, 5))):
            place = chance.randrange(len(content)) if chance.random() < 0.3 else chance.randrange(6, 80)
            content[place] = chance.choice((0, 255, chance.randrange(256), *b"0123456789()[],'-<>|OUSTFc "))
        path = tmp_path / f"{number}.npz"
        save(path, {f"{name}.npy": bytes(content)}, **arrays)
        try:
            datasets.load(path)
            loaded += 1
        except EngramError as error:
            said.append(str(error))
    assert all("\n" not in sentence and str(tmp_path) in sentence for sentence in said)
    assert 0 < loaded < 300  # neither answer is the only one that was ever given
