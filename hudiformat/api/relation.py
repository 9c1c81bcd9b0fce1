"""A table as a relation of DuckDB, which pushes columns and filters down into scans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from hudiformat.read.dataset import TableDataset
from hudiformat.read.plain_files import FEW_FILES, divide_plain
from hudiformat.read.plan import TableSnapshot, explain_snapshot

if TYPE_CHECKING:
    import duckdb

    from hudiformat.conditions.filters import Filter
    from hudiformat.read.scan import Scan


def relation_of(snapshot: TableSnapshot, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
    """Return a relation of *connection* with the rows of *snapshot*.

    DuckDB itself scans Parquet files on this machine that have the rows as they are, unless the table has partitions
    with many files: filters rule these out here, before a file is opened.

    Source: duckdb.DuckDBPyConnection.read_parquet, duckdb.DuckDBPyConnection.from_arrow.
    """
    whole = connection.from_arrow(TableDataset(SnapshotTable(snapshot)))
    if snapshot.reader.config.partition_fields and len(snapshot.slices) > FEW_FILES:
        return whole
    paths, others = divide_plain(snapshot.plan(), snapshot.state.storage)
    if not paths:
        return whole
    plain = connection.read_parquet(paths, hive_partitioning=False)
    if (plain.columns, plain.types) != (whole.columns, whole.types):
        return whole
    if not others:
        return plain
    return plain.union(connection.from_arrow(TableDataset(SnapshotTable(replace(snapshot, slices=others)))))


@dataclass(frozen=True)
class SnapshotTable:
    """A snapshot as the table of a dataset; see :class:`hudiformat.read.dataset.ScannableTable`."""

    snapshot: TableSnapshot

    def scan(self, *, as_of: None = None, columns: Sequence[str] | None = None, filter: Filter | None = None) -> Scan:
        """Return a scan of the snapshot's rows; *as_of* is its own moment."""
        context, reader = self.snapshot.state.context, self.snapshot.reader
        explain = partial(explain_snapshot, context, as_of=reader.as_of if as_of is None else as_of, filter=filter)
        return self.snapshot.plan(columns, filter).scan(context.storage, explain)

    def count(self, filter: Filter | None = None) -> int:
        """Return the number of rows for which *filter* is true."""
        return self.snapshot.plan(None, filter).count(self.snapshot.state.storage)
