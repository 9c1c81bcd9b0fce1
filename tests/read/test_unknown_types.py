"""Columns of logical types that are not known are refused by name; the other columns of their tables are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.codec.avro.nodes import unknown_logical_types
from tests.foreign.foreign_tables import ForeignTable, names, unpack
from tests.tables import tree

REFUSED = r"column v: .*logical type 'sphere'"


def unpack_unknown(name: str, folder: Path) -> ForeignTable:
    """Unpack a table of Hudi's with vectors, and call their logical type otherwise in all files."""
    foreign = unpack(name, folder)
    for path in filter(Path.is_file, foreign.path.rglob("*")):
        content = path.read_bytes()
        path.write_bytes(content.replace(b'"logicalType":"vector"', b'"logicalType":"sphere"'))
    return foreign


@pytest.mark.parametrize("name", names("types-vector-"))
def test_a_column_of_an_unknown_type_is_refused_by_name_and_its_table_is_sound(name: str, tmp_path: Path) -> None:
    foreign = unpack_unknown(name, tmp_path)
    table = hf.open_table(foreign.path)
    queries: tuple[Any, ...] = (
        table.snapshot,
        table.read_optimized,
        lambda: table.incremental("000"),
        lambda: table.snapshot(columns=["v"]),
        lambda: table.scan().read_all(),
        lambda: table.head(1),
    )
    for query in queries:
        with pytest.raises(hf.UnsupportedFeatureError, match=REFUSED):
            query()
    assert table.snapshot(columns=["k", "o"]).equals(
        foreign.rows("snapshot").select(["k", "o"]).cast(table.snapshot(columns=["k", "o"]).schema)
    )
    assert table.count() == 2
    assert table.verify() == []
    assert table.repair().steps == ()


@pytest.mark.parametrize("name", names("types-vector-"))
def test_a_table_with_an_unknown_type_is_not_written(name: str, tmp_path: Path) -> None:
    foreign = unpack_unknown(name, tmp_path)
    table = hf.open_table(foreign.path)
    before = tree(foreign.path)
    rows = pa.table({"k": ["a"], "o": pa.array([2], pa.int32()), "v": pa.array([b"x" * 12], pa.binary(12))})
    calls: list[Any] = [lambda: table.upsert(rows), lambda: table.delete(where="k = 'a'"), table.cluster, table.compact]
    for call in calls[: 3 if "cow" in name else 4]:
        with pytest.raises(hf.UnsupportedFeatureError, match="the logical type sphere of the column v"):
            call()
    assert tree(foreign.path) == before


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("long", {}),
        ({"type": "int", "logicalType": "date"}, {}),
        ({"type": "string", "logicalType": "uuid"}, {}),
        ({"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 1}, {}),
        ({"type": "long", "logicalType": "date"}, {"c": "date"}),
        (["null", {"type": "bytes", "logicalType": "vector"}], {"c": "vector"}),
        ({"type": "array", "items": {"type": "int", "logicalType": "x"}}, {"c.element": "x"}),
        ({"type": "map", "values": {"type": "int", "logicalType": "x"}}, {"c.value": "x"}),
        (
            {"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "int", "logicalType": "x"}}]},
            {"c.a": "x"},
        ),
        (
            {"type": "record", "name": "r", "logicalType": "variant", "fields": [{"name": "value", "type": "bytes"}]},
            {"c": "variant"},
        ),
        ({"type": {"type": "int", "logicalType": "x"}}, {"c": "x"}),
    ],
    ids=str,
)
def test_logical_types_that_are_not_known_are_found_at_every_depth(kind: Any, found: dict[str, str]) -> None:
    schema = {"type": "record", "name": "t", "fields": [{"name": "c", "type": kind}]}
    assert unknown_logical_types(json.dumps(schema)) == found
