"""A merge without Spark: one commit, and the first clause counts whose condition holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hudiformat as hf
from hudiformat import Delete, Insert, Update
from tests.effort import examples

pytestmark = pytest.mark.unmeasured

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("ts", pa.int64()),
        pa.field("p", pa.string()),
        pa.field("price", pa.float64()),
        pa.field("tags", pa.list_(pa.string())),
    ]
)
INDEXES: dict[str, dict[str, str]] = {
    "simple": {"hoodie.index.type": "SIMPLE"},
    "bloom": {"hoodie.index.type": "BLOOM"},
    "bucket": {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"},
    "global": {"hoodie.index.type": "GLOBAL_SIMPLE"},
    "record": {
        "hoodie.metadata.enable": "true",
        "hoodie.metadata.record.index.enable": "true",
        "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
        "hoodie.index.type": "RECORD_INDEX",
        "hoodie.record.index.update.partition.path": "true",
    },
}
TYPES = ("MERGE_ON_READ", "COPY_ON_WRITE")

every_table = pytest.mark.parametrize("index", INDEXES)
both_types = pytest.mark.parametrize("table_type", TYPES)


def source(name: str) -> pc.Expression:
    return pc.field("source", name)


def target(name: str) -> pc.Expression:
    return pc.field("target", name)


def create(
    path: Path, index: str = "simple", table_type: str = "MERGE_ON_READ", *, ordering: bool = True, **more: str
) -> hf.Table:
    table = hf.create_table(
        path,
        name="things",
        schema=SCHEMA,
        record_key="id",
        ordering="ts" if ordering else (),
        partition_by="p",
        table_type=table_type,
        options={**INDEXES[index], **more},
    )
    table.insert(changes(*((f"k{i}", 1, f"p{i % 2}", float(i)) for i in range(8))))
    return table


def changes(*rows: tuple[Any, ...]) -> pa.Table:
    listed = [dict(zip(SCHEMA.names, (*row, [row[0]]), strict=True)) for row in rows]
    return pa.Table.from_pylist(listed, SCHEMA)


def prices(table: hf.Table) -> dict[str, float]:
    return {row["id"]: row["price"] for row in table.snapshot(columns=["id", "price"]).to_pylist()}


@pytest.mark.slow
@every_table
@both_types
def test_rows_are_updated_deleted_and_inserted_in_one_commit(tmp_path: Path, index: str, table_type: str) -> None:
    table = create(tmp_path / "t", index, table_type)
    commit = table.merge(
        changes(*((f"k{i}", 2, f"p{i % 2}", 10.0 * i) for i in range(4, 11))),
        when_matched=[
            Delete(condition="source.price = 50"),
            Update({"price": pc.add(source("price"), target("price")), "ts": source("ts")}, target("price") < 7),
        ],
        when_not_matched=[Insert(condition=[("source.price", "<", 100)])],
    )
    assert (commit.num_writes, commit.num_deletes) == (4, 1)
    assert prices(table) == {"k0": 0, "k1": 1, "k2": 2, "k3": 3, "k4": 44, "k6": 66, "k7": 7, "k8": 80, "k9": 90}
    assert len(table.timeline.completed) == 2
    assert table.verify() == []
    table.upsert(changes(("k5", 0, "p1", 5.5)))
    assert prices(table)["k5"] == 5.5  # a delete of a merge is final, whatever the ordering values


def test_without_values_the_columns_of_the_source_are_taken(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    rows = changes(("k1", 2, "p1", 5.0), ("new", 2, "p0", 6.0)).drop_columns(["price"])
    table.merge(rows, when_matched=[Update()], when_not_matched=[Insert()])
    found = {row["id"]: (row["ts"], row["price"], row["tags"]) for row in table.snapshot().to_pylist()}
    assert (found["k1"], found["new"]) == ((2, 1.0, ["k1"]), (2, None, ["new"]))


def test_the_source_may_have_columns_of_its_own(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    rows = pa.table({"id": ["k1", "k3"], "p": ["p1", "p1"], "gone": [True, False], "factor": [2, 3]})
    times = pc.multiply(target("price"), source("factor"))
    table.merge(rows, when_matched=[Delete("source.gone = true"), Update({"price": times})])
    assert prices(table) == {"k0": 0, "k2": 2, "k3": 9, "k4": 4, "k5": 5, "k6": 6, "k7": 7}


def test_rows_without_a_clause_stay_as_they_are(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    rows = changes(("k1", 2, "p1", 5.0), ("new", 2, "p0", 6.0))
    commit = table.merge(rows, when_matched=[Update({"price": 0}, condition="source.price > null")])
    assert commit.stats == ()
    assert prices(table) == {f"k{i}": float(i) for i in range(8)}
    assert table.merge(rows.slice(0, 0), when_matched=[Delete()]).stats == ()


def test_a_row_of_another_partition_does_not_match(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.merge(changes(("k1", 2, "p0", 5.0)), when_matched=[Delete()], when_not_matched=[Insert({"price": 1.5})])
    found = table.snapshot(filter="id = 'k1'").sort_by("p").to_pylist()
    assert [(row["p"], row["price"], row["ts"]) for row in found] == [("p0", 1.5, None), ("p1", 1.0, 1)]


@pytest.mark.slow
@both_types
@pytest.mark.parametrize("index", ["global", "record"])
def test_with_a_global_index_rows_match_in_any_partition_and_may_move(
    tmp_path: Path, index: str, table_type: str
) -> None:
    table = create(tmp_path / "t", index, table_type)
    rows = pa.table({"id": ["k1", "k2", "k3", "new"], "price": [10.0, 20.0, 30.0, 40.0]})
    table.merge(
        rows,
        when_matched=[
            Update({"p": "moved", "price": source("price")}, "source.id = 'k1'"),
            Update({"price": source("price")}, "target.price = 2"),
            Delete(),
        ],
        when_not_matched=[Insert({"p": "p9", "price": source("price")})],
    )
    found = {row["id"]: (row["p"], row["price"]) for row in table.snapshot().to_pylist()}
    assert found == {
        **{f"k{i}": (f"p{i % 2}", float(i)) for i in (0, 4, 5, 6, 7)},
        "k1": ("moved", 10.0),
        "k2": ("p0", 20.0),
        "new": ("p9", 40.0),
    }
    assert table.verify() == []


def test_of_two_source_rows_with_one_key_the_later_counts(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.merge(changes(("k1", 3, "p1", 30.0), ("k1", 9, "p1", 90.0), ("k1", 2, "p1", 20.0)), when_matched=[Update()])
    assert prices(table)["k1"] == 90


@pytest.mark.parametrize(("index", "where"), [("simple", " in partition 'p1'"), ("global", "")])
def test_two_source_rows_with_one_key_and_no_order_are_refused(tmp_path: Path, index: str, where: str) -> None:
    table = create(tmp_path / "t", index, ordering=False)
    with pytest.raises(hf.DataError, match=f"2 source rows have the record key 'k1'{where}, and no ordering"):
        table.merge(changes(("k1", 3, "p1", 30.0), ("k1", 9, "p1", 90.0)), when_matched=[Update()])
    assert len(table.timeline.instants) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clause", "message"),
    [
        (Update({"more": 1}), "Update: no column 'more'; the columns are id"),
        (Update({"id": "x"}), "Update: the column 'id' is of the record key or partition path"),
        (Update({"price": "x"}), "Update: column 'price' of type double cannot be 'x'"),
        (Update({"price": source("nothing")}), "Update: No match for FieldRef"),
        (Update(condition="source.nothing > 1"), "no column 'source.nothing'; did you mean 'source.tags'"),
        (Update(condition=source("price")), "Update: expected a condition, found .* of type double"),
        (Update(condition=5), "filter: expected an expression of pyarrow"),
        ("update", "merge: expected clauses Update, Delete and Insert, found str 'update'"),
    ],
    ids=["column", "key", "literal", "field", "text", "type", "number", "clause"],
)
def test_what_a_clause_cannot_say_leaves_the_table_as_it_was(tmp_path: Path, clause: Any, message: str) -> None:
    table = create(tmp_path / "t")
    before = table.snapshot()
    with pytest.raises(hf.HudiFormatError, match=message):
        table.merge(changes(("k1", 2, "p1", 5.0)), when_matched=[clause])
    assert table.snapshot() == before
    assert len(table.timeline.completed) == 1
    table.upsert(changes(("k1", 2, "p1", 5.0)))
    assert prices(table)["k1"] == 5


def test_a_source_without_the_keys_is_refused(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    with pytest.raises(hf.DataError, match="the column 'id', which the table's keys are made of, is missing"):
        table.merge(pa.table({"p": ["p1"]}), when_matched=[Delete()])
    with pytest.raises(hf.DataError, match="expected rows.*found int"):
        table.merge(5, when_matched=[Delete()])  # type: ignore[arg-type]  # wrong on purpose


ROW = st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(0, 20))


@pytest.mark.slow
@settings(max_examples=examples(25))
@given(rows=st.lists(ROW, max_size=12, unique_by=lambda row: row[0]), data=st.data())
@every_table
def test_a_merge_is_what_it_says(
    tmp_path_factory: pytest.TempPathFactory, index: str, rows: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    table_type = data.draw(st.sampled_from(TYPES))
    delete_below, update_below, insert_below = (data.draw(st.integers(0, 20)) for _ in range(3))
    table = create(tmp_path_factory.mktemp("t") / "t", index, table_type)
    given_rows = [(f"k{key}", ts + 2, f"p{key % 2}", float(price)) for key, ts, price in rows]
    expected = prices(table)
    for key, _, _, price in given_rows:
        if key in expected:
            if price < delete_below:
                del expected[key]
            elif price < update_below:
                expected[key] = price * 2
        elif price < insert_below:
            expected[key] = price
    table.merge(
        changes(*given_rows),
        when_matched=[
            Delete(source("price") < delete_below),
            Update({"price": pc.multiply(source("price"), 2.0), "ts": source("ts")}, source("price") < update_below),
        ],
        when_not_matched=[Insert(condition=source("price") < insert_below)],
    )
    assert prices(table) == expected
