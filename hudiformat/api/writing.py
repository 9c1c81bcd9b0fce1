"""Write what other engines give batch by batch into a table, by the name of the operation."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from hudiformat.api.table import Table
from hudiformat.errors import OptionError
from hudiformat.write.commit.transaction import Commit

_OPERATIONS = ("upsert", "insert", "bulk_insert", "delete", "insert_overwrite", "insert_overwrite_table")


def write_by(table: Table, operation: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch | pa.Table]) -> Commit:
    """Write *batches*, whose columns are those of *schema*, by the method of *table* with the name *operation*.

    Raises:
        OptionError: there is no such operation.
        HudiFormatError: as the method.
    """
    if operation not in _OPERATIONS:
        raise OptionError(
            f"operation: expected one of {', '.join(_OPERATIONS)}, found {operation!r}; for others call a method of "
            "the table",
            option="operation",
        )
    rows = (
        part.cast(schema)
        for batch in batches
        for part in (batch.to_batches() if isinstance(batch, pa.Table) else [batch])
    )
    commit: Commit = getattr(table, operation)(pa.RecordBatchReader.from_batches(schema, rows))
    return commit
