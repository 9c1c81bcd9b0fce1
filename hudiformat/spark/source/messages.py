"""What the tasks of a write get and send back: rows that fit the table, and messages of which none may be missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from hudiformat.errors import DataError
from hudiformat.schema.table_schema import TableSchema
from hudiformat.spark.write.schema import fit_shown
from hudiformat.write.made_keys import batches_with_keys

Message = TypeVar("Message", bound=WriterCommitMessage)


def fitted(
    batches: Iterable[pa.RecordBatch], schema: TableSchema, name: str, *, keeps_keys: bool
) -> Iterator[pa.RecordBatch]:
    """The rows with the columns of *schema*; of a delete, others are left out.

    Where the table has no record key, rows get keys of the write *name*, unless they bring theirs and keep them.
    """
    if schema.with_keys:
        batches = batches_with_keys(batches, name, keeps=keeps_keys)
    known = set(schema.arrow.names)
    return (fit_shown(schema, batch.select([one for one in batch.schema.names if one in known])) for batch in batches)


def results_of(messages: Sequence[WriterCommitMessage | None], kind: type[Message]) -> list[Message]:
    """The messages of all tasks.

    Raises:
        DataError: there are tasks that did not come to their end.
    """
    results = [message for message in messages if isinstance(message, kind)]
    if len(results) != len(messages):
        raise DataError(f"{len(messages) - len(results)} of {len(messages)} tasks wrote nothing")
    return results
