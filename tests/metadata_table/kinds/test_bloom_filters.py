"""What the bloom filters are given of an action."""

from __future__ import annotations

from hudiformat.codec.avro.values import decode_value, parse_value_schema
from hudiformat.metadata_table.changes import Change, Stored
from hudiformat.metadata_table.index_keys import file_id, partition_id
from hudiformat.metadata_table.kinds.bloom_filters import BloomFiltersKind
from hudiformat.timeline.commit_metadata import IndexedFile, WriteStat
from tests.metadata_table.statistics import SCHEMA

KIND = BloomFiltersKind(SCHEMA)


def test_base_files_have_filters_until_they_are_deleted() -> None:
    stats = (
        WriteStat(path="p/f.parquet", indexed=IndexedFile(bloom_filter="bits")),
        WriteStat(path="p/.g.log", indexed=IndexedFile()),
        WriteStat(path="p/h"),
    )
    records = KIND.records(Change(time="7", written={"p": stats}, deleted={"q": ["old.parquet", ".old.log"]}))
    assert records.keys.to_pylist() == [f"{partition_id('p')}{file_id('f.parquet')}"]
    record = decode_value(records.values[0].as_py(), parse_value_schema(SCHEMA))["BloomFilterMetadata"]
    assert record == {"type": "SIMPLE", "timestamp": "7", "bloomFilter": b"bits", "isDeleted": False}
    assert records.dropped.to_pylist() == [f"{partition_id('q')}{file_id('old.parquet')}"]


def test_the_newest_filter_counts() -> None:
    one, other = Stored(b"1", SCHEMA), Stored(b"2", SCHEMA)
    assert KIND.is_plain
    assert KIND.merge("key", one, other) == other
    assert KIND.encode_base_record("key", other) == b"2"
    assert KIND.name == "bloom_filters"
