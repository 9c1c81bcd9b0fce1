"""Variants that Spark 4 writes into Parquet of its own are rows here, and it reads those of a table's base files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

VALUES: list[Any] = [
    {"name": "Ada", "born": 1815, "tags": ["a", None, 1.5], "deep": {"x": {"y": True}}},
    [1, "zwei", None, {"é": "ü"}],
    "a text that is longer than the sixty-four bytes that the short form of a text can have, by a few",
    -(2**40),
    1.25,
    False,
    None,
]
"""Values of each kind that JSON has; the last is a variant that holds null."""
KINDS = ["OBJECT", "ARRAY", "STRING", "BIGINT", "DECIMAL(3,2)", "BOOLEAN", "VOID"]


def written_by_spark(spark: SparkSession, folder: Path) -> pa.Table:
    """The rows that Spark writes as Parquet: keys, and the two parts of each variant."""
    texts = [(f"k{number}", json.dumps(value)) for number, value in enumerate(VALUES)]
    frame = spark.createDataFrame(texts, "k string, j string").selectExpr("k", "parse_json(j) as v")
    frame.coalesce(1).write.parquet(str(folder))
    [file] = folder.glob("part-*.parquet")
    return pq.read_table(file, partitioning=None)


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_spark_reads_the_variants_of_our_files(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    rows = written_by_spark(spark, tmp_path / "spark")
    schema = pa.schema([("k", pa.string()), hf.variant_field("v")])
    table = hf.create_table(tmp_path / "t", name="t", schema=schema, record_key="k", table_type=table_type)
    table.insert(rows.slice(0, 5))
    table.upsert(rows.slice(3))
    if table_type == "MERGE_ON_READ":
        table.compact()
    assert table.snapshot(columns=["k", "v"]).sort_by("k").to_pylist() == rows.sort_by("k").to_pylist()
    [path] = [one for one in table.files() if one.endswith(".parquet")]
    found = spark.read.schema("k string, v variant").parquet(str(tmp_path / "t" / path)).orderBy("k")
    shown = found.selectExpr(
        "to_json(v) as v", "schema_of_variant(v) as kind", "variant_get(v, '$.deep.x.y', 'boolean') as y"
    )
    answers = shown.collect()
    assert [json.loads(row.v) for row in answers] == VALUES
    assert [row.kind.partition("<")[0] for row in answers] == KINDS
    assert [row.y for row in answers] == [True, *[None] * 6]
