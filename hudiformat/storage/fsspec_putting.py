"""The objects of file systems of fsspec, which are put in one request, and on conditions where the store knows them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_NOT_FOUND, _CONFLICT, _PRECONDITION_FAILED = 404, 409, 412


@dataclass(frozen=True, slots=True)
class FsspecPut:
    """The call that s3fs, gcsfs and adlfs have for conditional puts."""

    filesystem: AbstractFileSystem

    @property
    def is_conditional(self) -> bool:
        """Whether the file system has a call of its own: that of fsspec looks first, and then overwrites."""
        kinds = [kind for kind in type(self.filesystem).__mro__ if {"pipe_file", "_pipe_file"} & vars(kind).keys()]
        return bool(kinds) and not kinds[0].__module__.startswith("fsspec.")

    def __call__(self, path: str, data: bytes, *, overwrite: bool) -> None:
        """Put *data* at *path*; see :class:`hudiformat.storage.putting.Put`."""
        self.filesystem.pipe_file(path, data, mode="overwrite" if overwrite else "create")


@dataclass(frozen=True, slots=True)
class TaggedPut(FsspecPut):
    """The objects of s3fs and adlfs, whose versions are ETags; see :class:`hudiformat.storage.versions.Versions`."""

    def get(self, path: str) -> tuple[bytes, str] | None:
        """See :meth:`hudiformat.storage.versions.Versions.get`."""
        version = self._tag(path)
        while version is not None:
            try:
                data = self.filesystem.cat_file(path)
            except FileNotFoundError:
                return None
            # A content and its tag come by two requests: they belong together if the tag is the same behind them.
            before, version = version, self._tag(path)
            if version == before:
                return bytes(data), version
        return None

    def put(self, path: str, data: bytes, version: str | None) -> str | None:
        """See :meth:`hudiformat.storage.versions.Versions.put`."""
        condition = {"mode": "create"} if version is None else _if_tag_is(self.filesystem, version)
        try:
            answer = self.filesystem.pipe_file(path, data, **condition)
        except (FileExistsError, FileNotFoundError):
            return None
        except Exception as error:
            if _is_refusal(error):
                return None
            raise error if isinstance(error, OSError) else OSError(str(error)) from error
        return _tag_in(answer)

    def _tag(self, path: str) -> str | None:
        try:
            return _tag_in(self.filesystem.info(path, refresh=True))
        except FileNotFoundError:
            return None


@dataclass(frozen=True, slots=True)
class GcsfsPut(FsspecPut):
    """The objects of gcsfs, whose versions are generations; see :class:`hudiformat.storage.versions.Versions`."""

    def get(self, path: str) -> tuple[bytes, str] | None:
        """See :meth:`hudiformat.storage.versions.Versions.get`."""
        client, (bucket, _, name) = cast("Any", self.filesystem), path.partition("/")
        where = f"b/{bucket}/o/{quote(name, safe='')}"
        try:
            generation = str(client.call("GET", where, json_out=True)["generation"])
            _, data = client.call("GET", f"{client.base}{where}", alt="media", generation=generation)
        except Exception as error:
            if _status(error) == _NOT_FOUND:
                return None
            raise OSError(str(error)) from error
        return bytes(data), generation

    def put(self, path: str, data: bytes, version: str | None) -> str | None:
        """See :meth:`hudiformat.storage.versions.Versions.put`."""
        client, (bucket, _, name) = cast("Any", self.filesystem), path.partition("/")
        part = "\r\n--hudiformat"
        body = (
            f"--hudiformat\r\nContent-Type: application/json\r\n\r\n{json.dumps({'name': name})}{part}\r\n"
            "Content-Type: application/octet-stream\r\n\r\n"
        ).encode()
        try:
            answer = client.call(
                "POST",
                f"{client.base.partition('/storage/v1/')[0]}/upload/storage/v1/b/{quote(bucket)}/o",
                uploadType="multipart",
                ifGenerationMatch=version or "0",
                headers={"Content-Type": "multipart/related; boundary=hudiformat"},
                data=body + data + f"{part}--".encode(),
                json_out=True,
            )
        except FileExistsError:
            return None
        except Exception as error:
            if _status(error) in (_PRECONDITION_FAILED, _CONFLICT, _NOT_FOUND):
                return None
            raise OSError(str(error)) from error
        return str(answer["generation"])


def _status(error: Exception) -> int | None:
    """Return the status of a request of gcsfs that has failed."""
    if isinstance(error, FileNotFoundError):
        return _NOT_FOUND
    code = str(getattr(error, "code", ""))
    return int(code) if code.isdigit() else None


def _is_refusal(error: Exception) -> bool:
    """Return whether s3fs or adlfs says by *error* that the object has another version."""
    if type(error).__name__ == "ResourceModifiedError":  # Azure's own, which adlfs lets through
        return True
    answer = getattr(error.__cause__, "response", None)  # of botocore, which s3fs translates into an OSError
    code = answer.get("Error", {}).get("Code") if isinstance(answer, Mapping) else None
    return code in ("412", "PreconditionFailed", "409", "ConditionalRequestConflict")


def _tag_in(answer: Mapping[str, Any]) -> str:
    return str(answer["ETag"] if "ETag" in answer else answer["etag"])


def _if_tag_is(filesystem: AbstractFileSystem, version: str) -> dict[str, Any]:
    """Return the arguments of a put that replaces an object only if it has *version*."""
    if "s3" in _protocols(filesystem):
        return {"IfMatch": version}
    from azure.core import MatchConditions  # noqa: PLC0415 - an extra

    return {"etag": version, "match_condition": MatchConditions.IfNotModified}


def fsspec_put(filesystem: AbstractFileSystem) -> FsspecPut:
    """Return what puts the objects of *filesystem*."""
    protocols = _protocols(filesystem)
    if protocols & {"s3", "abfs"}:
        return TaggedPut(filesystem)
    return GcsfsPut(filesystem) if "gs" in protocols else FsspecPut(filesystem)


def _protocols(filesystem: AbstractFileSystem) -> set[str]:
    named = filesystem.protocol
    return {named} if isinstance(named, str) else set(named)
