"""Several writers of one table: processes that race, and modes that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import UnsupportedFeatureError
from tests import racing
from tests.effort import THOROUGH
from tests.tables import new_table, rows
from tests.transaction.support import shared_table


def test_without_blocking_a_bucket_index_is_needed(tmp_path: Path) -> None:
    table = shared_table(tmp_path, **{"hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL"})
    with pytest.raises(UnsupportedFeatureError, match="without blocking other writers but with a bucket index"):
        table.insert(rows(("a", 1, "x", 1)))


def test_in_version_6_writers_block_each_other(tmp_path: Path) -> None:
    mode = {"hoodie.write.concurrency.mode": "non_blocking_concurrency_control", "hoodie.index.type": "BUCKET"}
    table = new_table(tmp_path, version=6, options=mode)
    with pytest.raises(UnsupportedFeatureError, match="without blocking other writers in table version 6"):
        table.upsert(rows(("a", 1, "x", 1)))


@pytest.mark.parametrize("count", [2, 4] if THOROUGH else [2])
def test_processes_lose_and_double_nothing(tmp_path: Path, count: int) -> None:
    table = racing.new_table(tmp_path / "t")
    writers = [f"w{number}" for number in range(count)]
    assert [process.wait(timeout=7200) for process in racing.start_writers(tmp_path / "t", writers)] == [0] * count
    racing.check(table.snapshot(), writers)
    assert not table.timeline.pending
