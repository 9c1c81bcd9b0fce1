"""Filters that Spark hands down leave out what they are not true of, and nothing else."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import hudiformat as hf

source = pytest.importorskip("pyspark.sql.datasource")
pytest.importorskip("pyspark.sql.streaming.datasource")

import hudiformat.spark as hudi_spark  # noqa: E402 - needs PySpark
from hudiformat.spark.filters import pushed  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT = datetime(2024, 5, 6, tzinfo=timezone.utc)
SCHEMA = pa.schema(
    [
        ("n", pa.int32()),
        ("s", pa.string()),
        ("x", pa.float64()),
        ("at", pa.timestamp("us", "UTC")),
        ("d", pa.decimal128(9, 2)),
        ("deep", pa.struct([("n", pa.int32())])),
    ]
)
ROWS = pa.table(
    {
        "n": [1, 2, None],
        "s": ["ab", None, "b"],
        "x": [0.5, float("nan"), None],
        "at": [AT, None, AT.replace(year=2025)],
        "d": [Decimal("1.50"), Decimal("-2.00"), None],
        "deep": [{"n": 1}, None, {"n": None}],
    },
    schema=SCHEMA,
)
CASES = [
    (source.EqualTo(("n",), 2), [1]),
    (source.GreaterThan(("n",), 1), [1]),
    (source.GreaterThanOrEqual(("at",), AT.replace(year=2025)), [2]),
    (source.LessThan(("d",), Decimal("0.00")), [1]),
    (source.LessThanOrEqual(("s",), "ab"), [0]),
    (source.In(("n",), (1, None, 7)), [0]),
    (source.IsNull(("s",)), [1]),
    (source.IsNotNull(("n",)), [0, 1]),
    (source.Not(source.EqualTo(("n",), 1)), [1]),
    (source.EqualNullSafe(("n",), None), [2]),
    (source.EqualNullSafe(("n",), 1), [0]),
    (source.Not(source.EqualNullSafe(("n",), 1)), [1, 2]),
    (source.StringStartsWith(("s",), "a"), [0]),
    (source.StringEndsWith(("s",), "b"), [0, 2]),
    (source.StringContains(("s",), "a"), [0]),
]
LEFT_TO_SPARK = [
    source.GreaterThan(("x",), 1.0),  # NaN is greater to Spark
    source.Not(source.EqualTo(("x",), 0.5)),
    source.EqualTo(("deep", "n"), 1),
    source.EqualTo(("other",), 1),
    source.EqualTo(("n",), "text"),
    source.EqualTo(("n",), None),
]


@pytest.mark.parametrize(("asked", "left"), CASES)
def test_what_a_filter_is_true_of_is_left(asked: Any, left: list[int]) -> None:
    expression = pushed([asked], SCHEMA, SCHEMA)
    assert ROWS.append_column("i", pa.array(range(3))).filter(expression)["i"].to_pylist() == left


@pytest.mark.parametrize("asked", LEFT_TO_SPARK)
def test_what_spark_takes_otherwise_is_left_to_it(asked: Any) -> None:
    assert pushed([asked], SCHEMA, SCHEMA) is None


def test_several_are_joined_and_columns_told_otherwise_are_not_asked() -> None:
    both = [source.IsNotNull(("n",)), source.StringStartsWith(("s",), "a")]
    assert ROWS.filter(pushed(both, SCHEMA, SCHEMA)).num_rows == 1
    told = pa.schema([("n", pa.int64()), ("s", pa.string())])
    assert ROWS.filter(pushed(both, SCHEMA, told)).num_rows == 1
    assert pushed(both[:1], SCHEMA, told) is None


@pytest.mark.spark
def test_partitions_and_rows_are_left_out_and_the_answer_is_the_same(spark: SparkSession, tmp_path: Path) -> None:
    hudi_spark.register(spark)
    schema = pa.schema([("id", pa.string()), ("n", pa.int64()), ("p", pa.string())])
    table = hf.create_table(tmp_path / "t", name="t", schema=schema, record_key=["id"], partition_by=["p"])
    count = 40
    ids = [f"k{i:02}" for i in range(count)]
    table.insert(pa.table({"id": ids, "n": range(count), "p": [f"p{i % 4}" for i in range(count)]}, schema=schema))
    table.upsert(pa.table({"id": ["k01"], "n": [100], "p": ["p1"]}, schema=schema))
    found = spark.read.format("hudiformat").load(table.path)
    assert found.rdd.getNumPartitions() == 4
    chosen = found.where("p = 'p1' and n > 30")
    assert chosen.rdd.getNumPartitions() == 1
    assert sorted((row.id, row.n) for row in chosen.collect()) == [("k01", 100), ("k33", 33), ("k37", 37)]
    since = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": str(table.timeline.by_completion_time[0].completion_time),
    }
    changed = spark.read.format("hudiformat").options(**since).load(table.path).where("n = 100")
    assert [row.id for row in changed.collect()] == ["k01"]
    assert changed.where("id = 'none'").count() == 0
