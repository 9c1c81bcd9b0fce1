"""Partial updates and record positions: our log blocks in the place of Hudi's, and Hudi on top of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.schema.evolution import PARTIAL_SCHEMA
from tests.conformance.hudi import RealHudi
from tests.effort import only_long

COMPACT_NOW = "hoodie.compact.inline.max.delta.commits=1"
ROW = ["id", "a", "b", "c", "ts"]
KINDS = {"id": "string", "a": "int", "b": "string", "c": "double", "ts": "long"}
ROWS = pa.table(
    {
        "id": ["k1", "k2", "k3"],
        "a": pa.array([1, 2, 3], pa.int32()),
        "b": ["x", "y", "z"],
        "c": [1.5, 2.5, 3.5],
        "ts": [10, 10, 10],
    }
)
WRITE = {
    "hoodie.metadata.enable": "false",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.operation": "upsert",
}
UPDATE = pa.table({"id": ["k3", "k1"], "b": ["third", "first"], "ts": [5, 20]})


def columns_of_hudi(table: str, *names: str) -> str:
    fields = [{"name": name, "type": ["null", KINDS[name]], "default": None} for name in names]
    return json.dumps({"type": "record", "name": f"{table}_record", "namespace": f"hoodie.{table}", "fields": fields})


def newest_block(path: Path) -> hf.LogBlock:
    files = [found for found in path.glob(".*.log.*") if not found.name.endswith(".crc")]
    [block] = hf.LogReader(max(files, key=lambda found: hf.LogFileName.parse(found.name).instant))
    return block


def kind_of(block: hf.LogBlock) -> dict[str, Any]:
    """A block's type, header and records, but for what differs from write to write."""
    header = {key.name: text for key, text in block.header.items() if key.name != "INSTANT_TIME"}
    header["SCHEMA"] = json.loads(header["SCHEMA"])
    records = block.to_arrow().drop_columns(["_hoodie_commit_time", "_hoodie_commit_seqno"])
    return {"type": block.type, "header": header, "records": records.to_pylist()}


def rows_of(table: pa.Table, columns: Sequence[str] = ROW) -> list[dict[str, Any]]:
    return sorted(table.select(list(columns)).to_pylist(), key=lambda row: str(row["id"]))


@pytest.mark.parametrize("mode", ["EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"])
def test_a_partial_update_is_what_hudis_merge_into_writes(hudi: RealHudi, tmp_path: Path, mode: str) -> None:
    name, theirs, ours = f"partial_{mode[:5].lower()}", tmp_path / "theirs", tmp_path / "ours"
    ordering = {"hoodie.table.ordering.fields": "ts"} if mode.startswith("EVENT") else {}
    hudi.write(ROWS, theirs, {**WRITE, "hoodie.table.name": name, "hoodie.record.merge.mode": mode, **ordering})
    hudi.sql(f"create table {name} using hudi location '{theirs}'")
    shutil.copytree(theirs, ours)
    changes = "select 'k3' as id, 'third' as b, 5L as ts union all select 'k1' as id, 'first' as b, 20L as ts"
    hudi.sql(f"merge into {name} t using ({changes}) s on t.id = s.id when matched then update set b = s.b, ts = s.ts")
    hudi.sql(f"drop table {name}")
    table = hf.open_table(ours, options={PARTIAL_SCHEMA: columns_of_hudi(name, "b", "ts")})
    table.upsert(UPDATE)
    assert kind_of(newest_block(ours)) == kind_of(newest_block(theirs))
    expected = rows_of(hudi.read(theirs))
    assert {row["id"]: row["b"] for row in expected}["k1"] == "first"
    assert rows_of(table.snapshot()) == expected
    assert rows_of(hudi.read(ours)) == expected
    assert hudi.sql(f"call run_compaction(op => 'scheduleAndExecute', path => '{ours}', options => '{COMPACT_NOW}')")
    assert rows_of(hudi.read(ours, {"hoodie.datasource.query.type": "read_optimized"})) == expected


@only_long
def test_positions_are_those_that_hudi_writes_and_merges_by(hudi: RealHudi, tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    options = {**WRITE, "hoodie.table.name": "positions", "hoodie.table.ordering.fields": "ts"}
    hudi.write(ROWS, theirs, options)
    shutil.copytree(theirs, ours)
    update = ROWS.take([2, 0]).set_column(4, "ts", pa.array([20, 20]))
    hudi.write(update, theirs, options, mode="append")
    table = hf.open_table(ours)
    table.upsert(update)
    assert kind_of(newest_block(ours)) == kind_of(newest_block(theirs))
    delete = {**options, "hoodie.datasource.write.operation": "delete"}
    hudi.write(ROWS.slice(1, 1), theirs, delete, mode="append")
    table.delete(ROWS.slice(1, 1).select(["id"]))
    told = [newest_block(path).header for path in (ours, theirs)]
    assert told[0][hf.HeaderKey.RECORD_POSITIONS] == told[1][hf.HeaderKey.RECORD_POSITIONS]
    expected = rows_of(hudi.read(theirs))
    assert [row["id"] for row in expected] == ["k1", "k3"]
    for by_position in ("true", "false"):
        assert rows_of(hudi.read(ours, {"hoodie.merge.use.record.positions": by_position})) == expected
    assert rows_of(table.snapshot()) == expected
