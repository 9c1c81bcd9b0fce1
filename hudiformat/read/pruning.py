"""Which partitions can have rows for which a filter is true, decided by their paths."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.conditions.taken import matching
from hudiformat.errors import SchemaError
from hudiformat.file_group.base_file.filters import possible
from hudiformat.schema.partition_columns import PartitionColumns, typed


def filtered(rows: pa.RecordBatch, expression: pc.Expression) -> pa.RecordBatch:
    """The rows for which a filter is true.

    Raises:
        SchemaError: it does not fit the columns.
    """
    try:
        # As a table: pyarrow 19 cannot filter a batch of which nothing is left.
        kept = matching(pa.Table.from_batches([rows]), expression)
    except pa.ArrowException as error:
        raise SchemaError(f"the filter {expression} does not fit the columns: {error}") from error
    return kept.combine_chunks().to_batches()[0] if kept.num_rows else rows.slice(0, 0)


@dataclass(frozen=True)
class PartitionPruner:
    """Tells by a partition's path whether a filter can be true for rows of it."""

    columns: PartitionColumns
    schema: pa.Schema
    """What is shown."""
    filter: pc.Expression

    def may_hold(self, path: str) -> bool:
        """Whether the partition at *path* can have rows for which the filter is true."""
        known = self.known(path)
        return known is None or possible(self.filter, self.schema, [known])[0]

    def may_enter(self, folder: str) -> bool:
        """Whether *folder*, or what is below it, can be a partition for :meth:`may_hold`."""
        is_whole = self.columns.escaped and folder.count("/") + 1 == len(self.columns.fields)
        return not is_whole or self.may_hold(folder)

    def known(self, path: str) -> pc.Expression | None:
        """What is true of all rows of the partition at *path*."""
        known: pc.Expression | None = None
        shown = set(self.schema.names)
        for name, text in zip(self.columns.fields, self.columns.texts(path), strict=True):
            if name in self.columns.from_path and name in shown:
                value = typed(text, self.schema.field(name).type)
                is_value = pc.field(name) == value if value.is_valid else pc.field(name).is_null()
                known = is_value if known is None else known & is_value
        return known
