"""A base file -> Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudiformat.avro import resolve
from hudiformat.basefile.possible import true_of_nan
from hudiformat.errors import CorruptTableError, HudiFormatError, SchemaError
from hudiformat.storage import Storage


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
    batch_rows: int = 65_536,
) -> Iterator[pa.RecordBatch]:
    """As :func:`read_base_file`, batch by batch: no more than a few row groups are in memory.

    Raises:
        CorruptTableError, SchemaError, StorageError: as :func:`read_base_file`.
    """
    source = storage.open_input(path)
    try:
        # pre_buffer: what is wanted is fetched in a few requests, neighbours together
        with source, pq.ParquetFile(source, pre_buffer=True) as file:
            groups = _row_groups(source, file, may_hold)
            for batch in _batches(file, groups, _present(file, schema), batch_rows):
                yield resolve(batch, schema)
    except HudiFormatError:  # of whoever reads: also a ValueError
        raise
    except (pa.ArrowException, OSError, ValueError) as error:  # pyarrow raises all of them for damage
        raise CorruptTableError(f"{path}: not a readable base file: {error}", path=path) from error


def _batches(
    file: pq.ParquetFile, groups: list[int] | None, names: list[str], batch_rows: int
) -> Iterator[pa.RecordBatch]:
    wanted = list(range(file.num_row_groups)) if groups is None else groups
    if names and wanted:
        yield from file.iter_batches(batch_rows, row_groups=wanted, columns=names)
    elif wanted:  # which pyarrow 19 cannot do batch by batch
        yield from file.read_row_groups(wanted, columns=[]).to_batches()


def _present(file: pq.ParquetFile, wanted: pa.Schema) -> list[str]:
    present = set(file.schema_arrow.names)
    return [name for name in wanted.names if name in present]


def _row_groups(source: pa.NativeFile, file: pq.ParquetFile, may_hold: pc.Expression | None) -> list[int] | None:
    """The row groups that may hold rows for *may_hold*; None for all, also where the file's columns do not fit it."""
    if may_hold is None:
        return None
    import pyarrow.dataset as ds  # noqa: PLC0415 - it imports pandas where there is one: half a second

    try:
        if true_of_nan(may_hold, file.schema_arrow):
            return None
        fragment = ds.ParquetFileFormat().make_fragment(source)
        return [group.id for group in fragment.subset(may_hold, schema=file.schema_arrow).row_groups]
    except (
        SchemaError,
        pa.ArrowInvalid,
        pa.ArrowNotImplementedError,
    ):  # a column that is newer than the file, or had another type
        return None
