"""A merge leaves the rows that Hudi's MERGE INTO leaves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hudiformat as hf
from tests.conformance.hudi import RealHudi
from tests.effort import LONG, only_long
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
EVERYWHERE = """
    merge into TABLE target using changes source on target.id = source.id
    when matched and source.price >= 0 and source.price < 50 then
        update set target.id = source.id, target.p = source.p, target.ts = source.ts, target.price = source.price
    when matched and source.price >= 50 then
        update set target.id = source.id, target.ts = source.ts, target.price = source.price
    when matched and source.price < 0 then delete
    when not matched then insert *
"""
VALUES = {
    "COPY_ON_WRITE": "source.price + target.price",
    "MERGE_ON_READ": "source.price * 2",  # Hudi refuses columns of the target here
}
PRICES = {
    "COPY_ON_WRITE": pc.field("source", "price") + pc.field("target", "price"),
    "MERGE_ON_READ": pc.field("source", "price") * 2,
}
"""The same values to hudiformat."""
SCHEMA = "id string, ts bigint, p string, price double"
ROWS = [{"id": f"k{i}", "ts": 5, "p": f"p{i % 2}", "price": float(i)} for i in range(12)]
SOURCE = [{"id": f"k{i}", "ts": 1 + i, "p": f"p{i % 2}", "price": 10.0 * i} for i in range(2, 15)]
SOURCE += [{"id": "k13", "ts": 30, "p": "p1", "price": 7.0}, {"id": "k9", "ts": 2, "p": "p1", "price": 8.0}]


@pytest.mark.parametrize("table_type", VALUES if LONG else ["COPY_ON_WRITE"])
def test_a_merge_is_hudis_merge_into(table_type: str, hudi: RealHudi, tmp_path: Path) -> None:
    """Tasks of Spark merge as one process does, as tests/spark/write/test_merging.py shows."""
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
    hf.open_table(tmp_path / "ours", options={"hoodie.metadata.enable": "false"}).merge(
        pa.Table.from_pylist(SOURCE),
        when_matched=[
            Update({"ts": pc.field("source", "ts"), "price": PRICES[table_type]}, "target.price < 8"),
            Delete("source.price > 90"),
        ],
        when_not_matched=[Insert(condition="source.price < 135")],
    )
    theirs = hudi.read(tmp_path / "theirs").select(NAMES)
    ours = hf.open_table(tmp_path / "ours").snapshot(columns=NAMES)
    assert_same_rows(ours.cast(theirs.schema), theirs, key=("id",))
    assert_same_rows(hudi.read(tmp_path / "ours").select(NAMES), theirs, key=("id",))


@only_long
@pytest.mark.parametrize(
    ("table_type", "index"),
    [("COPY_ON_WRITE", "RECORD_INDEX"), ("COPY_ON_WRITE", "GLOBAL_SIMPLE"), ("MERGE_ON_READ", "RECORD_INDEX")],
)
def test_a_merge_with_a_global_index_is_hudis(
    index: str, table_type: str, hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    """Rows match in whatever partition, and move where the update says so.

    Of a merge-on-read table Hudi 1.2.0 fails to move rows: it sees ours moved.
    """
    name = f"merged_{index}_{table_type}".lower()
    settings = {
        "hoodie.index.type": index,
        "hoodie.simple.index.update.partition.path": "true",
        "hoodie.record.index.update.partition.path": "true",
        "hoodie.metadata.enable": "true",
        "hoodie.metadata.record.index.enable": "true",
        "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
    }
    options = {**OPTIONS, **settings, "hoodie.table.name": name, "hoodie.datasource.write.table.type": table_type}
    rows = [
        ("k1", 9, "new", 10.0),
        ("k2", 9, "p0", 20.0),
        ("k3", 1, "new", 30.0),
        ("k4", 9, "p0", -1.0),
        ("k7", 9, "p1", 61.0),
        ("k20", 9, "p1", 90.0),
    ]
    hudi.write(pa.Table.from_pylist(ROWS), tmp_path / "ours", options)
    price = {name: expr(f"source.{name}") for name in ("ts", "price")}
    merge(
        spark.createDataFrame(rows, SCHEMA),
        str(tmp_path / "ours"),
        when_matched=[
            Delete(expr("source.price < 0")),
            Update({**price, "p": expr("source.p")}, expr("source.price < 50")),
            Update(price),
        ],
        when_not_matched=[Insert()],
        options=settings,
    )
    names = [*NAMES, "_hoodie_partition_path"]
    ours = hf.open_table(tmp_path / "ours").snapshot(columns=names)
    assert_same_rows(hudi.read(tmp_path / "ours").select(names), ours, key=("id",))
    changed = {row["id"]: (row["ts"], row["_hoodie_partition_path"], row["price"]) for row in ours.to_pylist()}
    assert [changed.get(row[0]) for row in rows] == [
        (9, "new", 10.0), (9, "p0", 20.0), (5, "p1", 3.0), None, (9, "p1", 61.0), (9, "p1", 90.0)
    ]  # fmt: skip
    if table_type == "COPY_ON_WRITE":
        hudi.write(pa.Table.from_pylist(ROWS), tmp_path / "theirs", options)
        hudi.eval_(f"spark.createDataFrame({rows!r}, {SCHEMA!r}).createOrReplaceTempView('changes')")
        hudi.sql(f"create table {name} using hudi location '{tmp_path / 'theirs'}'")
        for key, value in {**settings, PARTIAL: "false"}.items():
            hudi.sql(f"set {key}={value}")
        hudi.sql(EVERYWHERE.replace("TABLE", name))
        for key in [*settings, PARTIAL]:
            hudi.sql(f"reset {key}")
        assert_same_rows(ours, hudi.read(tmp_path / "theirs").select(names).cast(ours.schema), key=("id",))
