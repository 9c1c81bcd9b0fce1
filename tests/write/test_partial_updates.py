"""Upserts of some columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import (
    DataError,
    HeaderKey,
    LogBlock,
    LogReader,
    OptionError,
    SchemaError,
    Table,
    UnsupportedFeatureError,
    open_table,
)
from hudiformat.codec.log.block import encode_positions
from hudiformat.schema.evolution import PARTIAL_SCHEMA
from tests.tables import SCHEMA, Clock, content, data_files, new_table, rows, tree

KINDS = {"k": "string", "ts": "long", "p": "string", "v": "int", "w": "string", "_hoodie_is_deleted": "boolean"}
WIDE = pa.schema([*SCHEMA, pa.field("w", pa.string())])


def partial(*names: str) -> str:
    """The Avro schema of some columns."""
    fields = [{"name": name, "type": ["null", KINDS[name]], "default": None} for name in names]
    return json.dumps({"type": "record", "name": "t_record", "namespace": "hoodie.t", "fields": fields})


def updating(table: Table, *names: str, **options: str) -> Table:
    """*table*, whose upserts bring the columns *names*."""
    chosen = {"hudiformat.sync": "false", PARTIAL_SCHEMA: partial(*names)} | options
    return open_table(table._context.storage.root, options=chosen, clock=Clock())


def some(values: dict[str, list[Any]], schema: pa.Schema = WIDE) -> pa.Table:
    return pa.table(values, pa.schema([schema.field(name) for name in values]))


def blocks_of(table: Table) -> list[LogBlock]:
    names = [name for name in data_files(Path(table._context.storage.root)) if ".log." in name]
    return [block for name in names for block in LogReader(Path(table._context.storage.root) / name)]


@pytest.fixture
def wide(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "wide", schema=WIDE)
    table.upsert(rows(("a", 5, "x", 1, "one"), ("b", 5, "x", 2, "two"), ("c", 5, "y", 3, "three"), schema=WIDE))
    return table


ALL = ("k", "ts", "p", "v", "w")


def test_the_other_columns_stay_as_they_are(wide: Table) -> None:
    commit = updating(wide, "ts", "v").upsert(some({"k": ["b", "c"], "p": ["x", "y"], "ts": [6, 6], "v": [20, None]}))
    assert content(wide, ALL) == [("a", 5, "x", 1, "one"), ("b", 6, "x", 20, "two"), ("c", 6, "y", None, "three")]
    assert (commit.num_writes, [stat.num_update_writes for stat in commit.stats]) == (2, [1, 1])


def test_a_block_has_the_meta_fields_and_the_columns_that_are_updated(wide: Table) -> None:
    updating(wide, "ts", "v").upsert(some({"v": [20], "ts": [6], "p": ["x"], "k": ["b"]}))
    [block] = blocks_of(wide)
    own = [name for name in block.to_arrow().schema.names if not name.startswith("_hoodie")]
    assert (block.is_partial, own, block.to_arrow()["_hoodie_record_key"].to_pylist()) == (True, ["ts", "v"], ["b"])
    assert block.header[HeaderKey.RECORD_POSITIONS] == encode_positions([1])
    assert json.loads(block.schema)["name"] == "t_record"


def test_the_schema_of_the_table_stays_whole(wide: Table) -> None:
    updating(wide, "ts", "v").upsert(some({"v": [20], "ts": [6], "p": ["x"], "k": ["b"]}))
    assert wide.schema.names == list(ALL)


def test_a_lower_ordering_value_loses(wide: Table) -> None:
    updating(wide, "ts", "v").upsert(some({"k": ["b"], "p": ["x"], "ts": [4], "v": [20]}))
    assert content(wide, ALL)[1] == ("b", 5, "x", 2, "two")


def test_by_commit_time_no_ordering_column_is_asked_for(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", ordering=[], options={"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"})
    table.upsert(rows(("a", 5, "x", 1), ("b", 5, "x", 2)))
    updating(table, "v").upsert(some({"k": ["a"], "p": ["x"], "v": [7]}))
    assert content(table) == [("a", 5, "x", 7), ("b", 5, "x", 2)]


def test_the_last_of_several_updates_of_a_row_counts(wide: Table) -> None:
    again = some({"k": ["b", "b"], "p": ["x", "x"], "ts": [6, 6], "v": [20, 30]})
    updating(wide, "ts", "v").upsert(again)
    assert content(wide, ALL)[1] == ("b", 6, "x", 30, "two")


def test_updates_of_different_columns_add_up_and_are_compacted(wide: Table) -> None:
    updating(wide, "ts", "v").upsert(some({"k": ["b"], "p": ["x"], "ts": [6], "v": [20]}))
    updating(wide, "ts", "w").upsert(some({"k": ["b"], "p": ["x"], "ts": [7], "w": ["zwei"]}))
    expected = [("a", 5, "x", 1, "one"), ("b", 7, "x", 20, "zwei"), ("c", 5, "y", 3, "three")]
    assert content(wide, ALL) == expected
    wide.compact()
    assert sorted(wide.read_optimized()["w"].to_pylist()) == ["one", "three", "zwei"]
    assert content(wide, ALL) == expected


def test_a_new_row_is_whole_with_nulls_and_in_a_file_of_its_own(wide: Table) -> None:
    # Hudi fills the small file: it rewrites the base file with what updates bring, and loses their other columns.
    data = some({"k": ["b", "new"], "p": ["x", "x"], "ts": [6, 6], "v": [20, 9]})
    updating(wide, "ts", "v").upsert(data)
    assert content(wide, ALL)[1:3] == [("b", 6, "x", 20, "two"), ("c", 5, "y", 3, "three")]
    assert content(wide, ALL)[3] == ("new", 6, "x", 9, None)
    assert len(wide.file_slices("x")) == 2


def test_a_new_row_that_lacks_a_required_column_is_refused(tmp_path: Path) -> None:
    schema = pa.schema([*SCHEMA, pa.field("w", pa.string(), nullable=False)])
    table = new_table(tmp_path / "t", schema=schema)
    table.upsert(rows(("a", 5, "x", 1, "one"), schema=schema))
    before = tree(tmp_path / "t")
    with pytest.raises(SchemaError, match="column w of type string is required and missing"):
        updating(table, "ts", "v").upsert(some({"k": ["b"], "p": ["x"], "ts": [6], "v": [20]}))
    assert tree(tmp_path / "t") == before
    updating(table, "ts", "v").upsert(some({"k": ["a"], "p": ["x"], "ts": [6], "v": [20]}))
    assert content(table, ALL) == [("a", 6, "x", 20, "one")]


def test_log_files_that_take_new_rows_have_them_whole(tmp_path: Path) -> None:
    index = {"hoodie.index.type": "INMEMORY"}
    table = new_table(tmp_path / "t", schema=WIDE, options=index)
    table.upsert(rows(("a", 5, "x", 1, "one"), schema=WIDE))
    data = some({"k": ["a", "new"], "p": ["x", "x"], "ts": [6, 6], "v": [20, 9]})
    updating(table, "ts", "v", **index).upsert(data)
    assert content(table, ALL) == [("a", 6, "x", 20, "one"), ("new", 6, "x", 9, None)]
    assert sorted(block.is_partial for block in blocks_of(table)) == [False, False, True]


def test_other_writes_are_whole(wide: Table) -> None:
    table = updating(wide, "ts", "v")
    table.insert(rows(("d", 5, "y", 4, "four"), schema=WIDE))
    table.delete(some({"k": ["a"], "p": ["x"]}))
    assert content(wide, ALL) == [("b", 5, "x", 2, "two"), ("c", 5, "y", 3, "three"), ("d", 5, "y", 4, "four")]
    assert not any(block.is_partial for block in blocks_of(wide))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": ["b"], "p": ["x"], "ts": [6]}, "the column 'v' is missing from the rows of a partial update"),
        ({"p": ["x"], "ts": [6], "v": [1]}, "the column 'k', which the table's keys are made of, is missing"),
        ({"k": ["b"], "p": ["x"], "ts": [6], "v": [1], "w": ["z"]}, "the column 'w' must not be in the rows"),
    ],
)
def test_the_rows_have_the_columns_that_are_named(wide: Table, given: dict[str, list[Any]], message: str) -> None:
    with pytest.raises((SchemaError, DataError), match=message):
        updating(wide, "ts", "v").upsert(some(given))


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("no JSON", "expected the Avro schema of a record"),
        (partial("ts", "_hoodie_is_deleted"), "expected columns of the table, k"),
        (partial("ts", "v").replace('"int"', '"string"'), "found 'v' of type string"),
        (partial("v"), "expected the ordering column 'ts', found v; add it"),
    ],
)
def test_a_schema_that_is_none_of_a_partial_update(wide: Table, schema: str, message: str) -> None:
    with pytest.raises(OptionError, match=message) as caught:
        updating(wide, "v", **{PARTIAL_SCHEMA: schema}).upsert(some({"k": ["b"], "p": ["x"], "ts": [6], "v": [1]}))
    assert caught.value.option == PARTIAL_SCHEMA


def test_deletes_by_column_are_refused(tmp_path: Path) -> None:
    schema = pa.schema([*SCHEMA, pa.field("_hoodie_is_deleted", pa.bool_())])
    table = new_table(tmp_path / "t", schema=schema)
    table.upsert(rows(("a", 5, "x", 1, False), schema=schema))
    data = some({"k": ["a"], "p": ["x"], "ts": [6], "_hoodie_is_deleted": [True]}, schema)
    with pytest.raises(OptionError, match="found the column _hoodie_is_deleted; delete by key"):
        updating(table, "ts", "_hoodie_is_deleted").upsert(data)


@pytest.mark.parametrize(
    ("table_type", "options", "feature"),
    [
        ("COPY_ON_WRITE", {}, "COPY_ON_WRITE tables"),
        ("MERGE_ON_READ", {"hoodie.index.type": "BUCKET"}, "a bucket index, which cannot tell whether a row exists"),
        (
            "MERGE_ON_READ",
            {"hoodie.index.type": "GLOBAL_SIMPLE"},
            "a global index that moves rows, which would need all columns",
        ),
    ],
)
def test_what_partial_updates_cannot_be_with(
    tmp_path: Path, table_type: str, options: dict[str, str], feature: str
) -> None:
    table = new_table(tmp_path / "t", table_type=table_type, options=options)
    table.upsert(rows(("a", 5, "x", 1)))
    before = tree(tmp_path / "t")
    with pytest.raises(UnsupportedFeatureError, match=f"{PARTIAL_SCHEMA}: .*, found {feature}; write") as caught:
        updating(table, "ts", "v", **options).upsert(some({"k": ["a"], "p": ["x"], "ts": [6], "v": [1]}))
    assert caught.value.feature == f"partial updates with {feature}"
    assert tree(tmp_path / "t") == before


def test_a_global_index_that_moves_nothing_finds_the_rows(tmp_path: Path) -> None:
    index = {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "false"}
    table = new_table(tmp_path / "t", options=index)
    table.upsert(rows(("a", 5, "x", 1), ("b", 5, "x", 2)))
    updating(table, "ts", "v", **index).upsert(some({"k": ["a"], "p": ["y"], "ts": [6], "v": [7]}))
    assert content(table) == [("a", 6, "x", 7), ("b", 5, "x", 2)]


class Newest:
    """The newer row, whatever is in it."""

    def merge(self, _older: pa.Table, newer: pa.Table) -> pa.Table:
        return newer


def test_a_merger_of_ones_own_gets_no_partial_rows(wide: Table) -> None:
    table = open_table(wide._context.storage.root, options={PARTIAL_SCHEMA: partial("ts", "v")}, merger=Newest())
    with pytest.raises(UnsupportedFeatureError, match="found a custom merger"):
        table.upsert(some({"k": ["b"], "p": ["x"], "ts": [6], "v": [1]}))
