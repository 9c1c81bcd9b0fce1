"""Read the rows of a query lazily: file slice after file slice, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.conditions.filters import columns_of
from hudiformat.file_group.damage import DamageMode
from hudiformat.file_group.reader import SliceReader, SliceScan
from hudiformat.file_group.slices import FileSlice
from hudiformat.notebook import Rows, show
from hudiformat.read.ahead import Bounds, Part, read_in_order
from hudiformat.read.explanation import ScanExplanation
from hudiformat.read.skipping import filter_batch
from hudiformat.schema.meta_fields import COMMIT_TIME
from hudiformat.storage.protocol import Storage
from hudiformat.storage.threads import FILE_GROUPS, side_by_side

if TYPE_CHECKING:
    import pandas as pd

Batches: TypeAlias = Generator[pa.RecordBatch, None, None]
"""An iterator over rows; whoever does not read all of them closes it, which ends the threads that read ahead."""

_SHOWN = 8
"""Number of columns that the repr of a scan names."""

_HELD = 32 << 20
"""Bytes of rows of each slice that are read before it is its turn."""
_SMALL, _MOST_SMALL = 1 << 20, 64
"""Slices of so many bytes together, and at most so many of them, are read by one thread, one after the other."""
_LOG_COST = 4
"""Bytes in memory for each byte of log files, as for blocks that are compressed."""
_MERGED, _PARTS_EACH = 32 << 20, 2
"""Slices with log files of so many bytes together are read by one thread, so that their blocks are decoded together, if
all rows are kept anyway; there are at least so many parts for each thread."""

_WORTH_THREADS = 48 << 10
"""Slices of a local storage of fewer bytes to decode, on average, are read by one thread: Python takes most of the time
then, and threads would wait for each other, up to half as long again."""


@dataclass(frozen=True, slots=True)
class Scan:
    """Rows of a table, read batch by batch each time the scan is iterated.

    A scan can be passed to anything that accepts Arrow's C stream: DuckDB, Polars, pandas, ``pa.table(scan)``.
    *batches* begins to read from the start.  ``explain()`` says which file slices are read, and why the others are left
    out: by partition paths, indexes of the metadata table, or footers of base files, which it opens for that.

    Raises:
        HudiFormatError: while the rows are read, whatever reading a slice raises.

    Source: HoodieFileGroupReader.getClosableIterator.
    """

    schema: pa.Schema
    batches: Callable[[], Batches]
    explain: Callable[[], ScanExplanation] = field(repr=False)

    def __repr__(self) -> str:
        names = self.schema.names
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"<Scan of {', '.join(names[:_SHOWN])}{more}>"

    def _repr_html_(self) -> str:
        rows = [(field.name, str(field.type)) for field in self.schema]
        return show("Scan", {"columns": len(rows)}, Rows(("column", "type"), rows))

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.reader().__arrow_c_stream__(requested_schema)

    def with_batch_size(self, rows: int) -> Scan:
        """Return the same scan in batches of at most *rows* rows."""
        return replace(self, batches=partial(_split_batches, self.batches, rows))

    def reader(self) -> pa.RecordBatchReader:
        """Return the batches as a reader, which can be read once."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def read_all(self) -> pa.Table:
        """Read all rows into memory.

        Raises:
            HudiFormatError: whatever reading a slice raises.
        """
        return pa.Table.from_batches(self.batches(), self.schema)

    def to_pandas(self, **options: object) -> pd.DataFrame:
        """Return all rows as a pandas data frame; *options* are those of ``pyarrow.Table.to_pandas``."""
        return self.read_all().to_pandas(**options)


def first_rows(scan: Scan, count: int) -> pa.Table:
    """Return the first *count* rows of *scan*; reading stops after them.

    Raises:
        HudiFormatError: whatever reading a slice raises.
    """
    found: list[pa.RecordBatch] = []
    with closing(scan.batches()) as batches:
        for batch in batches:
            found.append(batch.slice(0, min(count - sum(map(len, found)), len(batch))))
            if sum(map(len, found)) >= count:
                break
    return pa.Table.from_batches(found, scan.schema)


def _split_batches(batches: Callable[[], Batches], rows: int) -> Batches:
    with closing(batches()) as every:
        for batch in every:
            for start in range(0, max(batch.num_rows, 1), rows):
                yield batch.slice(start, rows)


@dataclass(frozen=True)
class SliceQuery:
    """The columns and conditions that a query applies to each file slice.

    ``filter`` may refer to any column of the table, not only to ``columns``.  ``written_by`` is a further condition, on
    the commit time.
    """

    reader: SliceReader
    columns: Sequence[str] | None = None
    filter: pc.Expression | None = None
    with_logs: bool = True
    written_by: pc.Expression | None = None

    @property
    def is_newest(self) -> bool:
        """Whether the query reads the newest rows, and not those of an earlier moment or of some writes only."""
        return self.reader.as_of is None and not self.reader.incremental

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows.

        Raises:
            SchemaError: the table has no such column, or one is asked for twice.
        """
        return self.reader.project(self.columns)

    def scan(self, storage: Storage, slices: Sequence[FileSlice], explain: Callable[[], ScanExplanation]) -> Scan:
        """Return a scan of *slices*; *explain* returns its explanation.

        Raises:
            SchemaError: the table has no such column; from the scan, the filter does not fit the columns.
        """
        return Scan(self.schema, partial(self.batches, storage, slices), explain)

    @property
    def stored_schema(self) -> pa.Schema:
        """The columns of the query from which partition paths are made."""
        return pa.schema([field for field in self.schema if field.name in self.reader.partition_columns.fields])

    def batches(self, storage: Storage, slices: Sequence[FileSlice], *, keeps_all: bool = False) -> Batches:
        """Yield the rows of *slices*, batch by batch; whoever *keeps_all* of them gets them sooner.

        Raises:
            SchemaError: the table has no such column, or the filter does not fit the columns.
        """
        names = self.schema.names
        with closing(self._rows(storage, slices, keeps_all=keeps_all)) as every:
            for rows in every:
                yield rows if rows.schema.names == names else rows.select(names)

    def count(self, storage: Storage, slices: Sequence[FileSlice]) -> int:
        """Return the number of rows of *slices*; without a filter, that of a base file is taken from its footer.

        Raises:
            SchemaError: the filter does not fit the columns.
        """
        if self._conditions:
            return sum(rows.num_rows for rows in self._rows(storage, slices))
        scan = self.prepare()

        def counts(group: Sequence[FileSlice]) -> Generator[int | None, None, None]:
            yield from scan.counts(storage, group)

        bounds = self._bounds(storage, keeps_all=True)
        if storage.capabilities.map:  # footers and positions keep Python busy: threads would wait for each other
            bounds = replace(bounds, threads=1)
        found = list(read_in_order(_parts(slices, counts, bounds), bounds, lambda _: 0))
        others = [one for one, count in zip(slices, found, strict=True) if count is None]
        told = sum(count for count in found if count is not None)
        return told + sum(rows.num_rows for rows in self._rows(storage, others))

    def batches_with_stored(
        self, storage: Storage, file_slice: FileSlice
    ) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
        """Yield each batch of a slice, and its columns of ``stored_schema`` as the files store them.

        A row that is written back with the values that the query shows, instead of the stored ones, could get another
        partition path.
        """
        names, schema = self.schema.names, self.stored_schema
        for rows in self._rows(storage, [file_slice], schema.names):
            stored = rows.columns[rows.num_columns - len(schema) :]
            yield rows.select(names), pa.RecordBatch.from_arrays(stored, schema=schema)

    def tables_with_stored(self, storage: Storage, slices: Sequence[FileSlice]) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Yield the two tables of each slice that :meth:`batches_with_stored` yields in batches.

        Several slices of a remote storage are read at a time.
        """

        def read(one: FileSlice) -> tuple[pa.Table, pa.Table]:
            pairs = list(self.batches_with_stored(storage, one))
            shown = pa.Table.from_batches([rows for rows, _ in pairs], self.schema)
            return shown, pa.Table.from_batches([rows for _, rows in pairs], self.stored_schema)

        yield from map(read, slices) if self._in_turn else side_by_side(storage, read, slices, at_once=FILE_GROUPS)

    def prepare(self, *, stored: Sequence[str] = ()) -> SliceScan:
        """Return what is read of each slice: the columns of the query and of its conditions, before these are applied.

        Raises:
            SchemaError: the table has no such column, or the filter does not fit the columns.
        """
        needed = self._needed(self.schema.names)
        return self.reader.prepare(needed, with_logs=self.with_logs, may_hold=self.filter, stored=stored)

    def _rows(
        self,
        storage: Storage,
        slices: Sequence[FileSlice],
        stored: Sequence[str] = (),
        *,
        keeps_all: bool = False,
    ) -> Batches:
        scan, conditions = self.prepare(stored=stored), self._conditions

        def read(group: Sequence[FileSlice]) -> Batches:
            for one, logs in zip(group, scan.merge_logs(storage, group), strict=True):
                for rows in scan.rows(storage, one, logs):
                    for condition in conditions:
                        rows = filter_batch(rows, condition)  # noqa: PLW2901 - each condition narrows the rows
                    yield rows

        bounds = self._bounds(storage, keeps_all=keeps_all)
        if storage.capabilities.map and self._bytes_to_decode(slices) < _WORTH_THREADS * len(slices):
            bounds = replace(bounds, threads=1)
        parts = list(_parts(slices, read, bounds))
        if len(parts) == 1:
            return parts[0].read()
        return read_in_order(parts, bounds, lambda rows: rows.nbytes)

    @property
    def _in_turn(self) -> bool:
        """Whether slices are read one by one: code of the user merges, or each loss of damaged rows is a warning."""
        return self.reader.merger is not None or self.reader.damage is DamageMode.SKIP

    @property
    def _conditions(self) -> list[pc.Expression]:
        return [condition for condition in (self.written_by, self.filter) if condition is not None]

    def _bounds(self, storage: Storage, *, keeps_all: bool) -> Bounds:
        """Return how many slices are read at the same time."""
        reader = self.reader
        most = pa.cpu_count() if storage.capabilities.map else FILE_GROUPS
        return Bounds(
            threads=1 if self._in_turn else min(most, FILE_GROUPS),
            cost=reader.merge_memory,
            held=None if keeps_all else _HELD,
            together=_MOST_SMALL if storage.capabilities.map else 1,
        )

    def _bytes_to_decode(self, slices: Sequence[FileSlice]) -> float:
        """Return about how many bytes of *slices* are decoded; of a filter only the columns, as few rows may match."""
        every = self.reader.output_schema
        tested = [] if self.filter is None else columns_of(self.filter, every)
        decoded = len(tested) or len(self.schema)
        return sum(one.size for one in slices) * decoded / max(len(every), 1)

    def _needed(self, names: list[str]) -> list[str]:
        """Return the columns to read: *names*, and those that only the conditions need."""
        tested = [COMMIT_TIME] if self.written_by is not None else []
        if self.filter is not None:
            tested += columns_of(self.filter, self.reader.output_schema)
        return list(dict.fromkeys([*names, *tested]))


_Result = TypeVar("_Result")


def _parts(
    slices: Sequence[FileSlice],
    read: Callable[[Sequence[FileSlice]], Generator[_Result, None, None]],
    bounds: Bounds,
) -> Iterator[Part[_Result]]:
    """Yield the parts in which *read* reads *slices*; several small slices that follow each other are one part.

    Of a remote storage each slice is one, since requests take longer than what is saved by reading slices together.
    So are several larger ones with log files for whoever keeps all rows, as long as there are some parts for each
    thread.  The first slice is a part of its own for whoever may stop after some rows.
    """
    keeps_all = bounds.held is None
    together = len(slices) // (_PARTS_EACH * bounds.threads) if keeps_all else 1
    first = 0 if keeps_all else 1
    for one in slices[:first]:
        yield Part(partial(read, [one]), _cost(one))
    group: list[FileSlice] = []
    cost = 0
    for one in slices[first:]:
        group.append(one)
        cost += _cost(one)
        most, limit = (together, _MERGED) if one.log_files and cost >= _SMALL else (bounds.together, _SMALL)
        if cost >= limit or len(group) >= most:
            yield Part(partial(read, group), cost)
            group, cost = [], 0
    if group:
        yield Part(partial(read, group), cost)


def _cost(one: FileSlice) -> int:
    """Return the bytes of memory that reading a slice may take."""
    return one.size + (_LOG_COST - 1) * one.log_bytes
