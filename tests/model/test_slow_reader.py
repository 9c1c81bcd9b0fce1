"""The slow reader reads what real Hudi wrote, row by row; what it cannot read it refuses."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.effort import sample
from tests.model.slow_reader import SlowTable
from tests.tables import NAMES, OF_AN_OLDER_HUDI, unpack

pytestmark = pytest.mark.unmeasured

NOT_READ = (
    "damaged",  # corrupt blocks are no matter of the model
    "hfilelog",
    "no-metafields",
    "parquet-partition-file",
    "two-ordering-fields",
)
READ = [name for name in NAMES if name not in OF_AN_OLDER_HUDI and not any(word in name for word in NOT_READ)]


@pytest.mark.parametrize("name", sample(READ, of=12))
def test_it_finds_the_rows_that_hudi_finds(name: str, tmp_path: Path) -> None:
    case = unpack(name, tmp_path)
    answer = case.answer("expected/snapshot.parquet").to_pylist()
    columns = ("_hoodie_record_key", "_hoodie_partition_path", "_hoodie_commit_time")
    found = SlowTable(case.table).rows()
    expected = Counter(tuple(row[column] for column in columns) for row in answer)
    assert Counter(tuple(one.row[column] for column in columns) for one in found) == expected
