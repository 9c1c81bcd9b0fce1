"""The rules by which the columns of a write change those of a table; Hudi's answers are in test_schema_matrix.py."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given

from hudiformat import SchemaError
from hudiformat.codec.avro.schema import arrow_to_avro
from hudiformat.codec.casts import can_cast
from hudiformat.schema.evolution import EvolutionOptions
from hudiformat.schema.table_schema import TableSchema
from hudiformat.testing.batches import schemas

BEFORE = pa.schema([pa.field("k", pa.string(), nullable=False), pa.field("v", pa.int32()), pa.field("t", pa.string())])
KINDS = (
    pa.bool_(),
    pa.int32(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.string(),
    pa.binary(),
    pa.binary(4),
    pa.decimal128(10, 2),
    pa.decimal128(20, 4),
    pa.date32(),
    pa.time32("ms"),
    pa.time64("us"),
    *(pa.timestamp(unit, zone) for unit in ("ms", "us") for zone in (None, "UTC")),
)


def after(
    *columns: pa.Field, before: pa.Schema = BEFORE, options: EvolutionOptions | None = None
) -> tuple[TableSchema, TableSchema]:
    """The schema of a table, and what becomes of it by a write of rows with *columns*."""
    table = TableSchema(arrow_to_avro(before, name="t_record", namespace="hoodie.t"))
    return table, table.evolve(pa.schema(list(columns)), options or EvolutionOptions())


def refusal(*columns: pa.Field, before: pa.Schema = BEFORE, options: EvolutionOptions | None = None) -> str:
    with pytest.raises(SchemaError) as caught:
        after(*columns, before=before, options=options)
    assert caught.value.column is not None
    return str(caught.value)


def test_the_same_columns_leave_the_schema_as_it_is_to_the_letter() -> None:
    table, result = after(*BEFORE)
    assert result is table
    table, result = after(*reversed(list(BEFORE)))
    assert result is table


@pytest.mark.slow
@given(schemas())
def test_a_schema_that_comes_again_changes_nothing(schema: pa.Schema) -> None:
    for options in (EvolutionOptions(), EvolutionOptions(validate=True), EvolutionOptions(reconcile=True)):
        table, result = after(*schema, before=schema, options=options)
        assert result is table


def test_new_columns_come_last_in_their_own_order() -> None:
    _, result = after(pa.field("z", pa.int32()), pa.field("a", pa.int32()), *BEFORE)
    assert result.arrow.names == ["k", "v", "t", "z", "a"]


def test_a_comment_and_the_name_of_a_record_stay() -> None:
    avro = (
        '{"type":"record","name":"mine","fields":[{"name":"k","type":"string","doc":"the key"},'
        '{"name":"n","type":["null",{"type":"record","name":"Inner","fields":[{"name":"x","type":"int"}]}]}]}'
    )
    inner = pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.int32())])
    result = TableSchema(avro).evolve(
        pa.schema([pa.field("k", pa.string(), nullable=False), pa.field("n", inner)]), EvolutionOptions()
    )
    assert result.avro == (
        '{"type":"record","name":"mine","fields":[{"name":"k","type":"string","doc":"the key"},'
        '{"name":"n","type":["null",{"type":"record","name":"Inner","fields":[{"name":"x","type":["null","int"],'
        '"default":null},{"name":"y","type":["null","int"],"default":null}]}],"default":null}]}'
    )


def test_units_that_are_coarser_than_the_tables_are_written_as_its() -> None:
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.time64("us")):
        before = BEFORE.append(pa.field("m", kind))
        coarse = pa.time32("ms") if pa.types.is_time(kind) else pa.timestamp("ms", kind.tz)
        table, result = after(*BEFORE, pa.field("m", coarse), before=before)
        assert result is table
        finer = BEFORE.append(pa.field("m", coarse))
        assert "column m is of type" in refusal(*BEFORE, pa.field("m", kind), before=finer)


@pytest.mark.parametrize("old", KINDS, ids=str)
@pytest.mark.parametrize("new", KINDS, ids=str)
def test_what_is_accepted_can_be_read_and_written(old: pa.DataType, new: pa.DataType) -> None:
    try:
        _, result = after(*BEFORE, pa.field("m", new), before=BEFORE.append(pa.field("m", old)))
    except SchemaError:
        return
    kind = result.arrow.field("m").type
    assert kind == old or can_cast(old, kind)
    assert kind == new or can_cast(new, kind)


def test_a_long_does_not_become_a_timestamp() -> None:
    before = BEFORE.append(pa.field("m", pa.int64()))
    message = refusal(*BEFORE, pa.field("m", pa.timestamp("us", "UTC")), before=before)
    assert message.startswith("column m is of type long in the table and of type timestamp in the rows")


def test_a_refusal_names_the_column_both_types_and_the_ways_out() -> None:
    assert refusal(BEFORE[0], pa.field("v", pa.bool_()), BEFORE[2]) == (
        "column v is of type int in the table and of type boolean in the rows, which does not fit: cast it to int, or "
        "write it as a new column under another name (types may only grow: int, long, float, double, string; string "
        "and binary either way; decimals with more digits)"
    )
    assert "column z of type int is new and required" in refusal(*BEFORE, pa.field("z", pa.int32(), nullable=False))
    text = refusal(BEFORE[0])
    assert text.startswith("the rows lack columns of the table: v, t; nothing was written.")
    for key in ("set.null.for.missing.columns=true", "column.drop=true", "partial.update.schema"):
        assert key in text


def test_what_is_missing_deep_inside_is_named_by_its_path() -> None:
    inner = pa.list_(pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.int32())]))
    before = BEFORE.append(pa.field("n", inner))
    fewer = pa.field("n", pa.list_(pa.struct([pa.field("x", pa.int32())])))
    assert "lack columns of the table: n.element.y;" in refusal(*BEFORE, fewer, before=before)


def test_a_struct_is_no_string() -> None:
    struct = pa.field("v", pa.struct([pa.field("x", pa.int32())]))
    assert "is of type int in the table and of type struct<x: int>" in refusal(BEFORE[0], struct, BEFORE[2])


def test_reconciling_takes_the_wider_schema_or_refuses() -> None:
    reconcile = EvolutionOptions(reconcile=True)
    table, result = after(BEFORE[0], options=reconcile)
    assert result is table
    _, result = after(*BEFORE, pa.field("z", pa.int32()), options=reconcile)
    assert result.arrow.names == ["k", "v", "t", "z"]
    assert "lack columns" in refusal(BEFORE[0], pa.field("z", pa.int32()), options=reconcile)
    # Hudi takes the table's type here, and fails on the first row
    assert "column v" in refusal(BEFORE[0], pa.field("v", pa.int64()), BEFORE[2], options=reconcile)
