"""Rows without a record key: an error says how many there are, and shows one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, functions

from hudiformat.errors import DataError
from hudiformat.schema.table_schema import RowKeys
from hudiformat.spark.write.lookup.tagging import quoted
from hudiformat.timeline.table_config import TableConfig

_MARK = "null or empty in"
_SHOWN = 8
"""Columns of the row that is shown."""


@contextmanager
def null_keys_counted(df: DataFrame, config: TableConfig) -> Iterator[None]:
    """Have an error of the block about null record keys count all rows of *df*, where a task has counted a batch."""
    try:
        yield
    except DataError as error:
        fields = RowKeys.of(config).key_fields
        if _MARK not in str(error) or not set(fields) <= set(df.columns):
            raise
        found = df.where(reduce(and_, map(_is_missing, fields)))
        count, example = found.count(), found.select(*map(quoted, df.columns[:_SHOWN])).first()
        if example is None:  # the rows are others by now
            raise
        name = ", ".join(fields)
        raise DataError(
            f"record key {name}: {_MARK} {count} of {df.count()} rows, such as {example.asDict()}; nothing was "
            "written: fill it, or leave these rows out",
            column=name,
        ) from error.__cause__


def _is_missing(name: str) -> Column:
    column = functions.col(quoted(name))
    return column.isNull() | (column.cast("string") == "")
