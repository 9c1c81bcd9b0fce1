"""Create an object in one request and, if required, only if it does not exist yet.

pyarrow has no conditional put, so other clients are used: botocore for pyarrow's S3, and fsspec's own call for file
systems of fsspec.  :func:`make_put` returns None for all other file systems.
"""

from __future__ import annotations

import importlib.util
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from pyarrow import fs

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_REFUSALS = ("AccessDenied", "403", "InvalidAccessKeyId", "SignatureDoesNotMatch", "NoSuchBucket")
_MISSING = ("404", "NoSuchKey", "NotFound")
_OWNER = "hudiformat-owner"
_ATTEMPTS = 3  # pyarrow's, too
_CONNECT_TIMEOUT, _READ_TIMEOUT = 10.0, 30.0  # seconds, where the file system has none


class Put(Protocol):
    """Creates an object in one request."""

    def __call__(self, path: str, data: bytes, *, overwrite: bool) -> None:
        """Put *data* at *path*.

        Raises:
            FileExistsError: the object exists, and *overwrite* is false.
            OSError: the object cannot be created.
        """
        ...


def make_put(filesystem: fs.FileSystem) -> Put | None:
    """Return the function that puts objects of *filesystem*; None if there is none."""
    if isinstance(filesystem, fs.S3FileSystem):
        return _s3_put(filesystem)
    if (wrapped := fsspec_of(filesystem)) is not None:
        return FsspecPut(wrapped)
    return None


def fsspec_of(filesystem: fs.FileSystem) -> AbstractFileSystem | None:
    """Return the file system of fsspec that *filesystem* wraps; None if it wraps none."""
    if isinstance(filesystem, fs.PyFileSystem) and isinstance(filesystem.handler, fs.FSSpecHandler):
        return filesystem.handler.fs
    return None


@dataclass(frozen=True, slots=True)
class FsspecPut:
    """The call that s3fs, gcsfs and adlfs have for conditional puts."""

    filesystem: AbstractFileSystem

    def __call__(self, path: str, data: bytes, *, overwrite: bool) -> None:
        self.filesystem.pipe_file(path, data, mode="overwrite" if overwrite else "create")


@dataclass(frozen=True, slots=True)
class S3Put:
    """S3's PutObject, with ``If-None-Match: *`` if nothing may be overwritten.

    A request whose answer is lost is repeated, and then fails because its own object exists.  So a new object has a
    random id in its metadata, from which a failed request is known to have succeeded.

    Source: S3 API, PutObject, conditional writes.
    """

    settings: tuple[tuple[str, Any], ...]

    def __call__(self, path: str, data: bytes, *, overwrite: bool) -> None:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - an extra

        bucket, _, key = path.partition("/")
        where, owner = {"Bucket": bucket, "Key": key}, uuid.uuid4().hex
        condition = {} if overwrite else {"IfNoneMatch": "*", "Metadata": {_OWNER: owner}}
        client = _s3_client(os.getpid(), self.settings)
        try:
            client.put_object(**where, Body=data, **condition)
        except (ClientError, BotoCoreError) as error:
            code = _error_code(error)
            if overwrite or code in _REFUSALS:
                raise OSError(str(error)) from error
            try:
                found = client.head_object(**where)["Metadata"].get(_OWNER)
            except (ClientError, BotoCoreError) as second:
                if _error_code(second) in _MISSING:
                    raise OSError(str(error)) from error
                raise OSError(f"{error}; it is not known whether the object was created") from error
            if found == owner:
                return
            raise FileExistsError("File exists") from error

    def __repr__(self) -> str:
        return "S3Put()"  # the settings contain passwords


def _error_code(error: Exception) -> str:
    """Return S3's code of an error; empty if S3 has not answered."""
    response: Mapping[str, Any] = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", ""))


def _time_out(given: float | None, default: float) -> float:
    """Return a time-out in seconds; pyarrow's settings have -1 for a missing one."""
    return given if given is not None and given > 0 else default


def _s3_put(filesystem: fs.S3FileSystem) -> S3Put | None:
    if importlib.util.find_spec("botocore") is None:
        return None
    # pyarrow pickles the arguments of the file system's constructor.
    settings = filesystem.__reduce__()[1][0]
    if settings["role_arn"] or settings["proxy_options"]["host"]:
        return None  # botocore would need the role's or proxy's settings in another form
    return S3Put(tuple((name, settings.get(name)) for name in _SETTINGS))


_SETTINGS = (
    "access_key",
    "secret_key",
    "session_token",
    "anonymous",
    "region",
    "scheme",
    "endpoint_override",
    "force_virtual_addressing",
    "tls_ca_file_path",
    "connect_timeout",
    "request_timeout",
)


@lru_cache(maxsize=16)
def _s3_client(_process: int, settings: tuple[tuple[str, Any], ...]) -> Any:
    """Return a client with pyarrow's settings, one per process: a forked process must not share its connections."""
    import botocore.session  # noqa: PLC0415 - an extra
    from botocore import UNSIGNED  # noqa: PLC0415
    from botocore.config import Config  # noqa: PLC0415

    given = dict(settings)
    endpoint = given["endpoint_override"] or None
    if endpoint and "://" not in endpoint:
        endpoint = f"{given['scheme']}://{endpoint}"
    config = Config(
        signature_version=UNSIGNED if given["anonymous"] else None,
        s3={"addressing_style": "path" if endpoint and not given["force_virtual_addressing"] else "virtual"},
        ignore_configured_endpoint_urls=True,  # pyarrow has applied them
        connect_timeout=_time_out(given["connect_timeout"], _CONNECT_TIMEOUT),
        read_timeout=_time_out(given["request_timeout"], _READ_TIMEOUT),
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        request_checksum_calculation="when_required",  # not every service knows checksums in trailers
    )
    return botocore.session.get_session().create_client(
        "s3",
        region_name=given["region"],
        endpoint_url=endpoint,
        aws_access_key_id=given["access_key"] or None,
        aws_secret_access_key=given["secret_key"] or None,
        aws_session_token=given["session_token"] or None,
        verify=given["tls_ca_file_path"] or None,
        config=config,
    )
