"""Records of statistics, and parts of a metadata table, for the tests of several modules."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.hfile.writer import encode_hfile
from hudiformat.codec.statistics import ColumnStatistics
from hudiformat.metadata_table.partition import HFileRecords
from hudiformat.metadata_table.stat_records import StatEncoder
from hudiformat.timeline.records import metadata_record_schema

SCHEMA = metadata_record_schema()
TYPED = StatEncoder(SCHEMA, has_types=True)
UNTYPED = StatEncoder(SCHEMA, has_types=False)


def numbers(lower: int, upper: int, values: int = 2, nulls: int = 0) -> ColumnStatistics:
    """The statistics of a column of int32."""
    return ColumnStatistics(pa.int32(), lower, upper, values, nulls)


def part(records: Mapping[str, bytes], schema: str = SCHEMA) -> HFileRecords:
    """An HFile of these records."""
    keys = sorted(records)
    file = encode_hfile(pa.array(keys), pa.array([records[key] for key in keys], pa.binary()))
    return HFileRecords(HFileReader(memoryview(file)), schema)
