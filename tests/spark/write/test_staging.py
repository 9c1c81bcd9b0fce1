"""Rows that tasks put aside for the commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import Table
from hudiformat.errors import CorruptTableError, StorageError
from hudiformat.naming.file_names import WriteToken
from hudiformat.spark.write.staging import read_staged, stage
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.markers import marked_files
from hudiformat.write.commit.transaction import begin_write
from tests.tables import SCHEMA, rows, tree


def test_rows_put_aside_come_back(table: Table) -> None:
    with begin_write(table._context, Operation.UPSERT) as write:
        data = rows(("a", 1, "x", 1), ("b", 1, "y", 2))
        storage, folder = table._context.storage, write.plan.instant
        paths = [
            stage(storage, folder, WriteToken(task, 0, 0), SCHEMA, data.slice(task, 1).to_batches())
            for task in range(2)
        ]
        assert read_staged(storage, SCHEMA, paths).equals(data)
        assert read_staged(storage, SCHEMA, []).num_rows == 0
        assert list(marked_files(table._context.storage, write.plan.instant)) == []
    assert not any("staged" in path for path in tree(Path(table.path)))


def test_a_task_that_comes_again_has_a_file_of_its_own(table: Table) -> None:
    """As in a stream that was killed in its first batch, and counts its tasks from 0 again."""
    storage, token = table._context.storage, WriteToken(0, 1, 1)
    found = [stage(storage, "f", token, SCHEMA, rows((key, 1, "x", 1)).to_batches()) for key in "ab"]
    assert read_staged(storage, SCHEMA, found)[SCHEMA.names[0]].to_pylist() == ["a", "b"]


def test_rows_that_cannot_be_read_to_their_end_leave_no_file(table: Table) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from rows(("a", 1, "x", 1)).to_batches()
        raise ValueError("the rows end here")

    with pytest.raises(ValueError, match="the rows end here"):
        stage(table._context.storage, "f", WriteToken(0, 0, 0), SCHEMA, batches())
    assert not any("staged" in path for path in tree(Path(table.path)))


def test_rows_are_stored_as_they_come(table: Table) -> None:
    """A task holds a batch, not all of its rows."""
    batch = pa.record_batch({"text": ["x" * 1000] * 1000})
    held: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(50):
            yield batch.take(pa.array(range(1000)))
            held.append(pa.total_allocated_bytes())

    before = pa.total_allocated_bytes()
    stage(table._context.storage, "f", WriteToken(0, 0, 0), batch.schema, batches())
    assert max(held) - before < 8 * batch.nbytes


def test_stored_rows_that_are_damaged_are_named(table: Table) -> None:
    storage = table._context.storage
    path = stage(storage, "f", WriteToken(0, 0, 0), SCHEMA, rows(("a", 1, "x", 1)).to_batches())
    sound = storage.read(path)
    offsets = sound.index(bytes(4) + (1).to_bytes(4, "little") + bytes(8))  # of the only string of a column
    for damaged in (b"", sound[:-20], sound[: offsets + 4] + b"\x7f" * 4 + sound[offsets + 8 :]):
        storage.create(path, damaged, overwrite=True)
        with pytest.raises(CorruptTableError, match="expected rows that a task has stored") as caught:
            read_staged(storage, SCHEMA, [path])
        assert caught.value.path == f"{storage.root}/{path}"


def test_stored_rows_of_other_columns_are_refused(table: Table) -> None:
    storage = table._context.storage
    other = pa.table({"k": [1]})
    path = stage(storage, "f", WriteToken(0, 0, 0), other.schema, other.to_batches())
    with pytest.raises(CorruptTableError, match="expected rows of other columns"):
        read_staged(storage, SCHEMA, [path])


def test_stored_rows_that_are_gone_are_a_storage_error(table: Table) -> None:
    with pytest.raises(StorageError, match="No such file"):
        read_staged(table._context.storage, SCHEMA, [".hoodie/.temp/f/none"])
