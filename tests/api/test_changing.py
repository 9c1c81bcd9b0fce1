"""Rows are updated and deleted by a condition, in one commit."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat import (
    Delete,
    FilterError,
    Insert,
    OptionError,
    SchemaError,
    Table,
    Update,
    WriteConflictError,
    open_table,
)
from hudiformat.api import changing
from hudiformat.read.plan import rows_of_state
from tests.effort import sample
from tests.tables import SCHEMA, content, make_partition, new_table, rows

KINDS = [("MERGE_ON_READ", "SIMPLE"), ("COPY_ON_WRITE", "SIMPLE"), ("MERGE_ON_READ", "BUCKET")]


@pytest.fixture(params=KINDS, ids=" ".join)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    kind, index = request.param
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2"}
    schema = SCHEMA.append(pa.field("n", pa.int32(), nullable=False))
    table = new_table(tmp_path / "t", schema=schema, table_type=kind, options=options)
    table.insert(rows(("a", 1, "x", 1, 0), ("b", 2, "y", 2, 0), ("c", 3, "x", 3, 0), schema=schema))
    return table


def test_rows_get_other_values(table: Table) -> None:
    commit = table.update({"v": pc.field("v") + pc.field("ts"), "ts": 9}, where=[("k", "!=", "b")])
    assert (commit.num_writes, commit.num_deletes) == (2, 0)
    assert content(table) == [("a", 9, "x", 2), ("b", 2, "y", 2), ("c", 9, "x", 6)]
    table.update({"v": None})
    assert [row[3] for row in content(table)] == [None, None, None]
    assert len(table.timeline.completed_writes) == 3


@pytest.mark.parametrize(("kind", "index"), KINDS)
def test_a_struct_with_required_fields_is_set_to_null(tmp_path: Path, kind: str, index: str) -> None:
    point = pa.struct([pa.field("x", pa.int32(), nullable=False)])
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2"}
    table = new_table(tmp_path / "t", schema=SCHEMA.append(pa.field("at", point)), table_type=kind, options=options)
    here = pa.array([{"x": 1}, {"x": 2}], point)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 2)).append_column("at", here))
    table.update({"at": None}, where="v = 2")
    assert table.snapshot().sort_by("k")["at"].to_pylist() == [{"x": 1}, None]
    assert table.verify() == []


@pytest.mark.parametrize(
    ("kind", "value"),
    [(pa.list_(pa.int32()), [1, None]), (pa.map_(pa.string(), pa.int32()), [("a", 1)])],
    ids=["list", "map"],
)
def test_lists_and_maps_are_set_also_where_file_groups_have_no_such_row(
    tmp_path: Path, kind: pa.DataType, value: Any
) -> None:
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    table = new_table(tmp_path / "t", schema=pa.schema([*SCHEMA, pa.field("more", kind)]), options=options)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)).append_column("more", pa.nulls(2, kind)))
    table.update({"more": value}, where="v = 2")
    table.update({"more": value}, where="v = 1")
    assert table.snapshot()["more"].to_pylist() == [value, value]


def test_rows_are_deleted(table: Table) -> None:
    commit = table.delete(where="p = 'x' and v > 1")
    assert commit.num_deletes == 1
    assert content(table) == [("a", 1, "x", 1), ("b", 2, "y", 2)]
    table.delete(where=pc.field("v") > 100)
    assert len(content(table)) == 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"V": 1}, r"update: no column 'V'; did you mean 'v'\?"),
        ({"k": "x"}, "update: the column 'k' is of the record key"),
        ({"p": "x"}, "update: the column 'p' is of the record key"),
        ({"v": "many"}, "update: column 'v' of type int32 cannot be 'many'"),
        ({"v": pc.field("k")}, "update: Failed to parse string"),
        ({"v": pc.field("none")}, "update: No match for FieldRef"),
        ({"n": None}, "update: Casting field 'n' with null values to non-nullable"),
    ],
)
def test_what_an_update_cannot_set(table: Table, values: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        table.update(values)
    assert len(table.timeline.instants) == 1


def test_a_delete_is_by_keys_or_by_a_condition(table: Table) -> None:
    with pytest.raises(OptionError, match="expected either keys or where=, found both"):
        table.delete(rows(("a", 1, "x", 1)), where="v = 1")
    with pytest.raises(
        OptionError, match='expected keys, or where= with a condition, found neither; give where="true"'
    ):
        table.delete()
    with pytest.raises(FilterError):
        table.delete(where="v >")
    assert len(table.timeline.instants) == 1


@pytest.mark.parametrize(("kind", "index"), sample([*KINDS, ("COPY_ON_WRITE", "GLOBAL_SIMPLE")], of=4))
@pytest.mark.parametrize("value", ["q=1", "a%2Fb", ""])
def test_rows_stay_in_their_partition_whose_path_shows_another_value(
    tmp_path: Path, kind: str, index: str, value: str
) -> None:
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2"}
    table = new_table(tmp_path / "t", table_type=kind, options=options)
    make_partition(tmp_path / "t", value)
    table.insert(rows(("a", 1, value, 1), ("b", 2, value, 2), ("c", 3, value, 3)))
    [partition] = table.partitions()
    table.update({"v": 9}, where="k = 'a'")
    table.merge(rows(("b", 4, value, 8)), when_matched=[Update({"v": pc.field("source", "v")})])
    table.delete(where="v = 3")
    found = table.snapshot(columns=["k", "v", "_hoodie_partition_path"]).sort_by("k").to_pylist()
    assert [tuple(row.values()) for row in found] == [("a", 9, partition), ("b", 8, partition)]
    if value:  # a condition is about what is shown
        shown = table.snapshot()["p"][0].as_py()
        assert table.update({"v": 0}, where=[("p", "=", shown)]).num_writes == 2
    table.compact() if kind == "MERGE_ON_READ" else None
    assert table.verify(keys=True) == []


@pytest.mark.parametrize("value", ["a=b", "%41"])
@pytest.mark.parametrize("record_key", [["k"], ["k", "p"]], ids="-".join)
@pytest.mark.parametrize(("kind", "index"), sample([*KINDS, ("MERGE_ON_READ", "GLOBAL_SIMPLE")], of=4))
def test_rows_of_a_partition_whose_values_do_not_give_its_path_are_changed_where_they_are(
    tmp_path: Path, kind: str, index: str, record_key: list[str], value: str
) -> None:
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2"}
    table = new_table(tmp_path / "t", table_type=kind, record_key=record_key, options=options)
    make_partition(tmp_path / "t", value)
    table.insert(rows(("a", 1, value, 1), ("b", 2, value, 2), ("c", 3, value, 3)))
    table.update({"v": 9}, where="k = 'a'")
    assert content(table) == [("a", 1, value, 9), ("b", 2, value, 2), ("c", 3, value, 3)]
    table.delete(where="k = 'a'")
    assert content(table) == [("b", 2, value, 2), ("c", 3, value, 3)]
    table.merge(
        rows(("b", 4, value, 4), ("d", 1, value, 1), ("c", 4, value, 4)),
        when_matched=[Update({"v": 5}, "source.k = 'b'"), Delete()],
        when_not_matched=[Insert()],
    )
    assert content(table) == [("b", 2, value, 5), ("d", 1, value, 1)]
    assert table.partitions() == [value]


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_row_keeps_an_empty_text_in_a_required_partition_column_which_its_path_shows_as_null(
    tmp_path: Path, kind: str
) -> None:
    place = SCHEMA.get_field_index("p")
    table = new_table(tmp_path / "t", schema=SCHEMA.set(place, SCHEMA.field("p").with_nullable(False)), table_type=kind)
    table.insert(rows(("a", 1, "", 1), ("b", 1, "", 2)))
    table.update({"v": 9}, where="k = 'a' and p is null")
    table.delete(where="k = 'b'")
    assert content(table) == [("a", 1, None, 9)]
    assert table.verify(keys=True) == []


@pytest.mark.parametrize("index", sample(["SIMPLE", "GLOBAL_SIMPLE", "RECORD_INDEX"], of=3))
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_rows_with_one_key_are_changed_where_they_are(tmp_path: Path, kind: str, index: str) -> None:
    options = {"hoodie.index.type": index, "hoodie.parquet.small.file.limit": "0"}
    if index == "RECORD_INDEX":
        options |= {"hoodie.metadata.enable": "true", "hoodie.metadata.global.record.level.index.enable": "true"}
    table = new_table(tmp_path / "t", table_type=kind, options=options)
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 2)))
    table.bulk_insert(rows(("a", 2, "x", 3), ("c", 1, "x", 4)))
    table.update({"v": pc.field("v") * 10})
    assert content(table) == [("a", 1, "x", 10), ("a", 2, "x", 30), ("b", 1, "x", 20), ("c", 1, "x", 40)]
    assert table.update({"v": 7}, where="v = 10").num_writes == 1
    assert content(table) == [("a", 1, "x", 7), ("a", 2, "x", 30), ("b", 1, "x", 20), ("c", 1, "x", 40)]
    assert table.delete(where="v = 30").num_deletes == 1
    assert content(table) == [("a", 1, "x", 7), ("b", 1, "x", 20), ("c", 1, "x", 40)]


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_the_first_of_two_rows_with_one_key_in_one_file_is_changed(tmp_path: Path, kind: str) -> None:
    table = new_table(tmp_path / "t", table_type=kind, options={"hoodie.index.type": "SIMPLE"})
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 2), ("a", 1, "x", 3)))
    table.update({"v": pc.field("v") * 10})
    assert content(table) == [("a", 1, "x", 3), ("a", 1, "x", 30), ("b", 1, "x", 20)]
    table.delete(where="k = 'a'")
    assert content(table) == [("a", 1, "x", 3), ("b", 1, "x", 20)]


@pytest.mark.parametrize("retries", [0, 1])
def test_an_update_that_is_overtaken_is_a_conflict_and_is_repeated(tmp_path: Path, retries: int) -> None:
    options = {"hoodie.index.type": "SIMPLE", "hoodie.write.num.retries.on.conflict.failures": f"{retries}"}
    options |= {"hoodie.write.concurrency.mode": "optimistic_concurrency_control"}
    options |= {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider"}
    table = new_table(tmp_path / "t", ordering=[], options=options)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    other = open_table(table.path, options=options)

    def overtaken(*arguments: Any) -> Any:
        yield from rows_of_state(*arguments)
        if len(table.timeline.completed_writes) == 1:
            other.upsert(rows(("a", 1, "x", 5)))

    with pytest.MonkeyPatch.context() as patch, nullcontext() if retries else pytest.raises(WriteConflictError):
        patch.setattr(changing, "rows_of_state", overtaken)
        table.update({"v": pc.field("v") + 100})
    added = 100 * retries
    assert content(table) == [("a", 1, "x", 5 + added), ("b", 1, "x", 1 + added)]
