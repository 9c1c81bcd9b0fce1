"""Base files: opened, and which of their row groups are read.

A base file -> Arrow.

Rows of a base file, of which some columns are read first, and the others when somebody wants the rows after all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudiformat.avro import resolve
from hudiformat.avro.schema import batch_of
from hudiformat.basefile.file_keys import FileKeys
from hudiformat.basefile.filters import KeyFilter, true_of_nan
from hudiformat.basefile.meta_fields import RECORD_KEY
from hudiformat.errors import CorruptTableError, HudiFormatError, SchemaError
from hudiformat.storage import Storage


@contextmanager
def opened(storage: Storage, path: str) -> Iterator[tuple[pa.NativeFile, pq.ParquetFile]]:
    """A Parquet file to read."""
    source = storage.open_input(path)
    # pre_buffer: what is wanted is fetched in a few requests, neighbours together
    with refusing_damage(path), source, pq.ParquetFile(source, pre_buffer=True) as file:
        yield source, file


def read_file_keys(storage: Storage, path: str) -> FileKeys:
    """What the footer of the base file at *path* says of its record keys.

    Raises:
        CorruptTableError: it is no Parquet file.
        StorageError: it cannot be read.
    """
    with opened(storage, path) as (_, file):
        return FileKeys.of(file.metadata.metadata)


@contextmanager
def refusing_damage(path: str) -> Iterator[None]:
    """What pyarrow raises for damage in the file at *path* becomes a CorruptTableError."""
    try:
        yield
    except HudiFormatError:  # of whoever reads: also a ValueError
        raise
    except (pa.ArrowException, OSError, ValueError) as error:  # pyarrow raises all of them for damage
        raise CorruptTableError(f"{path}: not a readable base file: {error}", path=path) from error


def row_groups(
    source: pa.NativeFile,
    file: pq.ParquetFile,
    *,
    may_hold: pc.Expression | None = None,
    where: KeyFilter | None = None,
) -> list[int]:
    """The row groups that may have rows for *may_hold* and keys for *where*, by statistics and the bloom filter."""
    conditions = (may_hold, None if where is None else where.condition)
    lefts = [_left(source, file, condition) for condition in conditions if condition is not None]
    groups = [group for group in range(file.num_row_groups) if all(left is None or group in left for left in lefts)]
    if not groups or where is None or where.keys is None:
        return groups
    return (
        groups if FileKeys.of(file.metadata.metadata).might_contain(pa.array(sorted(where.keys), pa.string())) else []
    )


def _left(source: pa.NativeFile, file: pq.ParquetFile, may_hold: pc.Expression) -> list[int] | None:
    """The row groups that may hold rows for *may_hold*; None for all, also where the file's columns do not fit it."""
    import pyarrow.dataset as ds  # noqa: PLC0415 - it imports pandas where there is one: half a second

    try:
        if true_of_nan(may_hold, file.schema_arrow):
            return None
        fragment = ds.ParquetFileFormat().make_fragment(source)
        return [group.id for group in fragment.subset(may_hold, schema=file.schema_arrow).row_groups]
    except (SchemaError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None  # a column that is newer than the file, or had another type


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


_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BaseRows:
    """Some rows of a base file, in its order.

    ``head`` has the columns that are read first.  ``read`` gives all columns of the same rows, batch by batch; it can
    be called once, and only before that of later rows.  ``numbers`` are those of the rows in the file.
    """

    head: pa.RecordBatch
    read: Callable[[], Iterable[pa.RecordBatch]]
    numbers: _Numbers


def as_base_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[BaseRows]:
    """*batches*, which are all rows of a file and have all columns."""
    start = 0
    for batch in batches:
        yield BaseRows(batch, partial(iter, [batch]), np.arange(start, start + batch.num_rows))
        start += batch.num_rows


def scan_base_rows(
    storage: Storage,
    path: str,
    schema: pa.Schema,
    head: pa.Schema,
    *,
    where: KeyFilter | None = None,
    may_hold: pc.Expression | None = None,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[BaseRows]:
    """The rows of a base file with the columns of *schema*, those of *head* first; *may_hold* as in ``scan_base_file``.

    With *where* there are only rows whose keys fulfil it, and the file's key range and bloom filter are asked before.
    Of a row group none of whose rows are wanted, the other columns are not read.

    Raises:
        CorruptTableError, SchemaError, StorageError: as ``read_base_file``.
    """
    with opened(storage, path) as (source, file):
        if where is not None and RECORD_KEY not in file.schema_arrow.names:
            where = None  # a file without keys cannot be asked for any
        sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
        starts = np.cumsum([0, *sizes])
        first = head if where is None or RECORD_KEY in head.names else head.append(pa.field(RECORD_KEY, pa.string()))
        rest = pa.schema([field for field in schema if field.name not in first.names])
        for group in row_groups(source, file, may_hold=may_hold, where=where):
            later = _Later(path, batches_of(file, [group], rest, batch_rows=batch_rows), rest)
            start = int(starts[group])
            for batch in batches_of(file, [group], first, batch_rows=batch_rows):
                rows = _chunk(resolve(batch, first), later.of(batch.num_rows), schema, start)
                start += batch.num_rows
                if where is not None:
                    rows = _only(rows, where.rows(rows.head[RECORD_KEY]))
                if len(rows.numbers):
                    yield rows


class _Later:
    """The other columns of a row group, decoded as far as somebody asks."""

    def __init__(self, path: str, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> None:
        self._path = path
        self._batches = batches
        self._schema = schema
        self._left: pa.RecordBatch | None = None
        self._given = 0
        self._read = 0

    def of(self, rows: int) -> Callable[[], Iterator[pa.RecordBatch]]:
        """What gives the next *rows* rows."""
        start, self._given = self._given, self._given + rows
        return lambda: self._between(start, start + rows)

    def _between(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        while self._read < end:
            with refusing_damage(self._path):  # whoever asks does so outside of the scan
                batch = next(self._batches, None) if self._left is None else self._left
            if batch is None:
                message = f"{self._path}: a column ends before the others do, at row {self._read} of its row group"
                raise CorruptTableError(message, path=self._path)
            skipped = min(max(start - self._read, 0), batch.num_rows)
            taken = batch.slice(skipped, end - self._read - skipped)
            used = skipped + taken.num_rows
            self._left = batch.slice(used) if used < batch.num_rows else None
            self._read += used
            if taken.num_rows:
                yield resolve(taken, self._schema)


def _chunk(
    head: pa.RecordBatch, later: Callable[[], Iterator[pa.RecordBatch]], schema: pa.Schema, start: int
) -> BaseRows:
    def read() -> Iterator[pa.RecordBatch]:
        if len(schema) <= len(head.schema) and all(name in head.schema.names for name in schema.names):
            yield batch_of([head[name] for name in schema.names], schema, head.num_rows)
            return
        place = 0
        for batch in later():
            part = head.slice(place, batch.num_rows)
            place += batch.num_rows
            columns = [part[name] if name in part.schema.names else batch[name] for name in schema.names]
            yield batch_of(columns, schema, batch.num_rows)

    return BaseRows(head, read, np.arange(start, start + head.num_rows))


def _only(rows: BaseRows, chosen: _Numbers) -> BaseRows:
    """Some of *rows*."""

    def read() -> Iterator[pa.RecordBatch]:
        place = 0
        for batch in rows.read():
            inside = chosen[(chosen >= place) & (chosen < place + batch.num_rows)] - place
            place += batch.num_rows
            if len(inside):
                yield batch.take(pa.array(inside))

    return BaseRows(rows.head.take(pa.array(chosen)), read, rows.numbers[chosen])
