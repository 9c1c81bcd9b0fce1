"""Polars: a table as a lazy frame.

The module is ``hudiformat.polars``; the package ``polars`` is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hudiformat.api.table import open_table
from hudiformat.arguments import check_arguments
from hudiformat.read.time_travel import Moment
from hudiformat.storage.opening import Location

if TYPE_CHECKING:
    import polars as pl

__all__ = ["scan_hudi"]


@check_arguments
def scan_hudi(
    path: Location,
    *,
    as_of: Moment | None = None,
    options: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> pl.LazyFrame:
    """Return the table at *path* as a Polars lazy frame, whose columns, predicates and limits are pushed down.

    *path*, *options* and *storage_options* are as for :func:`hudiformat.open_table`.  The rows are those of the moment
    when the frame is made, however often it is collected, or with *as_of*, an instant, a date or a datetime, those as
    of that moment.  Predicates rule out partitions, files and row groups; Polars itself applies those that cannot be
    pushed down.  Polars itself scans Parquet files on this machine that need no merging.

    Raises:
        NotATableError: there is no table at *path*.
        UnsupportedFeatureError: Polars is not installed; or as for :func:`hudiformat.open_table`.

    Source: polars.scan_parquet, polars.io.plugins.register_io_source.
    """
    return open_table(path, options=options, storage_options=storage_options).lazy(as_of)
