"""Changing the columns of a table by themselves: rows that were written before are shown under the new ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import SchemaError, Table, UnsupportedFeatureError, WriteConflictError, open_table
from hudiformat.table.options.values import Operation
from hudiformat.table.schema_files import schema_history
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.write import prepare, write_keyed
from tests.metadata_tables import add_secondary_index, indexed_table
from tests.tables import Clock, new_table, tree

SCHEMA = pa.schema(
    [
        pa.field("k", pa.string(), nullable=False),
        pa.field("ts", pa.int64()),
        pa.field("p", pa.string()),
        pa.field("v", pa.int32()),
        pa.field("n", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        pa.field("r", pa.list_(pa.struct([("x", pa.int32())]))),
        pa.field("m", pa.map_(pa.string(), pa.struct([("x", pa.int32())]))),
        pa.field("f", pa.float32()),
        pa.field("q", pa.int32(), nullable=False),
    ]
)
BY_IDS = {"hoodie.schema.on.read.enable": "true", "hoodie.parquet.small.file.limit": "0"}
KINDS = [(kind, version) for kind in ("MERGE_ON_READ", "COPY_ON_WRITE") for version in (6, 8, 9)]
every_kind = pytest.mark.parametrize(("kind", "version"), KINDS)


def row(key: str, ts: int, value: int) -> dict[str, Any]:
    return {
        "k": key,
        "ts": ts,
        "p": "x",
        "v": value,
        "n": {"x": value, "y": "y"},
        "r": [{"x": value}, {"x": value + 1}],
        "m": [("e", {"x": value})],
        "f": value + 0.1,
        "q": value,
    }


def rows(*values: dict[str, Any], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(list(values), schema)


def table_of(
    path: Path, kind: str = "MERGE_ON_READ", version: int = 9, *, options: dict[str, str] | None = None
) -> Table:
    """A table of three rows, of which one was updated."""
    table = new_table(path, schema=SCHEMA, table_type=kind, version=version, options={**BY_IDS, **(options or {})})
    table.upsert(rows(row("a", 1, 1), row("b", 1, 2), row("c", 1, 3)))
    table.upsert(rows(row("b", 2, 20)))
    return table


def shown(table: Table, **query: Any) -> list[dict[str, Any]]:
    found = table.snapshot(**query).sort_by("k").to_pylist()
    return [{name: value for name, value in one.items() if not name.startswith("_hoodie")} for one in found]


@every_kind
def test_rows_keep_their_values_under_new_names_and_types(tmp_path: Path, kind: str, version: int) -> None:
    table = table_of(tmp_path / "t", kind, version)
    before = shown(table)
    commit = table.evolve(
        rename={"v": "w", "n.x": "xx", "r.element.x": "z", "m.value.x": "z"},
        widen={"f": pa.float64(), "q": pa.int64()},
        add={"new": pa.string(), "n.c": pa.int32()},
        nullable=["q"],
        comment={"f": "a measure"},
    )
    assert commit.stats == ()
    after = shown(table)
    for old, new in zip(before, after, strict=True):
        assert new["w"] == old["v"]
        assert new["n"] == {"xx": old["n"]["x"], "y": "y", "c": None}
        assert new["r"] == [{"z": item["x"]} for item in old["r"]]
        assert new["m"] == [("e", {"z": old["v"]})]
        assert new["f"] == pytest.approx(old["f"], abs=1e-6)
        assert len(str(new["f"])) <= len("20.1")
        assert new["new"] is None
    assert "v" not in table.schema.names
    assert '"doc":"a measure"' in table._context.state().schema.avro
    assert shown(table, columns=["k", "w"]) == [{"k": one["k"], "w": one["w"]} for one in after]
    wider = {"n": {"xx": 1, "y": "y", "c": 2}, "r": [{"z": 9}], "m": [], "f": 0.5, "q": None, "w": 7, "new": "N"}
    table.upsert(rows({"k": "a", "ts": 9, "p": "x", **wider}, schema=table.schema))
    expected = [{**dict.fromkeys(table.schema.names), "k": "a", "ts": 9, "p": "x", **wider}, *after[1:]]
    assert shown(table) == expected
    assert shown(table, as_of=table.timeline.completed_writes[1].time) == before
    if kind == "MERGE_ON_READ":
        table.compact()
        assert shown(table) == expected
        assert shown(table_again(table)) == expected
    assert table.verify() == []


def table_again(table: Table) -> Table:
    return open_table(table.path)


@every_kind
def test_a_column_that_was_dropped_stays_away_when_one_of_its_name_comes(
    tmp_path: Path, kind: str, version: int
) -> None:
    table = table_of(tmp_path / "t", kind, version)
    table.evolve(drop=["v", "n.y"])
    assert table.schema.names == [name for name in SCHEMA.names if name != "v"]
    table.evolve(add={"v": pa.string(), "n.y": pa.int32()})
    assert [(one["v"], one["n"]["y"]) for one in shown(table)] == [(None, None)] * 3
    narrow = {"n": {"x": 1, "y": 5}, "v": "text"}
    table.upsert(rows({**row("c", 5, 5), **narrow}, schema=table.schema))
    assert [(one["v"], one["n"]["y"]) for one in shown(table)] == [(None, None), (None, None), ("text", 5)]
    assert table.verify() == []


def test_changes_that_names_bear_need_no_ids(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", options={"hoodie.schema.on.read.enable": "false"})
    before = shown(table)
    table.evolve(add={"z": pa.int32()}, widen={"v": pa.int64()}, nullable=["q"], comment={"v": "wide"})
    assert shown(table) == [{**one, "z": None} for one in before]
    assert schema_history(table._context.state()) is None
    assert not (tmp_path / "t" / ".hoodie" / ".schema").exists()


def test_a_log_compaction_gives_all_blocks_the_new_names(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", options={"hoodie.log.compaction.blocks.threshold": "2"})
    table.evolve(rename={"v": "w"})
    table.upsert(rows({**row("b", 3, 30), "w": 30}, schema=table.schema))
    expected = shown(table)
    assert table.log_compact()
    assert shown(table) == expected
    assert [one["w"] for one in expected] == [1, 30, 3]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no such column": ({"widen": {"w": pa.int64()}}, "no column 'w'; the columns are k, ts, p, v, n, n.x"),
    "a meta field": ({"drop": ["_hoodie_commit_time"]}, "one of Hudi's meta fields"),
    "a column that is there": ({"add": {"V": pa.int32()}}, "column V cannot be added: there is such a column"),
    "a name that is there": ({"rename": {"v": "TS"}}, "cannot be renamed to TS: there is such a column"),
    "a path for a name": ({"rename": {"n.x": "n.z"}}, "'n.z' is no name of a column"),
    "the items of a list": ({"rename": {"r.element": "item"}}, "lists and maps have no names"),
    "a narrower type": ({"widen": {"ts": pa.int32()}}, "column ts of type long cannot become int"),
    "a struct": ({"widen": {"n": pa.int32()}}, "column n of type struct<x: int, y: string> cannot become int"),
    "no struct": ({"add": {"v.x": pa.int32()}}, "column v.x cannot be added: v is no struct"),
    "nothing above": ({"add": {"z.x": pa.int32()}}, "column z.x cannot be added: z is not there"),
    "the last field": ({"drop": ["n.x", "n.y"]}, "a struct needs a field"),
    "the key": ({"drop": ["k"]}, "column k says which rows the table has"),
    "the ordering column": ({"rename": {"ts": "t"}}, "column ts says which rows"),
    "the partition column": ({"rename": {"p": "t"}}, "column p says which rows"),
    "no type of Avro's": ({"add": {"z": pa.uint64()}}, "cast it to int64"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_changed_leaves_the_table_as_it_was(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    table = table_of(tmp_path / "t")
    before = tree(tmp_path)
    with pytest.raises(SchemaError) as caught:
        table.evolve(**changes)
    assert message in str(caught.value)
    assert tree(tmp_path) == before


def test_without_ids_renames_and_hudis_further_types_are_refused_by_name(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", options={"hoodie.schema.on.read.enable": "false"})
    before = tree(tmp_path)
    for changes in ({"rename": {"v": "w"}}, {"drop": ["v"]}):
        with pytest.raises(UnsupportedFeatureError, match=r"hoodie\.schema\.on\.read\.enable=true"):
            table.evolve(**changes)
    with pytest.raises(SchemaError, match=r"int cannot become decimal.*enable=true would allow it"):
        table.evolve(widen={"v": pa.decimal128(10, 2)})
    assert tree(tmp_path) == before


def test_types_of_the_internal_schema_alone(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    table.evolve(widen={"v": pa.decimal128(10, 2), "f": pa.string(), "n.x": pa.string()})
    assert [(str(one["v"]), one["f"], one["n"]["x"]) for one in shown(table)] == [
        ("1.00", "1.1", "1"),
        ("20.00", "20.1", "20"),
        ("3.00", "3.1", "3"),
    ]


@pytest.mark.parametrize("change", [lambda table: table.evolve(add={"w": pa.int32()}), None], ids=["evolve", "write"])
def test_two_writers_that_change_columns_conflict(tmp_path: Path, change: Callable[[Table], Any] | None) -> None:
    shared = {"hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL"}
    table_of(tmp_path / "t", options=shared)
    clock = Clock()
    first, second = (open_table(tmp_path / "t", options={**BY_IDS, **shared}, clock=clock) for _ in range(2))
    new = SCHEMA.append(pa.field("z", pa.int32()))
    reader = pa.RecordBatchReader.from_batches(new, _after(lambda: second.evolve(add={"y": pa.int32()}), new))
    with pytest.raises(WriteConflictError, match="another writer has changed the columns"):
        first.upsert(reader)
    assert second.schema.names == [*SCHEMA.names, "y"]
    if change is not None:
        change(first)
        assert second.schema.names == [*SCHEMA.names, "y", "w"]


def _after(act: Callable[[], Any], schema: pa.Schema) -> Any:
    """A batch of a row that comes once something else has been done."""
    act()
    yield rows({**row("a", 9, 9), "z": 1}, schema=schema).to_batches()[0]


def test_a_write_that_changes_nothing_takes_over_what_another_has_changed(tmp_path: Path) -> None:
    shared = {"hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL"}
    table_of(tmp_path / "t", options=shared)
    clock = Clock()
    first, second = (open_table(tmp_path / "t", options={**BY_IDS, **shared}, clock=clock) for _ in range(2))
    state = first._context.state_with_schema()
    data, change = prepare(state, Operation.UPSERT, rows(row("b", 9, 9)))
    with begin_write(first._context, Operation.UPSERT, state, change=change) as write:
        second.evolve(add={"y": pa.int32()})
        write.commit(write_keyed(write.plan, data))
    assert [(one["v"], one["y"]) for one in shown(first)] == [(1, None), (9, None), (3, None)]


def test_a_column_that_has_a_secondary_index_keeps_its_type(tmp_path: Path) -> None:
    options = {"hoodie.metadata.record.index.enable": "true", **BY_IDS}
    indexed_table(tmp_path / "t", schema=SCHEMA, options=options)
    for column in ("v", "n.x"):
        add_secondary_index(tmp_path / "t", column)
    table = open_table(tmp_path / "t", options=options)
    table.upsert(pa.Table.from_pylist([row("a", 1, 1)], SCHEMA))
    before = tree(tmp_path / "t")
    refused = (
        r"column v cannot be changed from int32 to int64: it has the secondary index secondary_index_v; "
        "drop the index first, by "
    )
    wider = SCHEMA.set(3, pa.field("v", pa.int64()))
    with pytest.raises(SchemaError, match=refused):
        table.upsert(pa.Table.from_pylist([row("a", 2, 1)], wider))
    with pytest.raises(SchemaError, match=refused):
        table.evolve(widen={"v": pa.int64()})
    with pytest.raises(SchemaError, match=r"column n\.x cannot be dropped or renamed: it has the secondary index"):
        table.evolve(drop=["n.x"])
    assert tree(tmp_path / "t") == before
    table.evolve(add={"n.z": pa.int32()})


@pytest.mark.parametrize("kind", [pa.string(), pa.int32()], ids=str)
def test_a_new_column_that_says_which_rows_are_deletes_is_a_boolean(tmp_path: Path, kind: pa.DataType) -> None:
    table = table_of(tmp_path / "t")
    before = tree(tmp_path / "t")
    message = f"column _hoodie_is_deleted has type {kind}: Hudi expects a boolean"
    with pytest.raises(SchemaError, match=message):
        table.evolve(add={"_hoodie_is_deleted": kind})
    with pytest.raises(SchemaError, match=message):
        table.upsert(rows(row("a", 9, 9)).append_column("_hoodie_is_deleted", pa.array([1]).cast(kind)))
    assert tree(tmp_path / "t") == before
    table.evolve(add={"_hoodie_is_deleted": pa.bool_()})


@every_kind
def test_a_column_that_has_statistics_is_renamed_and_dropped(tmp_path: Path, kind: str, version: int) -> None:
    options = {**BY_IDS, "hoodie.metadata.index.column.stats.enable": "true"}
    table = indexed_table(tmp_path / "t", schema=SCHEMA, table_type=kind, version=version, options=options)
    table.upsert(rows(row("a", 1, 1), row("b", 1, 2)))
    table.evolve(rename={"v": "w"})
    table.evolve(drop="f")
    without = {"hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true"}
    narrow = rows(row("b", 2, 3)).rename_columns(["w" if name == "v" else name for name in SCHEMA.names])
    open_table(table.path, options=without).upsert(narrow.drop_columns(["f", "m"]))
    assert table.snapshot(columns=["k", "w"], filter="w < 3").to_pylist() == [{"k": "a", "w": 1}]
    assert table.schema.names == ["k", "ts", "p", "w", "n", "r", "q"]
    assert table.verify() == []
