"""Ordering values of deletes, each with its type in the vectors, as columns of Arrow's and as they are read back."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa

_TYPES = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "date": pa.date32(),
    "local-date": pa.date32(),
    "decimal": pa.decimal128(30, 15),
    "timestamp-micros": pa.timestamp("us", "UTC"),
}
NONE = {"type": "int", "value": 0}
Ordering = dict[str, Any] | None


def delete_columns(deletes: list[dict[str, Any]]) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Keys, partition paths and ordering values; int 0 among other types is null."""
    keys, partitions = (pa.array([delete[name] for delete in deletes], pa.string()) for name in ("key", "partition"))
    return keys, partitions, _column([delete["ordering"] for delete in deletes])


def _column(values: list[Ordering]) -> pa.Array:
    kinds = {value["type"] for value in values if value is not None and value != NONE} or {"int"}
    (kind,) = kinds
    own = [None if value is None or value["type"] != kind else value["value"] for value in values]
    if kind == "array":
        fields = [_column([row[at] for row in own if row is not None]) for at in range(len(own[0] or ()))]
        return pa.StructArray.from_arrays(fields, names=[f"f{at}" for at in range(len(fields))])
    if kind == "bytes":
        return pa.array([bytes.fromhex(value or "") for value in own], pa.binary())
    if kind == "decimal":
        return pa.array([Decimal(value or 0) for value in own], _TYPES[kind])
    stored = {"date": pa.int32(), "local-date": pa.int32(), "timestamp-micros": pa.int64()}.get(kind, _TYPES[kind])
    return pa.array(own, stored).cast(_TYPES[kind])


def expected_ordering(deletes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The deletes with bare values, and null where int 0 stands among values of another type."""
    mixed = any(delete["ordering"] is not None and delete["ordering"]["type"] != "int" for delete in deletes)
    return [{**delete, "ordering": _bare(delete["ordering"], mixed=mixed)} for delete in deletes]


def _bare(value: Ordering, *, mixed: bool) -> Any:
    if value is None or (mixed and value == NONE):
        return None
    return [item["value"] for item in value["value"]] if value["type"] == "array" else value["value"]
