"""Schemas, records and blocks that several tests of this room use."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from hudiformat.codec.avro.decode import decode_records
from hudiformat.codec.avro.encode import encode_datums, encode_records
from hudiformat.codec.avro.schema import arrow_to_avro, avro_to_arrow
from tests.effort import examples

EXAMPLES = int(os.environ.get("HUDIFORMAT_EXAMPLES", examples(60)))
"""How many random cases each property is tried on."""
SLOW = settings(
    deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def record_schema(*fields: tuple[str, Any]) -> str:
    """The Avro schema of a record with these fields, as JSON."""
    return json.dumps(
        {"type": "record", "name": "r", "fields": [{"name": name, "type": kind} for name, kind in fields]}
    )


def framed(*records: str) -> bytes:
    """Records in hexadecimal, each behind its length."""
    datums = [bytes.fromhex(record) for record in records]
    return b"".join(len(datum).to_bytes(4, "big") + datum for datum in datums)


def framed_records(lengths: list[int], filler: bytes) -> bytes:
    """Records of these lengths, each behind its length, full of *filler*."""
    return b"".join(length.to_bytes(4, "big") + (filler * length)[:length] for length in lengths)


def both_ways(schema: str, rows: Sequence[Any], *expected: str) -> None:
    """Each row encodes to its hexadecimal bytes, and they decode to it."""
    batch = pa.RecordBatch.from_pylist(rows, avro_to_arrow(schema))
    datums = [bytes.fromhex(text) for text in expected]
    assert encode_datums(batch, schema).to_pylist() == datums
    framed = b"".join(len(datum).to_bytes(4, "big") + datum for datum in datums)
    assert encode_records(batch, schema) == framed
    assert decode_records(framed, len(rows), schema).equals(batch)
    assert decode_records(memoryview(framed), len(rows), schema).to_pylist() == rows


def damage(data: st.DataObject, content: bytes | memoryview) -> bytes:
    """The bytes with one to four small replacements, insertions or removals."""
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged)))
        junk = data.draw(
            st.sampled_from([b"", b"\x00", b"\x01", b"\x02", b"\xff", b"\x80", b"\xff" * 10]) | st.binary(max_size=4)
        )
        damaged[at : at + data.draw(st.integers(0, 3))] = junk
    return bytes(damaged)


def schema_of(batch: pa.RecordBatch) -> str:
    """The Avro schema of a batch."""
    return arrow_to_avro(batch.schema, name="t_record", namespace="hoodie.t")


def same(left: Any, right: Any) -> bool:
    """Equality by value in which NaN is NaN."""
    return repr(left) == repr(right)
