"""Create an object in one request and, if required, only if it does not exist yet.

pyarrow has no conditional put, so other clients are used: botocore for pyarrow's S3, gcsfs for its Google Cloud
Storage, Azure's own for its Azure, and fsspec's own call for file systems of fsspec.  :func:`make_put` returns None for
all other file systems.
"""

from __future__ import annotations

import importlib.util
import os
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from pyarrow import fs

from hudiformat.storage.azure import azure_put
from hudiformat.storage.fsspec_files import fsspec_of
from hudiformat.storage.fsspec_putting import GcsfsPut, fsspec_put
from hudiformat.storage.protocol import TEMPORARY_PREFIX

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_REFUSALS = ("AccessDenied", "403", "InvalidAccessKeyId", "SignatureDoesNotMatch", "NoSuchBucket")
_REPLACED = ("412", "PreconditionFailed", "409", "ConditionalRequestConflict")
_MISSING = ("404", "NoSuchKey", "NotFound")
_OWNER = "hudiformat-owner"
_ATTEMPTS = 3  # pyarrow's, too
_CONNECT_TIMEOUT, _READ_TIMEOUT = 10.0, 30.0  # seconds, where the file system has none


class Put(Protocol):
    """Creates an object in one request.

    Of several calls without *overwrite* for one path exactly one succeeds if it ``is_conditional``.
    """

    @property
    def is_conditional(self) -> bool: ...

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
    if filesystem.type_name == "gcs":
        return _gcs_put(filesystem)
    if filesystem.type_name == "abfs":
        return azure_put(filesystem.__reduce__()[1][0])
    if (wrapped := fsspec_of(filesystem)) is not None:
        return HdfsPut(wrapped) if hasattr(getattr(wrapped, "client", None), "list_status") else fsspec_put(wrapped)
    return None


@dataclass(frozen=True, slots=True)
class HdfsPut:
    """A file that is written under a temporary name and renamed, which on HDFS is one step that can refuse or replace.

    *filesystem* is that of hdfs-native, whose ``mv`` takes *overwrite*.
    """

    filesystem: AbstractFileSystem
    is_conditional: bool = True

    def __call__(self, path: str, data: bytes, *, overwrite: bool) -> None:
        folder = path.rpartition("/")[0]
        temporary = f"{folder}/{TEMPORARY_PREFIX}{uuid.uuid4()}"
        self.filesystem.makedirs(folder, exist_ok=True)
        try:
            with self.filesystem.open(temporary, "wb") as file:
                file.write(data)
            self.filesystem.mv(temporary, path, overwrite=overwrite)
        except BaseException as error:
            with suppress(OSError):
                self.filesystem.rm_file(temporary)
            if isinstance(error, RuntimeError | OSError) and "already exists" in str(error):
                raise FileExistsError("File exists") from error
            raise


@dataclass(frozen=True, slots=True)
class GcsPut:
    """Google Cloud Storage's upload with ``ifGenerationMatch=0``, by gcsfs, with the settings of pyarrow's client."""

    settings: tuple[tuple[str, Any], ...]
    is_conditional: bool = True

    def __call__(self, path: str, data: bytes, *, overwrite: bool) -> None:
        _gcs_client(os.getpid(), self.settings).pipe_file(path, data, mode="overwrite" if overwrite else "create")

    def get(self, path: str) -> tuple[bytes, str] | None:
        """See :meth:`hudiformat.storage.versions.Versions.get`."""
        return GcsfsPut(_gcs_client(os.getpid(), self.settings)).get(path)

    def put(self, path: str, data: bytes, version: str | None) -> str | None:
        """See :meth:`hudiformat.storage.versions.Versions.put`."""
        return GcsfsPut(_gcs_client(os.getpid(), self.settings)).put(path, data, version)

    def __repr__(self) -> str:
        return "GcsPut()"  # the settings contain tokens


def _gcs_put(filesystem: fs.FileSystem) -> GcsPut | None:
    settings = filesystem.__reduce__()[1][0]
    if importlib.util.find_spec("gcsfs") is None or settings["target_service_account"]:
        return None  # gcsfs would need the account's credentials in another form
    names = ("access_token", "anonymous", "scheme", "endpoint_override", "project_id")
    return GcsPut(tuple((name, settings.get(name)) for name in names))


@lru_cache(maxsize=16)
def _gcs_client(_process: int, settings: tuple[tuple[str, Any], ...]) -> Any:
    """Return a client with pyarrow's settings, one per process: a forked process must not share its connections."""
    # Not the class of the same name in gcsfs, which asks for the kind of each bucket by gRPC, for a minute if in vain.
    from gcsfs.core import GCSFileSystem  # noqa: PLC0415 - an extra

    given = dict(settings)
    more: dict[str, Any] = {"token": "anon"} if given["anonymous"] else {}
    if given["access_token"]:
        from google.oauth2.credentials import Credentials  # noqa: PLC0415 - an extra

        more["token"] = Credentials(given["access_token"])
    if given["endpoint_override"]:
        more["endpoint_url"] = f"{given['scheme'] or 'https'}://{given['endpoint_override']}"
    if given["project_id"]:
        more["project"] = given["project_id"]
    return GCSFileSystem(skip_instance_cache=True, use_listings_cache=False, **more)


@dataclass(frozen=True, slots=True)
class S3Put:
    """S3's PutObject, with ``If-None-Match: *`` if nothing may be overwritten.

    A request whose answer is lost is repeated, and then fails because its own object exists.  So a new object has a
    random id in its metadata, from which a failed request is known to have succeeded.

    Source: S3 API, PutObject, conditional writes.
    """

    settings: tuple[tuple[str, Any], ...]
    is_conditional: bool = True

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

    def get(self, path: str) -> tuple[bytes, str] | None:
        """See :meth:`hudiformat.storage.versions.Versions.get`."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - an extra

        bucket, _, key = path.partition("/")
        try:
            found = _s3_client(os.getpid(), self.settings).get_object(Bucket=bucket, Key=key)
            return found["Body"].read(), str(found["ETag"])
        except (ClientError, BotoCoreError) as error:
            if _error_code(error) in _MISSING:
                return None
            raise OSError(str(error)) from error

    def put(self, path: str, data: bytes, version: str | None) -> str | None:
        """See :meth:`hudiformat.storage.versions.Versions.put`."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - an extra

        bucket, _, key = path.partition("/")
        condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
        client = _s3_client(os.getpid(), self.settings)
        try:
            return str(client.put_object(Bucket=bucket, Key=key, Body=data, **condition)["ETag"])
        except (ClientError, BotoCoreError) as error:
            if _error_code(error) in (*_REPLACED, *_MISSING):
                return None
            raise OSError(str(error)) from error

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
    from botocore import UNSIGNED  # noqa: PLC0415 - botocore is optional
    from botocore.config import Config  # noqa: PLC0415 - botocore is optional

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
