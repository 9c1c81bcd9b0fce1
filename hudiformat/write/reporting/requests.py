"""Send one HTTP request by the standard library; redirects are not followed."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

_FIRST_REFUSAL = 300


class RequestFailedError(Exception):
    """A request was not answered, or with a status that is no success; the message says which."""


def send_request(method: str, url: str, data: bytes, headers: Mapping[str, str], *, timeout: float) -> None:
    """Send *data* to *url*, and wait at most *timeout* seconds for each part of the answer.

    Raises:
        RequestFailedError: there is no answer, or its status is 300 or more.
    """
    from http.client import HTTPConnection, HTTPException, HTTPSConnection  # noqa: PLC0415 - of those who report alone

    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout)
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    try:
        connection.request(method, path, data, dict(headers))
        answer = connection.getresponse()
        answer.read()
    except (OSError, HTTPException) as error:
        raise RequestFailedError(f"{parts.hostname}: {error or type(error).__name__}") from error
    finally:
        connection.close()
    if answer.status >= _FIRST_REFUSAL:
        raise RequestFailedError(
            f"{parts.hostname}: expected a status below 300, found {answer.status} {answer.reason}"
        )
