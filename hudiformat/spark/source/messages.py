"""The input and the messages of a write's tasks: rows that fit the table, and one message from every task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from hudiformat.errors import DataError
from hudiformat.schema.table_schema import TableSchema
from hudiformat.spark.write.schema import fit_shown
from hudiformat.write.made_keys import add_keys_to_batches

Message = TypeVar("Message", bound=WriterCommitMessage)


def fit_batches(
    batches: Iterable[pa.RecordBatch], schema: TableSchema, name: str, *, keeps_keys: bool
) -> Iterator[pa.RecordBatch]:
    """Return the rows with the columns of *schema*; other columns, which a delete may have, are left out.

    If the table has no record key, rows get generated keys of the write *name*; with *keeps_keys*, rows that have keys
    keep them.
    """
    if schema.with_keys:
        batches = add_keys_to_batches(batches, name, keeps=keeps_keys)
    known = set(schema.arrow.names)
    return (fit_shown(schema, batch.select([one for one in batch.schema.names if one in known])) for batch in batches)


def results_of(messages: Sequence[WriterCommitMessage | None], kind: type[Message]) -> list[Message]:
    """Return the messages of all tasks.

    Raises:
        DataError: a task did not end, and has sent no message.
    """
    results = [message for message in messages if isinstance(message, kind)]
    if len(results) != len(messages):
        raise DataError(f"{len(messages) - len(results)} of {len(messages)} tasks wrote nothing")
    return results
