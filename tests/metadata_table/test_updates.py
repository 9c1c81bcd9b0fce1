"""The blocks and base files of the metadata table."""

from __future__ import annotations

import pyarrow as pa

from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.log.frame import BlockType
from hudiformat.file_group.base_file.bloom import BloomFilter
from hudiformat.metadata_table.changes import KeyedRecords
from hudiformat.metadata_table.updates import encode_base_file, encode_log_blocks, file_groups_of
from tests.metadata_table.tables import SCHEMA


def test_a_base_file_has_what_hudi_needs_for_look_ups() -> None:
    keys, values = pa.array(["a", "b"]), pa.array([b"1", b"2"], pa.binary())
    file = HFileReader(encode_base_file(keys, values, schema=SCHEMA))
    assert list(file) == [(b"a", b"1"), (b"b", b"2")]
    names = ("bloomFilterTypeCode", "minRecordKey", "maxRecordKey")
    assert [file.file_info[name] for name in names] == [b"SIMPLE", b"a", b"b"]
    assert BloomFilter.parse((file.meta_block("bloomFilter") or b"").decode()).num_hashes > 0


def test_blocks_of_the_record_index_are_small() -> None:
    keys = pa.array([f"key {number:06d}" for number in range(16000)])
    values = pa.array([b"v" * 50] * 16000, pa.binary())
    sizes = {
        partition: len(list(HFileReader(encode_base_file(keys, values, schema=SCHEMA, partition=partition)).blocks()))
        for partition in ("record_index", "column_stats")
    }
    assert sizes == {"record_index": 5, "column_stats": 2}
    (block,) = encode_log_blocks(
        KeyedRecords(keys, values, pa.array([], pa.string())), partition="record_index", instant="1", schema=SCHEMA
    )
    assert len(list(HFileReader(memoryview(block.content)).blocks())) == 5


def test_a_base_file_may_be_empty() -> None:
    file = HFileReader(encode_base_file(pa.array([], pa.string()), pa.array([], pa.binary()), schema=SCHEMA))
    assert list(file) == []


def test_dropped_keys_have_a_block_of_their_own_unless_they_have_a_record() -> None:
    records = KeyedRecords.of({"b": b"2", "a": b"1"}, ["c", "a", "c"])
    data, gone = encode_log_blocks(records, partition="column_stats", instant="1", schema=SCHEMA)
    assert (data.type, gone.type) == (BlockType.HFILE_DATA, BlockType.DELETE)
    assert list(HFileReader(memoryview(data.content))) == [(b"a", b"1"), (b"b", b"2")]
    assert gone.deletes().select(["record_key", "partition_path"]).to_pylist() == [
        {"record_key": "c", "partition_path": "column_stats"}
    ]


def test_a_block_without_entries_is_left_out() -> None:
    (gone,) = encode_log_blocks(KeyedRecords.of({}, ["c"]), partition="p", instant="1", schema=SCHEMA)
    assert gone.type is BlockType.DELETE
    (data,) = encode_log_blocks(KeyedRecords.of({"a": b"1"}), partition="p", instant="1", schema=SCHEMA)
    assert data.type is BlockType.HFILE_DATA


def test_a_key_belongs_to_the_file_group_that_javas_hash_says() -> None:
    """``polygenelubricants`` has the hash -2**31, of which Java has no absolute value."""
    keys = pa.array(["", "a", "polygenelubricants"])
    assert file_groups_of(keys, 10).tolist() == [0, 97 % 10, 2**31 % 10]
