"""Vectors, blobs and variants: between Arrow, Avro and Parquet, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hudiformat as hf
from hudiformat.codec.avro.decode import decode_records
from hudiformat.codec.avro.encode import encode_records
from hudiformat.codec.avro.nodes import unknown_logical_types
from hudiformat.codec.avro.schema import arrow_to_avro, avro_to_arrow, choose_fields
from hudiformat.codec.avro.types import format_avro_types, parse_avro_types
from hudiformat.codec.conversion import convert_to_schema
from hudiformat.codec.custom_types import (
    BLOB_TYPE,
    VARIANT_TYPE,
    blob_field,
    check_blobs,
    format_vector,
    format_vector_columns,
    parse_vector,
    restore_vectors,
    store_vectors,
    variant_field,
)

BLOB = {"hudi_type": "BLOB"}
VARIANT = {"hudi_type": "VARIANT"}
KINDS = [pa.float32(), pa.float64(), pa.int8()]
HUDI = json.loads(
    '[{"name":"v","type":["null",{"type":"fixed","name":"vector_float_3","namespace":"","size":12,'
    '"logicalType":"vector","dimension":3,"elementType":"FLOAT","storageBacking":"FIXED_BYTES"}],"default":null},'
    '{"name":"w","type":["null","vector_float_3"],"default":null},'
    '{"name":"i","type":{"type":"fixed","name":"vector_int8_4","namespace":"","size":4,"logicalType":"vector",'
    '"dimension":4,"elementType":"INT8","storageBacking":"FIXED_BYTES"}},'
    '{"name":"b","type":["null",{"type":"record","name":"blob","namespace":"","fields":[{"name":"type","type":'
    '{"type":"enum","name":"blob_storage_type","symbols":["INLINE","OUT_OF_LINE"]}},{"name":"data","type":["null",'
    '"bytes"],"default":null},{"name":"reference","type":["null",{"type":"record","name":"reference","fields":[{"name":'
    '"external_path","type":"string"},{"name":"offset","type":["null","long"]},{"name":"length","type":["null","long"]},'
    '{"name":"managed","type":"boolean"}]}],"default":null}],"logicalType":"blob"}],"default":null},'
    '{"name":"bs","type":["null",{"type":"array","items":["null","blob"]}],"default":null}]'
)
"""Fields as Hudi 1.2.0 wrote them into a commit."""
SCHEMA = pa.schema(
    [
        ("v", pa.list_(pa.float32(), 3)),
        ("w", pa.list_(pa.float32(), 3)),
        pa.field("i", pa.list_(pa.int8(), 4), nullable=False),
        pa.field("b", BLOB_TYPE, metadata=BLOB),
        ("bs", pa.list_(pa.field("item", BLOB_TYPE, metadata=BLOB))),
    ]
)
INLINE = {"type": "INLINE", "data": b"xy", "reference": None}
APART = {
    "type": "OUT_OF_LINE",
    "data": None,
    "reference": {"external_path": "a/b.png", "offset": 4, "length": None, "managed": False},
}


def avro_of(schema: pa.Schema) -> str:
    return arrow_to_avro(schema, name="t_record", namespace="hoodie.t")


def with_field(kind: Any, name: str = "c") -> str:
    return json.dumps({"type": "record", "name": "t", "namespace": "n", "fields": [{"name": name, "type": kind}]})


def test_schemas_are_those_of_hudi() -> None:
    schema = json.loads(avro_of(SCHEMA))
    assert schema["fields"] == HUDI
    assert avro_to_arrow(json.dumps(schema)).equals(SCHEMA, check_metadata=True)
    assert unknown_logical_types(json.dumps(schema)) == {}


def test_fields_of_blobs_and_variants_say_what_they_are() -> None:
    assert blob_field("b").equals(SCHEMA.field("b"), check_metadata=True)
    assert variant_field("x", nullable=False).equals(
        pa.field("x", VARIANT_TYPE, nullable=False, metadata=VARIANT), check_metadata=True
    )
    assert blob_field("b", nullable=False).nullable is False


def test_a_variant_is_a_record_named_after_its_column() -> None:
    schema = pa.schema([pa.field("x", VARIANT_TYPE, metadata=VARIANT), pa.field("y", VARIANT_TYPE, metadata=VARIANT)])
    first, second = (field["type"][1] for field in json.loads(avro_of(schema))["fields"])
    assert (first["name"], first["namespace"], first["logicalType"]) == ("x", "hoodie.t.t_record", "variant")
    assert [(one["name"], one["type"]) for one in first["fields"]] == [("metadata", "bytes"), ("value", "bytes")]
    assert second == {**first, "name": "y"}
    assert avro_to_arrow(avro_of(schema)).equals(schema, check_metadata=True)


def test_trees_of_types_keep_them() -> None:
    every = SCHEMA.append(pa.field("x", VARIANT_TYPE, metadata=VARIANT))
    avro = avro_of(every)
    tree = parse_avro_types(avro)
    assert [str(one.kind) for one in tree.columns][:4] == [
        "vector[3, FLOAT, FIXED_BYTES]",
        "vector[3, FLOAT, FIXED_BYTES]",
        "vector[4, INT8, FIXED_BYTES]",
        "blob",
    ]
    assert json.loads(format_avro_types(tree)) == json.loads(avro)


@pytest.mark.parametrize("names", [["w"], ["bs", "w"], ["bs", "b", "w", "v"]], ids=str)
def test_a_type_is_defined_where_it_comes_first_among_the_chosen_fields(names: list[str]) -> None:
    chosen = avro_to_arrow(choose_fields(avro_of(SCHEMA), names))
    assert chosen.equals(pa.schema([SCHEMA.field(name) for name in names]), check_metadata=True)


@st.composite
def vectors(draw: st.DrawFn) -> pa.Array:
    kind, size = draw(st.sampled_from(KINDS)), draw(st.integers(1, 5))
    number = st.integers(-128, 127) if kind == pa.int8() else st.floats(width=32)
    rows = draw(st.lists(st.none() | st.lists(number, min_size=size, max_size=size), max_size=40))
    array = pa.array(rows, pa.list_(kind, size))
    first = draw(st.integers(0, len(rows)))
    return array.slice(first, draw(st.integers(0, len(rows) - first)))


def bits(array: pa.Array) -> list[bytes | None]:
    return [
        None if row is None else np.array(row, array.type.field(0).type.to_pandas_dtype()).tobytes()
        for row in array.to_pylist()
    ]


@given(array=vectors())
def test_vectors_are_their_bytes_in_files(array: pa.Array) -> None:
    batch = pa.record_batch({"v": array})
    stored = store_vectors(batch)
    assert stored.column(0).to_pylist() == bits(array)
    assert bits(restore_vectors(stored, batch.schema).column(0)) == bits(array)
    relabelled = convert_to_schema(stored, batch.schema, relabel=True)
    relabelled.validate(full=True)
    assert bits(relabelled.column(0)) == bits(array)


@given(array=vectors(), chunk=st.sampled_from([3, 16384]))
def test_avro_records_of_vectors_are_read_as_they_were_written(array: pa.Array, chunk: int) -> None:
    batch = pa.record_batch({"n": pa.array(range(len(array)), pa.int64()), "v": array})
    avro = avro_of(batch.schema)
    content = encode_records(batch, avro)
    again = decode_records(content, len(array), avro, chunk_rows=chunk)
    assert again.schema.equals(avro_to_arrow(avro))
    assert bits(again.column(1)) == bits(array)
    assert encode_records(again, avro) == content


@given(array=vectors())
def test_lists_of_the_right_size_are_vectors(array: pa.Array) -> None:
    lists = array.cast(pa.list_(array.type.field(0).type))
    target = pa.schema([("v", array.type)])
    assert bits(convert_to_schema(pa.record_batch({"v": lists}), target).column(0)) == bits(array)


@pytest.mark.parametrize("block_format", ["avro", "parquet"])
def test_blocks_have_vectors_and_blobs(block_format: str) -> None:
    rows = pa.RecordBatch.from_pylist(
        [
            {"v": [1, 2, 3], "w": None, "i": [1, -2, 3, 4], "b": INLINE, "bs": [APART, None]},
            {"v": None, "w": [0.5, 0, -1], "i": [0, 0, 0, 0], "b": APART, "bs": None},
        ],
        SCHEMA,
    )
    block = hf.data_block(rows, instant="001", format=block_format)
    assert block.to_arrow().equals(rows)
    assert block.to_arrow().schema.equals(SCHEMA, check_metadata=True)
    if block_format == "parquet":
        footer = pq.read_metadata(pa.BufferReader(bytes(block.content))).metadata or {}
        assert footer[b"hoodie.vector.columns"] == b"v:VECTOR(3),w:VECTOR(3),i:VECTOR(4, INT8)"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("VECTOR(3)", pa.list_(pa.float32(), 3)),
        ("vector( 8 , double )", pa.list_(pa.float64(), 8)),
        ("VECTOR(4, INT8, FIXED_BYTES)", pa.list_(pa.int8(), 4)),
        ("VECTOR(0)", None),
        ("VECTOR(3, HALF)", None),
        ("VECTOR", None),
        ("BLOB", None),
    ],
)
def test_names_of_vectors(text: str, kind: pa.FixedSizeListType | None) -> None:
    assert parse_vector(text) == kind
    assert kind is None or parse_vector(format_vector(kind)) == kind


def test_the_footer_names_vectors_alone() -> None:
    assert format_vector_columns(SCHEMA) == "v:VECTOR(3),w:VECTOR(3),i:VECTOR(4, INT8)"
    assert format_vector_columns(pa.schema([("a", pa.list_(pa.int8()))])) == ""


def test_a_field_may_name_its_vector() -> None:
    named = pa.schema([pa.field("v", pa.list_(pa.float64()), metadata={"hudi_type": "VECTOR(2, DOUBLE)"})])
    assert avro_to_arrow(avro_of(named)).field("v").type == pa.list_(pa.float64(), 2)


FIXED = {"type": "fixed", "name": "v", "size": 12, "logicalType": "vector"}
RECORD = {"type": "record", "name": "x"}


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ({**FIXED, "dimension": 3}, {}),
        ({**FIXED, "dimension": "12", "elementType": "int8"}, {}),
        ({**FIXED, "dimension": 3, "storageBacking": "fixed_bytes"}, {}),
        (FIXED, {"c": "vector"}),
        ({**FIXED, "dimension": "three"}, {"c": "vector"}),
        ({**FIXED, "dimension": 4}, {"c": "vector"}),
        ({**FIXED, "dimension": -3}, {"c": "vector"}),
        ({**FIXED, "dimension": 6, "elementType": "HALF"}, {"c": "vector"}),
        ({**FIXED, "dimension": 3, "elementType": 4}, {"c": "vector"}),
        ({**FIXED, "dimension": 3, "storageBacking": "LIST"}, {"c": "vector"}),
        (["null", "string", {**FIXED, "dimension": 3}], {"c.member1": "vector"}),
        ({"type": "array", "items": {**FIXED, "dimension": 3}}, {"c.element": "vector"}),
        ({**RECORD, "fields": [{"name": "v", "type": {**FIXED, "dimension": 3}}]}, {"c.v": "vector"}),
        ({**RECORD, "logicalType": "blob", "fields": [{"name": "data", "type": "bytes"}]}, {"c": "blob"}),
        ({**HUDI[3]["type"][1], "fields": HUDI[3]["type"][1]["fields"][::-1]}, {"c": "blob"}),
        (
            json.loads(json.dumps(HUDI[3]["type"][1]).replace("OUT_OF_LINE", "ELSEWHERE")),
            {"c": "blob"},
        ),
        ({**RECORD, "logicalType": "variant", "fields": [{"name": "value", "type": "bytes"}]}, {"c": "variant"}),
        (
            {
                **RECORD,
                "logicalType": "variant",
                "fields": [
                    {"name": "metadata", "type": "bytes"},
                    {"name": "value", "type": ["null", "bytes"]},
                    {"name": "typed_value", "type": ["null", "long"]},
                ],
            },
            {"c": "shredded variant"},
        ),
    ],
    ids=str,
)
def test_types_with_other_properties_than_hudi_has_are_not_known(kind: Any, found: dict[str, str]) -> None:
    assert unknown_logical_types(with_field(kind)) == found


def test_a_type_that_is_not_known_is_found_where_its_name_comes_again() -> None:
    twice = {"type": "record", "name": "t", "fields": [{"name": "a", "type": FIXED}, {"name": "b", "type": "v"}]}
    assert unknown_logical_types(json.dumps(twice)) == {"a": "vector", "b": "vector"}
    inside = {**RECORD, "fields": [{"name": "v", "type": "v"}]}
    fields = [{"name": "a", "type": {**FIXED, "dimension": 3}}, {"name": "b", "type": inside}]
    assert unknown_logical_types(json.dumps({"type": "record", "name": "t", "fields": fields})) == {"b.v": "vector"}


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (
            pa.field("c", pa.int32(), metadata={"hudi_type": "VECTOR(3)"}),
            r"column c of type int32 cannot be a VECTOR\(3\)",
        ),
        (pa.field("c", pa.list_(pa.float64()), metadata={"hudi_type": "VECTOR(3)"}), "cannot be a VECTOR"),
        (pa.field("c", pa.list_(pa.float32(), 4), metadata={"hudi_type": "VECTOR(3)"}), "cannot be a VECTOR"),
        (pa.field("c", pa.list_(pa.float32()), metadata={"hudi_type": "VECTOR"}), "cannot be a VECTOR"),
        (pa.field("c", pa.list_(pa.float32(), 20_000)), "a vector has at most 65536 bytes"),
        (pa.field("c", pa.struct([("data", pa.binary())]), metadata=BLOB), "cannot be a BLOB"),
        (pa.field("c", pa.binary(), metadata=VARIANT), "cannot be a VARIANT"),
        (pa.field("c", pa.binary(), metadata={"hudi_type": "GEOMETRY"}), "is said to be a GEOMETRY"),
        (
            pa.field("c", pa.struct([pa.field("v", pa.list_(pa.float32()), metadata={"hudi_type": "VECTOR(3)"})])),
            r"column c.v is said to be a VECTOR\(3\): expected VECTOR\(n\) for a column",
        ),
    ],
    ids=str,
)
def test_what_is_not_of_the_type_that_its_field_names_is_refused(field: pa.Field, message: str) -> None:
    with pytest.raises(hf.SchemaError, match=message):
        avro_of(pa.schema([field]))


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (
            pa.array([[1, 2, 3], [1, None, 3]], pa.list_(pa.float32(), 3)),
            hf.DataError,
            "row 1 .*found a null among them",
        ),
        (pa.array([None, [1, 2]], pa.list_(pa.float32())), hf.DataError, "row 1 .*a vector of 3 numbers, found 2"),
        (pa.array([[1, None, 3]], pa.list_(pa.float32())), hf.DataError, "found a null among them"),
        (pa.array([[1, 2]], pa.list_(pa.float32(), 2)), hf.SchemaError, "the table has vectors of 3 numbers"),
        (pa.array([[1, 2, 3]], pa.list_(pa.float64())), hf.SchemaError, "of type double, which does not fit float"),
        (pa.array([b"x" * 12], pa.binary(12)), hf.SchemaError, "the table has vectors of 3 numbers"),
        (pa.array(["text"]), hf.SchemaError, "the table has vectors of 3 numbers"),
    ],
    ids=str,
)
def test_rows_that_are_no_vectors_are_refused(rows: pa.Array, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        convert_to_schema(pa.record_batch({"v": rows}), pa.schema([("v", pa.list_(pa.float32(), 3))]))


def test_a_column_of_nulls_fits_a_vector() -> None:
    kind = pa.list_(pa.float32(), 3)
    fitted = convert_to_schema(pa.record_batch({"v": pa.nulls(2)}), pa.schema([("v", kind)]))
    assert fitted.column(0).equals(pa.nulls(2, kind))


def test_a_null_among_the_numbers_is_not_encoded() -> None:
    rows = pa.record_batch({"v": pa.array([[1, None, 3]], pa.list_(pa.float32(), 3))})
    with pytest.raises(hf.DataError, match="column v, row 0 .*found a null among them"):
        encode_records(rows, avro_of(rows.schema))


@pytest.mark.parametrize(
    "blob",
    [
        {**INLINE, "data": None},
        {**INLINE, "reference": APART["reference"]},
        {**APART, "reference": None},
        {**APART, "data": b""},
        {**INLINE, "type": "inline"},
    ],
    ids=str,
)
def test_blobs_that_are_neither_inline_nor_out_of_line_are_refused(blob: dict[str, Any]) -> None:
    field = pa.field("b", BLOB_TYPE, metadata=BLOB)
    inner = {
        "b": field,
        "s": pa.field("s", pa.struct([field])),
        "l": pa.field("l", pa.list_(field)),
        "m": pa.field("m", pa.map_(pa.string(), field)),
    }
    values: dict[str, Any] = {"b": blob, "s": {"b": blob}, "l": [INLINE, blob], "m": [("x", blob)]}
    for name, path in (("b", "b"), ("s", "s.b"), ("l", "l.item"), ("m", "m.value")):
        batch = pa.RecordBatch.from_pylist([{name: None}, {name: values[name]}], pa.schema([inner[name]]))
        with pytest.raises(hf.DataError, match=f"column {path}, value . of its batch: expected a blob that is INLINE"):
            check_blobs(batch)


def test_sound_blobs_pass() -> None:
    field = pa.field("b", BLOB_TYPE, metadata=BLOB)
    check_blobs(pa.RecordBatch.from_pylist([{"b": INLINE}, {"b": APART}, {"b": None}], pa.schema([field])))


def test_a_shredded_variant_in_a_file_is_refused_by_name() -> None:
    stored = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.int64())])
    rows = pa.record_batch({"x": pa.array([{"metadata": b"", "value": None, "typed_value": 1}], stored)})
    target = pa.schema([pa.field("x", VARIANT_TYPE, metadata=VARIANT)])
    with pytest.raises(hf.UnsupportedFeatureError, match="column x: .*found one with typed values") as found:
        convert_to_schema(rows, target, relabel=True)
    assert found.value.feature == "shredded variants"
