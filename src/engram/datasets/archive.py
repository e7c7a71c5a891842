"""Named members of a .tar.gz, as streams. Nothing is unpacked to disk here, and no name in the archive becomes a path.

`tarfile` itself is not used to walk the archive: its way to extract could be made to write outside its folder
(CVE-2025-4517), and its reader takes headers of any promised length into memory.
"""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from engram.datasets.digest import CHUNK
from engram.errors import DamagedFile

_BLOCK = 512
_MOST_MEMBERS = 10_000
_MOST_BYTES = 1 << 30
_MOST_EXTENDED_BYTES = 1 << 16
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile)
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE)
_EXTENDED = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


class Member:
    """The bytes of one member, readable until the next one is asked for."""

    def __init__(self, stream: gzip.GzipFile, size: int, where: str):
        self._stream, self.left, self._where = stream, size, where

    def read(self, size: int = -1) -> bytes:
        size = self.left if size < 0 else min(size, self.left)
        try:
            content = self._stream.read(size)
        except _BROKEN as error:
            raise _not_whole(self._where, error) from error
        if size and not content:
            raise _not_whole(self._where, "it ends inside a member")
        self.left -= len(content)
        return content


def members(path: Path, wanted: Mapping[str, int], where: str) -> Iterator[tuple[str, Member]]:
    """Each wanted member with its bytes. `wanted` maps names to the most bytes they may have.

    An archive with anything but plain files and folders in it, or with names that lead outside, is refused as a whole.
    """
    missing = dict(wanted)
    try:
        with gzip.open(path, "rb") as stream:
            for info in _headers(stream, where):
                member = Member(stream, info.size, where)
                if info.name in wanted:
                    _refuse_unexpected(info, missing.pop(info.name, None), where)
                    yield info.name, member
                member.left += -info.size % _BLOCK
                while member.left:
                    member.read(CHUNK)
    except _BROKEN as error:
        raise _not_whole(where, error) from error
    if missing:
        raise DamagedFile(f"{where} does not hold {', '.join(missing)}")


def _headers(stream: gzip.GzipFile, where: str) -> Iterator[tarfile.TarInfo]:
    count, total = 0, 0
    for block in iter(lambda: stream.read(_BLOCK), b""):
        if not any(block):
            return
        info = _header(block, where)
        count, total = count + 1, total + info.size
        if count > _MOST_MEMBERS or total > _MOST_BYTES:
            raise DamagedFile(f"{where} is refused: it promises {count} members with {total} bytes or more")
        _refuse_hostile(info, where)
        yield info


def _header(block: bytes, where: str) -> tarfile.TarInfo:
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        raise _not_whole(where, error) from error


def _refuse_hostile(info: tarfile.TarInfo, where: str) -> None:
    name = info.name
    extended = info.type in _EXTENDED and info.size <= _MOST_EXTENDED_BYTES
    outside = name.startswith("/") or "\\" in name or ":" in name or ".." in name.split("/")
    if outside or info.size < 0 or not (info.type in _PLAIN or extended):
        raise DamagedFile(f"{where} is refused: its member {name!r} is not a plain file inside the archive")


def _refuse_unexpected(info: tarfile.TarInfo, most: int | None, where: str) -> None:
    if most is None:
        raise DamagedFile(f"{where} is refused: it holds {info.name!r} twice")
    if not info.isreg() or info.size > most:
        raise DamagedFile(f"{where} is refused: its member {info.name!r} has {info.size} bytes instead of {most}")


def _not_whole(where: str, why: object) -> DamagedFile:
    return DamagedFile(f"{where} is not a whole .tar.gz: {why}")
