"""A base file -> Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.avro import resolve
from hudiformat.errors import CorruptTableError, HudiFormatError
from hudiformat.storage import Storage


def read_base_file(storage: Storage, path: str, schema: pa.Schema, *, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of a Parquet base file, brought to *schema*; *columns* picks some of its columns.

    Columns that the file does not have yet are null.

    Raises:
        CorruptTableError: the file is no Parquet file.
        SchemaError: its columns cannot be brought to *schema*.
        StorageError: it cannot be read.
    """
    wanted = schema if columns is None else pa.schema([schema.field(name) for name in columns])
    with _opened(storage, path) as file:
        table = file.read(_present(file, wanted))
    return pa.Table.from_batches([resolve(batch, wanted) for batch in table.to_batches()], wanted)


def scan_base_file(
    storage: Storage, path: str, schema: pa.Schema, *, batch_rows: int = 65_536
) -> Iterator[pa.RecordBatch]:
    """As :func:`read_base_file`, a batch after the other: memory is bounded by a row group as it lies in the file.

    Raises:
        CorruptTableError, SchemaError, StorageError: as for :func:`read_base_file`.
    """
    with _opened(storage, path) as file:
        for batch in file.iter_batches(batch_rows, columns=_present(file, schema)):
            yield resolve(batch, schema)


@contextmanager
def _opened(storage: Storage, path: str) -> Iterator[pq.ParquetFile]:
    source = storage.open_input(path)
    try:
        # pre_buffer: what is wanted is fetched in a few requests, neighbours together
        with source, pq.ParquetFile(source, pre_buffer=True) as file:
            yield file
    except HudiFormatError:  # of whoever reads: also a ValueError
        raise
    except (pa.ArrowException, OSError, ValueError) as error:  # pyarrow raises all of them for damage
        raise CorruptTableError(f"{path}: not a readable base file: {error}", path=path) from error


def _present(file: pq.ParquetFile, wanted: pa.Schema) -> list[str]:
    present = set(file.schema_arrow.names)
    return [name for name in wanted.names if name in present]
