"""Bloom filters in the metadata table."""

from __future__ import annotations

import io
import json

import fastavro
import pyarrow as pa
import pytest

from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.hfile.writer import encode_hfile
from hudiformat.errors import CorruptBlockError
from hudiformat.file_group.base_file.bloom import BloomFilter
from hudiformat.metadata_table.bloom_filters import BloomFilters, decode_bloom_filter
from hudiformat.metadata_table.index_keys import file_id, partition_id
from hudiformat.metadata_table.partition import Deletes, HFileRecords

BLOOM = BloomFilter.of(pa.array(["a", "b"]))
NAME = "f-0_0-1-1_001.parquet"
KEY = f"{partition_id('p')}{file_id(NAME)}"
FIELDS = [
    {"name": "type", "type": "string"},
    {"name": "bloomFilter", "type": "bytes"},
    {"name": "isDeleted", "type": "boolean"},
]
SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "HoodieMetadataRecord",
        "fields": [
            {"name": "key", "type": "string"},
            {
                "name": "BloomFilterMetadata",
                "type": ["null", {"type": "record", "name": "HoodieMetadataBloomFilter", "fields": FIELDS}],
            },
        ],
    }
)


def record(text: str, *, is_deleted: bool = False) -> bytes:
    said = {"type": "SIMPLE", "bloomFilter": text.encode(), "isDeleted": is_deleted}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(SCHEMA)), {"key": "", "BloomFilterMetadata": said})
    return out.getvalue()


def records(value: bytes) -> HFileRecords:
    return HFileRecords(HFileReader(encode_hfile(pa.array([KEY], pa.binary()), pa.array([value], pa.binary()))), SCHEMA)


def test_a_filter_is_found_by_partition_and_file() -> None:
    filters = BloomFilters([records(record(BLOOM.serialize()))])
    assert filters.get("p", NAME) == (BLOOM,)
    assert filters.get("q", NAME) is None
    assert filters.get("p", "other") is None


def test_the_newest_record_is_used() -> None:
    older = records(record(BloomFilter.of(pa.array(["z"])).serialize()))
    newer = records(record(BLOOM.serialize()))
    assert BloomFilters([older, newer]).get("p", NAME) == (BLOOM,)
    assert BloomFilters([newer, records(record("", is_deleted=True))]).get("p", NAME) is None
    assert BloomFilters([newer, Deletes(frozenset([KEY]))]).get("p", NAME) is None
    assert BloomFilters([newer, Deletes(frozenset(["other"]))]).get("p", NAME) == (BLOOM,)


@pytest.mark.parametrize("text", ["", "of another type"])
def test_a_filter_that_cannot_be_used(text: str) -> None:
    assert decode_bloom_filter(record(text), SCHEMA) is None


def test_other_bytes_are_not_a_filter_record() -> None:
    with pytest.raises(CorruptBlockError, match="expected a bloom filter"):
        decode_bloom_filter(b"\x07", SCHEMA)
