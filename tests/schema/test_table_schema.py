"""Rows that do not fit the table's columns and keys: a clear error, and not one file is changed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat import DataError, HudiFormatError, SchemaError
from hudiformat.schema.table_schema import TableSchema
from tests.tables import SCHEMA, new_table, rows, tree

GOOD = rows(("a", 1, "x", 1), ("b", 2, "x", 2))
ALL = ("insert", "upsert", "delete")


def refuse(
    tmp_path: Path, data: Any, error: type[HudiFormatError], message: str, *operations: str, **changes: Any
) -> HudiFormatError:
    """The error that each of *operations* raises for *data* on tables with rows, which stay as they are."""
    for index in ("SIMPLE", "BUCKET"):
        table = new_table(tmp_path / index, options={"hoodie.index.type": index}, **changes)
        table.insert(GOOD)
        before = tree(tmp_path)
        for operation in operations or ALL:
            with pytest.raises(error, match=message) as caught:
                getattr(table, operation)(data)
            assert tree(tmp_path) == before, operation
    return caught.value


def test_a_missing_record_key_column(tmp_path: Path) -> None:
    error = refuse(
        tmp_path, GOOD.drop_columns(["k"]), DataError, "the column 'k', .* is missing; the columns are ts, p, v"
    )
    assert isinstance(error, DataError)
    assert error.column == "k"


def test_a_column_of_which_arrow_makes_no_empty_one(tmp_path: Path) -> None:
    union = pa.UnionArray.from_dense(pa.array([0, 0], pa.int8()), pa.array([0, 1], pa.int32()), [pa.array([1, 2])])
    message = "column u of type dense_union<0: int64=0> cannot be stored"
    refuse(tmp_path, GOOD.append_column("u", union), SchemaError, message, "insert", "upsert")


def test_a_missing_partition_column(tmp_path: Path) -> None:
    refuse(tmp_path, GOOD.drop_columns(["p"]), DataError, "the column 'p', .* is missing")


def test_a_null_record_key(tmp_path: Path) -> None:
    keys = rows(
        ("a", 1, "x"), (None, 1, "x"), ("", 1, "x"), schema=pa.schema(SCHEMA.set(0, pa.field("k", pa.string())))
    )
    schema = SCHEMA.set(0, pa.field("k", pa.string()))  # where the table's column may be null, its keys may not
    refuse(tmp_path / "nullable", keys, DataError, "record key k: null or empty in 2 of 3 rows", schema=schema)


def test_an_empty_record_key(tmp_path: Path) -> None:
    refuse(tmp_path, rows(("a", 1, "x"), ("", 1, "x")), DataError, "record key k: null or empty in 1 of 2 rows")


def test_all_columns_of_a_composite_key_null(tmp_path: Path) -> None:
    schema = pa.schema([pa.field(field.name, field.type) for field in SCHEMA])
    data = rows((None, 1, "x", None), schema=schema)
    refuse(
        tmp_path, data, DataError, "record key k, v: null or empty in 1 of 1 rows", record_key=["k", "v"], schema=schema
    )


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        (pa.uint64(), "cast it to int64"),
        (pa.float16(), "cast it to float32"),
        (pa.duration("us"), "Avro has no such type"),
        (pa.decimal256(50, 2), "cast it to decimal128"),
        (pa.map_(pa.int32(), pa.int32()), "Avro maps have string keys"),
    ],
)
def test_a_type_that_avro_cannot_hold(tmp_path: Path, kind: pa.DataType, hint: str) -> None:
    data = GOOD.set_column(3, pa.field("v", kind), pa.nulls(2, kind))
    error = refuse(tmp_path, data, SchemaError, f"column v of type {re.escape(str(kind))} .*{hint}", "insert", "upsert")
    assert isinstance(error, SchemaError)
    assert error.column == "v"


def test_a_type_that_contradicts_the_tables(tmp_path: Path) -> None:
    data = GOOD.set_column(3, "v", pa.array([True, False]))
    error = refuse(
        tmp_path,
        data,
        SchemaError,
        "column v is of type int in the table and of type boolean in the rows, which does not fit: cast it to int",
        "insert",
        "upsert",
    )
    assert isinstance(error, SchemaError)
    assert error.column == "v"


def test_a_key_of_another_type(tmp_path: Path) -> None:
    refuse(tmp_path, GOOD.set_column(0, "k", pa.array([True, False])), SchemaError, "column k")


def test_columns_that_are_missing(tmp_path: Path) -> None:
    data = GOOD.drop_columns(["ts", "v"])
    error = refuse(
        tmp_path,
        data,
        SchemaError,
        "lack columns of the table: ts, v; nothing was written.*set.null.*column.drop.*partial.update",
        "insert",
        "upsert",
    )
    assert isinstance(error, SchemaError)
    assert error.column == "ts"


@pytest.mark.parametrize("name", ["k", "p"])
def test_a_key_column_that_is_there_twice(tmp_path: Path, name: str) -> None:
    data = pa.table([*GOOD.columns, GOOD[name]], names=[*GOOD.column_names, name])
    refuse(tmp_path, data, SchemaError, f"column {name} is there twice: rename or drop one")


def test_any_column_that_is_there_twice(tmp_path: Path) -> None:
    data = pa.table([*GOOD.columns, GOOD["v"]], names=[*GOOD.column_names, "v"])
    refuse(tmp_path, data, SchemaError, "column v comes twice", "insert", "upsert")


@pytest.mark.parametrize("value", ["..", ".hoodie", "../../elsewhere", "a//b"])
def test_a_partition_value_that_leads_out_of_the_table(tmp_path: Path, value: str) -> None:
    refuse(tmp_path, rows(("a", 1, "x"), ("b", 1, value)), DataError, "no folder of the table's data")


@pytest.mark.parametrize(
    "data",
    [None, [{"k": "a"}], {"k": ["a"]}, "k", pa.chunked_array([["a"]]), pa.array([1])],
    ids=["none", "list", "dict", "text", "chunked-array", "array"],
)
def test_what_is_no_table_of_rows(tmp_path: Path, data: Any) -> None:
    # delete(None) is delete() without keys, whose message names both of its forms: tests/api/test_changing.py.
    operations = [one for one in ALL if data is not None or one != "delete"]
    refuse(tmp_path, data, DataError, f"expected rows.*found {type(data).__name__}", *operations)


@pytest.mark.parametrize("avro", ["", "{", '"\x01"', "[]", '{"type":"record","name":"r"}'])
def test_a_text_that_is_no_schema_is_refused_with_meta_fields_too(avro: str) -> None:
    with pytest.raises(SchemaError):
        _ = TableSchema(avro).avro_with_meta


@pytest.mark.parametrize("name", ["st.nope", "st.region.nope", "k.nope"])
def test_a_field_that_no_struct_has_is_missing(tmp_path: Path, name: str) -> None:
    schema = pa.schema([("k", pa.string()), ("st", pa.struct([("region", pa.string())]))])
    with pytest.raises(SchemaError, match=f"no column '{name}'"):
        hf.create_table(tmp_path / "t", name="t", schema=schema, record_key="k", partition_by=name)
