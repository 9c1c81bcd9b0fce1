"""Judge the times of all newest files of a table by their numbers."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from hudiformat.file_group.judged_times import JudgedTimes, judge_base_file, judge_log_file
from hudiformat.file_group.slices import FileSlice
from hudiformat.schema.internal_schema import SchemaHistory
from hudiformat.storage.protocol import Storage
from hudiformat.table.schema_files import schema_history
from hudiformat.table.state import TableState


def judge_table(state: TableState, columns: pa.Schema) -> Iterator[tuple[FileSlice, str, JudgedTimes]]:
    """Yield the slice, the path of a file of it, and each column of times in it, with *columns* of the table.

    Raises:
        DecodeError, SchemaError, StorageError: a file cannot be read.
    """
    history = schema_history(state)
    for partition in state.partition_paths:
        for one in state.slices(partition):
            for path, judged in judge_slice(state.storage, one, columns, history=history):
                yield one, path, judged


def judge_slice(
    storage: Storage, file_slice: FileSlice, columns: pa.Schema, *, history: SchemaHistory | None
) -> Iterator[tuple[str, JudgedTimes]]:
    """Yield the path of each file of a slice and the judgement of each column of times in it, or in a block of it.

    Raises:
        DecodeError, SchemaError, StorageError: a file cannot be read.
    """
    if file_slice.base_file is not None:
        path = file_slice.base_path
        for judged in judge_base_file(storage, path, columns, history=history):
            yield path, judged
    for path in file_slice.log_paths:
        for judged in judge_log_file(storage, path, columns, history=history):
            yield path, judged
