"""A base file -> Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudiformat.avro import resolve
from hudiformat.basefile.bloom import BLOOM_FILTER, parse_filters
from hudiformat.basefile.key_filter import KeyFilter
from hudiformat.basefile.meta_fields import RECORD_KEY
from hudiformat.basefile.possible import true_of_nan
from hudiformat.errors import CorruptTableError, HudiFormatError, SchemaError
from hudiformat.storage import Storage

Rows = npt.NDArray[np.int64]
"""Numbers of rows, in ascending order."""

_BATCH_ROWS = 65_536
_KEYS = pa.schema([(RECORD_KEY, pa.string())])


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
    batch_rows: int = _BATCH_ROWS,
) -> Iterator[pa.RecordBatch]:
    """As :func:`read_base_file`, batch by batch: no more than a few row groups are in memory.

    Raises:
        CorruptTableError, SchemaError, StorageError: as :func:`read_base_file`.
    """
    with _opened(storage, path) as (source, file):
        groups = _row_groups(source, file, may_hold)
        for batch in _batches(file, groups, _present(file, schema), batch_rows):
            yield resolve(batch, schema)


@contextmanager
def _opened(storage: Storage, path: str) -> Iterator[tuple[pa.NativeFile, pq.ParquetFile]]:
    """A Parquet file to read; what pyarrow raises for damage becomes a CorruptTableError."""
    source = storage.open_input(path)
    try:
        # pre_buffer: what is wanted is fetched in a few requests, neighbours together
        with source, pq.ParquetFile(source, pre_buffer=True) as file:
            yield source, file
    except HudiFormatError:  # of whoever reads: also a ValueError
        raise
    except (pa.ArrowException, OSError, ValueError) as error:  # pyarrow raises all of them for damage
        raise CorruptTableError(f"{path}: not a readable base file: {error}", path=path) from error


def scan_keys(
    storage: Storage, path: str, schema: pa.Schema, where: KeyFilter, *, may_hold: pc.Expression | None = None
) -> Iterator[tuple[Rows, pa.RecordBatch]]:
    """As :func:`scan_base_file`, only the rows whose record keys fulfil *where*; with their numbers in the file.

    The file's range of keys and bloom filter are asked first, and of a row group the keys before the other columns.

    Raises:
        CorruptTableError, SchemaError, StorageError: as :func:`read_base_file`.
    """
    with _opened(storage, path) as (source, file):
        starts = np.cumsum([0, *(file.metadata.row_group(i).num_rows for i in range(file.num_row_groups))])
        for group in _groups_with(source, file, where, may_hold):
            found = _rows_with(file, group, where)
            first = 0
            for batch in _batches(file, [group], _present(file, schema), _BATCH_ROWS) if len(found) else ():
                inside = found[(found >= first) & (found < first + batch.num_rows)] - first
                if len(inside):
                    yield starts[group] + first + inside, resolve(batch.take(pa.array(inside)), schema)
                first += batch.num_rows


def _rows_with(file: pq.ParquetFile, group: int, where: KeyFilter) -> Rows:
    if RECORD_KEY not in file.schema_arrow.names:
        return np.arange(file.metadata.row_group(group).num_rows)  # a file without keys cannot be asked for any
    keys = file.read_row_group(group, columns=[RECORD_KEY]).combine_chunks().to_batches()
    return where.rows(resolve(keys[0], _KEYS)[RECORD_KEY]) if keys else np.empty(0, np.int64)


def _groups_with(
    source: pa.NativeFile, file: pq.ParquetFile, where: KeyFilter, may_hold: pc.Expression | None
) -> list[int]:
    """The row groups that may have keys for *where*, and rows for *may_hold*."""
    every = range(file.num_row_groups)
    lefts = [_row_groups(source, file, condition) for condition in (where.condition, may_hold)]
    groups = [group for group in every if all(left is None or group in left for left in lefts)]
    return groups if groups and _may_have(file, where) else []


def _may_have(file: pq.ParquetFile, where: KeyFilter) -> bool:
    """Whether one of the keys may be in the file, by its bloom filter."""
    text = (file.metadata.metadata or {}).get(BLOOM_FILTER.encode())
    if where.keys is None or text is None:
        return True
    keys = pa.array(sorted(where.keys), pa.string())
    try:
        return any(bool(one.might_contain(keys).any()) for one in parse_filters(text.decode(errors="replace")))
    except CorruptTableError:  # of a type that is not known, or damaged: it rules nothing out
        return True


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
