"""Tables whose partition paths have dates with slashes pass between hudiformat and real Hudi, which keeps no option."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import open_table
from hudiformat.table.options.timed_paths import SLASHES
from tests.conformance.hudi import RealHudi
from tests.conformance.layouts import upsert_options
from tests.write.test_slash_dates import create, rows

pytestmark = pytest.mark.hudi


def given(keys: str, order: int) -> pa.Table:
    return rows(*((key, order, f"2024-02-{28 + ord(key) % 2}") for key in keys))


@pytest.mark.parametrize(
    ("maker", "version", "table_type"),
    [
        ("hudi", 9, "MERGE_ON_READ"),
        ("ours", 9, "COPY_ON_WRITE"),
        ("hudi", 6, "COPY_ON_WRITE"),
        ("ours", 6, "MERGE_ON_READ"),
    ],
)
def test_both_write_in_turns(hudi: RealHudi, tmp_path: Path, *, maker: str, version: int, table_type: str) -> None:
    path = tmp_path / "t"
    options = {
        SLASHES: "true",
        **upsert_options(version=version, table_type=table_type),
    }
    if maker == "hudi":
        hudi.write(given("abcd", 1), path, options)
    else:
        create(path, version=version, table_type=table_type).insert(given("abcd", 1))
    for order, own, others in ((2, "ae", "bf"), (4, "bg", "ah")):
        open_table(path, options={SLASHES: "true"}).upsert(given(own, order))
        hudi.write(given(others, order + 1), path, options)
    expected = dict(zip("abcdefgh", (5, 4, 1, 1, 2, 3, 4, 5), strict=True))
    table = open_table(path)
    assert table.partitions() == ["2024/02/28", "2024/02/29"]
    for found in (table.snapshot(), hudi.read(path)):
        assert dict(zip(found["k"].to_pylist(), found["o"].to_pylist(), strict=True)) == expected
        assert found.num_rows == len(expected)
    assert table.verify() == []
