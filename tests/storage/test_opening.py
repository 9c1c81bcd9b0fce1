from __future__ import annotations

import builtins
import importlib.util
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import fs

from hudiformat.errors import StorageError, UnsupportedFeatureError
from hudiformat.storage.arrow import ArrowStorage
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.opening import open_parent, open_storage
from hudiformat.storage.protocol import Capabilities

OBJECT_STORE = Capabilities()
LISTED = Capabilities(lists_all=True)
HAS_GCSFS = importlib.util.find_spec("gcsfs") is not None


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_a_local_path_opens_with_and_without_scheme(tmp_path: Path, prefix: str) -> None:
    storage = open_storage(f"{prefix}{tmp_path}")
    assert isinstance(storage, LocalStorage)
    assert storage.root == str(tmp_path)


def test_a_path_object_opens(tmp_path: Path) -> None:
    assert open_storage(tmp_path).root == str(tmp_path)


def test_a_storage_that_is_open_is_the_place_itself(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    assert open_storage(storage) is storage


@pytest.mark.parametrize(
    ("uri", "root"),
    [
        ("s3://bucket/a/table?region=us-east-1", "s3://bucket/a/table"),
        ("s3a://key:secret@bucket/table/?region=eu-west-1&scheme=http", "s3a://bucket/table"),
        ("s3://bucket?region=us-east-1", "s3://bucket"),
        ("gs://bucket/table", "gs://bucket/table"),
        ("gcs://bucket/table", "gcs://bucket/table"),
        ("abfss://container@account.dfs.core.windows.net/t", "abfss://container@account.dfs.core.windows.net/t"),
        ("memory://a/table", "memory://a/table"),
    ],
)
def test_a_uri_opens_and_its_secrets_are_not_in_the_root(uri: str, root: str) -> None:
    storage = open_storage(uri)
    assert isinstance(storage, ArrowStorage)
    assert storage.root == root


@pytest.mark.parametrize(
    ("filesystem", "root", "capabilities"),
    [
        (fs.LocalFileSystem, "/a/table", Capabilities(append=True, rename=True, reopen=True, lists_all=True)),
        (
            partial(fs.S3FileSystem, region="us-east-1"),
            "s3://a/table",
            replace(LISTED, atomic_create=True),
        ),
        (
            partial(fs.S3FileSystem, region="us-east-1", role_arn="arn:aws:iam::1:role/x"),
            "s3://a/table",
            LISTED,
        ),
        (
            partial(fs.S3FileSystem, region="us-east-1", proxy_options="http://proxy:1"),
            "s3://a/table",
            LISTED,
        ),
        (
            partial(fs.GcsFileSystem, anonymous=True),
            "gs://a/table",
            replace(LISTED, atomic_create=HAS_GCSFS),
        ),
        (MemoryFileSystem, "memory://a/table", OBJECT_STORE),
        (LocalFileSystem, "file://a/table", Capabilities(append=True)),
    ],
    ids=["local", "s3", "s3-role", "s3-proxy", "gcs", "fsspec-memory", "fsspec-local"],
)
def test_a_file_system_can_be_handed_in(filesystem: Callable[[], Any], root: str, capabilities: Capabilities) -> None:
    storage = open_storage("/a/table/", filesystem=filesystem())
    assert (storage.root, storage.capabilities) == (root, capabilities)


def test_without_botocore_s3_promises_no_atomic_create(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    storage = open_storage("a/table", filesystem=fs.S3FileSystem(region="us-east-1"))
    assert storage.capabilities == LISTED


def test_a_scheme_that_nobody_knows_is_named() -> None:
    with pytest.raises(StorageError, match=re.escape("cannot open nfs4://host/table: ")) as caught:
        open_storage("nfs4://me:secret@host/table")
    assert caught.value.path == "nfs4://host/table"


def test_without_fsspec_a_scheme_of_its_own_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_fsspec(name: str, *args: Any, **options: Any) -> Any:
        if name.startswith("fsspec"):
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without_fsspec)
    with pytest.raises(
        StorageError, match=r"memory://a: pyarrow has no file system for memory://; install hudiformat\[fsspec\]"
    ):
        open_storage("memory://a")


def test_an_option_that_a_uri_does_not_take_is_an_error() -> None:
    with pytest.raises(StorageError, match="cannot open s3://bucket: .*bogus"):
        open_storage("s3://bucket?bogus=1")


def test_hdfs_without_its_library_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hudiformat.storage.hdfs", None)  # it may have been imported before
    monkeypatch.setenv("ARROW_LIBHDFS_DIR", "/nowhere")
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    with pytest.raises(StorageError, match=r"(?s)cannot open hdfs://127.0.0.1:1/table: .*hudiformat\[hdfs\]") as caught:
        open_storage("hdfs://127.0.0.1:1/table")
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.parametrize(
    ("path", "root", "name"),
    [
        ("/a/b/file", "/a/b", "file"),
        ("/file", "/", "file"),
        ("/a/why?", "/a", "why?"),
        ("s3://bucket/a/file?region=us-east-1", "s3://bucket/a", "file"),
        ("s3://bucket/file?region=us-east-1", "s3://bucket", "file"),
        ("memory://a/file", "memory://a", "file"),
    ],
)
def test_a_file_has_a_folder_and_a_name(path: str, root: str, name: str) -> None:
    storage, found = open_parent(path)
    assert (storage.root, found) == (root, name)


def test_a_name_alone_is_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    storage, name = open_parent("file")
    assert (storage.root, name) == (str(tmp_path), "file")


def test_what_is_not_known_of_a_file_system_can_be_said(tmp_path: Path) -> None:
    unknown = open_storage(str(tmp_path), filesystem=LocalFileSystem())
    with pytest.raises(UnsupportedFeatureError, match="expected a file system that shows only whole files") as caught:
        unknown.create("file", b"")
    assert caught.value.feature == "creating whole files"
    assert unknown.list("") == []
    told = open_storage(
        str(tmp_path), filesystem=LocalFileSystem(), capabilities=Capabilities(append=True, rename=True)
    )
    told.create("a/file", b"content")
    assert told.list("a") == unknown.list("a")
    assert unknown.read("a/file") == b"content"
