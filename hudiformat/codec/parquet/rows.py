"""Read Parquet files in batches, with every row that the footer declares, and write files without losing a NaN."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pat

from hudiformat.codec.parquet.bounds import set_infinite_bounds
from hudiformat.storage.streams import ArrowSink

_WORTH_THREADS = 1 << 18
"""Row groups of at least this many bytes, before compression, are decoded by threads; for fewer, one is as fast."""


def read_batches(
    file: pq.ParquetFile, batch_rows: int, *, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of *file*, at most *batch_rows* at a time: *columns*, at least one, of the row groups *groups*.

    A column chunk declares how many values it has.  If it declares fewer than the row group has rows, pyarrow stops
    without an error, so one damaged byte would lose rows.

    Raises:
        ArrowInvalid: there are fewer rows than the row groups declare; pyarrow raises it for other damage too.
    """
    chosen = range(file.num_row_groups) if groups is None else groups
    described = [file.metadata.row_group(number) for number in chosen]
    expected = sum(group.num_rows for group in described)
    by_threads = sum(group.total_byte_size for group in described) >= _WORTH_THREADS
    found = 0
    for batch in file.iter_batches(batch_rows, row_groups=list(chosen), columns=columns, use_threads=by_threads):
        found += batch.num_rows
        yield batch
    if found != expected:
        raise pa.ArrowInvalid(f"expected {expected} rows, as the row groups have, found {found} in the columns")


def columns_with_nan(rows: pa.Table) -> frozenset[str]:
    """Return the columns of *rows* that have a NaN, at whatever depth."""
    columns = zip(rows.schema.names, rows.columns, strict=True)
    return frozenset(name for name, column in columns if any(map(_has_nan, column.chunks)))


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
