"""Vectors and blobs on Spark: arrays and structs, whose fields say what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

import hudiformat as hf
import hudiformat.spark
from tests.foreign.foreign_tables import names, unpack

BLOB = StructType(
    [
        StructField("type", StringType()),
        StructField("data", BinaryType()),
        StructField(
            "reference",
            StructType(
                [
                    StructField("external_path", StringType()),
                    StructField("offset", LongType()),
                    StructField("length", LongType()),
                    StructField("managed", BooleanType()),
                ]
            ),
        ),
    ]
)
SCHEMA = StructType(
    [
        StructField("k", StringType(), nullable=False),
        StructField("o", IntegerType()),
        StructField("v", ArrayType(FloatType(), containsNull=False), metadata={"hudi_type": "VECTOR(3)"}),
        StructField("w", ArrayType(FloatType(), containsNull=False), metadata={"hudi_type": "VECTOR(3)"}),
        StructField("d", ArrayType(DoubleType(), containsNull=False), metadata={"hudi_type": "VECTOR(2, DOUBLE)"}),
        StructField(
            "i", ArrayType(ByteType(), containsNull=False), nullable=False, metadata={"hudi_type": "VECTOR(4, INT8)"}
        ),
        StructField("b", BLOB, metadata={"hudi_type": "BLOB"}),
        StructField("bs", ArrayType(BLOB), metadata={"hudi_type": "BLOB"}),
    ]
)
"""As Hudi 1.2.0 shows its table on Spark 3.5."""
APART = ("OUT_OF_LINE", None, ("images/1.bin", 0, None, False))
ROWS: list[tuple[Any, ...]] = [
    ("a", 1, [1.0, 2.0, 3.0], None, [0.5, -0.0], [1, 2, 3, -4], ("INLINE", bytearray(b"xy"), None), [APART, None]),
    ("b", 1, None, [1.0, 2.0, 3.0], None, [0, 0, 0, 0], None, None),
]


def by_key(rows: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rows.select(SCHEMA.names).sort_by("k").to_pylist()
    return found


@pytest.mark.parametrize("name", names("types-custom-"))
def test_a_table_of_hudi_is_a_frame_with_hudis_schema_and_is_written_on(
    spark: SparkSession, name: str, tmp_path: Path
) -> None:
    path = unpack(name, tmp_path).path
    table = hf.open_table(path)
    before = by_key(table.snapshot())
    frame = hudiformat.spark.read(spark, str(path)).select(SCHEMA.names)
    assert frame.schema == SCHEMA
    assert by_key(pa.Table.from_pylist([row.asDict(recursive=True) for row in frame.collect()])) == before
    hudiformat.spark.upsert(frame.where("k = 'b'").withColumn("o", frame.o + 7), str(path))
    hudiformat.spark.update(spark, str(path), {"v": [7.0, 8.0, 9.0]}, where="k = 'a'")
    changes: dict[str, dict[str, Any]] = {"a": {"v": [7, 8, 9]}, "b": {"o": 8}}
    expected = [{**row, **changes.get(row["k"], {})} for row in before]
    assert by_key(table.snapshot()) == expected
    assert table.verify() == []


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_frame_makes_a_table_with_vectors_and_blobs(spark: SparkSession, table_type: str, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "k",
        "hoodie.table.ordering.fields": "o",
        "hoodie.datasource.write.table.type": table_type,
    }
    frame = spark.createDataFrame(ROWS, SCHEMA)
    hudiformat.spark.write(frame, path, options=options)
    table = hf.open_table(path)
    assert table.snapshot().schema.field("v").type == pa.list_(pa.float32(), 3)
    assert table.snapshot().schema.field("b").metadata == {b"hudi_type": b"BLOB"}
    again = hudiformat.spark.read(spark, path).select(SCHEMA.names)
    assert [row[1:] for row in sorted(again.collect())] == [row[1:] for row in sorted(frame.collect())]
    hudiformat.spark.upsert(frame.where("k = 'a'").withColumn("o", frame.o + 1), path)
    assert [row["o"] for row in by_key(table.snapshot())] == [2, 1]
    assert table.verify() == []


def test_an_array_of_another_size_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    path = unpack("types-vector-cow9-h120", tmp_path).path
    kind = StructType([*SCHEMA.fields[:2], StructField("v", ArrayType(FloatType()))])
    with pytest.raises(hf.DataError, match="expected a vector of 3 numbers, found 2"):
        hudiformat.spark.upsert(spark.createDataFrame([("a", 2, [1.0, 2.0])], kind), str(path))
