"""Rows in numbers and tables for them, for the tests of this room."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from hudiformat import Commit, Table
from hudiformat.services.inline import after_write, before_write
from hudiformat.table.options.values import Operation
from hudiformat.write.write import TaskLimits, write_rows
from tests.tables import new_table, rows

RAW = {"hoodie.parquet.compression.codec": "uncompressed", "hoodie.parquet.bloom.filter.enabled": "false"}


def cow(path: Path, **changes: Any) -> Table:
    return new_table(path, table_type="COPY_ON_WRITE", **changes)


def keyed(start: int, end: int, *, ts: int = 1, path: str = "x") -> pa.Table:
    return rows(*((f"key-{i:06d}", ts, path, i) for i in range(start, end)))


def files(table: Table) -> list[tuple[bool, int]]:
    """Of each newest slice whether it has a base file, and how many log files."""
    return sorted((item.base_file is not None, len(item.log_files)) for item in table.file_slices())


def write_within(limits: TaskLimits, table: Table, operation: Operation, data: pa.Table) -> Commit:
    """Write as the method of *table* for *operation* does, by a task with *limits*."""
    return after_write(write_rows(before_write(table._context), operation=operation, data=data, limits=limits))
