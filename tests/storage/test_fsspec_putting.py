"""Objects of fsspec's file systems with their versions: the answers of s3fs, adlfs and gcsfs, by fakes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from azure.core.exceptions import ResourceModifiedError
from botocore.exceptions import ClientError

from hudiformat.storage.fsspec_putting import FsspecPut, GcsfsPut, TaggedPut, fsspec_put
from hudiformat.storage.versions import Versions

CHANGED = "ConditionalRequestConflict"


class Tagged:
    """What s3fs and adlfs answer; *refuse* raises their error for an object of another version."""

    def __init__(self, protocol: str | tuple[str, ...], tag: str) -> None:
        self.protocol = protocol
        self.tag = tag
        self.objects: dict[str, tuple[bytes, str]] = {}
        self.changes = 0
        self.meanwhile: list[bytes] = []
        self.broken: Exception | None = None

    def info(self, path: str, *, refresh: bool) -> dict[str, str]:
        assert refresh
        if path not in self.objects:
            raise FileNotFoundError(path)
        return {self.tag: self.objects[path][1]}

    def cat_file(self, path: str) -> bytes:
        data, _ = self.objects[path]
        if self.meanwhile:
            self.pipe_file(path, self.meanwhile.pop())
        return data

    def pipe_file(self, path: str, data: bytes, **condition: Any) -> Mapping[str, str]:
        if self.broken is not None:
            raise self.broken
        if condition.get("mode") == "create" and path in self.objects:
            raise FileExistsError(path)
        asked = condition.get("IfMatch", condition.get("etag"))
        if asked is not None and path not in self.objects:
            raise FileNotFoundError(path)
        if asked not in (None, self.objects.get(path, (b"", ""))[1]):
            self.refuse()
        self.changes += 1
        self.objects[path] = (data, f'"{self.changes}"')
        return {self.tag: self.objects[path][1]}

    def refuse(self) -> None:
        if self.tag == "etag":
            raise ResourceModifiedError("the condition is not met")
        raise OSError(22, "precondition") from ClientError({"Error": {"Code": CHANGED}}, "PutObject")


class Generations:
    """What gcsfs answers."""

    base = "http://gcs/storage/v1/"
    protocol = ("gs", "gcs")

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, int]] = {}
        self.changes = 0
        self.broken: Exception | None = None

    def call(self, method: str, url: str, **asked: Any) -> Any:
        if self.broken is not None:
            raise self.broken
        if method == "GET":
            name = url.rpartition("/o/")[2]
            if name not in self.objects:
                raise FileNotFoundError(url)
            data, generation = self.objects[name]
            return ({}, data) if "alt" in asked else {"generation": str(generation)}
        _, head, content, _ = asked["data"].split(b"--hudiformat")
        name = json.loads(head.partition(b"\r\n\r\n")[2])["name"]
        found = self.objects.get(name, (b"", 0))[1]
        if asked["ifGenerationMatch"] != str(found):
            error = OSError("the condition is not met")
            error.code = 412  # type: ignore[attr-defined]  # as gcsfs's errors have it
            raise error
        self.changes += 1
        self.objects[name] = (content.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n"), self.changes)
        return {"generation": str(self.changes)}


MAKE = {
    "s3fs": lambda: Tagged(("s3", "s3a"), "ETag"),
    "adlfs": lambda: Tagged("abfs", "etag"),
    "gcsfs": Generations,
}


@pytest.fixture(params=MAKE)
def files(request: pytest.FixtureRequest) -> Any:
    return MAKE[request.param]()


def test_an_object_is_replaced_only_in_the_version_that_was_read(files: Any) -> None:
    put = fsspec_put(files)
    assert isinstance(put, Versions)
    assert put.get("b/lock") is None
    first = put.put("b/lock", b"one", None)
    assert put.get("b/lock") == (b"one", first)
    assert put.put("b/lock", b"two", None) is None
    assert first is not None
    second = put.put("b/lock", b"two", first)
    assert put.put("b/lock", b"three", first) is None
    assert put.get("b/lock") == (b"two", second)


def test_an_object_that_is_gone_is_not_replaced() -> None:
    assert TaggedPut(Tagged("s3", "ETag")).put("b/lock", b"one", '"7"') is None


def test_a_content_has_its_own_tag_also_if_it_is_replaced_between_the_requests() -> None:
    files = Tagged("s3", "ETag")
    put = TaggedPut(files)
    put.put("b/lock", b"one", None)
    files.meanwhile = [b"two"]
    assert put.get("b/lock") == (b"two", '"2"')


@pytest.mark.parametrize("broken", [OSError("no answer"), RuntimeError("no answer")])
def test_other_errors_are_errors_of_the_system(files: Any, broken: Exception) -> None:
    put = fsspec_put(files)
    files.broken = broken
    with pytest.raises(OSError, match="no answer"):
        put.put("b/lock", b"one", None)  # type: ignore[attr-defined]  # those of this test have versions
    if isinstance(put, GcsfsPut):
        with pytest.raises(OSError, match="no answer"):
            put.get("b/lock")


def test_another_file_system_has_no_versions(tmp_path: Path) -> None:
    from fsspec.implementations.memory import MemoryFileSystem

    put = fsspec_put(MemoryFileSystem())
    assert type(put) is FsspecPut
    assert not isinstance(put, Versions)
    put(f"{tmp_path}/file", b"one", overwrite=True)
    assert MemoryFileSystem().cat_file(f"{tmp_path}/file") == b"one"
