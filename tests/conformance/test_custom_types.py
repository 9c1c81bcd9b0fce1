"""Tables with vectors and blobs pass between hudiformat and real Hudi 1.2.0."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.catalogs.column_types import hive_type, spark_schema_text
from hudiformat.codec.avro.schema import arrow_to_avro
from hudiformat.codec.avro.types import parse_avro_types
from hudiformat.codec.custom_types import BLOB_TYPE, VARIANT_TYPE
from tests.conformance.hudi import RealHudi, RealHudiError
from tests.effort import LONG
from tests.foreign.make_types import CHOSEN, CODE

pytestmark = pytest.mark.hudi

BLOB = {"hudi_type": "BLOB"}
SCHEMA = pa.schema(
    [
        pa.field("k", pa.string(), nullable=False),
        pa.field("o", pa.int32()),
        pa.field("v", pa.list_(pa.float32(), 3)),
        pa.field("w", pa.list_(pa.float32(), 3)),
        pa.field("d", pa.list_(pa.float64(), 2)),
        pa.field("i", pa.list_(pa.int8(), 4), nullable=False),
        pa.field("b", BLOB_TYPE, metadata=BLOB),
        pa.field("bs", pa.list_(pa.field("item", BLOB_TYPE, metadata=BLOB))),
    ]
)
TURNS = 15 if LONG else 2
KINDS = [
    ("COPY_ON_WRITE", 9, "avro"),
    ("COPY_ON_WRITE", 8, "avro"),
    ("COPY_ON_WRITE", 6, "avro"),
    ("MERGE_ON_READ", 9, "avro"),
    ("MERGE_ON_READ", 9, "parquet"),
    ("MERGE_ON_READ", 8, "avro"),
    ("MERGE_ON_READ", 6, "parquet"),
]


def rows(keys: str, o: int) -> pa.Table:
    """The rows that ``make_types.CODE`` has Hudi write."""
    found = []
    for key in keys:
        inline = {"type": "INLINE", "data": key.encode() * o, "reference": None}
        place = {"external_path": "images/1.bin", "offset": o, "length": None, "managed": False}
        apart = {"type": "OUT_OF_LINE", "data": None, "reference": place}
        row: dict[str, Any] = {
            "k": key,
            "o": o,
            "v": [1, 2, o],
            "w": None if key == "b" else [0.5, 0.25, -0.0],
            "d": [1.5, o],
            "i": [1, -2, 3, o],
            "b": {"a": inline, "b": None}.get(key, apart),
            "bs": [inline, apart] if o == 2 else None,
        }
        found.append(row)
    return pa.Table.from_pylist(found, SCHEMA)


def assert_same(hudi: RealHudi, path: Path, expected: dict[str, dict[str, Any]]) -> None:
    table = hf.open_table(path)
    wanted = [expected[key] for key in sorted(expected)]
    assert table.snapshot(columns=SCHEMA.names).sort_by("k").to_pylist() == wanted
    assert hudi.read(path).select(SCHEMA.names).sort_by("k").to_pylist() == wanted
    assert table.verify() == []


@pytest.mark.parametrize(("table_type", "version", "blocks"), KINDS)
def test_both_write_in_turns(hudi: RealHudi, table_type: str, version: int, blocks: str, tmp_path: Path) -> None:
    path, random, expected = tmp_path / "t", Random(version), {}
    options = {
        **CHOSEN,
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.write.table.version": str(version),
        "hoodie.logfile.data.block.format": blocks,
        "hoodie.compact.inline": str(table_type == "MERGE_ON_READ").lower(),
        "hoodie.compact.inline.max.delta.commits": "3",
    }
    table = hf.create_table(
        path,
        name="t",
        schema=SCHEMA,
        record_key="k",
        ordering="o",
        table_type=table_type,
        version=version,
        options={"hoodie.logfile.data.block.format": blocks},
    )
    table.insert(rows("abcdef", 1))
    expected = {row["k"]: row for row in rows("abcdef", 1).to_pylist()}
    assert_same(hudi, path, expected)
    for o in range(2, 2 * TURNS + 2, 2):
        keys = "".join(sorted(random.sample("abcdefgh", 3)))
        hudi.eval_(CODE.format(options=options, path=str(path), o=o, keys=keys))
        expected |= {row["k"]: row for row in rows(keys, o).to_pylist()}
        assert_same(hudi, path, expected)
        keys = "".join(random.sample("abcdefgh", 3))
        table = hf.open_table(path, options={"hoodie.logfile.data.block.format": blocks})
        table.upsert(rows(keys, o + 1))
        expected |= {row["k"]: row for row in rows(keys, o + 1).to_pylist()}
        if o % 4 == 2:
            table.delete(where=f"k = '{keys[0]}'")
            del expected[keys[0]]
        if table_type == "MERGE_ON_READ" and o % 6 == 2:
            table.compact()
        if o % 8 == 4:
            table.cluster()
        assert_same(hudi, path, expected)


def test_hudi_reads_blobs_that_ours_keeps_by_ids(hudi: RealHudi, tmp_path: Path) -> None:
    path, options = tmp_path / "t", {"hoodie.schema.on.read.enable": "true"}
    schema = pa.schema([SCHEMA.field("k"), SCHEMA.field("o"), SCHEMA.field("b")])
    table = hf.create_table(path, name="t", schema=schema, record_key="k", ordering="o", options=options)
    table.insert(rows("abc", 1).select(schema.names))
    table.evolve(rename={"b": "image"}, add={"n": pa.int32()})
    names = ["k", "o", "image", "n"]
    expected = table.snapshot(columns=names).sort_by("k").to_pylist()
    assert hudi.read(path, options).select(names).sort_by("k").to_pylist() == expected
    assert [row["image"] for row in expected] == rows("abc", 1)["b"].to_pylist()


def test_hudi_cannot_read_an_internal_schema_with_vectors(hudi: RealHudi, tmp_path: Path) -> None:
    path = tmp_path / "t"
    hudi.eval_(CODE.format(options=CHOSEN, path=str(path), o=1, keys="ab"))
    hudi.sql(f"create table vectors_by_ids using hudi location '{path}'")
    try:
        hudi.sql("set hoodie.schema.on.read.enable=true")
        with pytest.raises(RealHudiError, match="cannot convert unknown type: vector"):
            hudi.sql("alter table vectors_by_ids add columns (n int)")  # which is done all the same
        with pytest.raises(RealHudiError, match="Invalid value of Type: vector"):
            hudi.sql("alter table vectors_by_ids rename column n to m")
    finally:
        hudi.sql("set hoodie.schema.on.read.enable=false")
        hudi.sql("drop table vectors_by_ids")
    assert hf.open_table(path).snapshot(columns=["k", "v", "n"]).sort_by("k").to_pylist() == [
        {"k": key, "v": [1, 2, 1], "n": None} for key in "ab"
    ]


def test_catalogs_are_told_what_hudi_tells_them(hudi: RealHudi) -> None:
    blob, variant = pa.field("item", BLOB_TYPE, metadata=BLOB), {"hudi_type": "VARIANT"}
    more = [pa.field("x", VARIANT_TYPE, metadata=variant), pa.field("m", pa.map_(pa.string(), blob.with_name("value")))]
    avro = arrow_to_avro(pa.schema([*SCHEMA, *more]), name="t_record", namespace="hoodie.t")
    columns = parse_avro_types(avro).columns
    schema = f"jvm.org.apache.hudi.common.schema.HoodieSchema.parse({avro!r})"
    spark = f"jvm.org.apache.hudi.sync.common.util.SparkSchemaUtils.convertToSparkSchemaJson({schema})"
    assert json.loads(spark_schema_text(columns)) == json.loads(hudi.eval_(f"result = {spark}"))
    hive = f"jvm.org.apache.hudi.hive.util.HiveSchemaUtil.hoodieSchemaToMapSchema({schema}, True, False)"
    theirs = hudi.eval_(f"result = {{name: kind for name, kind in dict({hive}).items()}}")
    assert {column.name: hive_type(column, timestamps=True) for column in columns} == {
        name: kind.replace(" ", "").lower() for name, kind in theirs.items()
    }


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_hudi_has_no_change_data_with_vectors_and_ours_with_blobs_is_hudis(
    hudi: RealHudi, table_type: str, tmp_path: Path
) -> None:
    logged = {"hoodie.table.cdc.enabled": "true"}
    path = tmp_path / "v"
    options = {**CHOSEN, **logged, "hoodie.datasource.write.table.type": table_type}
    asked = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.query.incremental.format": "cdc",
        "hoodie.datasource.read.begin.instanttime": "000",
    }
    hudi.eval_(CODE.format(options=options, path=str(path), o=1, keys="ab"))
    if table_type == "COPY_ON_WRITE":
        with pytest.raises(RealHudiError):
            hudi.eval_(CODE.format(options=options, path=str(path), o=2, keys="a"))
    with pytest.raises(RealHudiError):
        hudi.read(path, asked)

    path, schema = tmp_path / "b", pa.schema([SCHEMA.field(name) for name in ("k", "o", "b")])
    table = hf.create_table(
        path, name="t", schema=schema, record_key="k", ordering="o", table_type=table_type, options=logged
    )
    for o, keys in ((1, "abc"), (2, "ac")):
        table.upsert(rows(keys, o).select(schema.names))
    ours, theirs = table.cdc("000"), hudi.read(path, asked)
    by = [("ts_ms", "ascending"), ("after", "ascending")]
    assert ours.sort_by(by).to_pylist() == theirs.select(ours.column_names).sort_by(by).to_pylist()
