"""Clustering of a table with consistent hashing: buckets are split and merged, and no row changes."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import (
    CorruptTableError,
    OptionError,
    StorageError,
    Table,
    UnsupportedFeatureError,
    WriteConflictError,
    open_table,
)
from hudiformat.schema.table_schema import RowKeys
from hudiformat.services import clustering, resizing
from hudiformat.table.options.values import Operation
from hudiformat.timeline.timeline import Action
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.index.hash_ring import HashRing, ring_of
from hudiformat.write.rows import KeyedRows
from hudiformat.write.write import write_keyed
from tests.effort import sample
from tests.tables import Clock, content, new_table, rows

RING = {
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
    "hoodie.bucket.index.num.buckets": "2",
    "hoodie.parquet.bloom.filter.enabled": "false",
}
GROWS = {
    "hoodie.bucket.index.max.num.buckets": "8",
    "hoodie.parquet.max.file.size": "10000",
    "hoodie.bucket.index.split.threshold": "0.1",
}
RINGS = ".hoodie/.bucket_index/consistent_hashing_metadata"
SHRINKS = {"hoodie.bucket.index.min.num.buckets": "1", "hoodie.bucket.index.merge.threshold": "10"}


def some(first: int, last: int, ts: int) -> pa.Table:
    return rows(*((f"k{number}", ts, "xy"[number % 2], number + ts) for number in range(first, last)))


def ringed(path: Path, **changes: Any) -> Table:
    table = new_table(path, clock=Clock(), options=RING, **changes)
    table.upsert(some(0, 200, 1))
    table.upsert(some(50, 100, 2))
    table.delete(some(0, 5, 3))
    return table


def opened(table: Table, *options: dict[str, str]) -> Table:
    return open_table(table.path, options={key: value for some in options for key, value in some.items()})


def counts(table: Table) -> dict[str, int]:
    return dict(Counter(one.partition_path for one in table.file_slices()))


@pytest.mark.slow
@pytest.mark.parametrize(("version", "metadata_table"), sample(product([6, 8, 9], ["false", "true"]), of=3))
def test_buckets_are_split_and_merged_again(tmp_path: Path, version: int, metadata_table: str) -> None:
    options = {**RING, "hoodie.metadata.enable": metadata_table}
    table = new_table(tmp_path / "t", clock=Clock(), options=options, version=version)
    table.upsert(some(0, 200, 1))
    table.upsert(some(50, 100, 2))
    before = content(table)
    assert counts(table) == {"x": 2, "y": 2}
    [commit] = opened(table, GROWS).cluster()
    assert counts(table) == {"x": 4, "y": 4}
    assert content(table) == before
    assert content(table, as_of=table.timeline.completed[1].time) == before
    table.upsert(some(0, 250, 3))  # whoever opens it finds the buckets as they are now
    assert counts(table) == {"x": 4, "y": 4}
    after = content(table)
    assert len(after) == 250
    assert len(opened(table, SHRINKS).cluster()) == 1
    assert (counts(table), content(table)) == ({"x": 1, "y": 1}, after)
    table.upsert(some(240, 260, 4))
    assert (counts(table), len(content(table))) == ({"x": 1, "y": 1}, 260)
    table.compact()
    table.clean()
    assert table.verify() == []
    assert commit.action == "replacecommit"


@pytest.mark.slow
@pytest.mark.parametrize("version", [6, 9])
def test_the_buckets_of_a_table_without_partitions_are_split_and_merged_too(tmp_path: Path, version: int) -> None:
    table = ringed(tmp_path / "t", partition_by=[], version=version)
    before = content(table)
    assert counts(table) == {"": 2}
    assert [one.name for one in table._context.storage.list(RINGS)] == ["00000000000000.hashing_meta"]
    opened(table, GROWS).schedule_clustering()
    table.rollback(table.timeline.pending[0])
    assert [one.name for one in table._context.storage.list(RINGS)] == ["00000000000000.hashing_meta"]
    assert opened(table, GROWS).cluster()
    assert (counts(table), content(table)) == ({"": 4}, before)
    table.upsert(some(0, 5, 3))
    assert opened(table, SHRINKS).cluster()
    assert (counts(table), len(content(table))) == ({"": 1}, 200)
    assert table.verify() == []


def test_rows_of_a_bucket_are_sorted_where_that_is_asked_for(tmp_path: Path) -> None:
    table = ringed(tmp_path / "t")
    before = content(table)
    assert opened(table, GROWS, {"hoodie.clustering.plan.strategy.sort.columns": "v"}).cluster()
    assert content(table) == before
    for one in table.file_slices():
        assert one.base_file is not None
        name = str(one.base_file.name)
        values = [row["v"] for row in table.snapshot().to_pylist() if row["_hoodie_file_name"] == name]
        assert values == sorted(values)


def test_nothing_is_planned_where_all_buckets_are_right(tmp_path: Path) -> None:
    table = ringed(tmp_path / "t")
    assert table.cluster() == []
    assert not table.schedule_clustering()


def test_a_partition_with_a_plan_gets_no_other(tmp_path: Path) -> None:
    table = ringed(tmp_path / "t")
    assert opened(table, GROWS).schedule_clustering()
    assert not opened(table, GROWS).schedule_clustering()


def test_writers_do_not_add_to_buckets_of_a_plan(tmp_path: Path) -> None:
    table = ringed(tmp_path / "t")
    opened(table, GROWS).schedule_clustering()
    before = content(table)
    with pytest.raises(UnsupportedFeatureError, match="expected none in a pending clustering"):
        table.upsert(some(0, 10, 5))
    assert content(table) == before
    table.cluster()
    table.upsert(some(0, 10, 5))
    assert content(table) != before


def test_what_a_stopped_clustering_leaves_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = ringed(tmp_path / "t")
    before = content(table)

    def stop(*_: object, **_keys: object) -> None:
        raise StorageError("stopped")

    opened(table, GROWS).schedule_clustering()
    with monkeypatch.context() as patch:
        patch.setattr(clustering, "complete_claimed", stop)
        with pytest.raises(StorageError, match="stopped"):
            opened(table, GROWS).cluster()
    assert (counts(table), content(table)) == ({"x": 2, "y": 2}, before)
    assert len(table.cluster()) == 1  # as it was planned
    assert (counts(table), content(table)) == ({"x": 4, "y": 4}, before)


def test_a_marker_that_cannot_be_made_is_made_by_the_next_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = ringed(tmp_path / "t")

    def refuse(*_: object) -> None:
        raise StorageError("no more")

    with monkeypatch.context() as patch:
        patch.setattr(resizing, "mark_committed", refuse)
        [commit] = opened(table, GROWS).cluster()
    folder = Path(table.path, ".hoodie/.bucket_index/consistent_hashing_metadata/x")
    assert not (folder / f"{commit.instant}.commit").exists()
    table.upsert(some(0, 2, 9))
    assert (folder / f"{commit.instant}.commit").exists()


def test_a_resizing_that_is_rolled_back_is_as_if_it_had_not_been(tmp_path: Path) -> None:
    table = ringed(tmp_path / "t")
    before = content(table)
    [commit] = opened(table, GROWS).cluster()
    table.rollback(commit.instant)
    assert (counts(table), content(table)) == ({"x": 2, "y": 2}, before)
    state = table._context.state()
    ring = ring_of(state.storage, "x", state.visibility)
    assert ring == HashRing.first("x", 2)
    assert not list(Path(table.path, ".hoodie/.bucket_index").rglob(f"{commit.instant}*"))
    table.upsert(some(0, 200, 9))
    assert (counts(table), len(content(table))) == ({"x": 2, "y": 2}, 200)


@pytest.mark.parametrize(("nodes", "message"), [("[1]", "expected buckets in a clustering plan"), ("[]", "no ring")])
def test_damaged_plans_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodes: str, message: str) -> None:
    table = ringed(tmp_path / "t")
    monkeypatch.setattr(json, "dumps", lambda _: nodes)
    opened(table, GROWS).schedule_clustering()
    monkeypatch.undo()
    if nodes == "[]":
        for file in Path(table.path, ".hoodie/.bucket_index").rglob("*.hashing_meta"):
            file.unlink()
    with pytest.raises(CorruptTableError, match=message):
        table.cluster()


OVERWRITES = ["insert_overwrite", "insert_overwrite_table", "delete_partitions"]


@pytest.mark.parametrize("operation", OVERWRITES)
def test_file_groups_that_a_ring_keeps_are_not_removed(tmp_path: Path, operation: str) -> None:
    table = ringed(tmp_path / "t")
    before = content(table)
    with pytest.raises(UnsupportedFeatureError, match="expected an operation that keeps the file groups of buckets"):
        getattr(table, operation)(["x"] if operation == "delete_partitions" else some(0, 5, 9))
    assert content(table) == before
    assert not table.timeline.pending


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"table_type": "COPY_ON_WRITE"}, {}, "COPY_ON_WRITE tables with consistent hashing"),
        ({}, {"hoodie.bucket.index.partition.expressions": "x,4"}, "with rules for the number of buckets"),
    ],
)
def test_what_consistent_hashing_cannot_be_with_is_refused(
    tmp_path: Path, changes: dict[str, Any], options: dict[str, str], message: str
) -> None:
    table = new_table(tmp_path / "t", options=RING | options, **changes)
    with pytest.raises(UnsupportedFeatureError, match=message):
        table.upsert(some(0, 5, 1))
    assert not table.timeline.instants


def test_another_engine_is_found_out(tmp_path: Path) -> None:
    table = ringed(tmp_path / "t")
    with pytest.raises(OptionError, match=r"hoodie.index.bucket.engine"):
        opened(table, {"hoodie.index.bucket.engine": "SIMPLE"})


def test_a_write_that_a_resizing_overtakes_conflicts(tmp_path: Path) -> None:
    """It began with the buckets as they were."""
    shared = {
        "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
        "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    }
    table = opened(ringed(tmp_path / "t"), shared)
    before = content(table)
    with begin_write(table._context, Operation.UPSERT) as write:
        opened(table, shared, GROWS).cluster()
        stats = write_keyed(write.plan, KeyedRows.of(RowKeys.of(write.plan.config), some(0, 100, 9)))
        with pytest.raises(WriteConflictError):
            write.commit(stats)
    assert content(table) == before
    assert table.timeline.completed[-1].action is Action.REPLACE_COMMIT
