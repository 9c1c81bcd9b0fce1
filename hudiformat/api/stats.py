"""The numbers and bytes of a table's files, by partition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from itertools import groupby

import pyarrow as pa

from hudiformat.file_group.slices import FileSlice, SliceTotals

SMALL_FILE_LIMIT = 104_857_600
"""A base file of fewer bytes is small: the default of hoodie.parquet.small.file.limit."""


def slice_stats(slices: Iterable[FileSlice], *, small_file_limit: int) -> pa.Table:
    """Return one row for each partition path of *slices*, with the totals of its file slices."""
    ordered = sorted(slices, key=lambda one: one.partition_path)
    rows = []
    for path, group in groupby(ordered, key=lambda one: one.partition_path):
        totals = SliceTotals.of(group, small_file_limit=small_file_limit)
        more = {"average_base_file": totals.average_base_file, "log_ratio": totals.log_ratio}
        rows.append({"partition": path, **asdict(totals), **more})
    return pa.Table.from_pylist(rows, _schema())


def _schema() -> pa.Schema:
    numbers = [(name, pa.int64()) for name in (*SliceTotals.__dataclass_fields__, "average_base_file")]
    return pa.schema([("partition", pa.string()), *numbers, ("log_ratio", pa.float64())])
