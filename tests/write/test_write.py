"""What insert, upsert and delete do to the rows of a table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from hudiformat import DataError, Table, open_table
from hudiformat.naming.file_names import WriteToken
from hudiformat.naming.keys import DEFAULT_PARTITION
from hudiformat.table.options.values import Operation
from hudiformat.timeline.timeline import Action
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.write import TaskLimits, WriteTask
from tests.tables import FLAGGED, SCHEMA, content, data_files, multiset, new_table, rows, tree
from tests.write.support import cow, files, keyed, write_within


def test_an_insert_gives_back_what_it_wrote(table: Table) -> None:
    commit = table.insert(rows(("a", 1, "x", 10), ("b", 2, "y", 20)))
    assert (commit.action, commit.num_writes, commit.num_deletes) == ("deltacommit", 2, 0)
    assert content(table) == [("a", 1, "x", 10), ("b", 2, "y", 20)]
    (instant,) = table.timeline.completed
    assert (instant.time, instant.action) == (commit.instant, Action.DELTA_COMMIT)


def test_the_meta_fields_say_who_wrote_what(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x"), ("b", 1, "x")))
    second = table.upsert(rows(("b", 2, "x")))
    found = {row["k"]: row for row in table.snapshot().to_pylist()}
    (item,) = table.file_slices()
    assert item.base_file is not None
    assert found["a"]["_hoodie_file_name"] == str(item.base_file.name)
    assert found["b"]["_hoodie_file_name"] == item.file_id
    assert found["a"]["_hoodie_commit_seqno"] == f"{first.instant}_0_1"
    assert found["b"]["_hoodie_commit_seqno"] == f"{second.instant}_0_1"
    assert found["b"]["_hoodie_commit_time"] == second.instant
    assert (found["b"]["_hoodie_record_key"], found["b"]["_hoodie_partition_path"]) == ("b", "x")


def test_three_operations_in_both_ways_to_index(tmp_path: Path, any_index: dict[str, str]) -> None:
    table = new_table(tmp_path / "t", options=any_index)
    table.insert(rows(*((f"k{i}", 1, "xyz"[i % 3], i) for i in range(30))))
    table.upsert(rows(("k0", 2, "x", 100), ("new", 1, "x", 101), ("k1", 0, "y", 102)))
    table.delete(rows(("k2", None, "z"), ("k3", None, "z"), ("not there", None, "z")).select(["k", "p"]))
    expected = {f"k{i}": (f"k{i}", 1, "xyz"[i % 3], i) for i in range(30)}
    expected |= {"k0": ("k0", 2, "x", 100), "new": ("new", 1, "x", 101)}  # k1 comes too late
    del expected["k2"]  # k3 is not in partition z
    assert content(table) == sorted(expected.values(), key=repr)


def test_an_update_goes_to_a_log_file_and_a_new_row_to_a_base_file(table: Table) -> None:
    table.insert(rows(("a", 1, "x"), ("b", 1, "x")))
    table.upsert(rows(("b", 2, "x")))
    commit = table.upsert(rows(("a", 2, "x"), ("c", 1, "x")))
    assert sorted(Path(stat.path or "").suffix for stat in commit.stats) == [".1_0-0-0", ".parquet"]
    assert content(table, ["k"]) == [("a",), ("b",), ("c",)]
    assert sorted(table.read_optimized(columns=["k", "ts"]).to_pydict()["ts"]) == [1, 1, 1]


def test_without_partitions(tmp_path: Path, any_index: dict[str, str]) -> None:
    table = new_table(tmp_path / "t", partition_by=[], options=any_index)
    table.insert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "y", 2), ("b", 1, None, 3)))
    table.delete(pa.table({"k": ["b"]}))
    assert content(table) == [("a", 2, "y", 2)]
    assert {item.partition_path for item in table.file_slices()} == {""}
    assert (tmp_path / "t" / ".hoodie_partition_metadata").read_text().endswith("partitionDepth=0\n")


def test_several_partition_columns_in_hives_style(tmp_path: Path, any_index: dict[str, str]) -> None:
    options = {
        **any_index,
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.datasource.write.partitionpath.urlencode": "true",
    }
    table = new_table(tmp_path / "t", partition_by=["p", "v"], options=options)
    table.insert(rows(("a", 1, "x/y", 1), ("b", 1, "x", 2)))
    table.upsert(rows(("a", 2, "x/y", 1)))
    assert sorted({item.partition_path for item in table.file_slices()}) == ["p=x%2Fy/v=1", "p=x/v=2"]
    assert content(table) == [("a", 2, "x/y", 1), ("b", 1, "x", 2)]
    metadata = (tmp_path / "t" / "p=x" / "v=2" / ".hoodie_partition_metadata").read_text()
    first = table.timeline.completed[0].time
    assert metadata == f"#partition metadata\ncommitTime={first}\npartitionDepth=2\n"


def test_a_null_partition_value_has_hives_name(tmp_path: Path, any_index: dict[str, str]) -> None:
    table = new_table(tmp_path / "t", options=any_index)
    table.insert(rows(("a", 1, None, 1), ("b", 1, "", 2)))
    table.upsert(rows(("a", 2, None, 3)))
    assert {item.partition_path for item in table.file_slices()} == {DEFAULT_PARTITION}
    # what the path says is shown, so an empty text comes back as null, as in Hudi
    assert content(table) == [("a", 2, None, 3), ("b", 1, None, 2)]
    table.delete(rows(("a", None, None)).select(["k", "p"]))
    assert content(table) == [("b", 1, None, 2)]


def test_one_key_in_two_partitions_is_two_records(table: Table) -> None:
    table.upsert(rows(("a", 1, "x", 1), ("a", 1, "y", 2)))
    table.upsert(rows(("a", 2, "y", 3)))
    table.delete(rows(("a", None, "x")).select(["p", "k"]))
    assert content(table) == [("a", 2, "y", 3)]


def test_several_key_columns(tmp_path: Path, any_index: dict[str, str]) -> None:
    schema = pa.schema([("a", pa.string()), ("b", pa.int32()), ("ts", pa.int64()), ("v", pa.int32())])
    table = new_table(tmp_path / "t", schema=schema, record_key=["a", "b"], partition_by=[], options=any_index)
    table.insert(rows(("x", 1, 1, 1), ("x", 2, 1, 2), (None, 2, 1, 3), ("", 2, 1, 4), schema=schema))
    table.upsert(rows(("x", 2, 2, 20), (None, 2, 2, 30), schema=schema))
    table.delete(pa.table({"b": pa.array([1], pa.int32()), "a": ["x"]}))
    found = content(table, ["_hoodie_record_key", "v"])
    assert found == [("a:__empty__,b:2", 4), ("a:__null__,b:2", 30), ("a:x,b:2", 20)]


def test_several_ordering_columns(tmp_path: Path, any_index: dict[str, str]) -> None:
    table = new_table(tmp_path / "t", ordering=["ts", "v"], schema=FLAGGED, options=any_index)
    table.upsert(rows(("a", 1, "x", 5), ("b", 1, "x", 5), ("c", 1, "x", 5), schema=FLAGGED))
    table.upsert(rows(("a", 1, "x", 4), ("b", 1, "x", 6), ("c", 1, "x", 4, True), schema=FLAGGED))
    assert content(table) == [("a", 1, "x", 5), ("b", 1, "x", 6), ("c", 1, "x", 5)]
    table.upsert(rows(("c", 1, "x", 5, True), ("b", 2, "x", 0, True), schema=FLAGGED))
    assert content(table) == [("a", 1, "x", 5)]
    table.delete(rows(("a", None, "x")).select(["k", "p"]))
    assert content(table) == []


EARLY, LATE = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc), dt.datetime(2025, 1, 1, tzinfo=dt.timezone.utc)
ORDERINGS: list[tuple[pa.DataType, Any, Any]] = [
    (pa.int32(), 1, 2),
    (pa.float64(), -1.5, 2.5),
    (pa.string(), "a", "b"),
    (pa.date32(), dt.date(1969, 1, 1), dt.date(2024, 2, 29)),
    (pa.timestamp("us", "UTC"), EARLY, LATE),
    (pa.timestamp("ms"), EARLY.replace(tzinfo=None), LATE.replace(tzinfo=None)),
    (pa.decimal128(7, 2), Decimal("-1.25"), Decimal("99999.99")),
    (pa.bool_(), False, True),
]


@pytest.mark.parametrize(("kind", "low", "high"), ORDERINGS, ids=[str(kind) for kind, _, _ in ORDERINGS])
def test_ordering_columns_of_every_type(tmp_path: Path, kind: pa.DataType, low: Any, high: Any) -> None:
    schema = FLAGGED.set(1, pa.field("ts", kind))
    table = new_table(tmp_path / "t", schema=schema)
    first = [("late", high, "x", 1), ("new", low, "x", 2), ("gone", low, "x", 3), ("stays", high, "x", 4)]
    second = [("late", low, "x", 5), ("new", high, "x", 6), ("gone", high, "x", 7, True), ("stays", low, "x", 8, True)]
    table.upsert(rows(*first, schema=schema))
    table.upsert(rows(*second, schema=schema))
    assert content(table, ["k", "v"]) == [("late", 1), ("new", 6), ("stays", 4)]


def test_by_commit_time_the_newer_write_wins(tmp_path: Path, any_index: dict[str, str]) -> None:
    options = {**any_index, "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}
    table = new_table(tmp_path / "t", options=options)
    table.upsert(rows(("a", 5, "x", 1), ("a", 4, "x", 2)))  # the last of a write, too
    assert content(table) == [("a", 4, "x", 2)]
    table.upsert(rows(("a", 1, "x", 3)))
    assert content(table) == [("a", 1, "x", 3)]


def test_rows_that_are_marked_as_deleted(tmp_path: Path, any_index: dict[str, str]) -> None:
    table = new_table(tmp_path / "t", schema=FLAGGED, options=any_index)
    table.insert(rows(("a", 1, "x", 1), ("b", 5, "x", 2), ("c", 1, "x", 3, False), schema=FLAGGED))
    commit = table.upsert(
        rows(
            ("a", 2, "x", 0, True),  # newer
            ("b", 4, "x", 0, True),  # too late
            ("c", 2, "x", 4, False),
            ("d", 1, "x", 0, True),  # not there
            ("e", 1, "x", 5, None),
            schema=FLAGGED,
        )
    )
    assert content(table) == [("b", 5, "x", 2), ("c", 2, "x", 4), ("e", 1, "x", 5)]
    assert commit.num_writes == 2


def test_a_row_that_is_born_deleted_is_not_written(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", schema=FLAGGED)
    commit = table.insert(rows(("a", 1, "x", 1, True), schema=FLAGGED))
    assert commit.stats == ()
    assert data_files(tmp_path / "t") == []


def test_of_rows_with_one_key_the_highest_is_written_once(table: Table) -> None:
    commit = table.upsert(
        rows(("a", 1, "x", 1), ("a", 3, "x", 2), ("a", 2, "x", 3), ("b", 1, "x", 4), ("b", 1, "x", 5))
    )
    assert commit.num_writes == 2
    assert content(table) == [("a", 3, "x", 2), ("b", 1, "x", 5)]  # of equals the last


def test_inserts_are_not_combined_unless_asked(tmp_path: Path) -> None:
    twice = rows(("a", 1, "x", 1), ("a", 2, "x", 2))
    table = new_table(tmp_path / "t")
    assert table.insert(twice).num_writes == 2
    combining = new_table(tmp_path / "u", options={"hoodie.combine.before.insert": "true"})
    assert combining.insert(twice).num_writes == 1
    assert content(combining) == [("a", 2, "x", 2)]


def test_upserts_can_be_left_as_they_are(tmp_path: Path) -> None:
    options = {"hoodie.combine.before.upsert": "false", "hoodie.index.type": "BUCKET"}
    table = new_table(tmp_path / "t", options=options)
    assert table.upsert(rows(("a", 1, "x", 1), ("a", 2, "x", 2))).num_writes == 2
    assert content(table) == [("a", 2, "x", 2)]  # the log is merged when it is read


def test_a_key_that_two_groups_have_is_updated_and_deleted_twice(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.parquet.small.file.limit": "0"})
    table.insert(rows(("a", 1, "x", 1)))
    table.insert(rows(("a", 1, "x", 2), ("b", 1, "x", 3)))
    table.upsert(rows(("a", 2, "x", 4)))
    assert content(table) == [("a", 2, "x", 4), ("a", 2, "x", 4), ("b", 1, "x", 3)]
    table.delete(rows(("a", None, "x")).select(["k", "p"]))
    assert content(table) == [("b", 1, "x", 3)]


def test_a_deleted_row_can_come_back(tmp_path: Path, any_index: dict[str, str]) -> None:
    table = new_table(tmp_path / "t", options=any_index)
    table.upsert(rows(("a", 5, "x", 1)))
    table.delete(rows(("a", None, "x")).select(["k", "p"]))
    assert content(table) == []
    table.upsert(rows(("a", 6, "x", 2)))
    assert content(table) == [("a", 6, "x", 2)]


@pytest.mark.parametrize("operation", ["insert", "upsert", "delete"])
def test_no_rows_are_a_commit_without_files(table: Table, operation: str) -> None:
    before = data_files(Path(table.path))
    commit = getattr(table, operation)(rows())
    assert (commit.stats, commit.num_writes, commit.num_deletes) == ((), 0, 0)
    assert [instant.time for instant in table.timeline.completed] == [commit.instant]
    assert data_files(Path(table.path)) == before
    assert table.schema == SCHEMA


def test_a_delete_of_keys_that_are_not_there_is_a_commit_without_files(
    tmp_path: Path, any_index: dict[str, str]
) -> None:
    table = new_table(tmp_path / "t", options=any_index)
    assert table.delete(rows(("a", None, "x")).select(["k", "p"])).stats == ()
    assert table.file_slices() == []


ONE = rows(("a", 1, "x", 10))


def with_columns(**columns: pa.Array | pa.ChunkedArray) -> pa.Table:
    """ONE with other columns of the same names."""
    return pa.table({name: columns.get(name, ONE[name]) for name in ONE.column_names})


INPUTS = {
    "a table": ONE,
    "a batch": ONE.to_batches()[0],
    "a reader": ONE.to_reader(),
    "a data frame": ONE.to_pandas(),
    "several chunks": pa.concat_tables([rows(), ONE, rows()]),
    "reordered columns": ONE.select(["v", "p", "k", "ts"]),
    "meta columns": ONE.add_column(0, "_hoodie_commit_time", [["1"]]).append_column("_hoodie_file_name", [["f"]]),
    "dictionaries": with_columns(k=ONE["k"].dictionary_encode(), p=ONE["p"].dictionary_encode()),
    "large strings": with_columns(k=ONE["k"].cast(pa.large_string()), p=ONE["p"].cast(pa.large_string())),
    "views": with_columns(k=ONE["k"].cast(pa.string_view()), p=ONE["p"].cast(pa.string_view())),
    "narrower numbers": with_columns(ts=pa.array([1], pa.int32()), v=pa.array([10], pa.int8())),
    "a slice": rows(("z", 9, "z", 9), ("a", 1, "x", 10), ("z", 9, "z", 9)).slice(1, 1),
}


@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
@pytest.mark.parametrize("data", INPUTS.values(), ids=INPUTS)
def test_rows_may_come_in_any_form(tmp_path: Path, data: Any, index: str) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": index})
    table.upsert(data if not isinstance(data, pa.RecordBatchReader) else ONE.to_reader())
    assert content(table) == [("a", 1, "x", 10)]
    table.upsert(ONE)
    table.delete(data if not isinstance(data, pa.RecordBatchReader) else ONE.to_reader())
    assert content(table) == []


def test_a_data_frame_of_pandas_own_types(table: Table) -> None:
    frame = pd.DataFrame({"k": ["a", "b"], "ts": np.array([1, 2]), "p": pd.Categorical(["x", "x"]), "v": [1, 2]})
    table.insert(frame.astype({"v": "int32"}))
    assert content(table) == [("a", 1, "x", 1), ("b", 2, "x", 2)]


def test_a_missing_column_is_null_where_that_is_asked_for(table: Table) -> None:
    options = {"hoodie.write.set.null.for.missing.columns": "true", "hudiformat.sync": "false"}
    open_table(table.path, options=options).insert(pa.table({"k": ["a"], "p": ["x"]}))
    assert content(table) == [("a", None, "x", None)]


def test_columns_of_every_kind_survive_base_file_and_log(tmp_path: Path, any_index: dict[str, str]) -> None:
    schema = pa.schema(
        [
            *SCHEMA,
            pa.field("l", pa.list_(pa.field("item", pa.struct([("a", pa.int32()), ("b", pa.string())])))),
            pa.field("m", pa.map_(pa.string(), pa.float64())),
            pa.field("d", pa.decimal128(20, 5)),
            pa.field("t", pa.timestamp("us", "UTC")),
            pa.field("b", pa.binary()),
        ]
    )
    moment = dt.datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=dt.timezone.utc)
    row = ("a", 1, "x", 1, [{"a": 1, "b": None}, None], [("k", 1.5)], Decimal("-1.5"), moment, b"\0\xff")
    table = new_table(tmp_path / "t", schema=schema, options=any_index)
    for _ in range(2):
        table.upsert(rows(row, schema=schema))
        found = table.snapshot(columns=schema.names)
        assert found.equals(rows(row, schema=schema))


def test_a_batch_without_rows_makes_no_file(table: Table) -> None:
    empty = pa.RecordBatch.from_pylist([], SCHEMA)
    with begin_write(table._context, Operation.UPSERT) as write, WriteTask(write.plan, WriteToken(0, 0, 0)) as task:
        task.write_batch(empty)
        assert task.finish() == []
    assert [path for path in tree(Path(table.path)) if "deltacommit" in path] == []


@pytest.mark.parametrize(
    "name", ["v9-mor-log-only-h120", "v9-mor-avro-h120", "v9-mor-two-ordering-fields-h120", "v9-mor-commit-time-h120"]
)
def test_tables_of_hudi_are_written_on(own_golden: Callable[[str], Path], name: str) -> None:
    table = open_table(own_golden(name))
    before = table.snapshot(columns=table.schema.names)
    keys = [*table.config.record_key_fields, *table.config.partition_fields]
    commit = table.delete(before.slice(0, 5).select(keys))
    assert commit.num_deletes == 5
    assert multiset(table.snapshot(columns=table.schema.names)) == multiset(before.slice(5))
    table.upsert(before.slice(3))  # of the five, two come back, the others stay as they are
    found = table.snapshot(columns=table.schema.names)
    assert multiset(found.select(keys)) == multiset(before.slice(3).select(keys))


def test_rows_may_come_in_many_batches(tmp_path: Path, any_index: dict[str, str]) -> None:
    write = partial(write_within, TaskLimits(batch_rows=7, batches=16))
    options = {**any_index, "hoodie.logfile.data.block.max.size": "500"}
    table = new_table(tmp_path / "t", schema=FLAGGED, options=options)
    flagged = partial(rows, schema=FLAGGED)
    write(table, Operation.INSERT, flagged(*((f"k{i:02d}", 1, "xy"[i % 2], i) for i in range(60))))
    write(table, Operation.UPSERT, flagged(*((f"k{i:02d}", 2, "xy"[i % 2], i, i % 3 == 0) for i in range(40, 90))))
    write(table, Operation.DELETE, flagged(*((f"k{i:02d}", 0, "xy"[i % 2]) for i in range(20))))
    kept = [*range(20, 40), *(i for i in range(40, 90) if i % 3)]
    assert content(table, ["k", "v"]) == [(f"k{i:02d}", i) for i in kept]


def test_rows_marked_as_deleted_in_a_table_without_ordering(tmp_path: Path, any_index: dict[str, str]) -> None:
    table = new_table(tmp_path / "t", schema=FLAGGED, ordering=[], options=any_index)
    table.upsert(rows(("a", 5, "x", 1), ("b", 5, "x", 2), schema=FLAGGED))
    table.upsert(rows(("a", 1, "x", 3, True), schema=FLAGGED))
    assert content(table) == [("b", 5, "x", 2)]
    table.upsert(rows(("a", 0, "x", 4), schema=FLAGGED))
    assert content(table) == [("a", 0, "x", 4), ("b", 5, "x", 2)]


def test_copy_on_write_commits_have_base_files_alone(tmp_path: Path) -> None:
    table = cow(tmp_path / "t")
    table.insert(rows(*((f"k{i}", 5, "xy"[i % 2], i) for i in range(10))))
    update = table.upsert(rows(("k0", 6, "x", 100), ("k1", 4, "y", 101), ("new", 1, "y", 102)))
    delete = table.delete(rows(("k2", None, "x"), ("k3", None, "x"), ("none", None, "y")).select(["k", "p"]))
    expected = {f"k{i}": (f"k{i}", 5, "xy"[i % 2], i) for i in range(10) if i != 2}
    expected |= {"k0": ("k0", 6, "x", 100), "new": ("new", 1, "y", 102)}  # k1 comes too late, k3 is in y
    assert content(table) == sorted(expected.values(), key=repr)
    assert files(table) == [(True, 0)] * 2
    assert {instant.action for instant in table.timeline.completed} == {Action.COMMIT}
    assert (update.action, update.num_writes) == ("commit", 2)
    assert [(stat.num_deletes, stat.num_writes) for stat in delete.stats] == [(1, 4)]
    assert table.read_optimized().num_rows == table.snapshot().num_rows


@pytest.mark.parametrize("kind", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_an_insert_may_double_keys_or_not(tmp_path: Path, kind: str) -> None:
    doubling = new_table(tmp_path / "t", table_type=kind)
    doubling.insert(keyed(0, 3))
    doubling.insert(keyed(2, 4, ts=2))
    assert len(content(doubling)) == 5
    merging = new_table(tmp_path / "u", table_type=kind, options={"hoodie.merge.allow.duplicate.on.inserts": "false"})
    merging.insert(keyed(0, 3))
    merging.insert(keyed(2, 4, ts=2))
    assert [row[:2] for row in content(merging)] == [(f"key-00000{i}", 1 if i < 2 else 2) for i in range(4)]


def test_inserts_of_keys_that_are_there_are_dropped_or_refused(tmp_path: Path) -> None:
    policy = "hoodie.datasource.insert.dup.policy"
    dropping = new_table(tmp_path / "t", options={policy: "drop"})
    dropping.insert(keyed(0, 3))
    assert dropping.insert(keyed(2, 4, ts=2)).num_writes == 1
    assert [row[:2] for row in content(dropping)] == [(f"key-00000{i}", 1 if i < 3 else 2) for i in range(4)]
    failing = open_table(tmp_path / "t", options={policy: "fail"})
    before = tree(tmp_path / "t")
    with pytest.raises(DataError, match="the record key 'key-000003' is in partition 'x' already"):
        failing.insert(keyed(3, 5))
    assert tree(tmp_path / "t") == before
    assert failing.insert(keyed(4, 5)).num_writes == 1


def test_a_bulk_insert_opens_new_groups_and_looks_at_nothing(table: Table) -> None:
    table.bulk_insert(keyed(0, 5))
    commit = table.bulk_insert(keyed(0, 5))
    assert commit.num_writes == 5
    assert len(table.file_slices()) == 2
    assert len(content(table)) == 10
    combined = open_table(table.path, options={"hoodie.combine.before.insert": "true"})
    assert combined.bulk_insert(pa.concat_tables([keyed(0, 5)] * 2)).num_writes == 5


@pytest.mark.parametrize("mode", ["NONE", "GLOBAL_SORT", "PARTITION_SORT"])
def test_a_bulk_insert_sorts_as_asked(tmp_path: Path, mode: str) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.bulkinsert.sort.mode": mode})
    table.bulk_insert(rows(("c", 1, "y"), ("b", 1, "x"), ("a", 1, "y"), ("d", 1, "x")))
    found = [table.snapshot(columns=["k", "_hoodie_partition_path", "_hoodie_commit_seqno"])]
    order = [row["k"] for row in sorted(found[0].to_pylist(), key=lambda row: row["_hoodie_commit_seqno"])]
    # Each partition's rows are written together, in the order in which they come.
    assert order == ({"NONE": ["c", "a", "b", "d"]}.get(mode, ["b", "d", "a", "c"]))


def test_a_task_with_too_much_in_hand_writes_the_fullest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, any_index: dict[str, str]
) -> None:
    limits = TaskLimits(max_buffered=1_000)
    flushed: list[int] = []
    relieve = WriteTask._flush_fullest

    def watched(task: WriteTask) -> None:
        relieve(task)
        flushed.append(sum(partition.buffered_bytes for partition in task._partitions.values()))

    monkeypatch.setattr(WriteTask, "_flush_fullest", watched)
    table = new_table(tmp_path / "t", options=any_index)
    data = rows(*((f"k{i}", 1, "xyz"[i % 3], i) for i in range(300)))
    write_within(limits, table, Operation.INSERT, data)
    write_within(limits, table, Operation.UPSERT, data)
    assert flushed
    assert all(size <= 1_000 for size in flushed)
    assert len(content(table)) == 300


GOOD = rows(("a", 1, "x", 1), ("b", 2, "x", 2))


def test_a_reader_that_fails_half_way(tmp_path: Path) -> None:
    def batches() -> Any:
        yield from GOOD.to_batches()
        raise DataError("the source is gone")

    table = new_table(tmp_path / "t")
    before = tree(tmp_path)
    with pytest.raises(DataError, match="the source is gone"):
        table.upsert(pa.RecordBatchReader.from_batches(SCHEMA, batches()))
    assert tree(tmp_path) == before
