"""Hostile and damaged archives: nothing is unpacked but the named plain files."""

import gzip
import io
import tarfile

import pytest

from engram.datasets import archive
from engram.errors import DamagedFile

WANTED = {"folder/a.bin": 5}


def tar_of(path, *parts: tuple[tarfile.TarInfo, bytes], form=tarfile.USTAR_FORMAT):
    with tarfile.open(path, "w:gz", format=form) as tar:
        for info, content in parts:
            tar.addfile(info, io.BytesIO(content))
    return path


def member(name="folder/a.bin", content=b"hello", **values) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in values.items():
        setattr(info, key, value)
    return info, content


def read(path, wanted=WANTED):
    return {name: stream.read() for name, stream in archive.members(path, wanted, "the archive")}


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_named_members_are_read_and_others_skipped(tmp_path, form):
    long_name = "folder/" + "ä" * 150 if form != tarfile.USTAR_FORMAT else "folder/b"
    folder = member("folder", b"", type=tarfile.DIRTYPE)
    path = tar_of(tmp_path / "a.tgz", folder, member(long_name, b"x" * 1000), member(), member("c"), form=form)
    assert read(path) == {"folder/a.bin": b"hello"}


def test_a_member_that_was_not_read_is_skipped(tmp_path):
    path = tar_of(tmp_path / "a.tgz", member(), member("folder/b.bin", b"world"))
    names = [name for name, _ in archive.members(path, {"folder/a.bin": 5, "folder/b.bin": 5}, "the archive")]
    assert names == ["folder/a.bin", "folder/b.bin"]


HOSTILE = {
    "parent": member("../a.bin"),
    "deep parent": member("folder/../../a.bin"),
    "absolute": member("/folder/a.bin"),
    "Windows path": member("folder\\a.bin"),
    "Windows drive": member("C:a.bin"),
    "symbolic link": member("link", b"", type=tarfile.SYMTYPE, linkname="/etc"),
    "wanted as a symbolic link": member(content=b"", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "hard link": member("link", b"", type=tarfile.LNKTYPE, linkname="/etc/passwd"),
    "device": member("device", b"", type=tarfile.CHRTYPE),
    "pipe": member("pipe", b"", type=tarfile.FIFOTYPE),
    "sparse": member("sparse", b"", type=tarfile.GNUTYPE_SPARSE),
    "too large": member(content=b"hello!"),
    "wanted as a folder": member(content=b"", type=tarfile.DIRTYPE),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_members_are_refused(tmp_path, case):
    path = tar_of(tmp_path / "a.tgz", HOSTILE[case], member("folder/b.bin"))
    with pytest.raises(DamagedFile, match="the archive is refused: its member"):
        read(path)
    assert [found.name for found in tmp_path.iterdir()] == ["a.tgz"]


def headers_only(path, *infos: tarfile.TarInfo):
    path.write_bytes(gzip.compress(b"".join(info.tobuf(tarfile.GNU_FORMAT) for info in infos) + b"\0" * 1024))
    return path


@pytest.mark.parametrize("name", ["folder/a.bin", "folder/other.bin"])
def test_huge_promises_are_refused_at_once(tmp_path, name):
    info = tarfile.TarInfo(name)
    info.size = 100 << 30
    with pytest.raises(DamagedFile, match="refused"):
        read(headers_only(tmp_path / "a.tgz", info))


def test_a_huge_extended_header_is_refused_at_once(tmp_path):
    info = tarfile.TarInfo("header")
    info.type, info.size = tarfile.XHDTYPE, 1 << 29
    with pytest.raises(DamagedFile, match="refused"):
        read(headers_only(tmp_path / "a.tgz", info))


def test_a_million_members_are_refused(tmp_path):
    block = tarfile.TarInfo("empty").tobuf(tarfile.USTAR_FORMAT)
    (tmp_path / "a.tgz").write_bytes(gzip.compress(block * 20_000))
    with pytest.raises(DamagedFile, match="promises 10001 members"):
        read(tmp_path / "a.tgz")


def test_a_name_that_comes_twice_is_refused(tmp_path):
    with pytest.raises(DamagedFile, match="'folder/a.bin' twice"):
        read(tar_of(tmp_path / "a.tgz", member(), member(content=b"other")))


def test_a_missing_member(tmp_path):
    with pytest.raises(DamagedFile, match="does not hold folder/a.bin"):
        read(tar_of(tmp_path / "a.tgz", member("folder/b.bin")))


def test_every_cut_is_noticed_or_harmless(tmp_path):
    files = {"folder/a.bin": b"hello", "folder/b.bin": bytes(range(256)) * 8}
    good = tar_of(tmp_path / "good.tgz", *(member(*file) for file in files.items())).read_bytes()
    noticed = 0
    for length in range(0, len(good), 5):
        (tmp_path / "cut.tgz").write_bytes(good[:length])
        try:
            assert read(tmp_path / "cut.tgz", {name: len(content) for name, content in files.items()}) == files
        except DamagedFile:
            noticed += 1
    assert noticed > 50


def test_something_else_than_an_archive(tmp_path):
    (tmp_path / "a.tgz").write_bytes(gzip.compress(b"<html>not found</html>" * 100))
    with pytest.raises(DamagedFile, match="not a whole .tar.gz"):
        read(tmp_path / "a.tgz")
