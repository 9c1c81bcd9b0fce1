"""Read base files: whole files, batches, or rows of which only some columns are read at first.

Row groups that cannot match a condition are skipped, by their statistics and by the bloom filter of record keys.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.codec.conversion import batch_of, convert_to_schema
from hudiformat.errors import CorruptTableError
from hudiformat.file_group.base_file.file_indexes import FileKeys
from hudiformat.file_group.base_file.filters import HIGHEST, FileFilter, KeyFilter
from hudiformat.file_group.base_file.format import StoredFile, format_of
from hudiformat.file_group.base_file.skeleton import BootstrappedFile
from hudiformat.file_group.bootstrap.index import SourceFile
from hudiformat.file_group.bootstrap.sources import SourcedStorage, find_source, is_bootstrapped
from hudiformat.naming.instants import METADATA_BOOTSTRAP
from hudiformat.schema.meta_fields import RECORD_KEY, is_meta_field
from hudiformat.storage.protocol import Storage

BATCH_ROWS = 65_536
"""The number of rows that are decoded at once."""
_MERGED_ROWS = 131_072
"""The number of rows that are decoded at once to be merged, which costs some milliseconds for each batch."""

_FEW_REPLACED = 2
"""All columns of a row group are read at once if it has at least so many times the rows that are left out."""

_WORTH_TWO_READS = 1 << 12
"""Rows of a row group from which on it is worthwhile to read the columns of a filter before the others."""
_MANY_MATCH = 10
"""If more than one row in so many matches, Arrow filters rows faster than it takes them by their numbers."""

_Indices = npt.NDArray[np.int64]


@contextmanager
def open_base_file(storage: Storage, path: str) -> Iterator[StoredFile]:
    """Open the base file at *path* for the body, in which damage raises the same errors.

    Raises:
        CorruptTableError: the file is not of the format that its name says, or the body found damage in it; or its
            source file has been changed since the table was bootstrapped.
        StorageError: the file cannot be read.
        UnsupportedFeatureError: it has a source file outside of the table's folder, which the user has not named.
    """
    found = find_source(storage, path) if isinstance(storage, SourcedStorage) else None
    if found is None:
        with format_of(path).open(storage, path) as file:
            if METADATA_BOOTSTRAP in path:
                _refuse_skeleton(storage, path, file)
            yield file
        return
    files, source = found.files, found.source
    file_format = format_of(path)
    with file_format.open(storage, path) as skeleton, format_of(source.path).open(files, source.path) as rows:
        _refuse_changed(files, source, skeleton, rows)
        yield BootstrappedFile(
            skeleton,
            rows,
            schema_key=file_format.schema_key.encode(),
            of_path=found.of_path,
            value_of=found.value_of,
        )


def _refuse_skeleton(storage: Storage, path: str, file: StoredFile) -> None:
    """Raise a CorruptTableError for a file of meta fields alone, whose source file is not known."""
    if is_bootstrapped(path) and file.schema.names and all(map(is_meta_field, file.schema.names)):
        raise CorruptTableError(
            f"{storage.root}/{path}: expected a base file with the table's columns, or a source file that has them, "
            "found one with meta fields only, and no source file; repair the bootstrap index or hoodie.properties",
            path=f"{storage.root}/{path}",
        )


def _refuse_changed(files: Storage, source: SourceFile, skeleton: StoredFile, rows: StoredFile) -> None:
    """Raise a CorruptTableError if the source file is not the one whose keys the skeleton file has.

    Hudi pairs the rows of both files whatever they are.
    """
    expected, found = sum(skeleton.group_rows), sum(rows.group_rows)
    if rows.size != source.size or expected != found:
        raise CorruptTableError(
            f"{files.root}/{source.path}: expected the source file of {source.size} bytes and {expected} rows with "
            f"which the table was bootstrapped, found one of {rows.size} bytes and {found} rows; put the old file back",
            path=f"{files.root}/{source.path}",
        )


def read_base_file(
    storage: Storage,
    path: str,
    schema: pa.Schema,
    *,
    columns: Sequence[str] | None = None,
    may_hold: FileFilter | None = None,
) -> pa.Table:
    """Return the rows of a base file, converted to *schema*; *columns* selects some of its columns.

    Columns that are not in the file are null.  Row groups are skipped if their statistics show that *may_hold* matches
    none of their rows; see :func:`scan_base_file`.

    Raises:
        CorruptTableError: the file is not of the format that its name says.
        SchemaError: its columns cannot be converted to *schema*.
        StorageError: the file cannot be read.
    """
    wanted = schema if columns is None else pa.schema([schema.field(name) for name in columns])
    return pa.Table.from_batches(scan_base_file(storage, path, wanted, may_hold=may_hold), wanted)


def scan_base_file(
    storage: Storage,
    path: str,
    schema: pa.Schema,
    *,
    may_hold: FileFilter | None = None,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[pa.RecordBatch]:
    """Yield what :func:`read_base_file` returns in batches; only a few row groups are in memory at a time.

    Rows that do not match *may_hold* may be left out.  Of a large row group the columns of *may_hold* are read first,
    and the others only if it matches a row.

    Raises:
        CorruptTableError, SchemaError, StorageError: as :func:`read_base_file`.
    """
    with open_base_file(storage, path) as file:
        if may_hold is not None:
            yield from _matching_batches(file, path, schema, may_hold, batch_rows=batch_rows)
            return
        for batch in _batches(file, range(len(file.group_rows)), schema, batch_rows=batch_rows):
            yield convert_to_schema(batch, schema, relabel=True)


def count_row_groups(
    storage: Storage,
    path: str,
    *,
    may_hold: FileFilter | None = None,
    where: KeyFilter | None = None,
) -> tuple[int, int]:
    """Return how many row groups of a base file :func:`scan_base_rows` reads for these arguments, and how many it has.

    Raises:
        CorruptTableError: the file is not of the format that its name says.
        StorageError: the file cannot be read.
    """
    with open_base_file(storage, path) as file:
        return len(_row_groups(file, may_hold=may_hold, where=where)), len(file.group_rows)


def count_and_highest(storage: Storage, path: str, field: pa.Field | None) -> tuple[int, int]:
    """Return the number of rows of the base file at *path*, and the highest value of *field*, HIGHEST without a field.

    Raises:
        CorruptTableError: the file is not of the format that its name says.
        StorageError: the file cannot be read.
    """
    with open_base_file(storage, path) as file:
        known = [] if field is None else [file.highest(group, field) for group in range(len(file.group_rows))]
        return sum(file.group_rows), max(known, default=HIGHEST)


def count_rows(storage: Storage, path: str) -> int:
    """Return the number of rows of the base file at *path*, from its footer.

    Raises:
        CorruptTableError: the file is not of the format that its name says.
        StorageError: the file cannot be read.
    """
    with open_base_file(storage, path) as file:
        return sum(file.group_rows)


def read_file_keys(storage: Storage, path: str) -> FileKeys:
    """Return the key range and the bloom filters in the footer of the base file at *path*.

    Raises:
        CorruptTableError: the file is not of the format that its name says.
        StorageError: the file cannot be read.
    """
    with open_base_file(storage, path) as file:
        return FileKeys.of(file.footer)


def read_few_rows(storage: Storage, path: str, schema: pa.Schema) -> tuple[pa.Table, FileKeys] | None:
    """Return the rows of a base file, converted to *schema*, and what its footer says of their keys.

    Returns None if there are too many rows to decode them at once.

    Raises:
        CorruptTableError, SchemaError, StorageError: as :func:`read_base_file`.
    """
    with open_base_file(storage, path) as file:
        if sum(file.group_rows) > _MERGED_ROWS:
            return None
        batches = _batches(file, range(len(file.group_rows)), schema, batch_rows=_MERGED_ROWS)
        rows = [convert_to_schema(batch, schema, relabel=True) for batch in batches]
        return pa.Table.from_batches(rows, schema), FileKeys.of(file.footer)


def read_columns(storage: Storage, path: str) -> pa.Schema:
    """Return the columns of the base file at *path*, from its footer.

    Raises:
        CorruptTableError: the file is not of the format that its name says.
        StorageError: the file cannot be read.
    """
    with open_base_file(storage, path) as file:
        return file.schema


@dataclass(frozen=True, slots=True)
class BaseRows:
    """Some rows of a base file, in file order.

    ``head`` has the columns that are read first.  ``read`` returns all columns of the same rows in batches; it can be
    called once, and only before it is called for later rows.  ``numbers`` are the row numbers in the file, from 0 on;
    a range if no row between them is left out, which takes no memory.
    """

    head: pa.RecordBatch
    read: Callable[[], Iterable[pa.RecordBatch]]
    numbers: range | _Indices


def to_base_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[BaseRows]:
    """Yield *batches* as base rows; they are all rows of a file, with all columns."""
    start = 0
    for batch in batches:
        yield BaseRows(batch, partial(iter, [batch]), range(start, start + batch.num_rows))
        start += batch.num_rows


@dataclass(frozen=True, slots=True)
class LogsWin:
    """In which row groups each entry of the log files wins over its row, so that no ordering values are compared.

    These are the row groups whose values of the ordering *field* are at most *lowest*, the lowest value of an entry;
    all row groups if there is no field.  Of them only ``columns`` are read, those of ``head`` first, and none at all if
    no row can match ``may_hold``.
    """

    field: pa.Field | None
    lowest: int
    head: pa.Schema
    columns: pa.Schema
    may_hold: FileFilter | None = None


def scan_base_rows(
    storage: Storage,
    path: str,
    schema: pa.Schema,
    head: pa.Schema,
    *,
    where: KeyFilter | None = None,
    may_hold: FileFilter | None = None,
    replaced: int | None = None,
    won: LogsWin | None = None,
    groups: Collection[int] | None = None,
    batch_rows: int = _MERGED_ROWS,
) -> Iterator[BaseRows]:
    """Yield the rows of a base file with the columns of *schema*; the columns of *head* are read first.

    If *replaced*, the number of rows that the caller leaves out, is given, all columns of a row group that has many
    more rows are read at once.

    *won* tells what is read instead of the row groups of which the log files win every row.  If *groups* are given, no
    other row groups are read.

    *may_hold* skips row groups as in :func:`scan_base_file`.  With *where* only rows whose keys match it are returned,
    and files and row groups are skipped by the bloom filter and the statistics of the keys too.  The other columns of a
    row group are not read unless ``read`` is called for one of its rows.

    A file of two row groups of 3 and 2 rows, in batches of 2 rows::

        sizes = [3, 2]   starts = [0, 3, 5]
        row group 0: numbers [0, 1], then [2]      row group 1: numbers [3, 4]

    Raises:
        CorruptTableError, SchemaError, StorageError: as :func:`read_base_file`.
    """
    with open_base_file(storage, path) as file:
        if where is not None and RECORD_KEY not in file.schema.names:
            where = None  # a file without record keys cannot be filtered by key
        starts = np.cumsum([0, *file.group_rows])
        tested = [] if where is None else [pa.field(RECORD_KEY, pa.string())]
        ruled_out: frozenset[int] | None = None
        for group in _row_groups(file, may_hold=may_hold, where=where, among=groups):
            columns, early = schema, head
            if won is not None and (won.field is None or file.highest(group, won.field) <= won.lowest):
                if ruled_out is None:
                    ruled_out = _ruled_out(file, won.may_hold)
                if group in ruled_out:
                    continue
                columns, early = won.columns, won.head
            if replaced is not None and _FEW_REPLACED * replaced <= file.group_rows[group]:
                early = columns
            first = pa.schema([*early, *(one for one in tested if early.get_field_index(one.name) < 0)])
            rest = pa.schema([field for field in columns if first.get_field_index(field.name) < 0])
            later = _LaterColumns(path, _batches(file, [group], rest, batch_rows=batch_rows), rest)
            start = int(starts[group])
            for batch in _batches(file, [group], first, batch_rows=batch_rows):
                rows = _base_rows(
                    convert_to_schema(batch, first, relabel=True), later.next_rows(batch.num_rows), columns, start
                )
                start += batch.num_rows
                if where is not None:
                    rows = _select_rows(rows, where.rows(rows.head[RECORD_KEY]))
                if len(rows.numbers):
                    yield rows


class _LaterColumns:
    """The columns of a row group that are not in the head; they are decoded up to the last row that is read.

    A row group of 5 rows, decoded in batches of 2 rows, of which only the rows 3 and 4 are read::

        next_rows(3), next_rows(2)   functions that read the rows 0 to 2 and the rows 3 and 4
        second function called:      batch of rows 0 and 1: skipped
                                     batch of rows 2 and 3: 1 row skipped, row 3 returned
                                     batch of row 4:        returned
    """

    def __init__(self, path: str, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> None:
        self._path = path
        self._batches = batches
        self._schema = schema
        self._remainder: pa.RecordBatch | None = None  # of the last batch that was decoded
        self._assigned = 0
        self._read = 0

    def next_rows(self, rows: int) -> Callable[[], Iterator[pa.RecordBatch]]:
        """Return a function that reads the next *rows* rows."""
        start, self._assigned = self._assigned, self._assigned + rows
        return lambda: self._between(start, start + rows)

    def _between(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        while self._read < end:
            batch = next(self._batches, None) if self._remainder is None else self._remainder
            if batch is None:
                message = f"{self._path}: a column ends before the others do, at row {self._read} of its row group"
                raise CorruptTableError(message, path=self._path)
            # The batch begins at row self._read: rows before *start* are skipped, rows from *end* on are kept.
            skipped = min(max(start - self._read, 0), batch.num_rows)
            taken = batch.slice(skipped, end - self._read - skipped)
            used = skipped + taken.num_rows
            self._remainder = batch.slice(used) if used < batch.num_rows else None
            self._read += used
            if taken.num_rows:
                yield convert_to_schema(taken, self._schema, relabel=True)


def _matching_batches(
    file: StoredFile, path: str, schema: pa.Schema, may_hold: FileFilter, *, batch_rows: int
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of an open file that may match *may_hold*; see :func:`scan_base_file`."""
    groups = _row_groups(file, may_hold=may_hold)
    if not groups:
        return
    first = may_hold.columns
    rest = pa.schema([field for field in schema if first.get_field_index(field.name) < 0])
    is_tested = bool(rest.names) and may_hold.fits(file.schema)
    for group in groups:
        if not is_tested or file.group_rows[group] < _WORTH_TWO_READS:
            for batch in _batches(file, [group], schema, batch_rows=batch_rows):
                yield convert_to_schema(batch, schema, relabel=True)
            continue
        later = _LaterColumns(path, _batches(file, [group], rest, batch_rows=batch_rows), rest)
        for batch in _batches(file, [group], first, batch_rows=batch_rows):
            head = convert_to_schema(batch, first, relabel=True)
            yield from _select_matching(_base_rows(head, later.next_rows(batch.num_rows), schema, 0), may_hold)


def _select_matching(rows: BaseRows, may_hold: FileFilter) -> Iterator[pa.RecordBatch]:
    """Yield those of *rows* for which *may_hold* is true; all of them if they are many, or if Arrow cannot tell."""
    found = np.flatnonzero(may_hold.matches(rows.head))
    if len(found):
        chosen = rows if _MANY_MATCH * len(found) > len(rows.numbers) else _select_rows(rows, found)
        yield from chosen.read()


def _base_rows(
    head: pa.RecordBatch, read_later: Callable[[], Iterator[pa.RecordBatch]], schema: pa.Schema, start: int
) -> BaseRows:
    """Return base rows from *start* on, whose columns are those of *head* and those that *read_later* returns."""
    early = set(head.schema.names)

    def read() -> Iterator[pa.RecordBatch]:
        if early.issuperset(schema.names):
            yield batch_of([head[name] for name in schema.names], schema, head.num_rows)
            return
        row = 0
        for batch in read_later():
            part = head.slice(row, batch.num_rows)
            row += batch.num_rows
            columns = [part[name] if name in early else batch[name] for name in schema.names]
            yield batch_of(columns, schema, batch.num_rows)

    return BaseRows(head, read, range(start, start + head.num_rows))


def _select_rows(rows: BaseRows, indices: _Indices) -> BaseRows:
    """Return the rows at *indices*, which ascend.

    The indices 1 and 2 of three rows that are read in batches of 2 rows::

        batch of rows 0 and 1: inside = [1]     batch of row 2: inside = [0]
    """

    def read() -> Iterator[pa.RecordBatch]:
        start = 0
        for batch in rows.read():
            inside = indices[(indices >= start) & (indices < start + batch.num_rows)] - start
            start += batch.num_rows
            if len(inside):
                yield batch.take(pa.array(inside))

    numbers = indices + rows.numbers.start if isinstance(rows.numbers, range) else rows.numbers[indices]
    return BaseRows(rows.head.take(pa.array(indices)), read, numbers)


def _row_groups(
    file: StoredFile,
    *,
    may_hold: FileFilter | None = None,
    where: KeyFilter | None = None,
    among: Collection[int] | None = None,
) -> list[int]:
    """Return the row groups, *among* these if they are given, that may have rows that match *may_hold* and *where*."""
    filters = (may_hold, None if where is None else where.of_file)
    asked = [one for one in filters if one is not None and one.fits(file.schema)]
    possible = [file.groups_that_match(one) for one in asked]
    possible.append(None if among is None else [*among])
    groups = [group for group in range(len(file.group_rows)) if all(ids is None or group in ids for ids in possible)]
    if not groups or where is None or where.keys is None:
        return groups
    keys = pa.array(sorted(where.keys), pa.string())
    return groups if FileKeys.of(file.footer).might_contain(keys) else []


def _ruled_out(file: StoredFile, may_hold: FileFilter | None) -> frozenset[int]:
    """Return the row groups in which no row can match *may_hold*."""
    if may_hold is None:
        return frozenset()
    return frozenset(range(len(file.group_rows))).difference(_row_groups(file, may_hold=may_hold))


def _batches(
    file: StoredFile, groups: Sequence[int], schema: pa.Schema, *, batch_rows: int
) -> Iterator[pa.RecordBatch]:
    """Yield the columns of *schema* that the file has, for the row groups *groups*."""
    present = set(file.schema.names)
    if groups:
        yield from file.batches(
            [name for name in schema.names if name in present], groups=groups, batch_rows=batch_rows
        )
