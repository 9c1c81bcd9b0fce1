"""Rows of a base file, of which some columns are read first, and the others when somebody wants the rows after all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.avro import resolve
from hudiformat.avro.resolve import batch_of
from hudiformat.basefile.key_filter import KeyFilter
from hudiformat.basefile.meta_fields import RECORD_KEY
from hudiformat.basefile.opening import opened, refusing_damage, row_groups
from hudiformat.basefile.read import BATCH_ROWS, batches_of
from hudiformat.errors import CorruptTableError
from hudiformat.storage import Storage

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
