"""A base file -> Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudiformat.avro import resolve
from hudiformat.basefile.opening import opened, row_groups
from hudiformat.storage import Storage

BATCH_ROWS = 65_536
"""Rows that are decoded at once."""


def read_base_file(
    storage: Storage,
    path: str,
    schema: pa.Schema,
    *,
    columns: Sequence[str] | None = None,
    may_hold: pc.Expression | None = None,
) -> pa.Table:
    """The rows of a Parquet base file, brought to *schema*; *columns* picks some of its columns.

    Columns that the file does not have yet are null.  Row groups whose statistics say that they hold no row for which
    *may_hold* is true are left out; other rows for which it is not true may be there.

    Raises:
        CorruptTableError: the file is no Parquet file.
        SchemaError: its columns cannot be brought to *schema*.
        StorageError: it cannot be read.
    """
    wanted = schema if columns is None else pa.schema([schema.field(name) for name in columns])
    return pa.Table.from_batches(scan_base_file(storage, path, wanted, may_hold=may_hold), wanted)


def scan_base_file(
    storage: Storage,
    path: str,
    schema: pa.Schema,
    *,
    may_hold: pc.Expression | None = None,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[pa.RecordBatch]:
    """As :func:`read_base_file`, batch by batch: no more than a few row groups are in memory.

    Raises:
        CorruptTableError, SchemaError, StorageError: as :func:`read_base_file`.
    """
    with opened(storage, path) as (source, file):
        groups = row_groups(source, file, may_hold=may_hold)
        for batch in batches_of(file, groups, schema, batch_rows=batch_rows):
            yield resolve(batch, schema)


def batches_of(
    file: pq.ParquetFile, groups: list[int], schema: pa.Schema, *, batch_rows: int
) -> Iterator[pa.RecordBatch]:
    """The columns of *schema* that the file has, of some row groups."""
    present = set(file.schema_arrow.names)
    names = [name for name in schema.names if name in present]
    if names and groups:
        yield from file.iter_batches(batch_rows, row_groups=groups, columns=names)
    elif groups:  # which pyarrow 19 cannot do batch by batch
        yield from file.read_row_groups(groups, columns=[]).to_batches()
