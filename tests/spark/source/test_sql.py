"""SQL over a table: a temporary view is read and written; the other statements are named in docs/spark.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hudiformat as hf
from tests.tables import content, new_table, rows

pytest.importorskip("pyspark.sql.datasource")

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "k string, ts bigint, p string, v int"


@pytest.fixture
def view(spark: SparkSession, tmp_path: Path) -> str:
    hudi_spark.register(spark)
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "SIMPLE"})
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW things ({COLUMNS}) USING hudiformat OPTIONS (path '{table.path}')")
    return table.path


def test_a_view_is_read_and_written(spark: SparkSession, view: str) -> None:
    assert [row["k"] for row in spark.sql("SELECT k FROM things WHERE v > 1").collect()] == ["b"]
    spark.sql("INSERT INTO things VALUES ('a', 2, 'x', 7), ('c', 1, 'x', 3)")
    assert content(hf.open_table(view)) == [("a", 2, "x", 7), ("b", 1, "y", 2), ("c", 1, "x", 3)]
    # Spark plans the reads of a view once: made anew it shows what was written since.
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW things ({COLUMNS}) USING hudiformat OPTIONS (path '{view}')")
    assert spark.table("things").count() == 3


def test_a_view_of_what_was_written_since_and_of_some_rows(spark: SparkSession, view: str) -> None:
    begin = "'hoodie.datasource.query.type' 'incremental', 'hoodie.datasource.read.begin.instanttime' '000'"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW since USING hudiformat OPTIONS (path '{view}', {begin})")
    assert spark.table("since").count() == 2
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW some USING hudiformat OPTIONS (path '{view}', "
        "'hudiformat.columns' 'k, v', 'hudiformat.filter' 'v > 1')"
    )
    assert [tuple(row) for row in spark.table("some").collect()] == [("b", 2)]


def test_what_sql_cannot_do_has_a_function(spark: SparkSession, view: str) -> None:
    for statement in (
        "UPDATE things SET v = 0",
        "DELETE FROM things WHERE v = 1",
        "MERGE INTO things USING things AS s ON things.k = s.k WHEN MATCHED THEN DELETE",
        "CALL run_compaction(table => 'things')",
        "SELECT * FROM things VERSION AS OF 1",
    ):
        with pytest.raises(Exception, match=r"\w"):
            spark.sql(statement).collect()
    hudi_spark.update(spark, view, {"v": 0})
    hudi_spark.delete_where(spark, view, "k = 'a'")
    assert [tuple(row) for row in spark.sql("SELECT k, v FROM things").collect()] == [("b", 0)]
