"""Encoding records of a metadata table."""

from __future__ import annotations

import pytest

from hudiformat.codec.avro.values import decode_value, parse_value_schema
from hudiformat.errors import EncodeError
from hudiformat.metadata_table.records import encode_record
from tests.metadata_table.statistics import SCHEMA

FILTER = {"type": "SIMPLE", "timestamp": "1", "bloomFilter": b"bits", "isDeleted": False}


def test_a_record_has_one_field_and_an_empty_key() -> None:
    data = encode_record(4, "BloomFilterMetadata", "HoodieMetadataBloomFilter", FILTER, SCHEMA)
    record = decode_value(data, parse_value_schema(SCHEMA))
    assert {name: value for name, value in record.items() if value is not None} == {
        "key": "",
        "type": 4,
        "BloomFilterMetadata": FILTER,
    }


def test_another_schema_is_refused() -> None:
    with pytest.raises(EncodeError, match="expected the schema of a HoodieMetadataRecord"):
        encode_record(4, "BloomFilterMetadata", "HoodieMetadataBloomFilter", FILTER, '"string"')
