"""Refuse updates that set columns to values which a table with partial updates takes for unset ones.

The rule is that of updates in one process: tasks apply it to the rows before and after an update.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.types import StructType

from hudiformat.api.projecting import refuse_unset
from hudiformat.file_group.merging.rule import MergeRule
from hudiformat.spark.write.workers import in_task

_BEFORE = "_hudiformat_before_"
"""Prefix of the names of columns that have the values before the update."""


def values_before(values: Mapping[str, tuple[Column, Column]], rule: MergeRule) -> list[Column]:
    """Return the columns that :func:`refuse_unset_values` needs beside the new ones.

    *values* are by column whether an update sets it in a row, and the value that it had.
    """
    partial = rule.partial
    if partial is None:
        return []
    # A row that no update changes gets a value that counts as unset: it cannot become unset.
    unset = functions.lit(partial.marker)
    return [
        functions.when(is_set, value if partial.marker is None else value.cast("string"))
        .otherwise(unset)
        .alias(f"{_BEFORE}{name}")
        for name, (is_set, value) in values.items()
        if name in partial.columns
    ]


def refuse_unset_values(rows: DataFrame, rule: MergeRule, *, of: str) -> DataFrame:
    """Return *rows* without the columns of :func:`values_before`; tasks compare them with the new values.

    A task raises a DataError as ``hudiformat.api.projecting.refuse_unset`` does; its message begins with *of*.
    """
    kept = [field for field in rows.schema.fields if not field.name.startswith(_BEFORE)]
    if len(kept) == len(rows.columns):
        return rows
    return rows.mapInArrow(in_task(_refuse, rule, of), StructType(kept))


def _refuse(rule: MergeRule, of: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        names = [name for name in batch.schema.names if name.startswith(_BEFORE)]
        after = {name: name.removeprefix(_BEFORE) for name in names}
        refuse_unset({new: (rows[old], rows[new]) for old, new in after.items()}, rule, of=of)
        yield batch.drop_columns(names)
