"""Read Parquet files in batches, with every row that the footer declares, and write files without losing a NaN.

Columns with one value in all rows that are read, as the statistics show, are not decoded.  The partition columns of a
base file are such columns, its ordering column is after one insert, and so are columns that nobody fills.  Decoding
texts takes more time than all else that reading does.

Arrow leaves NaN out of the bounds of a row group in the footer.  To Spark, and so to Hudi, NaN is greater than all
numbers: it skips the row group for ``x > 5`` and loses the row.  Here the upper bound of a row group with a NaN is
infinity.  Without bounds, as parquet-mr writes then, the result would be worse: Hudi reads them as 0 into its
statistics of columns.

Source: Statistics of parquet.thrift; ParquetMetadataConverter.toParquetStatistics of parquet-mr; ParquetUtils of Hudi.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pat

from hudiformat.codec.conversion import batch_of
from hudiformat.codec.parquet.dates import StoredDates
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
from hudiformat.storage.streams import ArrowSink

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


_WITH_NAN = (pa.float32().id, pa.float64().id)
_WORTH_THREADS = 1 << 18
"""Row groups of at least this many bytes, before compression, are decoded by threads; for fewer, one is as fast."""


def read_batches(
    file: pq.ParquetFile,
    batch_rows: int,
    *,
    columns: Sequence[str] | None = None,
    groups: Sequence[int] | None = None,
    dates: StoredDates | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of *file*, at most *batch_rows* at a time: *columns*, at least one, of the row groups *groups*.

    A column chunk declares how many values it has.  If it declares fewer than the row group has rows, pyarrow stops
    without an error, so one damaged byte would lose rows.  Dates and times are converted as *dates* says, which are
    those of the file.  The batches have no metadata.

    Raises:
        ArrowInvalid: there are fewer rows than the row groups declare; pyarrow raises it for other damage too.
        DataError, UnsupportedFeatureError: as :meth:`StoredDates.convert`.
    """
    chosen = range(file.num_row_groups) if groups is None else groups
    described = [file.metadata.row_group(number) for number in chosen]
    expected = sum(group.num_rows for group in described)
    is_large = sum(group.total_byte_size for group in described) >= _WORTH_THREADS
    by_threads = is_large and (columns is None or len(columns) > 1)  # a thread decodes whole columns
    dates = dates or StoredDates.of(file)
    found = 0
    for batch in file.iter_batches(batch_rows, row_groups=list(chosen), columns=columns, use_threads=by_threads):
        found += batch.num_rows
        # Each look at the metadata of a batch copies the texts of the footer, of which the bloom filter is a megabyte.
        yield dates.convert(batch.replace_schema_metadata(None))
    if found != expected:
        raise pa.ArrowInvalid(f"expected {expected} rows, as the row groups have, found {found} in the columns")


_WORTH_ASKING = 1 << 14
"""Row groups with fewer rows are decoded in about the time that it takes to look at their statistics."""
_NEVER_CUT = 64
"""Bounds of so many bytes and more may have been cut by their writer; then equal bounds do not mean equal values."""


def constant_columns(file: pq.ParquetFile, names: Sequence[str], groups: Sequence[int]) -> dict[str, pa.Scalar]:
    """Return the columns among *names* with the same value in all rows of the row groups *groups*, and the values.

    Only columns of integers and texts are told: the bounds of numbers with a fraction leave out NaN.  Two row groups::

        column  bounds, nulls, rows
        p       x to x, 0, 9    x to x, 0, 9    -> x
        ts      1 to 1, 0, 9    2 to 2, 0, 9    two values
        note    none,   9, 9    none,   9, 9    -> null
    """
    metadata, schema = file.metadata, file.schema_arrow
    described = [metadata.row_group(number) for number in groups]
    if not described or min(group.num_rows for group in described) < _WORTH_ASKING:
        return {}
    if metadata.num_columns != len(schema):  # with nested columns, leaves have other numbers
        return {}
    found = {}
    for name in names:
        position = schema.get_field_index(name)
        kind = pa.null() if position < 0 else schema.field(position).type  # a name that comes twice has no position
        if not (pat.is_signed_integer(kind) or pat.is_string(kind)):
            continue
        values = [_only_value(group, group.column(position)) for group in described]
        if values[0] is not None and all(value == values[0] for value in values):
            found[name] = pa.scalar(values[0][0], kind)
    return found


def add_constants(
    batches: Iterable[pa.RecordBatch], names: Sequence[str], constants: Mapping[str, pa.Scalar]
) -> Iterator[pa.RecordBatch]:
    """Yield *batches* with the columns *names*, some of which are *constants*."""
    repeated: dict[str, pa.Array] = {}
    for batch in batches:
        rows = batch.num_rows
        if not repeated or len(next(iter(repeated.values()))) < rows:
            repeated = {name: pa.repeat(value, rows) for name, value in constants.items()}
        columns = [repeated[name].slice(0, rows) if name in repeated else batch[name] for name in names]
        yield pa.RecordBatch.from_arrays(columns, list(names))


def batches_without_columns(rows: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield batches of together *rows* rows without a column, at most *batch_rows* rows at a time."""
    for start in range(0, rows, batch_rows):
        yield batch_of([], pa.schema([]), min(batch_rows, rows - start))


def _only_value(group: Any, chunk: Any) -> tuple[int | str | None] | None:
    """Return the value of all rows of a column chunk, which may be null, in a tuple; None if there may be several."""
    known = chunk.statistics
    if known is None or not known.has_null_count or chunk.num_values != group.num_rows:
        return None
    if known.null_count == group.num_rows:
        return (None,)
    if known.null_count or not known.has_min_max or known.min != known.max:
        return None
    value: int | str = known.min
    return (value,) if isinstance(value, int) or len(value.encode()) < _NEVER_CUT else None


def columns_with_nan(rows: pa.Table) -> frozenset[str]:
    """Return the columns of *rows* that have a NaN, at whatever depth."""
    return frozenset(
        field.name
        for number, field in enumerate(rows.schema)
        if _may_have_nan(field.type) and any(map(_has_nan, rows.column(number).chunks))
    )


def _may_have_nan(kind: pa.DataType) -> bool:
    return kind.id in _WITH_NAN or bool(kind.num_fields) or (pat.is_dictionary(kind) and _may_have_nan(kind.value_type))


def _has_nan(array: pa.Array) -> bool:
    kind = array.type
    if pat.is_float32(kind) or pat.is_float64(kind):
        return pc.any(pc.is_nan(array)).as_py() is True
    if isinstance(array, pa.StructArray):
        return any(_has_nan(array.field(position)) for position in range(kind.num_fields))
    if isinstance(array, pa.MapArray):
        return _has_nan(array.keys) or _has_nan(array.items)
    if isinstance(array, (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray)):
        return _has_nan(array.values)
    return isinstance(array, pa.DictionaryArray) and _has_nan(array.dictionary)


def close_writer(
    writer: pq.ParquetWriter, sink: ArrowSink, stream: pa.NativeFile, with_nan: Sequence[frozenset[str]]
) -> int:
    """Close *writer*, which writes to *stream* into *sink*, and the stream; return the size of the file in bytes.

    *with_nan* has an item per row group: the columns with a NaN.
    """
    if any(with_nan):
        stream.flush()
        with sink.capture() as held:
            writer.close()
            stream.flush()
        sink.write(set_infinite_bounds(bytes(held), with_nan))
    else:
        writer.close()
    stream.close()
    return sink.tell()
