"""A table as a relation of DuckDB, which pushes columns and filters down into scans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from hudiformat.read.dataset import TableDataset
from hudiformat.read.plain_files import FEW_FILES, POSITION, ChangedFile, DividedSnapshot
from hudiformat.read.plan import TableSnapshot, explain_snapshot
from hudiformat.read.scan import Scan

if TYPE_CHECKING:
    import duckdb

    from hudiformat.conditions.filters import Filter


def relation_of(snapshot: TableSnapshot, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
    """Return a relation of *connection* with the rows of *snapshot*.

    DuckDB itself scans Parquet files on this machine that have the rows as they are, unless the table has partitions
    with many files: filters rule these out here, before a file is opened.

    Rows that log files replace are left out by their positions, and come from the log files, which are decoded once.

    Source: duckdb.DuckDBPyConnection.read_parquet, duckdb.DuckDBPyConnection.from_arrow.
    """
    undivided = connection.from_arrow(TableDataset(DividedTable(DividedSnapshot(snapshot, (), others=snapshot.slices))))
    if snapshot.reader.config.partition_fields and len(snapshot.slices) > FEW_FILES:
        return undivided
    divided = DividedSnapshot.of(snapshot)
    parts = [connection.read_parquet(list(divided.whole), hive_partitioning=False)] if divided.whole else []
    parts += [_scan_without(one, connection, undivided.columns) for one in divided.changed]
    if not parts or any((one.columns, one.types) != (undivided.columns, undivided.types) for one in parts):
        return undivided
    if divided.kept:
        parts.append(connection.from_arrow(divided.kept))
    if divided.has_batches:
        parts.append(connection.from_arrow(TableDataset(DividedTable(divided))))
    return reduce(lambda left, right: left.union(right), parts)


def _scan_without(
    file: ChangedFile, connection: duckdb.DuckDBPyConnection, columns: Sequence[str]
) -> duckdb.DuckDBPyRelation:
    """Return the *columns* of a file without the rows that log files replace."""
    rows = connection.read_parquet(file.path, hive_partitioning=False, file_row_number=True)
    gone = connection.from_arrow(pa.table({POSITION: pa.array(file.positions, pa.int64())}))
    left = rows.join(gone, f'file_row_number = "{POSITION}"', how="anti")
    return left.project(", ".join(f'"{name}"' for name in columns))


@dataclass(frozen=True)
class DividedTable:
    """The batches of a divided snapshot, as the table of a dataset.

    See :class:`hudiformat.read.dataset.ScannableTable`.
    """

    divided: DividedSnapshot

    def scan(self, *, as_of: None = None, columns: Sequence[str] | None = None, filter: Filter | None = None) -> Scan:
        """Return a scan of the rows; *as_of* is the moment of the snapshot."""
        context, reader = self.divided.snapshot.state.context, self.divided.snapshot.reader
        explain = partial(explain_snapshot, context, as_of=as_of or reader.as_of, filter=filter)
        return Scan(reader.project(columns), partial(self.divided.batches, columns, filter), explain)

    def count(self, filter: Filter | None = None) -> int:
        """Return the number of rows for which *filter* is true."""
        return sum(
            rows.num_rows for rows in self.scan(columns=[self.divided.snapshot.reader.column_to_count], filter=filter)
        )
