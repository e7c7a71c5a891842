"""Fetching by every road, and each way in which a road can fail. The network is a server on this machine."""

import gzip
import http.server
import os
import socket
import subprocess
import sys
import threading
import time

import pytest
from toy_entries import CONTENT, FILES, everything_in, stored, tar_gz

from engram import datasets, files
from engram.datasets import api, download
from engram.datasets.catalogue import Debian, Download, Tarball
from engram.errors import DamagedFile, DataUnavailable


class Server(http.server.ThreadingHTTPServer):
    """Answers each path with bytes, a status code, or whatever a function does with the request."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.asked, self.closing = {}, [], threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        answer = self.server.answers.get(self.path.lstrip("/"), 404)
        if callable(answer):
            answer(self)
        elif isinstance(answer, int):
            self.send_error(answer)
        else:
            self.begin(len(answer))
            self.wfile.write(answer)

    def begin(self, length, code=200, **headers):
        self.send_response(code)
        for name, value in {"Content-Length": str(length), **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Server() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.closing.set()
        server.shutdown()


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_download(fetch, server, cache, suffix):
    server.answers = {f"{name}{suffix}": gzip.compress(raw) if suffix else raw for name, raw in FILES.items()}
    assert fetch(Download(server.url, suffix)) == cache / "toy"
    assert stored(cache / "toy") == FILES
    assert everything_in(cache) == ["toy/one.bin", "toy/two.bin"]
    assert not list(cache.glob(".fetch-*"))
    assert {row["status"] for row in datasets.verify()} == {"ok"}
    assert datasets.describe("toy")["road"] == "cache"


def test_what_is_in_the_cache_is_not_fetched_again(fetch, server):
    server.answers = dict(FILES)
    fetch(Download(server.url))
    fetch(Download(server.url))
    assert server.asked == ["/one.bin", "/two.bin"]


def test_a_damaged_file_in_the_cache_is_replaced(fetch, server, cache):
    server.answers = dict(FILES)
    (cache / "toy").mkdir(parents=True)
    (cache / "toy" / "one.bin").write_bytes(b"damaged")
    fetch(Download(server.url))
    assert stored(cache / "toy") == FILES


def test_engram_data_is_the_first_road(fetch, server, data, cache):
    (data / "toy").mkdir()
    for name, raw in FILES.items():
        (data / "toy" / f"{name}.gz").write_bytes(gzip.compress(raw))
    fetch(Download(server.url))
    assert stored(cache / "toy") == FILES
    assert server.asked == []


def test_debian_package(fetch, tmp_path, cache):
    folder = tmp_path / "usr" / "share"
    folder.mkdir(parents=True)
    for name, raw in FILES.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(raw, 1))
    fetch(Debian("dataset-toy", str(folder)))
    assert stored(cache / "toy") == FILES


def test_the_next_road_brings_what_the_first_did_not(fetch, server, cache):
    server.answers = {"a/one.bin": CONTENT, "b/two.bin": FILES["two.bin"]}
    fetch(Download(server.url + "a/"), Download(server.url + "b/"))
    assert stored(cache / "toy") == FILES
    assert "/b/one.bin" not in server.asked


def test_tarball(fetch, server, cache):
    server.answers = {"toy.tar.gz": tar_gz({f"toy/{name}": raw for name, raw in FILES.items()})}
    fetch(Tarball(server.url + "toy.tar.gz", "toy", 100_000))
    assert stored(cache / "toy") == FILES


def wrong(raw: bytes) -> bytes:
    return raw[:50] + bytes([raw[50] ^ 1]) + raw[51:]


def hang(request):
    request.server.closing.wait(20)


def hang_in_the_middle(request):
    request.begin(len(CONTENT))
    request.wfile.write(CONTENT[:10])
    request.server.closing.wait(20)


def break_off(request):
    request.begin(len(CONTENT))
    request.wfile.write(CONTENT[:100])


def send_without_end(request):
    request.send_response(200)
    request.end_headers()
    try:
        while not request.server.closing.is_set():
            request.wfile.write(b"\0" * (1 << 16))
    except OSError:
        return


FAILURES = {
    "not found": (404, "answered 404 Not Found", DataUnavailable),
    "server error": (500, "answered 500 Internal Server Error", DataUnavailable),
    "hang": (hang, "sent nothing for 0.3 s", DataUnavailable),
    "hang in the middle": (hang_in_the_middle, "sent nothing for 0.3 s", DataUnavailable),
    "broken off": (break_off, "broke off after 100 of 10240 bytes", DataUnavailable),
    "promises too much": (lambda request: request.begin(1 << 40), "offers 1099511627776 bytes", DataUnavailable),
    "sends without end": (send_without_end, r"\(1048576 bytes and more\)", DamagedFile),
    "flipped byte": (wrong(CONTENT), r"expected sha256:.* found sha256:[0-9a-f]{64} \(10240 bytes\)", DamagedFile),
    "short": (CONTENT[:-1], r"expected sha256:.* found sha256:[0-9a-f]{64} \(10239 bytes\)", DamagedFile),
    "empty": (b"", r"expected sha256:.* found sha256:[0-9a-f]{64} \(0 bytes\)", DamagedFile),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_failing_server_leaves_nothing_behind(fetch, server, data, case):
    answer, message, error = FAILURES[case]
    server.answers = {"one.bin": answer}
    started = time.monotonic()
    with pytest.raises(error, match=message) as caught:
        fetch(Download(server.url), timeout=0.3)
    assert time.monotonic() - started < 5
    assert everything_in(data.parent) == []
    assert "\n" not in str(caught.value)
    assert f"into {data / 'toy'}" in str(caught.value)


@pytest.mark.parametrize("damage", [wrong, lambda raw: raw[:-20], lambda raw: raw[:3], lambda raw: b"<html>"])
def test_a_damaged_gz_from_a_server(fetch, server, data, damage):
    server.answers = {"one.bin.gz": damage(gzip.compress(os.urandom(64) + CONTENT))}
    with pytest.raises(DamagedFile, match="expected sha256:.* found sha256:"):
        fetch(Download(server.url, ".gz"))
    assert everything_in(data.parent) == []


@pytest.mark.parametrize(
    "archive, message",
    [
        (tar_gz({"../escaped": b"x", "toy/one.bin": CONTENT}), "refused: its member '../escaped'"),
        (tar_gz({"toy/one.bin": CONTENT}), "does not hold toy/two.bin"),
        (tar_gz({"toy/one.bin": wrong(CONTENT)}), "toy/one.bin of .* expected sha256:.* found sha256:"),
        (tar_gz({"toy/one.bin": CONTENT[:-1]}), "expected sha256:.* found sha256:.*10239 bytes"),
        (tar_gz({"toy/one.bin": CONTENT * 2}), "has 20480 bytes instead of 10240"),
        (tar_gz({"toy/one.bin": CONTENT})[:-30], "not a whole .tar.gz|found sha256"),
        (b"<html>", "not a whole .tar.gz"),
    ],
)
def test_a_bad_archive_leaves_no_bad_file(fetch, server, data, archive, message):
    server.answers = {"toy.tar.gz": archive}
    with pytest.raises(DamagedFile, match=message):
        fetch(Tarball(server.url + "toy.tar.gz", "toy", 100_000))
    assert set(everything_in(data.parent)) <= {"cache/datasets/toy/one.bin"}
    assert all(row["status"] in ("ok", "missing") for row in datasets.verify())


def test_an_archive_that_is_too_large(fetch, server):
    server.answers = {"toy.tar.gz": b"\0" * 2000}
    with pytest.raises(DataUnavailable, match="offers 2000 bytes where at most 1000"):
        fetch(Tarball(server.url + "toy.tar.gz", "toy", 1000))


def test_nobody_listens(fetch):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(DataUnavailable, match="cannot be reached: .*refused"):
        fetch(Download(f"http://127.0.0.1:{port}/"))


def test_redirects_are_followed_but_never_from_https_to_http(fetch, server, cache):
    server.answers = dict(FILES)
    server.answers["old/one.bin"] = lambda request: request.begin(0, 302, Location="/one.bin")
    server.answers["old/two.bin"] = lambda request: request.begin(0, 302, Location="/two.bin")
    fetch(Download(server.url + "old/"))
    assert stored(cache / "toy") == FILES

    from urllib.error import URLError
    from urllib.request import Request

    with pytest.raises(URLError, match="from https to http://elsewhere"):
        download._Redirects().redirect_request(Request("https://a/"), None, 302, "", {}, "http://elsewhere/")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,hello"])
def test_only_web_addresses_are_opened(url):
    with pytest.raises(DataUnavailable, match="cannot be reached"):
        download.Body(url, 1.0, 100)


def test_a_redirect_to_a_local_file_is_not_followed(fetch, server):
    server.answers = {"one.bin": lambda request: request.begin(0, 302, Location="file:///etc/passwd")}
    with pytest.raises(DataUnavailable):
        fetch(Download(server.url))


def test_a_cache_that_cannot_be_written(fetch, server, data, monkeypatch):
    (data.parent / "file").write_bytes(b"")
    monkeypatch.setenv("ENGRAM_CACHE", str(data.parent / "file"))
    server.answers = dict(FILES)
    with pytest.raises(DataUnavailable, match="cannot be written: .*; make room, or set ENGRAM_CACHE"):
        fetch(Download(server.url))


def test_a_full_disk(fetch, server, data, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    server.answers = dict(FILES)
    with pytest.raises(DataUnavailable, match="No space left on device"):
        fetch(Download(server.url))
    assert everything_in(data.parent) == []


def test_litter_of_a_killed_process_is_swept_after_a_day(fetch, server, cache):
    for name, age in ((".fetch-old", 2 * 86400), (".fetch-new", 60)):
        (cache / name).mkdir(parents=True)
        os.utime(cache / name, (time.time() - age,) * 2)
    server.answers = dict(FILES)
    fetch(Download(server.url))
    assert [path.name for path in cache.glob(".fetch-*")] == [".fetch-new"]


CHILD = """
import sys
sys.path.insert(0, sys.argv[2])
from toy_entries import FILES, entry_of
from engram.datasets import roads
from engram.datasets.catalogue import Download
roads.fetch(entry_of("idx", FILES, roads=(Download(sys.argv[1]),)), 10)
"""


def test_several_processes_fetch_at_once(server, cache):
    together = threading.Barrier(3, timeout=20)

    def wait_for_the_others(request):
        together.wait()
        request.begin(len(CONTENT))
        request.wfile.write(CONTENT)

    server.answers = {"one.bin": wait_for_the_others, "two.bin": FILES["two.bin"]}
    command = [sys.executable, "-c", CHILD, server.url, os.path.dirname(__file__)]
    children = [subprocess.Popen(command, env=os.environ) for _ in range(3)]
    assert [child.wait(30) for child in children] == [0, 0, 0]
    assert stored(cache / "toy") == FILES
    assert everything_in(cache) == ["toy/one.bin", "toy/two.bin"]


def test_loading_never_opens_a_connection(data, monkeypatch):
    monkeypatch.setattr(download, "_opener", None)
    for name in ("mnist", "cifar100"):
        with pytest.raises(DataUnavailable, match="is not on this machine"):
            datasets.load(name)
    assert len(datasets.load("digits").classes) == 10


def test_the_platforms_cache_folder(monkeypatch, tmp_path):
    from engram.datasets import local

    monkeypatch.delenv("ENGRAM_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(local.sys, "platform", "linux")
    assert local.cache() == tmp_path / "engram" / "datasets"
    monkeypatch.setattr(local.sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert local.cache() == tmp_path / "local" / "engram" / "datasets"
    assert api.describe("digits")["available"]
