"""The records that actions add to the files partition, and their bytes."""

from __future__ import annotations

import pytest

from hudiformat.basefile import BloomFilter
from hudiformat.errors import EncodeError
from hudiformat.hfile import HFileReader
from hudiformat.metadata import encode_base_file, encode_log_block, records_of_commit, records_of_deleted
from hudiformat.metadata.file_entries import FileEntry, decode_file_entries
from hudiformat.timeline import CommitMetadata, WriteStat
from tests.metadata.tables import ALL, SCHEMA


def live(size: int) -> FileEntry:
    return FileEntry(size, is_deleted=False)


dead = FileEntry(0, is_deleted=True)


def test_a_commit_names_its_files_the_change_data_and_every_partition() -> None:
    stats = {
        "x/y": (
            WriteStat(path="x/y/a.parquet", file_size_in_bytes=5, cdc_stats={"x/y/.a.log.1_0-0-0.cdc": 2}),
            WriteStat(path=None),
        ),
        "": (WriteStat(path="b.parquet", file_size_in_bytes=7),),
    }
    assert records_of_commit(CommitMetadata(partition_to_write_stats=stats)) == {
        ALL: {"x/y": live(0), ".": live(0)},
        "x/y": {"a.parquet": live(5), ".a.log.1_0-0-0.cdc": live(2)},
        ".": {"b.parquet": live(7)},
    }


def test_a_commit_without_files_lists_no_partition() -> None:
    assert records_of_commit(CommitMetadata()) == {ALL: {}}


def test_deleted_files_and_partitions_are_marked() -> None:
    assert records_of_deleted({"": ["a"]}, gone=[]) == {".": {"a": dead}}
    assert records_of_deleted({"x": ["a"]}, gone=["x"]) == {ALL: {"x": dead}, "x": {"a": dead}}


def test_a_base_file_has_the_remaining_files_and_what_hudi_needs_for_look_ups() -> None:
    file = HFileReader(encode_base_file({"y": {"a": live(1), "b": dead}, ALL: {"y": live(0)}}, schema=SCHEMA))
    assert [(key, decode_file_entries(value, SCHEMA)) for key, value in file] == [
        (ALL.encode(), {"y": live(0)}),
        (b"y", {"a": live(1)}),
    ]
    names = ("bloomFilterTypeCode", "minRecordKey", "maxRecordKey")
    assert [file.file_info[name] for name in names] == [b"SIMPLE", ALL.encode(), b"y"]
    assert BloomFilter.parse((file.meta_block("bloomFilter") or b"").decode()).num_hashes > 0


@pytest.mark.parametrize("schema", ['"string"', '{"type":"record","name":"r","fields":[{"name":"a","type":"int"}]}'])
def test_another_records_schema_is_refused(schema: str) -> None:
    with pytest.raises(EncodeError, match="expected the schema of a HoodieMetadataRecord"):
        encode_log_block({ALL: {}}, instant="1", schema=schema)
