"""Rows that tasks put aside for the commit."""

from __future__ import annotations

from pathlib import Path

from hudiformat import Table
from hudiformat.naming import WriteToken
from hudiformat.options.values import Operation
from hudiformat.transaction.files import marked_files
from hudiformat.transaction.staging import read_staged, stage
from hudiformat.transaction.transaction import begin_write
from tests.tables import SCHEMA, rows, tree


def test_rows_put_aside_come_back(table: Table) -> None:
    with begin_write(table.context, Operation.UPSERT) as write:
        data = rows(("a", 1, "x", 1), ("b", 1, "y", 2))
        storage, folder = table.context.storage, write.plan.instant
        paths = [
            stage(storage, folder, WriteToken(task, 0, 0), SCHEMA, data.slice(task, 1).to_batches())
            for task in range(2)
        ]
        assert read_staged(storage, SCHEMA, paths).equals(data)
        assert read_staged(storage, SCHEMA, []).num_rows == 0
        assert list(marked_files(table.context.storage, write.plan.instant)) == []
    assert not any("staged" in path for path in tree(Path(table.path)))
