"""Chunks of columns that have one value."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.codec.parquet.copying import constant_chunk
from hudiformat.codec.parquet.source import ColumnField, ParquetSource, number_field, struct_field, struct_list_field


def test_a_constant_takes_a_few_bytes_for_any_number_of_rows() -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), sink, compression="gzip")
    source = ParquetSource.open(pa.BufferReader(sink.getvalue()), "file")
    made, chunk = constant_chunk(source, struct_list_field(source.groups[0], 1)[1], "b", "name", 1_000_000)
    column = struct_field(chunk, 3)
    start, stop = made.chunk_range(chunk)
    assert stop - start < 4000
    assert number_field(column, 5) == 1_000_000
    assert number_field(column, ColumnField.CODEC) == 2  # gzip, as the column was
