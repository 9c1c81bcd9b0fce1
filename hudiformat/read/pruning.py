"""Decide by their paths which partitions can have rows for which a filter is true."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.conditions.filters import filter_rows
from hudiformat.errors import SchemaError
from hudiformat.file_group.base_file.filters import can_match
from hudiformat.schema.partition_columns import PartitionColumns, cast_text


def filter_batch(rows: pa.RecordBatch, expression: pc.Expression) -> pa.RecordBatch:
    """Return the rows for which a filter is true.

    Raises:
        SchemaError: the filter does not fit the columns.
    """
    try:
        # Filtered as a table: pyarrow 19 cannot filter a batch when no row is left.
        kept = filter_rows(pa.Table.from_batches([rows]), expression)
    except pa.ArrowException as error:
        raise SchemaError(f"the filter {expression} does not fit the columns: {error}") from error
    return kept.combine_chunks().to_batches()[0] if kept.num_rows else rows.slice(0, 0)


@dataclass(frozen=True)
class PartitionPruner:
    """Decides by a partition's path whether the filter can be true for any of its rows."""

    columns: PartitionColumns
    schema: pa.Schema
    """The columns that the query returns."""
    filter: pc.Expression

    def may_hold(self, path: str) -> bool:
        """Return whether the partition at *path* can have rows for which the filter is true."""
        known = self.condition_of(path)
        return known is None or can_match(self.filter, self.schema, [known])[0]

    def may_enter(self, folder: str) -> bool:
        """Return whether *folder*, or a folder below it, can be a partition with rows for which the filter is true."""
        is_whole = self.columns.escaped and folder.count("/") + 1 == len(self.columns.fields)
        return not is_whole or self.may_hold(folder)

    def condition_of(self, path: str) -> pc.Expression | None:
        """Return the condition that the path implies for all rows of the partition; None if it implies nothing."""
        known: pc.Expression | None = None
        shown = set(self.schema.names)
        for name, text in zip(self.columns.fields, self.columns.texts(path), strict=True):
            if name in self.columns.from_path and name in shown:
                value = cast_text(text, self.schema.field(name).type)
                is_value = pc.field(name) == value if value.is_valid else pc.field(name).is_null()
                known = is_value if known is None else known & is_value
        return known
