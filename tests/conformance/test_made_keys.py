"""Tables without record key columns that hudiformat and Hudi write in turns."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.conformance.hudi import RealHudi, RealHudiError
from tests.effort import LONG, only_long
from tests.tables import new_table, rows

COLUMNS = ["_hoodie_record_key", "_hoodie_partition_path", "k", "v"]
HUDI = """
def read():
    return spark.read.format("hudi").load(path)


def write(df, **more):
    df.write.format("hudi").options(**options, **more).mode("append").save(path)
"""
OPTIONS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.write.auto.upgrade": "false",
    "hoodie.metadata.index.column.stats.enable": "false",
}


KINDS = [("COPY_ON_WRITE", 9), ("MERGE_ON_READ", 6), ("MERGE_ON_READ", 9)]


@only_long
@pytest.mark.parametrize(("table_type", "version"), KINDS if LONG else KINDS[2:])
def test_rows_are_the_same_after_each_turn(hudi: RealHudi, tmp_path: Path, table_type: str, version: int) -> None:
    options = {"hoodie.index.type": "SIMPLE"}
    table = new_table(
        tmp_path / "t", record_key=[], ordering=[], table_type=table_type, version=version, options=options
    )
    given = {**OPTIONS, "hoodie.datasource.write.table.type": table_type, "hoodie.write.table.version": str(version)}
    hudi.eval_(f"path, options = {table.path!r}, {given!r}\n{HUDI}")

    def checked() -> pa.Table:
        found = table.snapshot(columns=COLUMNS)
        ours = sorted(tuple(row.values()) for row in found.to_pylist())
        theirs = hudi.eval_(f"result = sorted(list(row) for row in read().select(*{COLUMNS!r}).collect())")
        assert ours == [tuple(row) for row in theirs]
        assert len({row[0] for row in ours}) == len(ours)
        return found

    table.insert(rows(("a", 1, "x", 1), ("a", 1, "x", 1), ("b", 1, "y", 2), ("c", 1, "y", 3)))
    assert len(checked()) == 4
    hudi.eval_('write(read().where("v = 2").drop("v").selectExpr("*", "20 v"))')
    assert sorted(checked()["v"].to_pylist()) == [1, 1, 3, 20]
    hudi.eval_("write(spark.sql(\"select 'd' k, 1L ts, 'y' p, 4 v\"))")
    assert len(checked()) == 5
    table.update({"v": 40}, where="v = 4")
    hudi.eval_('write(read().where("v = 40"), **{"hoodie.datasource.write.operation": "delete"})')
    assert len(checked()) == 4
    table.delete(table.snapshot(filter="v = 20"))
    hf.open_table(table.path, options=options).upsert(rows(("e", 1, "z", 5)))
    assert sorted(checked()["v"].to_pylist()) == [1, 1, 3, 5]
    if table_type == "MERGE_ON_READ":
        table.compact()
        assert len(checked()) == 4


@pytest.mark.parametrize("operation", ["insert", "upsert", "bulk_insert"])
@pytest.mark.parametrize("chosen", [{}, {"hoodie.bucket.index.hash.field": "v"}], ids=["by key", "by a column"])
def test_hudi_has_no_buckets_without_a_record_key(
    hudi: RealHudi, tmp_path: Path, operation: str, chosen: dict[str, str]
) -> None:
    """That is why hudiformat refuses them by name: Hudi 1.2.0 fails before it writes."""
    buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2", **chosen}
    with pytest.raises(RealHudiError) as caught:
        hudi.write(
            rows(("a", 1, "x", 1)),
            tmp_path / "t",
            {**OPTIONS, **buckets, "hoodie.datasource.write.operation": operation},
        )
    assert "HoodieIndexConfig$Builder.validateBucketIndexConfig" in caught.value.trace, caught.value.trace
    assert not list(tmp_path.rglob("*.parquet"))
