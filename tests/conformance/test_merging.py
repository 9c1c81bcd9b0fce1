"""A merge leaves the rows that Hudi's MERGE INTO leaves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.conformance.hudi import RealHudi
from tests.rows import assert_same_rows

pytest.importorskip("pyspark.sql")

from pyspark.sql.functions import expr

from hudiformat.spark import Delete, Insert, Update, merge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ["id", "ts", "p", "price"]
OPTIONS = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.metadata.enable": "false",
}
PARTIAL = "hoodie.spark.sql.merge.into.partial.updates"
STATEMENT = """
    merge into TABLE target using changes source on target.id = source.id and target.p = source.p
    when matched and target.price < 8 then
        update set target.id = source.id, target.p = source.p, target.ts = source.ts, target.price = VALUE
    when matched and source.price > 90 then delete
    when not matched and source.price < 135 then insert *
"""
VALUES = {
    "COPY_ON_WRITE": "source.price + target.price",
    "MERGE_ON_READ": "source.price * 2",  # Hudi refuses columns of the target here
}
SCHEMA = "id string, ts bigint, p string, price double"
ROWS = [{"id": f"k{i}", "ts": 5, "p": f"p{i % 2}", "price": float(i)} for i in range(12)]
SOURCE = [{"id": f"k{i}", "ts": 1 + i, "p": f"p{i % 2}", "price": 10.0 * i} for i in range(2, 15)]
SOURCE += [{"id": "k13", "ts": 30, "p": "p1", "price": 7.0}, {"id": "k9", "ts": 2, "p": "p1", "price": 8.0}]


@pytest.mark.parametrize("table_type", VALUES)
def test_a_merge_is_hudis_merge_into(table_type: str, hudi: RealHudi, spark: SparkSession, tmp_path: Path) -> None:
    name = f"merged_{table_type.lower()}"
    options = {**OPTIONS, "hoodie.table.name": name, "hoodie.datasource.write.table.type": table_type}
    for side in ("theirs", "ours"):
        hudi.write(pa.Table.from_pylist(ROWS), tmp_path / side, options)
    rows = [tuple(row.values()) for row in SOURCE]
    hudi.eval_(f"spark.createDataFrame({rows!r}, {SCHEMA!r}).createOrReplaceTempView('changes')")
    hudi.sql(f"create table {name} using hudi location '{tmp_path / 'theirs'}'")
    hudi.sql(f"set {PARTIAL}=false")  # with them Hudi 1.2.0 mixes the columns up of base files that get new rows, too
    hudi.sql(STATEMENT.replace("TABLE", name).replace("VALUE", VALUES[table_type]))
    hudi.sql(f"reset {PARTIAL}")
    merge(
        spark.createDataFrame(rows, SCHEMA),
        str(tmp_path / "ours"),
        when_matched=[
            Update({"ts": expr("source.ts"), "price": expr(VALUES[table_type])}, expr("target.price < 8")),
            Delete(expr("source.price > 90")),
        ],
        when_not_matched=[Insert(condition=expr("source.price < 135"))],
        options={"hoodie.metadata.enable": "false"},
    )
    theirs = hudi.read(tmp_path / "theirs").select(NAMES)
    ours = hf.open_table(tmp_path / "ours").snapshot(columns=NAMES)
    assert_same_rows(ours.cast(theirs.schema), theirs, key=("id",))
    assert_same_rows(hudi.read(tmp_path / "ours").select(NAMES), theirs, key=("id",))
