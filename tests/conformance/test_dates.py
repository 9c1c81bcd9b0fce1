"""Hudi reads dates before 1582, and times before 1900, of our files as they are, without a setting of Spark's."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.conformance.hudi import RealHudi

pytestmark = pytest.mark.hudi

SCHEMA = pa.schema([("k", pa.string()), ("d", pa.date32()), ("t", pa.timestamp("us", "UTC"))])
YEAR_1500, YEAR_1 = -171_663, -719_162


@pytest.mark.parametrize("blocks", ["avro", "parquet"])
def test_hudi_reads_old_dates_in_our_files(hudi: RealHudi, tmp_path: Path, blocks: str) -> None:
    options = {"hoodie.metadata.enable": "false"}
    path = tmp_path / "t"
    hf.create_table(path, name="t", schema=SCHEMA, record_key="k", table_type="MERGE_ON_READ", options=options)
    chosen = {"hoodie.logfile.data.block.format": blocks, "hoodie.index.type": "SIMPLE"}
    table = hf.open_table(path, options={**options, **chosen})
    for keys, day in ((["a", "b"], YEAR_1500), (["b"], YEAR_1)):
        days = pa.array([day] * len(keys), pa.int32()).cast(pa.date32())
        moments = days.cast(pa.timestamp("s")).cast(SCHEMA.field("t").type)
        table.upsert(pa.table([keys, days, moments], schema=SCHEMA))
    columns = "'k', 'unix_date(d) as d', 'unix_seconds(t) as t'"
    frame = f"spark.read.format('hudi').load({table.path!r}).selectExpr({columns})"
    found = hudi.eval_(f"result = sorted([row.k, row.d, row.t] for row in {frame}.collect())")
    assert found == [["a", YEAR_1500, YEAR_1500 * 86_400], ["b", YEAR_1, YEAR_1 * 86_400]]
