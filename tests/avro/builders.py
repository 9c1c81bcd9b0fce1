"""Schemas, records and blocks that several tests of this room use."""

from __future__ import annotations

import json
from typing import Any


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
