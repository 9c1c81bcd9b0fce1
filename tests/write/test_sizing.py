"""Files of whole tables have the sizes that were asked for, as in the worked example of spec/sizing.md."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import open_table
from tests.write.support import RAW, cow, keyed

# -- the worked example of spec/sizing.md, on files of a hundredth of its sizes

TENTH_OF_A_MB = 100_000
EXAMPLE = {
    "hoodie.parquet.max.file.size": str(12 * TENTH_OF_A_MB),
    "hoodie.parquet.small.file.limit": str(10 * TENTH_OF_A_MB),
    "hoodie.copyonwrite.record.size.estimate": "1000",
    "hoodie.record.size.estimation.threshold": "1000",  # no commit is as large: the estimate counts
    **RAW,
}


def kilobytes(first: int, size: int) -> pa.Table:
    """Rows that take *size* kilobytes of a base file, its footer and dictionaries of about six included."""
    count = size - 6
    payload = pa.array([f"{number:06d}" * 156 for number in range(first, first + count)])  # and the meta fields
    keys = pa.array([f"key-{number:06d}" for number in range(first, first + count)])
    return pa.table({"k": keys, "ts": [1] * count, "p": ["x"] * count, "payload": payload})


@pytest.mark.slow
def test_many_small_inserts_make_few_groups(tmp_path: Path) -> None:
    sized = {**RAW, "hoodie.parquet.max.file.size": "40000", "hoodie.parquet.small.file.limit": "36000"}
    sized["hoodie.record.size.estimation.threshold"] = "0.1"
    table = cow(tmp_path / "t", options=sized)
    for number in range(20):
        table.insert(keyed(number * 50, number * 50 + 50))
    whole = cow(tmp_path / "whole", options={**RAW, "hoodie.parquet.max.file.size": "100000000"})
    whole.insert(keyed(0, 1000))
    ideal = math.ceil(whole.file_slices()[0].size / 40_000)
    assert len(table.file_slices()) <= 1.5 * ideal
    assert max(item.size for item in table.file_slices()) < 1.1 * 40_000
    off = cow(tmp_path / "off", options={"hoodie.parquet.small.file.limit": "0"})
    for number in range(5):
        off.insert(keyed(number * 50, number * 50 + 50))
    assert len(off.file_slices()) == 5


def test_the_worked_example_on_disk(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("payload", pa.string())])
    table = cow(tmp_path / "t", schema=schema, options=EXAMPLE)
    whole = open_table(table.path, options={"hudiformat.sync": "false", **RAW}, clock=table._context.clock)
    names = [
        whole.bulk_insert(kilobytes(number * 10_000, size)).stats[0].file_id or ""
        for number, size in enumerate([400, 800, 900, 1300, 1050])
    ]
    before = {item.file_id: item.size for item in table.file_slices()}
    assert [before[name] / 1000 for name in names] == pytest.approx([400, 800, 900, 1300, 1050], rel=0.02)
    table.insert(kilobytes(90_000, 4_506))
    after = {item.file_id: item.size for item in table.file_slices()}
    grown = [(after[name] - before[name]) / 1000 for name in names]
    assert grown == pytest.approx([800, 400, 300, 0, 0], abs=90)  # rows go by their hash, in these proportions
    new = [after[name] / 1000 for name in after.keys() - before.keys()]
    assert sorted(new) == pytest.approx([600, 1200, 1200], abs=120)  # each planned group is one file
    assert table.snapshot(columns=["k"]).num_rows == 400 + 800 + 900 + 1300 + 1050 - 5 * 6 + 4_500
