"""A proxy in front of a server that speaks S3, which does to single requests what networks and services do."""

from __future__ import annotations

import contextlib
import http.client
import socket
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

_ERROR = '<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>injected</Message></Error>'


class Kind(Enum):
    """What happens to a request."""

    ERROR_500 = "500, not done"
    ERROR_500_DONE = "500, but done"
    ERROR_503 = "503 slow down"
    NO_ANSWER = "no answer, not done"
    ANSWER_LOST = "no answer, but done"
    LATE = "no answer, done later"
    RESET = "reset, not done"
    RESET_DONE = "reset, but done"
    HALF_REQUEST = "reset in the request's body"
    HALF_ANSWER = "reset in the answer's body"
    SLOW = "slow answer"
    TWICE = "done twice"


@dataclass(frozen=True, slots=True)
class Fault:
    """*kind* happens to *count* requests that follow each other, the first of them number *at*."""

    kind: Kind
    at: int
    count: int = 1

    def hits(self, number: int) -> bool:
        """Whether the request of this number is one of them."""
        return self.at <= number < self.at + self.count


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer of the server."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Proxy(ThreadingHTTPServer):
    """Passes requests on to the server on *port*; ``fault`` is done to some of them, ``count`` have come.

    Requests without an answer are held for *hold* seconds, which is longer than clients wait.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, *, hold: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream = port
        self.hold = hold
        self.fault: Fault | None = None
        self.count = 0
        self._lock = threading.Lock()
        self._late: list[threading.Thread] = []

    @property
    def endpoint(self) -> str:
        """Its address, as a URL."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def begin(self, fault: Fault | None) -> None:
        """Count from 0 again, and do *fault* from now on."""
        self.settle()
        with self._lock:
            self.fault, self.count = fault, 0

    def settle(self) -> None:
        """Wait for what is done later; no more faults."""
        with self._lock:
            self.fault, late, self._late = None, self._late, []
        for thread in late:
            thread.join()

    def next_kind(self) -> Kind | None:
        """What is to happen to the request that has just come."""
        with self._lock:
            number, self.count = self.count, self.count + 1
            return self.fault.kind if self.fault is not None and self.fault.hits(number) else None

    def later(self, request: Request) -> None:
        """Do a request once nobody waits for it any more."""

        def run() -> None:
            time.sleep(self.hold)
            request.send(self.upstream)

        thread = threading.Thread(target=run)
        with self._lock:
            self._late.append(thread)
        thread.start()

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients give up and go away: that is no error here."""


@dataclass(frozen=True, slots=True)
class Request:
    """A whole request."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def send(self, port: int) -> Answer:
        """The answer of the server."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.putrequest(self.method, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers:
                if name.lower() not in ("transfer-encoding", "connection", "expect"):
                    connection.putheader(name, value)
            if not any(name.lower() == "content-length" for name, _ in self.headers) and self.body:
                connection.putheader("Content-Length", str(len(self.body)))
            connection.endheaders(self.body or None)
            answer = connection.getresponse()
            return Answer(answer.status, tuple(answer.getheaders()), answer.read())
        finally:
            connection.close()


class Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        kind = self._proxy.next_kind()
        if kind in (Kind.RESET, Kind.HALF_REQUEST):
            self.rfile.read(int(self.headers.get("Content-Length") or 0) // 2 if kind is Kind.HALF_REQUEST else 0)
            self._reset()
            return
        request = Request(self.command, self.path, tuple(self.headers.items()), self._body())
        if kind in (Kind.ERROR_500, Kind.ERROR_503, Kind.NO_ANSWER, Kind.LATE):
            if kind is Kind.LATE:
                self._proxy.later(request)
            self._fail(kind)
            return
        answer = request.send(self._proxy.upstream)
        if kind is Kind.TWICE:
            answer = request.send(self._proxy.upstream)
        if kind in (Kind.ERROR_500_DONE, Kind.ANSWER_LOST, Kind.RESET_DONE):
            self._fail(kind)
        else:
            self._answer(answer, kind)

    def _fail(self, kind: Kind) -> None:
        if kind in (Kind.ERROR_500, Kind.ERROR_500_DONE):
            self._error(500, "InternalError")
        elif kind is Kind.ERROR_503:
            self._error(503, "SlowDown")
        elif kind is Kind.RESET_DONE:
            self._reset()
        else:
            self._hold()

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _serve  # noqa: N815 - the base class's names

    @property
    def _proxy(self) -> Proxy:
        return cast("Proxy", self.server)

    def _body(self) -> bytes:
        if "chunked" not in (self.headers.get("Transfer-Encoding") or ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(self, answer: Answer, kind: Kind | None) -> None:
        lines = [f"HTTP/1.1 {answer.status} {http.client.responses.get(answer.status, '')}"]
        names = {name.lower() for name, _ in answer.headers}
        lines += [f"{name}: {value}" for name, value in answer.headers if name.lower() != "transfer-encoding"]
        if "content-length" not in names:
            lines.append(f"Content-Length: {len(answer.body)}")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        data = head if self.command == "HEAD" else head + answer.body
        if kind is Kind.HALF_ANSWER:
            has_body = len(data) > len(head)
            self.wfile.write(data[: len(head) + len(answer.body) // 2] if has_body else data[: len(head) // 2])
            return self._reset()
        if kind is Kind.SLOW:
            step = max(len(data) // 8, 1)
            for start in range(0, len(data), step):
                self.wfile.write(data[start : start + step])
                self.wfile.flush()
                time.sleep(self._proxy.hold / 16)
            return None
        self.wfile.write(data)
        return None

    def _error(self, status: int, code: str) -> None:
        body = b"" if self.command == "HEAD" else _ERROR.format(code=code).encode()
        self._answer(Answer(status, (("Content-Type", "application/xml"),), body), None)

    def _hold(self) -> None:
        """Wait until the client has gone away, and do not answer."""
        self.connection.settimeout(self._proxy.hold)
        with contextlib.suppress(OSError):
            self.connection.recv(1)
        self._reset()

    def _reset(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def log_message(self, *_arguments: object) -> None:
        """Nothing is printed."""


@contextlib.contextmanager
def proxy_of(port: int, *, hold: float) -> Iterator[Proxy]:
    """A proxy at work, for as long as the block lasts."""
    proxy = Proxy(port, hold=hold)
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.settle()
        proxy.shutdown()
        proxy.server_close()
        thread.join()
