"""A metadata table that contradicts the table is built again."""

from __future__ import annotations

import json
from pathlib import Path

import hudiformat as hf
from hudiformat import RepairKind, StepState, Table
from tests.check.repair.breaking import age, cut_metadata_table, own_rows, unlisted
from tests.tables import new_table, rows, unpack

GOLDEN = "v9-mor-metadata-table-h120"


def broken(root: Path) -> Table:
    path = unpack(GOLDEN, root).table
    unlisted(path)
    age(path)
    return hf.open_table(path)


def states(table: Table) -> list[tuple[RepairKind, StepState]]:
    return [(step.kind, step.state) for step in table.repair(apply=True).steps]


DONE = (RepairKind.METADATA, StepState.DONE)


def test_all_indexes_are_there_again_with_their_columns(tmp_path: Path) -> None:
    table = broken(tmp_path)
    before = table.config.metadata_partitions
    rows_before = own_rows(hf.open_table(unpack(GOLDEN, tmp_path / "sound").table))
    definitions = Path(table.path, ".hoodie/.index_defs/index.json")
    fields = json.loads(definitions.read_text())["indexDefinitions"]["column_stats"]["sourceFields"]
    assert states(table) == [DONE, DONE]
    assert table.config.metadata_partitions == before
    assert own_rows(table) == rows_before
    again = json.loads(definitions.read_text())["indexDefinitions"]["column_stats"]["sourceFields"]
    assert sorted(again) == sorted(fields)


def test_damaged_definitions_cost_the_choice_of_columns_alone(tmp_path: Path) -> None:
    path = unpack(GOLDEN, tmp_path).table
    cut_metadata_table(path)
    (path / ".hoodie/.index_defs/index.json").write_bytes(b"{")
    age(path)
    table = hf.open_table(path)
    before = table.config.metadata_partitions
    assert states(table) == [DONE, DONE]
    assert table.config.metadata_partitions == before
    assert table.verify() == []


def test_damaged_definitions_alone_are_found_and_taken_away(tmp_path: Path) -> None:
    """No write can keep an index up without them."""
    options = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
    table = new_table(tmp_path / "t", options=options)
    table.upsert(rows(("a", 1, "x", 1)))
    definitions = tmp_path / "t" / ".hoodie/.index_defs/index.json"
    definitions.write_bytes(definitions.read_bytes() + b"more")
    (finding,) = table.verify()
    assert "index.json: expected definitions of indexes" in finding.message
    age(tmp_path / "t")
    assert states(table) == [DONE, DONE]
    assert table.verify() == []
    table.upsert(rows(("a", 2, "x", 2)))
    assert "column_stats" in table.config.metadata_partitions


def test_where_it_is_switched_off_it_is_not_built(tmp_path: Path) -> None:
    table = hf.open_table(broken(tmp_path).path, options={"hoodie.metadata.enable": "false"})
    assert states(table) == [DONE, DONE]
    assert table.config.metadata_partitions == ()
    assert table.repair().steps == ()


def test_indexes_that_only_spark_sql_builds_are_named(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1)))
    table.create_index("files")
    table.upsert(rows(("a", 2, "x", 2)))
    properties = tmp_path / "t/.hoodie/hoodie.properties"
    text = properties.read_text().replace("partitions=files", "partitions=expr_index_a,files")
    properties.write_text(text)
    unlisted(tmp_path / "t")
    age(tmp_path / "t")
    step = hf.open_table(table.path).repair().steps[0]
    assert step.lost == "the indexes expr_index_a, which Spark SQL has to create again"
