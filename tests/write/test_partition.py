"""The rows of a partition go to its file groups: small ones are filled, others are opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import StorageError, Table, UnsupportedFeatureError, open_table
from hudiformat.file_group.partitions import list_partitions
from hudiformat.naming.file_names import BaseFileName
from hudiformat.sizing import Parallelism, Verdict
from hudiformat.storage.local import LocalStorage
from hudiformat.table.options.values import Operation
from hudiformat.timeline.contents import create_requested
from hudiformat.timeline.plans import ClusteringGroup, ClusteringPlan, RequestedReplaceMetadata, SliceInfo
from hudiformat.timeline.timeline import Action
from hudiformat.write.write import TaskLimits
from tests.effort import sample
from tests.tables import content, edit, new_table, rows, tree
from tests.write.support import files, keyed, write_within

pytestmark = pytest.mark.unmeasured

SEEING = {"hoodie.index.type": "INMEMORY"}


def test_an_insert_fills_a_small_base_file(table: Table) -> None:
    first = table.insert(keyed(0, 10))
    second = table.insert(keyed(10, 15))
    (stat,) = second.stats
    assert stat.file_id == first.stats[0].file_id
    assert (stat.num_writes, stat.num_inserts, stat.num_update_writes) == (15, 5, 0)
    assert stat.prev_commit == first.instant
    assert stat.prev_base_file == (first.stats[0].path or "").rpartition("/")[2]
    assert files(table) == [(True, 0)]
    assert len(content(table)) == 15
    assert (second.num_writes, second.action) == (5, "deltacommit")
    assert content(table, as_of=first.instant) == sorted(content(table), key=repr)[:10]


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "index", "sizing"),
    sample(
        product([6, 8, 9], ["SIMPLE", "BLOOM", "INMEMORY", "GLOBAL_SIMPLE", "GLOBAL_BLOOM"], ["spark", "flink"]),
        of=3,
    ),
)
def test_new_rows_never_hide_what_is_in_log_files(tmp_path: Path, version: int, index: str, sizing: str) -> None:
    options = {"hoodie.index.type": index, "hudiformat.sizing": sizing, "hoodie.compact.inline.max.delta.commits": "1"}
    table = new_table(tmp_path / "t", version=version, options=options)
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    table.delete(rows(("b", 3, "x", 1)))
    table.insert(rows(("c", 1, "x", 3)))
    assert content(table) == [("a", 2, "x", 2), ("c", 1, "x", 3)]
    table.schedule_compaction()
    table.upsert(rows(("a", 4, "x", 4), ("d", 1, "x", 4)))
    table.insert(rows(("e", 1, "x", 5)))
    expected = [("a", 4, "x", 4), ("c", 1, "x", 3), ("d", 1, "x", 4), ("e", 1, "x", 5)]
    assert content(table) == expected
    table.compact()
    assert content(table) == expected


@pytest.mark.parametrize("sizing", ["spark", "flink"])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_new_rows_go_to_no_group_that_a_clustering_is_going_to_replace(
    tmp_path: Path, table_type: str, sizing: str
) -> None:
    table = new_table(tmp_path / "t", table_type=table_type, options={"hudiformat.sizing": sizing})
    table.bulk_insert(rows(("a", 1, "x", 1)))
    (found,) = table.file_slices()
    plan = RequestedReplaceMetadata(
        "CLUSTER", ClusteringPlan((ClusteringGroup((SliceInfo(file_id=found.file_id, partition_path="x"),)),))
    )
    create_requested(table._context.storage, table.config, table._context.state().next_instant, Action.CLUSTERING, plan)
    commit = table.insert(rows(("b", 1, "x", 2)))
    assert found.file_id not in {stat.file_id for stat in commit.stats}


def test_a_base_file_of_a_copy_on_write_table_does_not_replace_log_files(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    edit(tmp_path / "t", "hoodie.table.type", "COPY_ON_WRITE")
    changed = open_table(tmp_path / "t", options={"hudiformat.sync": "false"})
    before = content(changed)
    for write in (changed.upsert, changed.insert):
        with pytest.raises(UnsupportedFeatureError, match="expected no log files in a copy-on-write table"):
            write(rows(("a", 3, "x", 3)))
        assert content(changed) == before
    assert not changed.timeline.pending


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


def test_rows_that_come_in_portions_fill_what_the_first_portion_opened(tmp_path: Path) -> None:
    limits = TaskLimits(max_buffered=2_000, batch_rows=50, batches=16)
    for index in ("SIMPLE", "INMEMORY"):
        for kind in ("MERGE_ON_READ", "COPY_ON_WRITE"):
            table = new_table(tmp_path / f"{index}{kind}", table_type=kind, options={"hoodie.index.type": index})
            commit = write_within(limits, table, Operation.INSERT, keyed(0, 1000))
            assert [stat.num_inserts for stat in commit.stats] == [1000]
            write_within(limits, table, Operation.UPSERT, keyed(900, 1300, ts=2))
            write_within(limits, table, Operation.UPSERT, keyed(0, 10, ts=3))
            # Where the index is blind, updates that came before the new rows have given the group a log file.
            blind = (index, kind) == ("SIMPLE", "MERGE_ON_READ")
            assert len(table.file_slices()) == (2 if blind else 1)
            assert len(content(table)) == 1300


def test_a_group_that_got_a_log_takes_no_new_rows_that_come_later(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(keyed(0, 100))
    limits = TaskLimits(max_buffered=1, batch_rows=10, batches=16)
    commit = write_within(limits, table, Operation.UPSERT, keyed(50, 150, ts=2))
    assert sorted((stat.log_version or 0, stat.num_inserts) for stat in commit.stats) == [(0, 50), (1, 0)]
    assert len(content(table)) == 150


def test_groups_in_a_pending_clustering_are_neither_filled_nor_updated(own_golden: Callable[[str], Path]) -> None:
    path = own_golden("v9-mor-clustered-h120")
    completed = next(path / name for name in tree(path) if name.endswith(".replacecommit"))
    completed.unlink()  # as it was before the clustering completed
    table = open_table(path, options={"hoodie.metadata.enable": "false"})
    clustered = table._context.state().in_clustering
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


def test_two_tasks_may_enter_a_new_partition_at_once(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    create = LocalStorage.create

    def slower(storage: LocalStorage, path: str, data: bytes, **options: bool) -> None:
        if path.endswith("_partition_metadata"):
            create(storage, path, b"of the faster task", sync=False)
        create(storage, path, data, **options)

    monkeypatch.setattr(LocalStorage, "create", slower)
    table.insert(rows(("a", 1, "x", 1)))
    assert content(table) == [("a", 1, "x", 1)]
    assert [path for path, _ in list_partitions(table._context.storage)] == ["x"]
    assert (Path(table.path) / "x" / ".hoodie_partition_metadata").read_text() == "of the faster task"


def test_a_partition_that_cannot_be_made_is_an_error(table: Table) -> None:
    (Path(table.path) / "x").write_text("a file in the way")
    with pytest.raises(StorageError):
        table.insert(rows(("a", 1, "x", 1)))
    assert table.timeline.instants == ()


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_flinks_tasks_fill_file_groups_of_their_own(tmp_path: Path, table_type: str) -> None:
    """Each opens one; with the next write it fills that one again, as far as it may."""
    options = {
        "hudiformat.sizing": "flink",
        "hudiformat.sizing.tasks": "4",
        "hoodie.copyonwrite.record.size.estimate": "100",
        "hoodie.record.size.estimation.threshold": "100",
    }
    table = new_table(tmp_path / "t", table_type=table_type, options=options)
    parallelism = Parallelism.of(4)
    for first in (0, 1000, 2000):
        table.insert(rows(*((f"k{number}", 1, "x", 1) for number in range(first, first + 1000))))
        assert len(table.file_slices()) == 4
    found = table.snapshot(columns=["k", "_hoodie_file_name"])
    names = [BaseFileName.parse(name).file_id for name in found["_hoodie_file_name"].to_pylist()]
    assert parallelism.owners(pa.array(names)).tolist() == parallelism.owners(found["k"].combine_chunks()).tolist()
    assert set(parallelism.owners(pa.array(names)).tolist()) == {0, 1, 2, 3}
    assert found.num_rows == 3000
