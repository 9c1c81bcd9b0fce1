"""Record keys of decimals and floating-point numbers: Hudi and hudiformat make the same text of a value."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.conformance.hudi import RealHudi

KEYS = ["d", "x", "f"]
DATA = pa.table(
    {
        "d": pa.array([Decimal("1.50"), Decimal("-0.01"), Decimal("0.00"), None], pa.decimal128(10, 2)),
        "x": pa.array([1.0, 1e7, -0.0, 1e-4]),
        "f": pa.array([0.1, 16777216.0, float("nan"), 3.4e38], pa.float32()),
        "ts": pa.array([1, 2, 3, 4], pa.int64()),
        "p": ["x"] * 4,
    }
)


@pytest.mark.parametrize("operation", ["upsert", "bulk_insert"])
def test_a_row_that_both_write_is_one_row(hudi: RealHudi, tmp_path: Path, operation: str) -> None:
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": ",".join(KEYS),
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.operation": operation,
    }
    hudi.write(DATA, tmp_path / "t", options)
    table = hf.open_table(tmp_path / "t")
    theirs = sorted(table.snapshot(columns=["_hoodie_record_key"])["_hoodie_record_key"].to_pylist())
    table.upsert(DATA)
    ours = hudi.read(tmp_path / "t")
    assert sorted(ours["_hoodie_record_key"].to_pylist()) == theirs
    assert len(theirs) == DATA.num_rows
