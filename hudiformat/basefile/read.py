"""A base file -> Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.avro import resolve
from hudiformat.errors import CorruptTableError
from hudiformat.storage import Storage

_BATCH_ROWS = 1 << 16


def read_base_file(storage: Storage, path: str, schema: pa.Schema, *, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of a Parquet base file, brought to *schema*; *columns* picks some of its columns.

    Columns that the file does not have yet are null.

    Raises:
        CorruptTableError: the file is no Parquet file.
        SchemaError: its columns cannot be brought to *schema*.
        StorageError: it cannot be read.
    """
    wanted = schema if columns is None else pa.schema([schema.field(name) for name in columns])
    return pa.Table.from_batches(scan_base_file(storage, path, wanted), wanted)


def scan_base_file(storage: Storage, path: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """As :func:`read_base_file`, batch by batch: no more than a few row groups are in memory.

    Raises:
        CorruptTableError, SchemaError, StorageError: as :func:`read_base_file`.
    """
    for batch in _batches(storage, path, schema.names):
        yield resolve(batch, schema)


def _batches(storage: Storage, path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    source = storage.open_input(path)
    try:
        # pre_buffer: what is wanted is fetched in a few requests, neighbours together
        with source, pq.ParquetFile(source, pre_buffer=True) as file:
            present = set(file.schema_arrow.names)
            yield from file.iter_batches(_BATCH_ROWS, columns=[name for name in columns if name in present])
    except (pa.ArrowException, OSError, ValueError) as error:  # pyarrow raises all of them for damage
        raise CorruptTableError(f"{path}: not a readable base file: {error}", path=path) from error
