"""Random schemas and batches: the same bytes as fastavro's, the same rows back, and only our errors on damage."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudiformat.avro import (
    arrow_to_avro,
    avro_to_arrow,
    decode,
    decode_delete_list,
    decode_records,
    encode,
    encode_datums,
    encode_delete_list,
    encode_records,
    resolve,
)
from hudiformat.errors import DecodeError
from hudiformat.testing import batches
from tests.avro.reference import decode_with_fastavro, encode_with_fastavro, plain
from tests.effort import examples

EXAMPLES = int(os.environ.get("HUDIFORMAT_EXAMPLES", examples(60)))
"""How many random cases each property is tried on."""

_SLOW = settings(
    deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def _schema_of(batch: pa.RecordBatch) -> str:
    return arrow_to_avro(batch.schema, name="t_record", namespace="hoodie.t")


def _same(left: Any, right: Any) -> bool:
    """Equality by value in which NaN is NaN."""
    return repr(left) == repr(right)


@_SLOW
@given(batch=batches())
def test_bytes_equal_fastavro_and_come_back(batch: pa.RecordBatch) -> None:
    schema = _schema_of(batch)
    encoded = encode_records(batch, schema)
    assert encoded == encode_with_fastavro(batch, schema)
    decoded = decode_records(encoded, batch.num_rows, schema)
    decoded.validate(full=True)
    assert decoded.schema == avro_to_arrow(schema)
    assert encode_records(decoded, schema) == encoded
    expected = resolve(batch, avro_to_arrow(schema))
    assert _same(decoded.to_pylist(), expected.to_pylist())


@_SLOW
@given(batch=batches())
def test_decoded_rows_equal_fastavro(batch: pa.RecordBatch) -> None:
    schema = _schema_of(batch)
    encoded = encode_records(batch, schema)
    decoded = decode_records(encoded, batch.num_rows, schema)
    rows = [{field.name: plain(row[field.name], field.type) for field in decoded.schema} for row in decoded.to_pylist()]
    assert _utc(repr(rows)) == _utc(repr(decode_with_fastavro(bytes(encoded), schema)))


def _utc(text: str) -> str:
    """Arrow and fastavro name UTC by different classes."""
    return (
        text.replace("zoneinfo.ZoneInfo(key='UTC')", "UTC")
        .replace("datetime.timezone.utc", "UTC")
        .replace("<UTC>", "UTC")
    )


@_SLOW
@given(batch=batches(), data=st.data())
def test_slices_and_copies_give_the_same_bytes(batch: pa.RecordBatch, data: st.DataObject) -> None:
    schema = _schema_of(batch)
    first = data.draw(st.integers(0, batch.num_rows))
    part = batch.slice(first, data.draw(st.integers(0, batch.num_rows - first)))
    copy = pa.RecordBatch.from_pylist(part.to_pylist(), schema=batch.schema)
    assert encode_records(part, schema) == encode_records(copy, schema)
    datums = encode_datums(part, schema).to_pylist()
    assert b"".join(len(datum).to_bytes(4, "big") + datum for datum in datums) == encode_records(part, schema)


@_SLOW
@given(batch=batches(), data=st.data())
def test_chosen_columns_equal_those_of_all(batch: pa.RecordBatch, data: st.DataObject) -> None:
    schema = _schema_of(batch)
    encoded = encode_records(batch, schema)
    names = data.draw(st.permutations(batch.schema.names))[: data.draw(st.integers(0, batch.num_columns))]
    chosen = decode_records(encoded, batch.num_rows, schema, columns=names)
    assert (chosen.schema.names, chosen.num_rows) == (names, batch.num_rows)
    assert _same(
        chosen.to_pylist(),
        decode_records(encoded, batch.num_rows, schema).select(names).to_pylist() or chosen.to_pylist(),
    )


def _damage(data: st.DataObject, content: bytes | memoryview) -> bytes:
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged)))
        junk = data.draw(
            st.sampled_from([b"", b"\x00", b"\x01", b"\x02", b"\xff", b"\x80", b"\xff" * 10]) | st.binary(max_size=4)
        )
        damaged[at : at + data.draw(st.integers(0, 3))] = junk
    return bytes(damaged)


@_SLOW
@given(batch=batches(), data=st.data())
def test_damaged_bytes_raise_only_our_errors(batch: pa.RecordBatch, data: st.DataObject) -> None:
    schema = _schema_of(batch)
    damaged = _damage(data, encode_records(batch, schema))
    with contextlib.suppress(DecodeError):
        decode_records(damaged, data.draw(st.sampled_from([batch.num_rows, 0, 1, -1, 2**31])), schema).validate(
            full=True
        )


@_SLOW
@given(batch=batches(max_rows=3), data=st.data())
def test_damage_within_a_record_raises_only_our_errors(batch: pa.RecordBatch, data: st.DataObject) -> None:
    schema = _schema_of(batch)
    damaged = [_damage(data, datum) for datum in encode_datums(batch, schema).to_pylist()]
    framed = b"".join(len(datum).to_bytes(4, "big") + datum for datum in damaged)
    with contextlib.suppress(DecodeError):
        decode_records(framed, len(damaged), schema).validate(full=True)
    with contextlib.suppress(DecodeError):
        decode_records(framed, len(damaged), schema, columns=[])


_ORDERINGS = st.one_of(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)).map(lambda items: pa.array(items, pa.int64())),
    st.lists(st.none() | st.text(max_size=5)).map(lambda items: pa.array(items, pa.string())),
    st.lists(st.none() | st.booleans()).map(lambda items: pa.array(items, pa.bool_())),
    st.lists(
        st.none() | st.fixed_dictionaries({"a": st.none() | st.integers(1, 9), "b": st.none() | st.text(max_size=3)})
    ).map(lambda items: pa.array(items, pa.struct([("a", pa.int32()), ("b", pa.string())]))),
)


@_SLOW
@given(ordering=_ORDERINGS)
def test_delete_lists_come_back(ordering: pa.Array) -> None:
    keys = pa.array([f"key-{index}" for index in range(len(ordering))], pa.string())
    encoded = encode_delete_list(keys, "p", ordering)
    decoded = decode_delete_list(encoded)
    assert decoded.column("record_key") == keys
    assert encode_delete_list(*decoded.columns) == encoded


@_SLOW
@given(ordering=_ORDERINGS, data=st.data())
def test_damaged_delete_lists_raise_only_our_errors(ordering: pa.Array, data: st.DataObject) -> None:
    keys = pa.array([f"key-{index}" for index in range(len(ordering))], pa.string())
    with contextlib.suppress(DecodeError):
        decode_delete_list(_damage(data, encode_delete_list(keys, "p", ordering))).validate(full=True)


@_SLOW
@given(junk=st.binary(max_size=200))
def test_junk_raises_only_our_errors(junk: bytes) -> None:
    with contextlib.suppress(DecodeError):
        decode_delete_list(junk)


@pytest.mark.parametrize("size", [63, 64, 65, 95, 97, 500])
def test_chunks_join_without_a_seam(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "_CHUNK_ROWS", 64)
    monkeypatch.setattr(encode, "_CHUNK_ROWS", 64)
    batch = pa.RecordBatch.from_pydict(
        {
            "a": pa.array(range(size), pa.int64()),
            "b": pa.array([None if index % 7 == 0 else f"value {index}" for index in range(size)]),
            "c": pa.array([list(range(index % 5)) for index in range(size)], pa.list_(pa.int32())),
        }
    )
    schema = _schema_of(batch)
    encoded = encode_records(batch, schema)
    assert encoded == encode_with_fastavro(batch, schema)
    assert decode_records(encoded, size, schema) == batch
