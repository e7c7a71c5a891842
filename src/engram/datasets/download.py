"""A small client for files on web servers: impatient, and never led from https to http."""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from email.message import Message
from types import TracebackType
from typing import IO, Any

from engram.errors import DataUnavailable

CONNECT_SECONDS = 5.0


class Body:
    """What a server sends, read as a stream. Stops at `limit` bytes, and says so when the server stops too early."""

    def __init__(self, url: str, timeout: float, limit: int):
        self.url, self.timeout, self.limit, self.received = url, timeout, limit, 0
        self._response = self._guarded(lambda: _opener().open(url, timeout=timeout))
        length = self._response.headers.get("Content-Length", "")
        self.promised = int(length) if length.isdigit() else None
        if self.promised is not None and self.promised > limit:
            self._response.close()
            raise DataUnavailable(f"{url} offers {self.promised} bytes where at most {limit} are expected")

    def read(self, size: int = -1) -> bytes:
        content: bytes = self._guarded(lambda: self._response.read(size) if size >= 0 else self._response.read())
        self.received += len(content)
        if self.received > self.limit:
            raise DataUnavailable(f"{self.url} sends more than the {self.limit} bytes that are expected")
        if not content and size and self.promised is not None and self.received < self.promised:
            raise DataUnavailable(f"{self.url} broke off after {self.received} of {self.promised} bytes")
        return content

    def _guarded(self, action: Any) -> Any:
        try:
            return action()
        except urllib.error.HTTPError as error:
            error.close()
            raise DataUnavailable(f"{self.url} answered {error.code} {error.reason}") from error
        except TimeoutError as error:
            raise DataUnavailable(f"{self.url} sent nothing for {self.timeout:g} s") from error
        except urllib.error.URLError as error:
            raise DataUnavailable(f"{self.url} cannot be reached: {error.reason}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise DataUnavailable(f"{self.url} cannot be read: {error or type(error).__name__}") from error

    def __enter__(self) -> Body:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._response.close()


class _Redirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            raise urllib.error.URLError(f"it leads from https to {newurl}, which is not safe")
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


class _Impatient:
    """A connection that must open within a few seconds, even where data may take longer."""

    def connect(self: Any) -> None:
        patience, self.timeout = self.timeout, min(self.timeout, CONNECT_SECONDS)
        super().connect()  # type: ignore[misc]
        self.sock.settimeout(patience)


class _Http(_Impatient, http.client.HTTPConnection):
    pass


class _Https(_Impatient, http.client.HTTPSConnection):
    pass


class _HttpHandler(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Http, req)


class _HttpsHandler(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Https, req, context=ssl.create_default_context())


def _opener() -> urllib.request.OpenerDirector:
    """Only http and https: urllib's default also follows ftp:, file: and data: addresses."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.UnknownHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
        _Redirects,
        _HttpHandler,
        _HttpsHandler,
    ):
        opener.add_handler(handler())
    return opener
