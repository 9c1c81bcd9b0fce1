"""Handles that are closed together."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import StorageError
from hudiformat.table.options.values import Operation
from hudiformat.write.handles.merge import MergeHandle
from hudiformat.write.write import TASK_LIMITS, TaskLimits
from tests.tables import FLAGGED, content, data_files, new_table, rows, tree
from tests.write.support import write_within

BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "8"}
MANY = [(f"k{number}", 1, "xy"[number % 2], number) for number in range(40)]


def written(path: Path, limits: TaskLimits = TASK_LIMITS, **changes: Any) -> dict[str, bytes]:
    table = new_table(path, options=BUCKETS, schema=FLAGGED, **changes)
    some = ((key, 2, path, value, value % 5 == 0) for key, _, path, value in MANY[:20])
    for data in (rows(*MANY, schema=FLAGGED), rows(*some, schema=FLAGGED)):
        write_within(limits, table, Operation.UPSERT, data)
    assert len(content(table)) == 36
    return {name: data for name, data in tree(path).items() if not name.endswith(".properties")}


@pytest.mark.parametrize("version", [6, 9])
def test_small_blocks_that_are_encoded_together_are_those_of_each_group_alone(tmp_path: Path, version: int) -> None:
    together = written(tmp_path / "together", version=version)
    assert written(tmp_path / "alone", TaskLimits(encoded_together=1), version=version) == together


@pytest.mark.slow
def test_base_files_that_are_written_side_by_side_are_those_of_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[int] = set()
    close = MergeHandle.close

    def noting(handle: MergeHandle) -> Any:
        threads.add(threading.get_ident())
        return close(handle)

    monkeypatch.setattr(MergeHandle, "close", noting)
    found = []
    for count in (4, 1):
        monkeypatch.setattr(pa, "cpu_count", lambda count=count: count)
        threads.clear()
        found.append(written(tmp_path / str(count), table_type="COPY_ON_WRITE"))
        assert (threading.get_ident() in threads) == (count == 1)
    assert found[0] == found[1]


def test_a_base_file_that_cannot_be_written_fails_the_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table(tmp_path, options=BUCKETS, table_type="COPY_ON_WRITE")
    table.upsert(rows(*MANY))
    before = data_files(tmp_path)
    close, count = MergeHandle.close, [0]

    def failing(handle: MergeHandle) -> Any:
        count[0] += 1
        if count[0] == 3:
            raise StorageError("no space left on device")
        return close(handle)

    monkeypatch.setattr(MergeHandle, "close", failing)
    monkeypatch.setattr(pa, "cpu_count", lambda: 4)
    with pytest.raises(StorageError, match="no space left"):
        table.upsert(rows(*MANY))
    assert data_files(tmp_path) == before
    assert len(content(table)) == 40
