"""Records of statistics and their keys."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudiformat.codec.statistics import NO_ROWS, ColumnStatistics
from hudiformat.errors import CorruptBlockError, EncodeError
from hudiformat.metadata_table.changes import Stored
from hudiformat.metadata_table.stat_records import (
    StatEncoder,
    decode_stat_record,
    file_key,
    merge_stat_records,
    partition_key,
)
from tests.metadata_table.statistics import SCHEMA, TYPED, UNTYPED, numbers


@pytest.mark.parametrize("encoder", [TYPED, UNTYPED])
def test_a_record_comes_back(encoder: StatEncoder) -> None:
    found = decode_stat_record(encoder.of_file("f", "c", numbers(1, 2)), SCHEMA)
    assert found == ("f", "c", numbers(1, 2), False, False)
    assert decode_stat_record(encoder.of_partition("p", "c", numbers(1, 2)), SCHEMA).is_tight


def test_a_file_of_deletes_has_a_record_without_a_type() -> None:
    assert decode_stat_record(TYPED.of_file("f", "c", NO_ROWS), SCHEMA).statistics == NO_ROWS


def test_keys_begin_with_the_column_and_the_partition() -> None:
    """The example of spec/metadata-table.md."""
    name = "b361a50f-1a8b-4340-8b48-e9c575c63c53-0_0-4702-8345_20261121062436847.parquet"
    assert file_key("east", name, "name") == "F5SYxeUa1U8=wi9Vfb92PdQ=enuNFvNRGv0bItEEjElfSQ=="
    assert partition_key("east", "name") == "F5SYxeUa1U8=wi9Vfb92PdQ="


def test_tight_bounds_replace_older_ones_and_others_are_added() -> None:
    older = Stored(TYPED.of_partition("p", "c", numbers(1, 2)), SCHEMA)
    tight = Stored(TYPED.of_partition("p", "c", numbers(5, 6)), SCHEMA)
    loose = Stored(TYPED.of_file("p", "c", ColumnStatistics(pa.int64(), 5, 6, 1)), SCHEMA)
    assert merge_stat_records(older, tight, TYPED) == tight
    merged = decode_stat_record(*merge_stat_records(older, loose, TYPED)).statistics
    assert merged == ColumnStatistics(pa.int64(), 1, 6, 3)


def test_other_records_and_schemas_are_refused() -> None:
    with pytest.raises(CorruptBlockError, match="expected column statistics"):
        decode_stat_record(b"\x00", SCHEMA)
    with pytest.raises(EncodeError, match="expected the schema of a HoodieMetadataRecord"):
        StatEncoder('"string"', has_types=True).of_file("f", "c", numbers(1, 2))
