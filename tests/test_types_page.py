"""Every cell of the tables of docs/types.md is what the code does: Arrow, Avro, Parquet and Spark, each way.

A cell of an Arrow type is an expression of pyarrow, such as ``list_(int32())``; "the same" stands for the first cell.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pat
import pytest

import hudiformat as hf
from hudiformat.codec.avro.nodes import unknown_logical_types
from hudiformat.codec.avro.schema import arrow_to_avro, avro_to_arrow
from hudiformat.codec.custom_types import BLOB_TYPE, VARIANT_TYPE

pytest.importorskip("pyspark.sql")

from pyspark.sql.types import StructType

from hudiformat.spark.write.schema import arrow_schema, spark_schema

PAGE = Path(__file__).parents[1] / "docs" / "types.md"
NAMES = {
    **{name: getattr(pa, name) for name in dir(pa) if callable(getattr(pa, name)) and name.islower()},
    "BLOB": BLOB_TYPE,
    "VARIANT": VARIANT_TYPE,
}


def rows(title: str) -> list[list[str]]:
    """The cells of the table below the heading *title*, without backquotes."""
    part = PAGE.read_text(encoding="utf-8").split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in part.splitlines() if line.startswith("|")][2:]
    return [[cell.strip().replace("`", "") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def field_of(cell: str, name: str = "c", *, nullable: bool = True) -> pa.Field:
    kind = eval(cell, {"__builtins__": {}}, NAMES)  # noqa: S307 - of our own page
    metadata = {"hudi_type": cell} if cell in ("BLOB", "VARIANT") else None
    return pa.field(name, kind, nullable=nullable, metadata=metadata)


def avro_cell(definition: Any) -> str:
    if isinstance(definition, list):
        return avro_cell(next(one for one in definition if one != "null"))
    if not isinstance(definition, dict):
        return str(definition)
    kind = definition["type"]
    if kind == "fixed":
        kind = f"fixed({definition['size']})"
    elif kind == "array":
        kind = f"array of {avro_cell(definition['items'])}"
    elif kind == "map":
        kind = f"map of {avro_cell(definition['values'])}"
    return f"{kind}, {definition['logicalType']}" if "logicalType" in definition else str(kind)


def parquet_cell(path: Path) -> str:
    columns = pq.read_metadata(path).schema
    leaves = [columns.column(number) for number in range(len(columns))]
    return "; ".join(map(leaf_cell, (leaf for leaf in leaves if leaf.path.partition(".")[0] == "c")))


def leaf_cell(leaf: Any) -> str:
    kind, logical = leaf.physical_type, json.loads(leaf.logical_type.to_json())
    text = f"{kind}({leaf.length})" if leaf.length > 0 else kind
    if logical["Type"] in ("Timestamp", "Time"):
        unit = {"milliseconds": "ms", "microseconds": "us"}[logical["timeUnit"]]
        text += f", {logical['Type']} {unit}{'' if logical['isAdjustedToUTC'] else ' local'}"
    elif logical["Type"] not in ("None", "Int"):
        text += f", {logical['Type']}"
    inner = leaf.path.partition(".")[2]
    return f"{inner}: {text}" if inner else text


_MOMENT = dt.datetime(2024, 2, 29, 23, 59, 58, 123000)


def value_of(kind: pa.DataType) -> Any:
    if kind == BLOB_TYPE:
        return {"type": "INLINE", "data": b"x", "reference": None}
    return nested_value_of(kind) if pat.is_nested(kind) else flat_value_of(kind)


def nested_value_of(kind: pa.DataType) -> Any:
    if pat.is_fixed_size_list(kind):
        return [value_of(kind.value_type)] * kind.list_size
    if pat.is_list(kind) or pat.is_large_list(kind):
        return [value_of(kind.value_type)]
    if pat.is_map(kind):
        return [("x", value_of(kind.item_type))]
    assert pat.is_struct(kind)
    return {field.name: value_of(field.type) for field in kind}


def flat_value_of(kind: pa.DataType) -> Any:
    if pat.is_dictionary(kind):
        return value_of(kind.value_type)
    if pat.is_timestamp(kind):
        return _MOMENT.replace(tzinfo=dt.timezone.utc) if kind.tz else _MOMENT
    found: list[tuple[Any, Any]] = [
        (pat.is_boolean, True),
        (pat.is_integer, 5),
        (pat.is_floating, 0.5),
        (pat.is_decimal, Decimal(125).scaleb(-getattr(kind, "scale", 0))),
        (pat.is_date, _MOMENT.date()),
        (pat.is_time, _MOMENT.time()),
        (pat.is_fixed_size_binary, b"y" * 16),
        (lambda one: pat.is_binary(one) or pat.is_large_binary(one) or pat.is_binary_view(one), b"z"),
    ]
    return next((value for test, value in found if test(kind)), "text")


@pytest.mark.parametrize("cells", rows("What is written"), ids=lambda cells: cells[0])
@pytest.mark.parametrize(
    ("table_type", "blocks"), [("COPY_ON_WRITE", ""), ("MERGE_ON_READ", "avro"), ("MERGE_ON_READ", "parquet")]
)
def test_what_is_written(cells: list[str], table_type: str, blocks: str, tmp_path: Path) -> None:
    arrow, avro, parquet, again, spark = cells
    field = field_of(arrow)
    schema = pa.schema([("k", pa.string()), field])
    read = field if again == "the same" else field_of(again)

    written = json.loads(arrow_to_avro(schema, name="t_record", namespace="hoodie.t"))["fields"][1]["type"]
    assert avro_cell(written) == avro

    options = {"hoodie.logfile.data.block.format": blocks} if blocks else {}
    table = hf.create_table(
        tmp_path / "t", name="t", schema=schema, record_key="k", table_type=table_type, options=options
    )
    kind = pa.struct([pa.field("k", pa.string()), field])
    table.insert(pa.Table.from_struct_array(pa.array([{"k": "a", "c": value_of(field.type)}], kind)))
    table.upsert(pa.Table.from_struct_array(pa.array([{"k": "b", "c": None}], kind)))
    shown = table.snapshot(columns=["k", "c"])
    assert shown.schema.field("c").equals(read, check_metadata=True)
    assert shown.sort_by("k")["c"].to_pylist() == [value_of(field.type), None]
    if blocks:
        table.upsert(pa.Table.from_struct_array(pa.array([{"k": "a", "c": value_of(field.type)}], kind)))
        assert table.snapshot(columns=["k", "c"]).sort_by("k").equals(shown.sort_by("k"))
        table.compact()
        assert table.snapshot(columns=["k", "c"]).sort_by("k").equals(shown.sort_by("k"))
    [file] = sorted((tmp_path / "t").glob("*.parquet"))[-1:]
    assert parquet_cell(file) == parquet

    assert spark_schema(pa.schema([read]))["c"].dataType.simpleString() == spark


@pytest.mark.parametrize("cells", rows("What others write"), ids=lambda cells: cells[0])
def test_what_others_write(cells: list[str]) -> None:
    avro, arrow, spark = cells
    schema = json.dumps({"type": "record", "name": "t", "fields": [{"name": "c", "type": json.loads(avro)}]})
    field = field_of(arrow, nullable=False)
    assert avro_to_arrow(schema).field("c").equals(field)
    assert unknown_logical_types(schema) == {}
    if spark == "refused":
        with pytest.raises(hf.SchemaError, match="has no type in Spark"):
            spark_schema(pa.schema([field]))
    else:
        assert spark_schema(pa.schema([field]))["c"].dataType.simpleString() == spark


@pytest.mark.parametrize("cells", rows("What Spark writes"), ids=lambda cells: cells[0])
def test_what_spark_writes(cells: list[str]) -> None:
    spark, metadata, arrow, avro = cells
    kind = json.loads(spark) if spark.startswith("{") else spark
    given = {"name": "c", "type": kind, "nullable": True, "metadata": {"hudi_type": metadata} if metadata else {}}
    schema = arrow_schema(StructType.fromJson({"fields": [given]}))
    text = arrow_to_avro(schema, name="t_record", namespace="hoodie.t")
    assert avro_cell(json.loads(text)["fields"][0]["type"]) == avro
    assert avro_to_arrow(text).field("c").type == field_of(arrow).type


@pytest.mark.parametrize("cells", rows("What is refused"), ids=lambda cells: cells[0])
def test_what_is_refused(cells: list[str]) -> None:
    arrow, message = cells
    with pytest.raises(hf.SchemaError, match=re.escape(message)):
        arrow_to_avro(pa.schema([field_of(arrow)]), name="t_record", namespace="hoodie.t")


@pytest.mark.parametrize("cells", rows("What is not known"), ids=lambda cells: cells[0])
def test_what_is_not_known(cells: list[str]) -> None:
    avro, logical = cells
    schema = {"type": "record", "name": "t", "fields": [{"name": "c", "type": json.loads(avro)}]}
    assert unknown_logical_types(json.dumps(schema)) == {"c": logical}
