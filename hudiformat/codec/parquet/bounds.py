"""Correct the bounds of floating-point numbers in the footers of Parquet files: infinity is an upper bound of NaN too.

Arrow leaves NaN out of the bounds of a row group.  To Spark, and so to Hudi, NaN is greater than all numbers: it skips
the row group for ``x > 5`` and loses the row.  Here the upper bound of a row group with a NaN is infinity.  Without
bounds, as parquet-mr writes then, the result would be worse: Hudi reads them as 0 into its statistics of columns.

Source: Statistics of parquet.thrift; ParquetMetadataConverter.toParquetStatistics of parquet-mr; ParquetUtils of Hudi.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from hudiformat.codec.parquet.source import (
    MAGIC,
    ChunkField,
    ColumnField,
    FileField,
    GroupField,
    number_field,
    struct_field,
    struct_list_field,
)
from hudiformat.codec.parquet.thrift import Field, Items, Kind, Struct, decode_struct, encode_struct

_INFINITIES = {4: struct.pack("<f", math.inf), 5: struct.pack("<d", math.inf)}
"""Infinity for each of Parquet's types FLOAT (4) and DOUBLE (5)."""
_MAX, _MAX_VALUE, _MIN_VALUE, _IS_MAX_EXACT = 1, 5, 6, 7
"""Numbers of fields of Statistics; the first one is deprecated."""
_LENGTH = 4


def set_infinite_bounds(end: bytes, with_nan: Sequence[frozenset[str]]) -> bytes:
    """Return *end*, the last bytes of a Parquet file with its footer, with infinity as the bound of some columns.

    *with_nan* has an item per row group: the columns with a NaN.
    """
    length = int.from_bytes(end[-_LENGTH - len(MAGIC) : -len(MAGIC)], "little")
    start = len(end) - length - _LENGTH - len(MAGIC)
    footer, _ = decode_struct(end[start:])
    groups = struct_list_field(footer, FileField.ROW_GROUPS)
    changed = tuple(_change_group(group, names) for group, names in zip(groups, with_nan, strict=True))
    new = encode_struct({**footer, FileField.ROW_GROUPS: Field(Kind.LIST, Items(Kind.STRUCT, changed))})
    return end[:start] + new + len(new).to_bytes(_LENGTH, "little") + MAGIC


def _change_group(group: Struct, names: frozenset[str]) -> Struct:
    chunks = tuple(_change_chunk(chunk, names) for chunk in struct_list_field(group, GroupField.COLUMNS))
    return {**group, GroupField.COLUMNS: Field(Kind.LIST, Items(Kind.STRUCT, chunks))}


def _change_chunk(chunk: Struct, names: frozenset[str]) -> Struct:
    column = struct_field(chunk, ChunkField.METADATA)
    path: Any = column[ColumnField.PATH].value
    infinity = _INFINITIES.get(number_field(column, ColumnField.TYPE))
    if infinity is None or path.values[0].decode() not in names:
        return chunk
    found = dict(struct_field(column, ColumnField.STATISTICS)) if ColumnField.STATISTICS in column else {}
    bound = Field(Kind.BINARY, infinity)
    found |= {field: bound for field in (_MAX, _MAX_VALUE) if field in found or field == _MAX_VALUE}
    found.setdefault(_MIN_VALUE, bound)  # all numbers are NaN
    found[_IS_MAX_EXACT] = Field(Kind.FALSE, False)
    column = {**column, ColumnField.STATISTICS: Field(Kind.STRUCT, dict(sorted(found.items())))}
    return {**chunk, ChunkField.METADATA: Field(Kind.STRUCT, dict(sorted(column.items())))}
