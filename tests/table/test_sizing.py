"""New rows fill small files, base files are rewritten, and copy-on-write tables are written."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat import DataError, Table, UnsupportedFeatureError, open_table
from hudiformat.options.values import Operation
from hudiformat.sizing import Verdict
from hudiformat.timeline import Action
from hudiformat.transaction.plan import sizing_profile
from tests.tables import FLAGGED, Row, content, new_table, rows, tree

SEEING = {"hoodie.index.type": "INMEMORY"}
RAW = {"hoodie.parquet.compression.codec": "uncompressed", "hoodie.parquet.bloom.filter.enabled": "false"}


def cow(path: Path, **changes: Any) -> Table:
    return new_table(path, table_type="COPY_ON_WRITE", **changes)


def keyed(start: int, end: int, *, ts: int = 1, path: str = "x") -> pa.Table:
    return rows(*((f"key-{i:06d}", ts, path, i) for i in range(start, end)))


def files(table: Table) -> list[tuple[bool, int]]:
    """Of each newest slice whether it has a base file, and how many log files."""
    return sorted((item.base_file is not None, len(item.log_files)) for item in table.file_slices())


def test_an_insert_fills_a_small_base_file(table: Table) -> None:
    first = table.insert(keyed(0, 10))
    second = table.insert(keyed(10, 15))
    (stat,) = second.stats
    assert stat.file_id == first.stats[0].file_id or ""
    assert (stat.num_writes, stat.num_inserts, stat.num_update_writes) == (15, 5, 0)
    assert stat.prev_commit == first.instant
    assert stat.prev_base_file == (first.stats[0].path or "").rpartition("/")[2]
    assert files(table) == [(True, 0)]
    assert len(content(table)) == 15
    assert (second.num_writes, second.action) == (5, "deltacommit")
    assert content(table, as_of=first.instant) == sorted(content(table), key=repr)[:10]


def test_rows_that_are_copied_keep_their_meta_fields_but_the_name_of_the_file(table: Table) -> None:
    first = table.insert(keyed(0, 2))
    second = table.upsert(rows(("key-000001", 2, "x", 7), ("new", 1, "x", 8)))
    (item,) = table.file_slices()
    assert item.base_file is not None
    found = table.snapshot().to_pylist()
    assert {row["_hoodie_file_name"] for row in found} == {str(item.base_file.name)}
    assert [(row["k"], row["_hoodie_commit_time"], row["_hoodie_commit_seqno"]) for row in found] == [
        ("key-000000", first.instant, f"{first.instant}_0_1"),
        ("key-000001", second.instant, f"{second.instant}_0_1"),  # in its place
        ("new", second.instant, f"{second.instant}_0_2"),
    ]


def test_the_footer_of_a_rewritten_file_knows_all_keys(table: Table) -> None:
    table.insert(keyed(5, 10))
    table.insert(rows(("a", 1, "x"), ("z", 1, "x")))
    (item,) = table.file_slices()
    assert item.base_file is not None
    metadata = pq.read_metadata(Path(table.path, "x", str(item.base_file.name))).metadata
    assert (metadata[b"hoodie_min_record_key"], metadata[b"hoodie_max_record_key"]) == (b"a", b"z")


def test_updates_rewrite_a_small_base_file_only_together_with_new_rows(table: Table) -> None:
    table.insert(keyed(0, 10))
    together = table.upsert(rows(("key-000001", 2, "x", 100), ("new", 1, "x", 101)))
    assert [(stat.log_version, stat.num_update_writes, stat.num_inserts) for stat in together.stats] == [(None, 1, 1)]
    alone = table.upsert(rows(("key-000002", 2, "x", 102)))
    assert [(stat.log_version, stat.num_update_writes) for stat in alone.stats] == [(1, 1)]
    # now it has a log file, whose rows the index does not see: it is small no more
    opened = table.upsert(rows(("newer", 1, "x", 103), ("key-000003", 2, "x", 104)))
    assert sorted((stat.log_version or 0, stat.num_inserts) for stat in opened.stats) == [(0, 1), (1, 0)]
    assert files(table) == [(True, 0), (True, 2)]
    expected = {f"key-{i:06d}": i for i in range(10)}
    expected |= {"key-000001": 100, "key-000002": 102, "key-000003": 104, "new": 101, "newer": 103}
    assert dict(content(table, ["k", "v"])) == expected


def test_one_candidate_is_rewritten_and_others_get_logs(tmp_path: Path) -> None:
    alone = new_table(tmp_path / "t", options={"hoodie.parquet.small.file.limit": "0"})
    for start in (0, 10, 30):
        alone.insert(keyed(start, start + 10 + start))
    assert files(alone) == [(True, 0)] * 3
    table = open_table(tmp_path / "t", options={"hudiformat.sync": "false"})
    commit = table.upsert(rows(("key-000000", 2, "x"), ("key-000010", 2, "x"), ("new", 1, "x")))
    assert Counter((stat.log_version, stat.num_inserts) for stat in commit.stats) == {(None, 1): 1, (1, 0): 1}
    rewritten = next(stat for stat in commit.stats if stat.log_version is None)
    assert rewritten.num_writes == 11  # the smallest


def test_where_the_index_sees_logs_new_rows_are_appended(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=SEEING)
    first = table.upsert(keyed(0, 10))
    assert [(stat.log_version, stat.num_inserts) for stat in first.stats] == [(1, 10)]
    second = table.upsert(keyed(5, 20, ts=2))
    assert [(stat.file_id, stat.num_inserts, stat.num_update_writes) for stat in second.stats] == [
        (first.stats[0].file_id, 10, 5)
    ]
    table.delete(rows(("key-000000", None, "x")).select(["k", "p"]))
    assert files(table) == [(False, 3)]
    assert len(content(table)) == 19


def test_planned_groups_and_those_filled_are_those_of_the_plan(tmp_path: Path) -> None:
    options = {"hoodie.parquet.max.file.size": "20480", "hoodie.parquet.small.file.limit": "18000"}
    table = new_table(tmp_path / "t", options=options)
    table.insert(keyed(0, 8))
    data = keyed(4, 100, ts=2)
    (plan,) = table.plan_inserts(data)
    assert plan.inserts == 92
    assert plan == table.plan_inserts({"x": 92})[0]
    new = data["k"].combine_chunks().slice(4)
    expected = Counter(plan.assign(new).tolist())
    commit = table.upsert(data)
    known = plan.groups[0].file_id
    found = {stat.file_id: stat.num_inserts for stat in commit.stats}
    assert found.pop(known) == expected.pop(0)
    assert sorted(found.values()) == sorted(expected.values())
    assert len({(file_id or "")[:36] for file_id in found}) == len(expected) == len(plan.buckets) - 1
    assert len(content(table)) == 100


def test_flinks_rules_fill_one_after_the_other(tmp_path: Path) -> None:
    options = {"hoodie.parquet.max.file.size": "20480", "hoodie.parquet.small.file.limit": "18000"}
    table = new_table(tmp_path / "t", options={**options, "hudiformat.sizing": "flink"})
    table.insert(keyed(0, 8))
    (plan,) = table.plan_inserts({"x": 50})
    assert plan.in_order
    assert [(bucket.file_id is None, bucket.records) for bucket in plan.buckets] == [
        (False, plan.groups[0].room),
        (True, 20),
        (True, 50 - 20 - (plan.groups[0].room or 0)),
    ]
    commit = table.insert(keyed(8, 58))
    assert sorted(stat.num_inserts for stat in commit.stats) == sorted(bucket.records for bucket in plan.buckets)


def test_rows_that_come_in_portions_fill_what_the_first_portion_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hudiformat.write.write._MAX_BUFFERED", 2_000)
    monkeypatch.setattr("hudiformat.write.write._BATCH_ROWS", 50)
    for index in ("SIMPLE", "INMEMORY"):
        for kind in ("MERGE_ON_READ", "COPY_ON_WRITE"):
            table = new_table(tmp_path / f"{index}{kind}", table_type=kind, options={"hoodie.index.type": index})
            commit = table.insert(keyed(0, 1000))
            assert [stat.num_inserts for stat in commit.stats] == [1000]
            table.upsert(keyed(900, 1300, ts=2))
            table.upsert(keyed(0, 10, ts=3))
            # Where the index is blind, updates that came before the new rows have given the group a log file.
            blind = (index, kind) == ("SIMPLE", "MERGE_ON_READ")
            assert len(table.file_slices()) == (2 if blind else 1)
            assert len(content(table)) == 1300


def test_a_group_that_got_a_log_takes_no_new_rows_that_come_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = new_table(tmp_path / "t")
    table.insert(keyed(0, 100))
    monkeypatch.setattr("hudiformat.write.write._MAX_BUFFERED", 1)
    monkeypatch.setattr("hudiformat.write.write._BATCH_ROWS", 10)
    commit = table.upsert(keyed(50, 150, ts=2))
    assert sorted((stat.log_version or 0, stat.num_inserts) for stat in commit.stats) == [(0, 50), (1, 0)]
    assert len(content(table)) == 150


def test_many_small_inserts_make_few_groups(tmp_path: Path) -> None:
    sized = {**RAW, "hoodie.parquet.max.file.size": "40000", "hoodie.parquet.small.file.limit": "36000"}
    sized["hoodie.record.size.estimation.threshold"] = "0.1"
    table = cow(tmp_path / "t", options=sized)
    for number in range(20):
        table.insert(keyed(number * 50, number * 50 + 50))
    whole = cow(tmp_path / "whole", options={**RAW, "hoodie.parquet.max.file.size": "100000000"})
    whole.insert(keyed(0, 1000))
    ideal = math.ceil(whole.file_slices()[0].size / 40_000)
    assert len(table.file_slices()) <= 1.5 * ideal
    assert max(item.size for item in table.file_slices()) < 1.1 * 40_000
    off = cow(tmp_path / "off", options={"hoodie.parquet.small.file.limit": "0"})
    for number in range(5):
        off.insert(keyed(number * 50, number * 50 + 50))
    assert len(off.file_slices()) == 5


# -- copy-on-write


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


def test_copy_on_write_rows_that_are_marked_as_deleted(tmp_path: Path) -> None:
    table = cow(tmp_path / "t", schema=FLAGGED)
    table.insert(rows(*((name, 5, "x", 1) for name in "abcd"), schema=FLAGGED))
    changes: list[Row] = [
        ("a", 6, "x", 0, True),  # newer
        ("b", 4, "x", 0, True),  # too late
        ("c", None, "x", 0, True),  # without an ordering value it wins
        ("d", 6, "x", 2, False),
        ("e", 1, "x", 0, True),  # not there
        ("f", 1, "x", 3, None),
    ]
    commit = table.upsert(rows(*changes, schema=FLAGGED))
    assert content(table) == [("b", 5, "x", 1), ("d", 6, "x", 2), ("f", 1, "x", 3)]
    (stat,) = commit.stats
    assert (stat.num_deletes, stat.num_update_writes, stat.num_inserts, stat.num_writes) == (2, 1, 1, 3)


def test_the_int_0_of_a_delete_is_no_ordering_value(tmp_path: Path) -> None:
    schema = FLAGGED.set(1, pa.field("ts", pa.int32()))
    table = cow(tmp_path / "t", schema=schema)
    table.insert(rows(("a", 5, "x", 1), ("b", 5, "x", 1), schema=schema))
    table.upsert(rows(("a", 0, "x", 0, True), ("b", 1, "x", 0, True), schema=schema))
    assert content(table) == [("b", 5, "x", 1)]


@pytest.mark.parametrize("ordering", [["ts", "v"], []])
def test_copy_on_write_by_several_ordering_fields_and_by_commit_time(tmp_path: Path, ordering: list[str]) -> None:
    table = cow(tmp_path / "t", ordering=ordering)
    table.upsert(rows(("a", 1, "x", 5), ("b", 1, "x", 5)))
    table.upsert(rows(("a", 1, "x", 4), ("b", 1, "x", 6)))
    assert content(table) == [("a", 1, "x", 5 if ordering else 4), ("b", 1, "x", 6)]


def test_upserts_that_are_not_combined_are_merged_with_each_other(tmp_path: Path) -> None:
    table = cow(tmp_path / "t", options={"hoodie.combine.before.upsert": "false"})
    table.insert(keyed(0, 2))
    table.upsert(rows(("key-000000", 3, "x", 7), ("key-000000", 2, "x", 8)))
    assert content(table) == [("key-000000", 3, "x", 7), ("key-000001", 1, "x", 1)]


def test_of_two_rows_with_one_key_in_a_file_only_the_first_is_updated(tmp_path: Path) -> None:
    table = cow(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1), ("a", 1, "x", 2)))
    table.upsert(rows(("a", 2, "x", 3)))
    assert content(table) == [("a", 1, "x", 2), ("a", 2, "x", 3)]


def test_a_file_may_lose_all_its_rows(tmp_path: Path) -> None:
    table = cow(tmp_path / "t")
    table.insert(keyed(0, 3))
    table.delete(keyed(0, 3).select(["k", "p"]))
    assert content(table) == []
    table.insert(keyed(0, 1))
    assert len(content(table)) == 1
    assert len(table.file_slices()) == 1


def test_a_copy_on_write_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = cow(tmp_path / "t")
    table.insert(keyed(0, 10))
    before = tree(tmp_path / "t")
    for place in ("OpenBaseFile.write", "OpenBaseFile.close"):
        module, name = place.split(".")
        with monkeypatch.context() as patch:

            def fail(*_arguments: object, **_options: object) -> None:
                raise OSError("no space left")

            patch.setattr(f"hudiformat.write.handles.create.{module}.{name}", fail)
            for write in (table.upsert, table.bulk_insert):
                with pytest.raises(OSError, match="no space left"):
                    write(keyed(5, 15))
        assert tree(tmp_path / "t") == before


def test_a_copy_on_write_table_of_an_older_schema_is_rewritten_in_the_newer(own_golden: Callable[[str], Path]) -> None:
    path = own_golden("v9-cow-evennulls-h120")
    table = open_table(path, options={"hoodie.metadata.enable": "false"})
    before = table.snapshot()
    (first,) = before.slice(0, 1).select(table.schema.names).to_pylist()
    table.upsert(pa.Table.from_pylist([first], table.schema))
    assert table.snapshot().num_rows == before.num_rows


# -- duplicates and bulk inserts


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


# -- plans and pending clusterings


def test_a_plan_says_of_every_group_why(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(keyed(0, 10))
    table.upsert(keyed(0, 1, ts=2))
    table.insert(keyed(10, 20))
    (plan,) = table.plan_inserts(keyed(15, 30))
    assert plan.inserts == 10
    assert Counter(group.verdict for group in plan.groups) == {Verdict.TAKEN: 1, Verdict.HAS_LOGS: 1}
    assert plan.record_size.instant is None
    assert len(plan.record_size.passed_over) == 3
    assert not list(Path(table.path).rglob("*.requested"))[3:]  # nothing was begun


def test_groups_in_a_pending_clustering_are_neither_filled_nor_updated(own_golden: Callable[[str], Path]) -> None:
    path = own_golden("v9-mor-clustered-h120")
    completed = next(path / name for name in tree(path) if name.endswith(".replacecommit"))
    completed.unlink()  # as it was before the clustering completed
    table = open_table(path, options={"hoodie.metadata.enable": "false"})
    clustered = table.context.state().in_clustering
    assert clustered
    before = table.snapshot()
    partition, file_id = min(clustered)
    (plan,) = table.plan_inserts({partition: 1})
    assert {group.file_id: group.verdict for group in plan.groups}[file_id] in (
        Verdict.IN_CLUSTERING,
        Verdict.HAS_LOGS,
        Verdict.OVER_LIMIT,
    )
    row = next(
        found
        for found in before.to_pylist()
        if found["_hoodie_partition_path"] == partition and found["_hoodie_file_name"].startswith(file_id)
    )
    data = pa.Table.from_pylist([{name: row[name] for name in table.schema.names}], table.schema)
    for write in (table.upsert, table.delete):
        with pytest.raises(UnsupportedFeatureError, match="in a pending clustering") as caught:
            write(data)
        assert caught.value.feature == "updates during a clustering"
    assert table.snapshot().equals(before)


def test_groups_in_a_pending_compaction_are_not_filled(own_golden: Callable[[str], Path]) -> None:
    path = own_golden("v9-mor-compaction-pending-h120")
    table = open_table(path, options={**SEEING, "hoodie.metadata.enable": "false"})
    waiting = sizing_profile(table.context.state(), Operation.UPSERT).in_compaction
    assert waiting
    for partition, file_id in waiting:
        (plan,) = table.plan_inserts({partition: 5})
        assert {group.file_id: group.verdict for group in plan.groups}[file_id] is Verdict.IN_COMPACTION
        assert file_id not in {bucket.file_id for bucket in plan.buckets}


# -- the worked example of spec/sizing.md, on files of a hundredth of its sizes

TENTH_OF_A_MB = 100_000
EXAMPLE = {
    "hoodie.parquet.max.file.size": str(12 * TENTH_OF_A_MB),
    "hoodie.parquet.small.file.limit": str(10 * TENTH_OF_A_MB),
    "hoodie.copyonwrite.record.size.estimate": "1000",
    "hoodie.record.size.estimation.threshold": "1000",  # no commit is as large: the estimate counts
    **RAW,
}


def kilobytes(first: int, size: int) -> pa.Table:
    """Rows that take *size* kilobytes of a base file, its footer and dictionaries of about six included."""
    count = size - 6
    payload = pa.array([f"{number:06d}" * 156 for number in range(first, first + count)])  # and the meta fields
    keys = pa.array([f"key-{number:06d}" for number in range(first, first + count)])
    return pa.table({"k": keys, "ts": [1] * count, "p": ["x"] * count, "payload": payload})


def test_the_worked_example_on_disk(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("payload", pa.string())])
    table = cow(tmp_path / "t", schema=schema, options=EXAMPLE)
    whole = open_table(table.path, options={"hudiformat.sync": "false", **RAW}, clock=table.context.clock)
    names = [
        whole.bulk_insert(kilobytes(number * 10_000, size)).stats[0].file_id or ""
        for number, size in enumerate([400, 800, 900, 1300, 1050])
    ]
    before = {item.file_id: item.size for item in table.file_slices()}
    assert [before[name] / 1000 for name in names] == pytest.approx([400, 800, 900, 1300, 1050], rel=0.02)
    table.insert(kilobytes(90_000, 4_506))
    after = {item.file_id: item.size for item in table.file_slices()}
    grown = [(after[name] - before[name]) / 1000 for name in names]
    assert grown == pytest.approx([800, 400, 300, 0, 0], abs=90)  # rows go by their hash, in these proportions
    new: Counter[str] = Counter()
    for name in after.keys() - before.keys():
        new[name[:36]] += after[name]  # a group that got more than fits goes on in another file of its UUID
        assert after[name] < 1.02 * 12 * TENTH_OF_A_MB
    assert sorted(size / 1000 for size in new.values()) == pytest.approx([600, 1200, 1200], abs=120)
    assert table.snapshot(columns=["k"]).num_rows == 400 + 800 + 900 + 1300 + 1050 - 5 * 6 + 4_500
