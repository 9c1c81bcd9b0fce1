"""Parquet files read in batches, with every row that the footer names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

_WORTH_THREADS = 1 << 18
"""From so many bytes on, before compression, threads take less time than it takes to hand them the columns."""


def read_batches(
    file: pq.ParquetFile, batch_rows: int, *, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of *file*, at most *batch_rows* at a time: *columns*, at least one, of the row groups *groups*.

    A column chunk says how many values it has.  pyarrow stops without an error where that says fewer than the row
    group has rows, so one damaged byte would lose rows.

    Raises:
        ArrowInvalid: there are fewer rows than the row groups have; pyarrow raises it, too, for other damage.
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
