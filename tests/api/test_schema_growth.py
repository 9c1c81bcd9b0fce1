"""Tables whose columns have grown over several writes: every query brings old files to the newest schema."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat import Table, open_table
from tests.tables import new_table

pytestmark = pytest.mark.unmeasured

KEYS = [pa.field("k", pa.string(), nullable=False), pa.field("ts", pa.int32()), pa.field("p", pa.string())]
WIDER = [pa.field("k", pa.string(), nullable=False), pa.field("ts", pa.int64()), pa.field("p", pa.string())]
XY = pa.struct([("x", pa.int64()), ("y", pa.string())])
D10, D20 = pa.decimal128(10, 2), pa.decimal128(20, 4)
FIRST = pa.schema([*KEYS, pa.field("v", pa.int32()), pa.field("n", pa.struct([("x", pa.int32())])), pa.field("c", D10)])
SECOND = pa.schema(
    [
        *WIDER,
        pa.field("v", pa.int64()),
        pa.field("n", pa.struct([("x", pa.int64()), ("y", pa.string())])),
        pa.field("c", D20),
    ]
)
THIRD = pa.schema(
    [*WIDER, pa.field("v", pa.string()), SECOND.field("n"), SECOND.field("c"), pa.field("z", pa.list_(pa.float64()))]
)
ROWS: list[dict[str, Any]] = [
    {"k": "a", "ts": 2**40, "v": "text", "n": {"x": 1, "y": "y"}, "c": Decimal("0.0001"), "z": [0.5]},
    {"k": "b", "ts": 2, "v": str(2**40), "n": {"x": 2**40, "y": "yy"}, "c": Decimal("2.5000"), "z": None},
    {"k": "c", "ts": 1, "v": "3", "n": {"x": 3, "y": None}, "c": Decimal("1.5000"), "z": None},
]
"""The rows in the end: of the third write, the second, and the first."""

KINDS = [(kind, version) for kind in ("MERGE_ON_READ", "COPY_ON_WRITE") for version in (6, 8, 9)]


def grown(path: Path, kind: str, version: int, **options: str) -> Table:
    chosen = {"hoodie.parquet.small.file.limit": "0", **options}
    table = new_table(path, schema=FIRST, table_type=kind, version=version, options=chosen)
    rows = [{"k": key, "ts": 1, "p": "x", "v": 3, "n": {"x": 3}, "c": Decimal("1.50")} for key in "abc"]
    table.upsert(pa.Table.from_pylist(rows, FIRST))
    table.upsert(pa.Table.from_pylist([{**row, "ts": 2} for row in rows[:2]], FIRST))  # log blocks of the old types
    second = {"k": "b", "ts": 2, "p": "x", "v": 2**40, "n": {"x": 2**40, "y": "yy"}, "c": Decimal("2.5")}
    table.upsert(pa.Table.from_pylist([second], SECOND))
    third = {"k": "a", "ts": 2**40, "p": "x", "v": "text", "n": {"x": 1, "y": "y"}, "c": Decimal("0.0001"), "z": [0.5]}
    table.upsert(pa.Table.from_pylist([third], THIRD))
    return table


def own(rows: pa.Table) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in row.items() if name != "p" and not name.startswith("_hoodie")}
        for row in rows.sort_by("k").to_pylist()
    ]


@pytest.mark.parametrize(("kind", "version"), KINDS)
def test_every_query_shows_the_newest_columns(tmp_path: Path, kind: str, version: int) -> None:
    table = grown(tmp_path / "t", kind, version)
    assert table.schema.names == THIRD.names
    assert table.schema.types == THIRD.types
    assert own(table.snapshot()) == ROWS
    assert own(table.incremental("000")) == ROWS
    assert own(table.snapshot(columns=["k", "v"])) == [{"k": row["k"], "v": row["v"]} for row in ROWS]
    old = {"k": "a", "ts": 1, "v": "3", "n": {"x": 3, "y": None}, "c": Decimal("1.5000"), "z": None}
    is_cow = kind == "COPY_ON_WRITE"
    assert own(table.read_optimized()) == (ROWS if is_cow else [{**old, "k": key} for key in "abc"])
    second = table.timeline.completed_writes[2].time
    past = table.snapshot(as_of=second)
    assert past.schema.field("v").type == pa.int64()
    assert "z" not in past.column_names
    assert [row["v"] for row in own(past)] == [3, 2**40, 3]


@pytest.mark.parametrize(("kind", "version"), KINDS)
def test_filters_compare_values_of_the_newest_type(tmp_path: Path, kind: str, version: int) -> None:
    table = grown(tmp_path / "t", kind, version)
    assert own(table.snapshot(filter=pc.field("v") == "3")) == ROWS[2:]
    assert own(table.snapshot(filter=pc.field("v") < "2")) == ROWS[1:2]  # as texts: numbers in the old file are 3
    assert own(table.snapshot(filter=pc.field("c") == pa.scalar(Decimal("1.5"), D20))) == ROWS[2:]
    assert own(table.snapshot(filter=pc.field("ts") > 10)) == ROWS[:1]
    assert own(table.snapshot(filter=pc.field("z").is_valid())) == ROWS[:1]


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("blocks", ["avro", "parquet"])
def test_services_bring_all_rows_to_the_newest_columns(tmp_path: Path, version: int, blocks: str) -> None:
    options = {"hoodie.logfile.data.block.format": blocks, "hoodie.log.compaction.blocks.threshold": "2"}
    table = grown(tmp_path / "t", "MERGE_ON_READ", version, **options)
    assert table.log_compact()
    assert own(table.snapshot()) == ROWS
    table.compact()
    assert own(table.read_optimized()) == ROWS
    assert table.verify() == []
    deleted = open_table(tmp_path / "t")
    deleted.delete(pa.table({"k": ["c"], "p": ["x"]}))
    assert own(table.snapshot()) == ROWS[:2]
    assert table.schema.types == THIRD.types


def test_deletes_and_partial_updates_go_on_after_a_change(tmp_path: Path) -> None:
    table = grown(tmp_path / "t", "MERGE_ON_READ", 9)
    fields = '{"name":"v","type":["null","string"],"default":null},{"name":"ts","type":["null","long"],"default":null}'
    partial = f'{{"type":"record","name":"t_record","namespace":"hoodie.t","fields":[{fields}]}}'
    some = open_table(tmp_path / "t", options={"hoodie.write.partial.update.schema": partial})
    some.upsert(pa.table({"k": ["b"], "p": ["x"], "v": ["part"], "ts": [9]}))
    assert own(table.snapshot()) == [ROWS[0], {**ROWS[1], "v": "part", "ts": 9}, ROWS[2]]
    table.delete(pa.table({"k": ["a"], "p": ["x"]}))
    assert [row["k"] for row in own(table.snapshot())] == ["b", "c"]


def test_change_data_of_every_generation(tmp_path: Path) -> None:
    table = new_table(
        tmp_path / "t", schema=FIRST, table_type="COPY_ON_WRITE", options={"hoodie.table.cdc.enabled": "true"}
    )
    table.upsert(pa.Table.from_pylist([{"k": "a", "ts": 1, "p": "x", "v": 3}], FIRST))
    table.upsert(pa.Table.from_pylist([{"k": "a", "ts": 2, "p": "x", "v": 2**40}], SECOND))
    table.upsert(pa.Table.from_pylist([{"k": "a", "ts": 3, "p": "x", "v": "text", "z": [1.0]}], THIRD))
    changes = table.cdc("000").to_pylist()
    assert [one["op"] for one in changes] == ["i", "u", "u"]
    assert '"v":"text"' in changes[2]["after"].replace(" ", "")
