"""Blobs are read one by one: from the row, or from a file in the folder that the caller names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.api.blobs import _path_within
from hudiformat.codec.custom_types import BLOB_TYPE

INLINE = {"type": "INLINE", "data": b"row", "reference": None}


def apart(path: object, offset: int | None = None, length: int | None = None) -> dict[str, Any]:
    reference = {"external_path": str(path), "offset": offset, "length": length, "managed": False}
    return {"type": "OUT_OF_LINE", "data": None, "reference": reference}


def column(*blobs: dict[str, Any] | None) -> pa.Array:
    return pa.array(blobs, BLOB_TYPE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "files" / "deep").mkdir(parents=True)
    (tmp_path / "files" / "a.bin").write_bytes(b"0123456789")
    (tmp_path / "files" / "deep" / "b.bin").write_bytes(b"abc")
    (tmp_path / "outside.bin").write_bytes(b"secret")
    return tmp_path / "files"


def test_bytes_of_rows_and_of_parts_of_files(folder: Path) -> None:
    blobs = column(
        INLINE,
        None,
        apart("a.bin", 2, 3),
        apart(folder / "a.bin", 8),
        apart(f"file://{folder}/deep/b.bin"),
        apart(f"file:{folder}/a.bin", None, 0),
        apart("a.bin", 10, None),
    )
    expected = [b"row", None, b"234", b"89", b"abc", b"", b""]
    assert list(hf.read_blobs(blobs, within=folder)) == expected
    chunked = pa.chunked_array([blobs.slice(0, 3), blobs.slice(3)])
    assert list(hf.read_blobs(chunked, within=str(folder))) == expected


def test_nothing_is_opened_before_it_is_asked_for(folder: Path) -> None:
    found = hf.read_blobs(column(INLINE, apart("none.bin")), within=folder)
    assert next(found) == b"row"
    with pytest.raises(hf.StorageError, match=r"none\.bin"):
        next(found)


@pytest.mark.parametrize(
    "path", ["../outside.bin", "deep/../../outside.bin", "/etc/hostname", "s3://bucket/a", "", "file:///etc/hostname"]
)
def test_files_outside_of_the_folder_are_not_opened(path: str, folder: Path) -> None:
    with pytest.raises(hf.DataError, match="expected a reference into the folder .*name its folder by within="):
        list(hf.read_blobs(column(apart(path)), within=folder))


def test_a_link_out_of_the_folder_is_not_followed(folder: Path) -> None:
    (folder / "link.bin").symlink_to(folder.parent / "outside.bin")
    with pytest.raises(hf.StorageError):
        list(hf.read_blobs(column(apart("link.bin")), within=folder))


@pytest.mark.parametrize(("offset", "length"), [(11, None), (0, 11), (8, 3), (-1, None), (0, -1)])
def test_bytes_that_the_file_does_not_have_are_an_error(offset: int, length: int | None, folder: Path) -> None:
    with pytest.raises(hf.DataError, match=r"a\.bin: expected .* bytes from byte .*, found a file of 10 bytes"):
        list(hf.read_blobs(column(apart("a.bin", offset, length)), within=folder))


def test_paths_on_s3_may_be_those_of_hadoop() -> None:
    assert _path_within("s3://bucket/files", "s3a://bucket/files/x/a.bin") == "x/a.bin"
    with pytest.raises(hf.DataError):
        _path_within("s3://bucket/files", "s3a://bucket/filesystem/a.bin")


def test_other_columns_and_other_blobs_are_refused(folder: Path) -> None:
    with pytest.raises(hf.SchemaError, match="expected a column of blobs"):
        hf.read_blobs(pa.array([b"x"]), within=folder)
    with pytest.raises(hf.DataError, match="expected a blob that is INLINE or OUT_OF_LINE"):
        list(hf.read_blobs(column({**INLINE, "type": "LINE"}), within=folder))
