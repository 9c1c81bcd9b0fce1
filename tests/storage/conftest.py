"""The storages that keep the one contract."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import fs

from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Storage
from tests.effort import LONG


def of_arrow_files(request: pytest.FixtureRequest) -> Storage:
    return open_storage(str(request.getfixturevalue("tmp_path")), filesystem=fs.LocalFileSystem())


def of_local_files(request: pytest.FixtureRequest) -> Storage:
    folder: Path = request.getfixturevalue("tmp_path")
    return LocalStorage(folder)


def of_folder(request: pytest.FixtureRequest) -> Storage:
    return FolderStorage(LocalStorage(request.getfixturevalue("tmp_path")), "inner/table")


def of_memory(request: pytest.FixtureRequest) -> Storage:
    return open_storage(f"/{uuid.uuid4()}", filesystem=MemoryFileSystem())


def of_s3(request: pytest.FixtureRequest) -> Storage:
    return open_storage(f"{request.getfixturevalue('bucket')}/table")


def of_s3fs(request: pytest.FixtureRequest) -> Storage:
    bucket = request.getfixturevalue("bucket")
    from s3fs import S3FileSystem

    return open_storage(f"{bucket}/table", filesystem=S3FileSystem(skip_instance_cache=True))


STORAGES = [
    pytest.param(of_local_files, id="local"),
    pytest.param(of_arrow_files, id="arrow-local"),
    pytest.param(of_folder, id="folder"),
    pytest.param(of_memory, id="memory"),
    pytest.param(of_s3, id="s3", marks=pytest.mark.s3),
    *([pytest.param(of_s3fs, id="s3fs", marks=pytest.mark.s3)] if LONG else []),  # ten times the work of pyarrow
]


@pytest.fixture(params=STORAGES)
def storage(request: pytest.FixtureRequest) -> Storage:
    make: Callable[[pytest.FixtureRequest], Storage] = request.param
    return make(request)
