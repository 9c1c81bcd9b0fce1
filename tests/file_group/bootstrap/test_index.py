"""The bootstrap index: the files of real Hudi, and our own."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.hfile.writer import encode_hfile
from hudiformat.errors import CorruptTableError
from hudiformat.file_group.bootstrap.index import (
    BY_FILE_ID,
    BY_PARTITION,
    BootstrapFilePartitionInfo,
    BootstrapIndex,
    BootstrapIndexInfo,
    BootstrapPartitionMetadata,
    FileStatus,
    SourceFile,
    encode_bootstrap_index,
)
from hudiformat.file_group.bootstrap.index import Path as StoredPath
from hudiformat.storage.opening import open_storage
from hudiformat.timeline.records import decode_record_file, encode_record_file
from tests.tables import unpack

FILES = [
    SourceFile("day=1", "b-0", "day=1", "file:/lake/rides/day=1/b.parquet", 200),
    SourceFile("day=1", "a-0", "day=1", "file:/lake/rides/day=1/a.parquet", 100),
    SourceFile("day=2", "c-0", "day=2", "file:/lake/rides/day=2/c.parquet", 300),
]


def stored(root: Path, sources: list[SourceFile]) -> BootstrapIndex:
    storage = open_storage(root)
    for path, content in encode_bootstrap_index(sources, base_path="/lake/rides", created=5).items():
        storage.create(path, content)
    return BootstrapIndex(storage)


def test_an_index_finds_the_source_file_of_each_file_group(tmp_path: Path) -> None:
    index = stored(tmp_path, FILES)
    for one in FILES:
        assert index.find(one.partition_path, one.file_id) == one
    assert [one.path for one in FILES] == ["day=1/b.parquet", "day=1/a.parquet", "day=2/c.parquet"]
    assert index.find("day=1", "c-0") is None


def test_the_index_by_partition_has_all_files_of_a_partition(tmp_path: Path) -> None:
    stored(tmp_path, FILES)
    file = HFileReader((tmp_path / BY_PARTITION).read_bytes())
    info = decode_record_file(BootstrapIndexInfo, file.file_info["INDEX_INFO"], path="info")
    assert info == BootstrapIndexInfo(bootstrap_base_path="/lake/rides", created_timestamp=5, num_keys=2)
    entries = {
        key: decode_record_file(BootstrapPartitionMetadata, value, path="entry").file_id_to_bootstrap_file or {}
        for key, value in file
    }
    assert {key: sorted(files) for key, files in entries.items()} == {
        b"part=day=1": ["a-0", "b-0"],
        b"part=day=2": ["c-0"],
    }
    status = entries[b"part=day=2"]["c-0"]
    assert status.path == StoredPath(uri="file:/lake/rides/day=2/c.parquet")
    # Hudi's readers fail where one of these is null
    assert None not in (status.length, status.is_dir, status.block_replication, status.block_size)
    assert None not in (status.modification_time, status.access_time)


@pytest.mark.parametrize("name", ["bootstrapped-v6-mor-h0150", "bootstrapped-v9-cow-h120"])
def test_the_index_of_real_hudi_names_the_source_files(name: str, tmp_path: Path) -> None:
    """Hudi 0.15 writes it by HBase, and Hudi 1.2 by its own writer."""
    table = unpack(name, tmp_path).table
    index = BootstrapIndex(open_storage(table))
    file = HFileReader((table / BY_FILE_ID).read_bytes())
    keys = [key.decode() for key, _ in file]
    assert len(keys) == 2
    found = [index.find("day=2024-01-01", key.rpartition("fileid=")[2]) for key in keys]
    assert sorted(one.path for one in found if one is not None) == [
        f"day=2024-01-01/part-{number}.parquet" for number in (0, 1)
    ]


@pytest.mark.parametrize("name", ["bootstrapped-v6-cow-h0150", "bootstrapped-v9-mor-h120"])
def test_the_records_of_real_hudi_are_written_again_byte_for_byte_but_for_the_marker(name: str, tmp_path: Path) -> None:
    """An Avro file has a marker that is drawn at random."""
    table = unpack(name, tmp_path).table
    for _, value in HFileReader((table / BY_FILE_ID).read_bytes()):
        record = decode_record_file(BootstrapFilePartitionInfo, value, path="entry")
        made = encode_record_file(record)
        start = value.index(b"avro.schema")
        end = value.index(b"\x00", start)
        assert made[made.index(b"avro.schema") : made.index(b"\x00", start)] == value[start:end]
        assert decode_record_file(BootstrapFilePartitionInfo, made, path="entry") == record


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (None, "expected the path and the size of the source file"),
        (FileStatus(path=StoredPath(uri="file:/x/day=1/a.parquet")), "expected the path and the size"),
        (
            FileStatus(path=StoredPath(uri="file:/etc/passwd"), length=1),
            "in the folder 'day=1', found file:/etc/passwd",
        ),
    ],
)
def test_an_entry_that_names_no_file_of_its_folder_is_an_error(
    tmp_path: Path, status: FileStatus | None, expected: str
) -> None:
    record = BootstrapFilePartitionInfo(
        bootstrap_partition_path="day=1", bootstrap_file_status=status, partition_path="day=1"
    )
    content = encode_hfile(pa.array([b"part=day=1;fileid=a-0"]), pa.array([encode_record_file(record)]))
    storage = open_storage(tmp_path)
    storage.create(BY_FILE_ID, content)
    with pytest.raises(CorruptTableError, match=expected):
        BootstrapIndex(storage).find("day=1", "a-0")
