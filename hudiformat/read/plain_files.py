"""Base files that another reader of Parquet, or of ORC, reads with the same result as a query of the table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.codec.conversion import has_wrong_label
from hudiformat.conditions.filters import Filter
from hudiformat.file_group.base_file.format import format_of
from hudiformat.file_group.base_file.orc import ORC
from hudiformat.file_group.base_file.parquet import PARQUET
from hudiformat.file_group.bootstrap.sources import find_source
from hudiformat.file_group.damage import DamageMode
from hudiformat.file_group.merging.rule import Integers
from hudiformat.file_group.reader import SliceReader
from hudiformat.file_group.renamed_columns import stored_schema_of
from hudiformat.file_group.slices import FileSlice
from hudiformat.read.plan import SlicePlan, TableSnapshot
from hudiformat.read.scan import Batches
from hudiformat.read.skipping import filter_batch
from hudiformat.schema.partition_columns import PartitionColumns
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import Storage

FEW_FILES = 32
_LEAST_BYTES = 1 << 20
"""More files than few are handed over if they have so many bytes on average."""
POSITION = "position in the file"
"""The name of a column of row numbers, beside those of a table: it has spaces, which Avro does not allow."""
_GLOB = frozenset("*?[]{}\\")
MOST_KEPT = 1 << 27
"""Bytes of rows of log files that are kept with a snapshot."""
_MOST_COLUMNS = 128
"""Decoding more columns takes longer than most queries, which read few of them."""


@dataclass(frozen=True)
class DividedSnapshot:
    """The rows of a snapshot, divided by who reads them.

    Parquet files on this machine, given by their absolute paths, which another reader scans: all rows of the files
    ``whole``, and of the files ``changed`` those without the positions that log files replace.  The files have all
    columns of the table, with their types.  The bounds in their footers cover NaN, so that a reader may skip row groups
    by its own order of numbers.

    ``kept`` are the rows that log files put in place of those, decoded once for all queries of the snapshot; None if
    they are too many to be kept.  :meth:`batches` yields the rows that are neither in files nor kept.
    """

    snapshot: TableSnapshot
    whole: Sequence[str]
    changed: Sequence[ChangedFile] = ()
    others: Sequence[FileSlice] = ()
    kept: pa.Table | None = None

    @classmethod
    def of(cls, snapshot: TableSnapshot) -> DividedSnapshot:
        """Divide the rows of *snapshot*.

        Raises:
            CorruptTableError, DecodeError: a file is damaged.
            StorageError: a file cannot be read.
        """
        plan, storage = snapshot.plan(), snapshot.state.storage
        paths, others = divide_plain(plan, storage)
        merged = [one for one in others if one.base_file is not None and one.log_files]
        found = _Changes() if len(merged) > FEW_FILES else _find_changes(plan, storage, merged)
        known = {one.file_slice for one in found.files}
        return cls(snapshot, paths, found.files, [one for one in others if one not in known], found.rows)

    @property
    def has_batches(self) -> bool:
        """Whether some rows are neither in the files nor kept."""
        return bool(self.others) or (bool(self.changed) and self.kept is None)

    def batches(self, columns: Sequence[str] | None, filter: Filter | None) -> Batches:
        """Yield the *columns* of the rows that are neither in the files nor kept, and for which *filter* is true."""
        storage, plan = self.snapshot.state.storage, replace(self.snapshot, slices=self.others).plan(columns, filter)
        names = plan.query.schema.names
        logs = replace(plan.query, columns=names or [plan.query.reader.column_to_count]).prepare()
        for one in self.changed if self.kept is None else ():
            found = logs.replaced_rows(storage, one.file_slice)
            assert found is not None  # noqa: S101 - it was known when the snapshot was divided
            for rows in found.batches:
                kept = rows if plan.query.filter is None else filter_batch(rows, plan.query.filter)
                yield kept.select(names)
        with closing(plan.query.batches(storage, plan.slices)) as batches:
            yield from batches


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file some of whose rows are replaced by log files: those at ``positions``, which ascend."""

    path: str
    positions: Integers
    file_slice: FileSlice


def divide_plain(plan: SlicePlan, storage: Storage) -> tuple[list[str], list[FileSlice]]:
    """Divide the slices of a plan: return the paths of files that are ``whole``, and the other slices.

    Raises:
        CorruptTableError: a base file is damaged.
        StorageError: a base file cannot be read.
    """
    reader, columns = plan.query.reader, plan.query.schema
    if not _may_be_handed_over(plan, storage):
        return [], list(plan.slices)
    paths: list[str] = []
    others: list[FileSlice] = []
    for one in plan.slices:
        path = None if one.log_files else _path_as_shown(reader, storage, one, columns)
        if path is None:
            others.append(one)
        else:
            paths.append(path)
    return paths, others


@dataclass(frozen=True, slots=True)
class _Changes:
    """Files some of whose rows are replaced by log files, and the rows in their place; no rows if they are too many."""

    files: Sequence[ChangedFile] = ()
    rows: pa.Table | None = None


def _find_changes(plan: SlicePlan, storage: Storage, slices: Sequence[FileSlice]) -> _Changes:
    reader, shown = plan.query.reader, plan.query.schema
    if not _may_be_handed_over(plan, storage):
        return _Changes()
    keeps = sum(one.log_bytes for one in slices) <= MOST_KEPT and len(shown) <= _MOST_COLUMNS
    logs = (plan.query if keeps else replace(plan.query, columns=[reader.column_to_count])).prepare()
    files: list[ChangedFile] = []
    rows: list[pa.RecordBatch] = []
    for one in slices:
        path = _path_as_shown(reader, storage, one, shown)
        found = None if path is None else logs.replaced_rows(storage, one)
        if path is None or found is None:
            continue
        files.append(ChangedFile(path, found.positions, one))
        rows += found.batches if keeps else ()
        if keeps and sum(batch.nbytes for batch in rows) > MOST_KEPT:
            keeps, rows = False, []
            logs = replace(plan.query, columns=[reader.column_to_count]).prepare()
    return _Changes(files, pa.Table.from_batches(rows, shown) if keeps else None)


def _may_be_handed_over(plan: SlicePlan, storage: Storage) -> bool:
    """Return whether files are on this machine, and few or large: each is opened here first."""
    sizes = [0 if one.base_file is None else one.base_file.size for one in plan.slices]
    are_large = len(sizes) <= FEW_FILES or sum(sizes) >= _LEAST_BYTES * len(sizes)
    return isinstance(storage, LocalStorage) and are_large and plan.query.reader.times is None


def _path_as_shown(reader: SliceReader, storage: Storage, file_slice: FileSlice, columns: pa.Schema) -> str | None:
    """Return the absolute path of the base file if any reader of Parquet finds what a query of *columns* finds."""
    stored = stored_columns(reader, storage, file_slice, columns.names)
    if stored is None or (stored.names, stored.types) != (columns.names, columns.types) or file_slice.is_registered:
        return None
    path = file_slice.base_path
    absolute = f"{storage.root}/{path}"
    if format_of(path) is not PARQUET or _GLOB.intersection(absolute):
        return None
    with PARQUET.open(storage, path) as base:
        # Several files are scanned together, which takes the same columns in the same order.
        is_same = base.schema.names == reader.output_schema.names and base.dates.columns.isdisjoint(columns.names)
        return absolute if is_same else None


def stored_columns(
    reader: SliceReader, storage: Storage, file_slice: FileSlice, columns: Sequence[str]
) -> pa.Schema | None:
    """Return the stored columns of a slice's base file, if a query of *columns* returns the same names and values.

    A column that the file lacks, which is null in the query, is left out; types may differ from the query's.  The
    result is None if the file alone is not enough: columns have been renamed or have wrong labels, partition columns
    come from the path, or the file is of another format.  Log files are ignored.

    Raises:
        CorruptTableError: the base file is damaged.
        StorageError: the base file cannot be read.
    """
    if file_slice.base_file is None or reader.damage is DamageMode.SKIP:
        return None
    path = file_slice.base_path
    if find_source(storage, path) is not None or format_of(path) not in (PARQUET, ORC):  # the rows are in one file
        return None
    shown = reader.project(columns)
    if stored_schema_of(storage, path, shown, reader.history) is not None:
        return None
    found = _columns_of_parquet if format_of(path) is PARQUET else _columns_of_orc
    return found(storage, path, shown, reader.partition_columns, file_slice.partition_path)


def _columns_of_parquet(
    storage: Storage, path: str, shown: pa.Schema, of_paths: PartitionColumns, partition_path: str
) -> pa.Schema | None:
    with PARQUET.open(storage, path) as base:
        nulls = [name for name in of_paths.fields if of_paths.is_default(name, partition_path)]
        hidden = of_paths.fields if of_paths.dropped else [name for name in nulls if not _is_null(base.file, name)]
        return _same_columns(base.schema, shown, of_paths, hidden)


def _columns_of_orc(
    storage: Storage, path: str, shown: pa.Schema, of_paths: PartitionColumns, partition_path: str
) -> pa.Schema | None:
    with ORC.open(storage, path) as base:
        plain = base.plain_schema
        others = set(base.schema.names) - set(plain.names)
        if not others.isdisjoint(shown.names):
            return None
        nulls = [name for name in of_paths.fields if of_paths.is_default(name, partition_path)]
        return _same_columns(plain, shown, of_paths, of_paths.fields if of_paths.dropped else nulls)


def _same_columns(
    stored: pa.Schema, shown: pa.Schema, of_paths: PartitionColumns, hidden: Sequence[str]
) -> pa.Schema | None:
    """Return the columns of *shown* that a file with the columns *stored* has; None if it is not enough."""
    there, columns = set(stored.names), shown.names
    absent = [name for name in columns if name not in there]
    if any(name in of_paths.fields or not shown.field(name).nullable for name in absent):
        return None
    mislabelled = (
        has_wrong_label(stored.field(name).type, shown.field(name).type) for name in columns if name in there
    )
    if any(mislabelled) or not set(hidden).isdisjoint(columns):
        return None
    return pa.schema([stored.field(name) for name in columns if name in there])


def _is_null(file: pq.ParquetFile, name: str) -> bool:
    """Return whether a column has no value in any row, by the statistics of the row groups."""
    metadata = file.metadata
    columns = [number for number in range(metadata.num_columns) if metadata.schema.column(number).path == name]
    chunks = [
        metadata.row_group(group).column(number) for group in range(metadata.num_row_groups) for number in columns
    ]
    return all(one.statistics is not None and not one.statistics.num_values for one in chunks)
