"""A table as a lazy frame of Polars, which pushes columns, predicates and limits on rows down into a scan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from inspect import signature
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.api.packages import import_package
from hudiformat.conditions.polars_predicates import implied_by_predicate
from hudiformat.read.plain_files import POSITION, ChangedFile, DividedSnapshot, divide_plain
from hudiformat.read.plan import TableSnapshot
from hudiformat.read.scan import Batches

if TYPE_CHECKING:
    import polars as pl


_MOST_BYTES = 1 << 30
"""Of a table with more bytes Polars does not read a column of all files to find few rows."""


# By its statistics Polars leaves out row groups with matching rows: for i + 1 > 1 in 32 bits, one with the values 1 and
# 2147483647, whose sum it takes to be below zero.
_AS_STORED: Mapping[str, Any] = {"glob": False, "hive_partitioning": False, "use_statistics": False}


class DividedRows(Protocol):
    """Rows that a lazy frame reads in two parts: Parquet files that Polars scans, and batches."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows."""

    def divide(self, columns: Sequence[str], filter: pc.Expression | None) -> tuple[Sequence[str], Batches]:
        """Return the paths of the files, and the *columns* of the other rows.

        Rows for which *filter* is not true may be left out, but need not be.
        """


@dataclass(frozen=True)
class SnapshotRows:
    """The rows of a snapshot, divided when a query runs, by its filter; see :class:`DividedRows`."""

    snapshot: TableSnapshot

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows."""
        return self.snapshot.reader.output_schema

    def divide(self, columns: Sequence[str], filter: pc.Expression | None) -> tuple[Sequence[str], Batches]:
        """Return the files that Polars reads with the same types, and the rows of the other slices."""
        plan, storage = self.snapshot.plan(columns, filter), self.snapshot.state.storage
        paths, others = divide_plain(plan, storage)
        if not _have_types(paths, plan.query.schema):
            paths, others = [], list(plan.slices)
        return paths, plan.query.batches(storage, others)


@dataclass(frozen=True)
class _OtherRows:
    """The batches of a divided snapshot; see :class:`DividedRows`."""

    divided: DividedSnapshot

    @property
    def schema(self) -> pa.Schema:
        return self.divided.snapshot.reader.output_schema

    def divide(self, columns: Sequence[str], filter: pc.Expression | None) -> tuple[Sequence[str], Batches]:
        return [], self.divided.batches(columns, filter)


def lazy_frame(snapshot: TableSnapshot, *, most_bytes: int = _MOST_BYTES) -> pl.LazyFrame:
    """Return a lazy frame of the rows of *snapshot*.

    Polars itself scans Parquet files on this machine: it plans joins by their footers.  Rows that log files replace are
    left out by their positions, and come from the log files, which are decoded once.  Of a table with partitions, or
    with more than *most_bytes*, Polars gets the files that a query needs, when the query runs.

    Raises:
        UnsupportedFeatureError: Polars is not installed, or is older than 1.28.

    Source: polars.scan_parquet, polars.io.plugins.register_io_source.
    """
    polars, _ = (import_package(name, extra="polars") for name in ("polars", "polars.io.plugins"))
    size = sum(one.size for one in snapshot.slices)
    if snapshot.reader.config.partition_fields or size > most_bytes:
        return frame_of(SnapshotRows(snapshot))
    divided = DividedSnapshot.of(snapshot)
    if not _have_types([*divided.whole, *(one.path for one in divided.changed)], snapshot.reader.output_schema):
        divided = DividedSnapshot(snapshot, whole=(), others=snapshot.slices)
    frames = [_scan(divided.whole)] if divided.whole else []
    frames += [_scan_without(one) for one in divided.changed]
    if divided.kept:
        frames.append(polars.DataFrame(divided.kept).lazy())
    if not frames or divided.has_batches:
        frames.append(frame_of(_OtherRows(divided)))
    found: pl.LazyFrame = polars.concat(frames)
    return found


def frame_of(rows: DividedRows) -> pl.LazyFrame:
    """Return a lazy frame that asks *rows* for what each query needs."""
    register = import_package("polars.io.plugins", extra="polars").register_io_source
    # The rows do not change, so Polars may read what two parts of a query ask for once; older ones do not know that.
    same = {"is_pure": True} if "is_pure" in signature(register).parameters else {}
    found: pl.LazyFrame = register(_source(rows), schema=_polars_schema(rows.schema), **same)
    return found


def _source(rows: DividedRows) -> Callable[..., Iterator[pl.DataFrame]]:
    """Return the function that Polars calls for each query."""
    schema = rows.schema

    def source(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,  # noqa: ARG001 - a hint
    ) -> Iterator[pl.DataFrame]:
        import polars as pl  # noqa: PLC0415 - only for those who have it

        names = list(schema.names) if with_columns is None else with_columns
        read = names if predicate is None else list(dict.fromkeys([*names, *predicate.meta.root_names()]))
        # A limit is one on the rows before the predicate: head(n) and then filter(p).
        early = None if n_rows is not None else predicate
        paths, others = rows.divide(read, None if early is None else implied_by_predicate(early, schema))
        left = n_rows
        with closing(others) as batches:
            for frame in chain(_plain_frames(paths, read, early, n_rows), map(pl.DataFrame, batches)):
                kept = frame if left is None else frame.head(left)
                left = None if left is None else left - kept.height
                yield (kept if predicate is None else kept.filter(predicate)).select(names)
                if left == 0:
                    return

    return source


def _plain_frames(
    paths: Sequence[str], columns: Sequence[str], predicate: pl.Expr | None, limit: int | None
) -> Iterator[pl.DataFrame]:
    """Yield the *columns* of the rows of files for which *predicate* is true, at most *limit* rows."""
    if not paths:
        return
    found = _scan(paths)
    found = (found if predicate is None else found.filter(predicate)).select(columns)
    found = found if limit is None else found.head(limit)
    if hasattr(found, "collect_batches"):  # from Polars 1.34 on
        yield from found.collect_batches(lazy=True)
    else:
        yield found.collect()


def _have_types(paths: Sequence[str], schema: pa.Schema) -> bool:
    """Return whether Polars reads files with the types that it has for the columns *schema* of Arrow."""
    return not paths or _scan(paths).select(schema.names).collect_schema() == _polars_schema(schema)


def _scan(paths: Sequence[str]) -> pl.LazyFrame:
    import polars as pl  # noqa: PLC0415 - only for those who have it

    return pl.scan_parquet(list(paths), **_AS_STORED)


def _scan_without(file: ChangedFile) -> pl.LazyFrame:
    """Scan a file without the rows that log files replace."""
    import polars as pl  # noqa: PLC0415 - only for those who have it

    rows = pl.scan_parquet(file.path, row_index_name=POSITION, **_AS_STORED)
    gone = pl.Series(file.positions, dtype=pl.get_index_type())
    return rows.filter(~pl.col(POSITION).is_in(gone.implode())).drop(POSITION)


def _polars_schema(schema: pa.Schema) -> Any:
    return import_package("polars", extra="polars").DataFrame(schema.empty_table()).schema
