"""Log files of real Hudi that are easily merged wrongly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import HudiFormatError, LogReader, UnsupportedFeatureError, data_block, encode_block, open_table
from hudiformat.codec.log.block import decode_block
from tests.foreign.log_tables import CONTAINERS, TABLES, rows_of, unpack

_LOST = "key-is-lost-v9"


@pytest.mark.parametrize("name", [name for name in TABLES if name != _LOST])
def test_rows_are_those_of_hudi(name: str, tmp_path: Path) -> None:
    path, answer = unpack(name, tmp_path)
    assert rows_of(open_table(path).snapshot(columns=list(answer[0]))) == answer


def test_case_counts_in_delete_markers_of_properties_but_not_of_payload_classes(tmp_path: Path) -> None:
    keys = {name: {row["k"] for row in unpack(name, tmp_path)[1]} for name in TABLES if name.startswith("delete")}
    every = {f"k{number}" for number in range(7)}
    assert every - keys["delete-marker-dms-v6"] == {"k0", "k1"}
    assert every - keys["delete-marker-mysql-v8"] == {"k0", "k1"}
    assert every - keys["delete-marker-postgres-v8"] == {"k0", "k1"}
    assert every - keys["delete-marker-dms-v9"] == {"k0"}
    assert every - keys["delete-marker-chosen-v8"] == {"k0"}


def test_a_column_that_hudi_empties_is_refused_by_name_and_others_are_read(tmp_path: Path) -> None:
    path, answer = unpack(_LOST, tmp_path)
    table = open_table(path)
    with pytest.raises(UnsupportedFeatureError, match=r"column key in an HFile block.*columns=.*as_of="):
        table.snapshot()
    assert rows_of(table.snapshot(columns=["k", "ts"])) == [{"k": row["k"], "ts": row["ts"]} for row in answer]
    first = table.timeline.completed_writes[0]
    assert rows_of(table.snapshot(as_of=first.completion_time, columns=["k", "key"])) == [
        {"k": "a", "key": "x"},
        {"k": "b", "key": "y"},
    ]


def test_a_compaction_keeps_what_the_record_keys_hold(tmp_path: Path) -> None:
    path, answer = unpack("key-of-two-v6", tmp_path)
    table = open_table(path)
    table.compact()
    assert rows_of(open_table(path).read_optimized(columns=list(answer[0]))) == answer


def _column(kind: str) -> pa.Array:
    inner = pa.struct([(name, pa.string()) for name in CONTAINERS])
    value = {name: name for name in CONTAINERS}
    return {
        "text": pa.array(["x", ""]),
        "struct": pa.array([value, None], inner),
        "list": pa.array([[value], None], pa.list_(inner)),
        "map": pa.array([[("k", value)], None], pa.map_(pa.string(), inner)),
        "lists": pa.array([[[value]], [[]]], pa.list_(pa.list_(inner))),
    }[kind]


@pytest.mark.parametrize("kind", ["text", "struct", "list", "map", "lists"])
@pytest.mark.parametrize("content", ["avro", "parquet", "hfile"])
@pytest.mark.parametrize("name", [*CONTAINERS, "key"])
def test_blocks_hold_columns_of_every_name(name: str, content: Any, kind: str) -> None:
    batch = pa.record_batch({"_hoodie_record_key": pa.array(["a", "b"]), name: _column(kind)})
    block = data_block(batch, instant="20240101000000000", format=content)
    read, _ = decode_block(encode_block(block))
    assert read.to_arrow(schema=batch.schema).to_pylist() == batch.to_pylist()
    assert read.to_arrow(columns=[name])[name].to_pylist() == batch[name].to_pylist()


def test_the_log_files_are_of_the_formats_that_they_are_made_for(tmp_path: Path) -> None:
    for name, kind in (("names-avro-v9", "AVRO"), ("names-parquet-v6", "PARQUET"), ("names-hfile-v9", "HFILE")):
        path, _ = unpack(name, tmp_path)
        [log] = path.glob(".*.log.*")
        assert [block.type.name for block in LogReader(log)] == [f"{kind}_DATA"]


@pytest.mark.parametrize("service", ["log compaction", "index"])
def test_services_read_what_the_record_keys_hold(service: str, tmp_path: Path) -> None:
    path, answer = unpack("key-is-record-key-v9", tmp_path)
    table = open_table(path, options={"hoodie.log.compaction.blocks.threshold": "1"})
    if service == "log compaction":
        assert table.log_compact()
        [*_, log] = sorted(path.glob(".*.log.*"), key=lambda one: one.stat().st_mtime_ns)
        records = pa.concat_tables(pa.table(block.to_arrow(columns=["key"])) for block in LogReader(log))
        assert sorted(records["key"].to_pylist()) == sorted(row["key"] for row in answer)
    else:
        table.create_index("column_stats", columns=["key"])
        found = open_table(path).snapshot(columns=["key"], filter="key = 'x'")
        assert found["key"].to_pylist() == ["x"]
    assert rows_of(open_table(path).snapshot(columns=list(answer[0]))) == answer


@pytest.mark.parametrize("service", ["log compaction", "compaction"])
def test_services_refuse_a_column_that_hudi_empties_and_leave_the_table(service: str, tmp_path: Path) -> None:
    path, _ = unpack(_LOST, tmp_path)
    table = open_table(path, options={"hoodie.log.compaction.blocks.threshold": "1"})
    with pytest.raises(HudiFormatError, match="column key in an HFile block") as raised:
        table.log_compact() if service == "log compaction" else table.compact()
    assert isinstance(raised.value, UnsupportedFeatureError) or raised.value.__cause__ is not None
    assert not open_table(path).timeline.pending


def test_statistics_are_built_of_the_columns_that_are_there(tmp_path: Path) -> None:
    path, answer = unpack(_LOST, tmp_path)
    table = open_table(path)
    with pytest.raises(HudiFormatError, match="column key in an HFile block"):
        table.create_index("column_stats", columns=["key"])
    table.create_index("column_stats", columns=["ts"])
    found = table.snapshot(columns=["k"], filter="ts = 1")
    assert sorted(found["k"].to_pylist()) == [row["k"] for row in answer]


def test_a_renamed_column_that_hudi_empties_is_refused_too(tmp_path: Path) -> None:
    path, _ = unpack(_LOST, tmp_path)
    table = open_table(path, options={"hoodie.schema.on.read.enable": "true"})
    table.evolve(rename={"key": "other"})
    with pytest.raises(UnsupportedFeatureError, match="column key in an HFile block"):
        open_table(path).snapshot(columns=["other"])
    assert len(open_table(path).snapshot(columns=["k", "ts"])) == 2
