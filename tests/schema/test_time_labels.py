"""Labels of times: what an option may say of them, and which label a column may get."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudiformat.codec.avro.types import parse_avro_types, walk_columns
from hudiformat.errors import OptionError, SchemaError
from hudiformat.schema.evolution import EvolutionOptions
from hudiformat.schema.table_schema import TableSchema
from hudiformat.schema.time_labels import TIME_LABELS, parse_time_labels, relabel
from tests.schema.test_internal_schema import avro_of

MICROS, MILLIS = pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC")
LOCAL_MICROS, LOCAL_MILLIS = pa.timestamp("us"), pa.timestamp("ms")
NAMES: dict[pa.DataType, str] = {
    MICROS: "timestamp-micros",
    MILLIS: "timestamp-millis",
    LOCAL_MICROS: "local-timestamp-micros",
    LOCAL_MILLIS: "local-timestamp-millis",
}


def schema_of(kind: pa.DataType) -> TableSchema:
    return TableSchema(avro_of(pa.schema([("k", pa.string()), ("ts", kind), ("s", pa.struct([("t", kind)]))])))


def test_pairs_of_columns_and_labels_are_parsed() -> None:
    assert parse_time_labels(TIME_LABELS, " ts : Timestamp-Millis,, s.t:local-timestamp-micros ") == (
        ("ts", "timestamp-millis"),
        ("s.t", "local-timestamp-micros"),
    )
    assert parse_time_labels(TIME_LABELS, "a:b:timestamp-micros") == (("a:b", "timestamp-micros"),)
    assert parse_time_labels(TIME_LABELS, "") == ()


@pytest.mark.parametrize(
    "text", ["ts", ":timestamp-millis", "ts:", "ts:millis", "a:timestamp-millis,a:timestamp-micros"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match="expected pairs column:label.*found"):
        parse_time_labels(TIME_LABELS, text)


@pytest.mark.parametrize("kind", [MICROS, MILLIS, LOCAL_MICROS, LOCAL_MILLIS, pa.int64(), pa.string(), pa.date32()])
@pytest.mark.parametrize("wanted", list(NAMES))
def test_a_label_changes_where_all_readers_read_the_rows_alike(kind: pa.DataType, wanted: pa.DataType) -> None:
    record = parse_avro_types(schema_of(kind).avro)
    allowed = {
        (MICROS, MILLIS), (MILLIS, MICROS), (LOCAL_MILLIS, LOCAL_MICROS),
        (pa.int64(), LOCAL_MILLIS), (pa.int64(), LOCAL_MICROS),
    }  # fmt: skip
    if kind != wanted and (kind, wanted) not in allowed:
        with pytest.raises(SchemaError, match="cannot become .*expected a change between"):
            relabel(record, {"s.t": NAMES[wanted]})
        return
    changed = dict(walk_columns(relabel(record, {"s.t": NAMES[wanted]})))
    assert changed["s.t"].kind == dict(walk_columns(parse_avro_types(schema_of(wanted).avro)))["ts"].kind
    assert changed["ts"].kind == dict(walk_columns(record))["ts"].kind


def evolved(table: pa.DataType, rows: pa.DataType, *labels: tuple[str, str]) -> pa.DataType:
    own = schema_of(rows).arrow
    return schema_of(table).evolve(own, EvolutionOptions(time_labels=labels)).arrow.field("ts").type


def test_rows_with_the_label_of_the_option_give_it_to_the_table() -> None:
    labels = ("ts", "timestamp-millis"), ("s.t", "timestamp-millis")
    assert evolved(MICROS, MILLIS, *labels) == MILLIS
    assert evolved(MICROS, MILLIS) == MICROS


def test_rows_with_the_label_of_the_table_leave_it() -> None:
    assert evolved(MICROS, MICROS, ("ts", "timestamp-millis")) == MICROS


def test_a_column_that_nobody_has_is_an_error_with_the_closest_name() -> None:
    with pytest.raises(OptionError, match="found 'tss'; did you mean 'ts'"):
        evolved(MICROS, MILLIS, ("tss", "timestamp-millis"))
    with pytest.raises(SchemaError, match="cannot become timestamp-millis"):
        evolved(LOCAL_MICROS, MILLIS, ("ts", "timestamp-millis"), ("s.t", "timestamp-millis"))
