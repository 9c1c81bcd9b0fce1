"""Refuse labels of times, given by an option, that the numbers of the table contradict."""

from __future__ import annotations

import pyarrow as pa

from hudiformat.errors import SchemaError
from hudiformat.schema.table_schema import TableSchema
from hudiformat.schema.time_labels import TIME_LABELS
from hudiformat.table.state import TableState
from hudiformat.table.times import judge_table


def refuse_wrong_labels(state: TableState, table: TableSchema) -> None:
    """Refuse labels of times that the numbers in the newest files contradict; *table* gives numbers another unit.

    Raises:
        SchemaError: a file has times that count another unit than the label says.
        DecodeError, StorageError: a file cannot be read.
    """
    changed = {field.name for field in table.arrow if not field.equals(state.schema.arrow.field(field.name))}
    columns = pa.schema([field for field in table.arrow if field.name in changed])
    for _, path, judged in judge_table(state, columns):
        if judged.contradicts:
            raise SchemaError(
                f"{TIME_LABELS}: the times of the column {judged.column} would count {judged.unit}, and "
                f"{state.storage.root}/{path} has {judged.other} that count {judged.other_unit}, such as "
                f"{judged.example}: leave the column out of the option; hudiformat verify shows what each file counts",
                column=judged.column,
            )
