"""Objects that are put whole, in one request, and if asked only where there is none yet.

pyarrow has no conditional put, so this goes another way: botocore for pyarrow's S3, and fsspec's own call for file
systems of fsspec.  Where there is no such way, :func:`put_of` returns None.
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from pyarrow import fs

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_PRECONDITION_FAILED = ("PreconditionFailed", "412")
_ATTEMPTS = 3  # pyarrow's, too


class Put(Protocol):
    """Makes an object appear whole."""

    def __call__(self, path: str, data: bytes, *, overwrite: bool) -> None:
        """Put *data* at *path*.  Raises FileExistsError without *overwrite*, where there is one, and OSError."""
        ...


def put_of(filesystem: fs.FileSystem) -> Put | None:
    """How objects of *filesystem* are put, if there is a way."""
    if isinstance(filesystem, fs.S3FileSystem):
        return _s3_put(filesystem)
    if (wrapped := fsspec_of(filesystem)) is not None:
        return FsspecPut(wrapped)
    return None


def fsspec_of(filesystem: fs.FileSystem) -> AbstractFileSystem | None:
    """The file system of fsspec that pyarrow's wraps, if it does."""
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
    """S3's PutObject, with ``If-None-Match: *`` where nothing may be overwritten.

    A request whose answer is lost is sent again, and then finds its own object: whoever is told that the file exists
    looks whether it is his.

    Source: S3 API, PutObject, conditional writes.
    """

    settings: tuple[tuple[str, Any], ...]

    def __call__(self, path: str, data: bytes, *, overwrite: bool) -> None:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - an extra

        bucket, _, key = path.partition("/")
        condition = {} if overwrite else {"IfNoneMatch": "*"}
        client = _s3_client(os.getpid(), self.settings)
        try:
            client.put_object(Bucket=bucket, Key=key, Body=data, **condition)
        except ClientError as error:
            if error.response["Error"]["Code"] in _PRECONDITION_FAILED:
                raise FileExistsError("File exists") from error
            raise OSError(str(error)) from error
        except BotoCoreError as error:
            raise OSError(str(error)) from error

    def __repr__(self) -> str:
        return "S3Put()"  # the settings have passwords


def _s3_put(filesystem: fs.S3FileSystem) -> S3Put | None:
    if importlib.util.find_spec("botocore") is None:
        return None
    # What pyarrow pickles are the arguments that the file system was made with.
    settings = filesystem.__reduce__()[1][0]
    if settings["role_arn"] or settings["proxy_options"]["host"]:
        return None  # roles that pyarrow assumes, and proxies: not handed on
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
)


@lru_cache(maxsize=16)
def _s3_client(_process: int, settings: tuple[tuple[str, Any], ...]) -> Any:
    """A client as pyarrow's; one for each process, for a fork must not share its connections."""
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
        ignore_configured_endpoint_urls=True,  # pyarrow has looked at them
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
