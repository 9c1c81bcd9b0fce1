from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pyarrow as pa
import pytest

from hudiformat.codec.avro.container import SCHEMA_KEY, ContainerReader
from hudiformat.codec.avro.values import decode_value, parse_value_schema
from hudiformat.errors import CorruptBlockError
from hudiformat.timeline.commit_metadata import (
    CommitMetadata,
    WriteStat,
    encode_commit_metadata,
    parse_commit_record,
)
from tests.effort import sample

pytestmark = pytest.mark.unmeasured

COUNT = 200_000


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields.items()]}


def array(items: Any) -> dict[str, Any]:
    return record("top", f={"type": "array", "items": items})


def long(number: int) -> bytes:
    number, found = number << 1, b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


FORGED = {
    "records": (array(record("r", b="boolean")), b"\1" * COUNT),
    "records of nulls": (array(record("r", **{f"f{n}": ["null", "long"] for n in range(27)})), b"\0" * 27 * COUNT),
    "named records": (record("top", g=record("r", b="boolean"), f={"type": "array", "items": "r"}), b"\1" * COUNT),
    "records in unions": (array(["null", record("r", b="boolean")]), b"\2\1" * COUNT),
    "arrays": (array({"type": "array", "items": "int"}), b"\0" * COUNT),
    "maps": (array({"type": "map", "values": "int"}), b"\0" * COUNT),
    "texts": (array("string"), b"\4ab" * COUNT),
    "texts in unions": (array(["null", "string"]), b"\2\4ab" * COUNT),
    "numbers": (array("long"), b"\xfe\x7e" * COUNT),
    "bytes": (array({"type": "fixed", "name": "x", "size": 2}), b"ab" * COUNT),
    "decimals": (array({"type": "bytes", "logicalType": "decimal", "precision": 4}), b"\2\7" * COUNT),
    "moments": (array({"type": "long", "logicalType": "timestamp-micros"}), b"\2" * COUNT),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sample(FORGED, of=6))
def test_values_that_take_many_times_their_bytes_are_refused(name: str) -> None:
    schema, many = FORGED[name]
    first = b"\1" if name == "named records" else b""
    data = first + long(COUNT) + many + b"\0"
    parsed = parse_value_schema(json.dumps(schema))
    tracemalloc.start()
    try:
        with pytest.raises(CorruptBlockError, match="values that take over 9 times the bytes"):
            decode_value(data, parsed, slack=1 << 20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12 * len(data) + (4 << 20)


def test_what_is_compressed_counts_with_its_compressed_size() -> None:
    schema = parse_value_schema(json.dumps(array({"type": "bytes"})))
    data = long(1) + long(1000) + b"x" * 1000 + b"\0"
    assert decode_value(data, schema, size=500, slack=0) == {"f": [b"x" * 1000]}
    with pytest.raises(CorruptBlockError, match="9 times the bytes"):
        decode_value(data, schema, size=50, slack=0)


@pytest.mark.slow
def test_hudis_commit_metadata_keeps_the_limit() -> None:
    name = "0f2b6e6c-33f6-4f0e-9d0d-6a7f5a3c2b1d-0"
    stat = WriteStat(
        file_id=name,
        path=f"p=1/{name}_0-12-34_20260101000000000.parquet",
        prev_commit="20251231000000000",
        partition_path="p=1",
        num_writes=123_456,
        file_size_in_bytes=1_234_567,
        total_write_bytes=1_234_567,
    )
    metadata = CommitMetadata("UPSERT", {"p=1": (stat,) * 5000})
    encoded = encode_commit_metadata(metadata)
    file = ContainerReader(pa.BufferReader(encoded), "x")
    [(_, content)] = file.blocks()
    record = decode_value(content, parse_value_schema(file.metadata[SCHEMA_KEY]), size=len(encoded), slack=0)
    assert parse_commit_record(record, path="x") == metadata
