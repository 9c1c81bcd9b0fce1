"""Each base file takes as much as its number says, and the next rows go to the next file group."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import Table
from hudiformat.naming.file_names import WriteToken
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.files import GroupTarget
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.handles.base_files import RollingBaseFiles
from tests.tables import new_table, rows
from tests.write.handles.test_clustered import COUNT, stored


def rolling(table: Table, plan: WritePlan, limits: list[int]) -> RollingBaseFiles:
    """Files of the file groups ``group-0``, ``group-1`` and so on, of so many bytes each."""
    target = GroupTarget(table._context.storage, plan, WriteToken(0, 0, 0), "x")
    return RollingBaseFiles(lambda number: target.of_group(f"group-{number}"), limits.__getitem__)


def test_files_have_the_group_and_the_size_of_their_numbers(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    table.insert(rows(("a", 1, "x", 1)))
    with begin_write(table._context, Operation.UPSERT) as write:
        files = rolling(table, write.plan, [200_000, 100_000, 10**9])
        given = stored(write.plan.schema.arrow_with_meta)
        for start in range(0, COUNT, 1_000):
            files.write(given.slice(start, 1_000))
        assert files.waiting_bytes > 0
        files.flush()
        assert files.waiting_bytes == 0
        stats = files.close()
    assert [stat.file_id for stat in stats] == ["group-0", "group-1", "group-2"]
    assert {stat.partition_path for stat in stats} == {"x"}
    first, second, _ = (stat.file_size_in_bytes or 0 for stat in stats)
    assert 150_000 < first < 300_000
    assert 75_000 < second < 150_000
    assert sum(stat.num_writes or 0 for stat in stats) == COUNT


@pytest.mark.parametrize("way", ["close", "abandon"])
def test_without_rows_there_is_no_file(tmp_path: Path, way: str) -> None:
    table = new_table(tmp_path)
    table.insert(rows(("a", 1, "x", 1)))
    with begin_write(table._context, Operation.UPSERT) as write:
        files = rolling(table, write.plan, [])
        files.flush()
        assert files.waiting_bytes == 0
        assert not getattr(files, way)()
    assert list(tmp_path.glob("x/*group*")) == []
