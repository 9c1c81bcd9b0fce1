"""Credentials and the like as a dictionary."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs

import hudiformat as hf
from hudiformat.storage.opening import make_filesystem, open_storage

ROWS = pa.table({"id": ["a"], "v": [1]})


@pytest.fixture
def options(bucket: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the environment says, which then says nothing any more."""
    elsewhere = ("AWS_CA_BUNDLE", "AWS_EC2_METADATA_DISABLED")
    found = {name: os.environ[name] for name in os.environ if name.startswith("AWS_") and name not in elsewhere}
    for name in found:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return found


def test_a_table_by_options_alone(bucket: str, options: dict[str, str]) -> None:
    table = hf.create_table(f"{bucket}/t", name="t", schema=ROWS.schema, record_key="id", storage_options=options)
    table.upsert(ROWS)
    table.upsert(ROWS)
    found = hf.open_table(f"{bucket}/t", storage_options={name.lower(): value for name, value in options.items()})
    assert found.count() == 1
    assert found.path == f"{bucket}/t"


def test_options_of_fsspec() -> None:
    pytest.importorskip("fsspec")
    path = f"memory://{uuid.uuid4()}"
    storage = open_storage(path, storage_options={"skip_instance_cache": "true"})
    assert storage.list("") == []


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        (
            "s3://b/t",
            {"aws_acess_key_id": "x"},
            "unknown option 'aws_acess_key_id' of s3://; did you mean 'aws_access_key_id'",
        ),
        ("s3a://b/t", {"zzz": "x"}, "unknown option 'zzz' of s3://; known are aws_access_key_id"),
        ("relative/t", {"aws_region": "x"}, "storage_options: expected them beside a URI, found relative/t"),
    ],
)
def test_options_that_nothing_takes(path: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(hf.OptionError, match=message):
        open_storage(path, storage_options=options)


def test_options_for_an_open_storage(tmp_path: Path) -> None:
    with pytest.raises(hf.OptionError, match="storage_options: expected them beside a URI"):
        open_storage(open_storage(tmp_path), storage_options={"aws_region": "x"})


def test_a_value_that_the_file_system_does_not_take() -> None:
    with pytest.raises(hf.StorageError, match="cannot open s3://b/t: "):
        open_storage("s3://b/t", storage_options={"access_key": "without a secret"})


def test_an_endpoint_has_its_scheme_by_itself() -> None:
    found = make_filesystem("s3", {"AWS_ENDPOINT_URL": "http://localhost:9000", "anonymous": "true"})
    assert isinstance(found, fs.S3FileSystem)
    settings = found.__reduce__()[1][0]
    assert (settings["endpoint_override"], settings["scheme"], settings["anonymous"]) == (
        "localhost:9000",
        "http",
        True,
    )
    assert make_filesystem("hdfs", {}) is None
