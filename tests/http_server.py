"""A server that keeps the requests that it gets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Request:
    """A request that came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: str


@dataclass
class KeptRequests:
    """Where the server is, what has come in, and the status that it answers with."""

    port: int
    requests: list[Request] = field(default_factory=list)
    status: int = 202

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def keep_requests() -> Iterator[KeptRequests]:
    """Serve while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            kept.requests.append(Request(self.command, self.path, dict(self.headers), body))
            self.send_response(kept.status)
            self.end_headers()

        do_DELETE = do_POST  # noqa: N815 - the server looks for this name

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept = KeptRequests(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
