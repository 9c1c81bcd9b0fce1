"""Clustering: small file groups become fewer and larger ones, and no row changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat import (
    CommitError,
    HudiFormatWarning,
    SchemaError,
    StorageError,
    Table,
    UnsupportedFeatureError,
    WriteConflictError,
    open_table,
)
from hudiformat.file_group.base_file.copying import can_be_copied
from hudiformat.file_group.slices import FileSlice
from hudiformat.schema.table_schema import RowKeys
from hudiformat.services import clustering, execution
from hudiformat.table.options.values import Operation
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.timeline import Action
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.handles import clustered
from hudiformat.write.handles.clustered import CopiedFiles
from hudiformat.write.rows import KeyedRows
from hudiformat.write.write import write_keyed
from tests.effort import sample
from tests.metadata_statistics import check_metadata_table, check_record_index, check_statistics
from tests.metadata_tables import add_secondary_index
from tests.tables import Clock, content, data_files, new_table, rows

pytestmark = pytest.mark.unmeasured

NO_SMALL = {"hoodie.parquet.small.file.limit": "0", "hoodie.clean.automatic": "false"}
SORTED = {"hoodie.clustering.plan.strategy.sort.columns": "v"}
SHARED = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
}
ALL_INDEXES = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
}
KINDS = list(product((6, 8, 9), ("MERGE_ON_READ", "COPY_ON_WRITE")))


def some_rows(first: int, last: int, ts: int) -> pa.Table:
    return rows(*((f"k{number:03}", ts, "xy"[number % 2], (number * 37 + ts) % 101) for number in range(first, last)))


def small(path: Path, options: dict[str, str] | None = None, **changes: Any) -> Table:
    """A table of many small file groups; on merge-on-read some have log files."""
    table = new_table(path, clock=Clock(), options={**NO_SMALL, **(options or {})}, **changes)
    for number in range(4):
        table.insert(some_rows(number * 20, number * 20 + 20, 1))
    table.upsert(some_rows(10, 30, 2))
    table.delete(some_rows(70, 73, 3))
    return table


@pytest.mark.slow
@pytest.mark.parametrize(("version", "table_type"), sample(KINDS, of=6))
def test_small_file_groups_become_one_and_no_row_changes(tmp_path: Path, version: int, table_type: str) -> None:
    table = small(tmp_path / "t", {**SORTED, **ALL_INDEXES}, version=version, table_type=table_type)
    before, meta = content(table), content(table, ["k", "_hoodie_commit_time", "_hoodie_commit_seqno"])
    old = {one.file_id for one in table.file_slices()}
    assert len(old) == 8
    (commit,) = table.cluster()
    assert commit.action == "replacecommit"
    assert content(table) == before
    assert content(table, ["k", "_hoodie_commit_time", "_hoodie_commit_seqno"]) == meta
    slices = table.file_slices()
    assert sorted(one.partition_path for one in slices) == ["x", "y"]
    assert not old & {one.file_id for one in slices}
    for one in slices:
        values = pq.read_table(Path(table.path, one.partition_path, str(one.base_file and one.base_file.name)))["v"]
        assert values.to_pylist() == sorted(values.to_pylist())
    assert table.verify() == []
    for check in (check_metadata_table, check_statistics, check_record_index):
        check(Path(table.path))
    table.upsert(some_rows(0, 40, 4))
    table.delete(some_rows(40, 45, 5))
    assert [row[0] for row in content(table)] == [row[0] for row in before if not "k040" <= row[0] < "k045"]
    check_record_index(Path(table.path))
    assert table.cluster() if table_type == "MERGE_ON_READ" else not table.cluster()[1:]
    assert table.verify() == []


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each clustering has copied, however small their row groups are."""
    monkeypatch.setattr(clustered, "can_be_copied", partial(can_be_copied, least_group=1))
    counts: list[int] = []
    copy = clustering._copy

    def counted(files: CopiedFiles, slices: Sequence[FileSlice]) -> list[WriteStat]:
        counts.append(len(slices))
        return copy(files, slices)

    monkeypatch.setattr(clustering, "_copy", counted)
    return counts


@pytest.mark.slow
@pytest.mark.parametrize(("version", "options"), sample(product([6, 8, 9], [{}, ALL_INDEXES]), of=3), ids=str)
def test_row_groups_are_copied_where_nothing_is_sorted_or_merged(
    tmp_path: Path, copies: list[int], version: int, options: dict[str, str]
) -> None:
    table = small(tmp_path / "t", options, version=version, table_type="COPY_ON_WRITE")
    before, meta = content(table), content(table, ["k", "_hoodie_commit_time", "_hoodie_commit_seqno"])
    table.cluster()
    assert copies == [4, 4]
    assert content(table) == before
    assert content(table, ["k", "_hoodie_commit_time", "_hoodie_commit_seqno"]) == meta
    names = {str(one.base_file.name) for one in table.file_slices() if one.base_file}
    assert {name for (name,) in content(table, ["_hoodie_file_name"])} == names
    assert len(names) == 2
    assert table.verify() == []
    if options:
        for check in (check_metadata_table, check_statistics, check_record_index):
            check(Path(table.path))
    bloom = open_table(table.path, options={"hoodie.index.type": "BLOOM"})
    assert sum(stat.num_inserts for stat in bloom.upsert(some_rows(0, 60, 4)).stats) == 0


def test_files_of_the_wanted_size_are_made_of_whole_ones(tmp_path: Path, copies: list[int]) -> None:
    options = {**NO_SMALL, "hoodie.parquet.bloom.filter.enabled": "false"}
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=options)
    for step in range(6):
        table.bulk_insert(rows(*((f"k{step}-{number}", number, "x", number) for number in range(3_000))))
    most = max(one.size for one in table.file_slices())
    options["hoodie.clustering.plan.strategy.target.file.max.bytes"] = str(most * 2)
    options["hoodie.clustering.plan.strategy.small.file.limit"] = str(most + 1)
    open_table(table.path, options=options).cluster()
    assert copies == [6]
    assert [round(one.size / most) for one in table.file_slices()] == [2, 2, 2]
    assert table.snapshot().num_rows == 18_000


@pytest.mark.slow
@pytest.mark.parametrize("reason", sample(["log files", "sorted", "codec", "new column", "values"], of=4))
def test_rows_are_decoded_where_they_have_to_be(tmp_path: Path, copies: list[int], reason: str) -> None:
    kind = "MERGE_ON_READ" if reason == "log files" else "COPY_ON_WRITE"
    options = {"codec": {"hoodie.parquet.compression.codec": "snappy"}, "sorted": SORTED}.get(reason, {})
    table = small(tmp_path / "t", ALL_INDEXES, table_type=kind)
    if reason == "values":
        add_secondary_index(tmp_path / "t", "v")
    if reason == "new column":
        table.evolve(add={"new": pa.int32()})
    before = content(table)
    open_table(table.path, options=options).cluster()
    assert copies == []
    assert content(table) == before


def test_nothing_to_cluster(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    assert not table.schedule_clustering()
    assert table.cluster() == []


def test_rows_of_the_past_and_changes_are_as_before(tmp_path: Path) -> None:
    table = small(tmp_path / "t")
    times = [done.time for done in table.timeline.completed_writes]
    states = {time: content(table, as_of=time) for time in times}
    changes = table.incremental(times[0]).num_rows
    (commit,) = table.cluster()
    assert {time: content(table, as_of=time) for time in times} == states
    assert content(table, as_of=commit.instant) == states[times[-1]]
    assert table.incremental(times[0]).num_rows == changes
    assert table.incremental(times[-1]).num_rows == 0


@pytest.mark.slow
@pytest.mark.parametrize("version", [6, 9])
def test_file_groups_of_a_plan_take_no_updates_and_others_do(tmp_path: Path, version: int) -> None:
    table = small(tmp_path / "t", version=version)
    planned = table.schedule_clustering()
    assert planned
    assert planned.action is (Action.REPLACE_COMMIT if version == 6 else Action.CLUSTERING)
    assert not table.schedule_clustering()
    before = content(table)
    with pytest.raises(UnsupportedFeatureError, match="clustering"):
        table.upsert(some_rows(0, 5, 9))
    table.insert(rows(("new", 1, "x", 1)))
    assert [pending.time for pending in table.timeline.pending] == [planned.time]
    (commit,) = table.cluster()
    assert commit.instant == planned.time
    assert content(table) == sorted([*before, ("new", 1, "x", 1)], key=repr)
    assert len(table.file_slices()) == 3


def test_a_plan_that_a_write_has_overtaken_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = small(tmp_path / "t")
    planned = table.schedule_clustering()
    monkeypatch.setattr("hudiformat.write.partition.PartitionWriter._refuse_in_clustering", lambda *_: None)
    monkeypatch.setattr("hudiformat.write.commit.conflicts.conflict_with_plan", lambda *_, **__: None)
    table.upsert(some_rows(0, 5, 9))
    monkeypatch.undo()
    before = content(table)
    assert planned
    assert table.cluster() == []
    assert not table.timeline.pending
    (commit,) = table.cluster()
    assert commit.instant > planned.time
    assert content(table) == before


def test_a_write_beside_a_clustering_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that began before the plan, and commits after the files were read."""
    options = {**SHARED, **NO_SMALL}
    table = small(tmp_path / "t", options)
    other = open_table(table.path, options=options, clock=table._context.clock)
    complete = execution.complete_claimed

    def beside(*arguments: Any, **more: Any) -> Any:
        monkeypatch.undo()
        with pytest.raises((WriteConflictError, UnsupportedFeatureError)):
            other.upsert(some_rows(0, 5, 9))
        return complete(*arguments, **more)

    monkeypatch.setattr(clustering, "complete_claimed", beside)
    before = content(table)
    assert len(table.cluster()) == 1
    assert content(table) == before
    other.upsert(some_rows(0, 5, 9))
    assert content(table) != before


def test_one_writer_finds_a_clustering_of_another_process(tmp_path: Path) -> None:
    table = small(tmp_path / "t")
    state = table._context.state()
    given = KeyedRows.of(RowKeys.of(state.config), some_rows(0, 5, 9))
    with begin_write(table._context, Operation.UPSERT, state) as write:
        stats = write_keyed(write.plan, given)
        assert open_table(table.path, options=NO_SMALL, clock=table._context.clock).cluster()
        with pytest.raises(WriteConflictError, match="another writer has begun"):
            write.commit(stats)
    assert table.verify() == []


@pytest.mark.slow
def test_a_clustering_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = small(tmp_path / "t", SORTED)
    before, files = content(table), data_files(Path(table.path))

    def stop(*_arguments: object, **_more: object) -> None:
        raise StorageError("the disk is full")

    for place in (
        "hudiformat.write.commit.publishing.complete_instant",
        "hudiformat.write.handles.base_files.OpenBaseFile.write",
    ):
        monkeypatch.setattr(place, stop)
        with pytest.raises((StorageError, CommitError), match="disk is full"):
            table.cluster()
        monkeypatch.undo()
        assert table.timeline.pending == ()
        assert data_files(Path(table.path)) == files
        assert content(table) == before
    table.insert(rows(("new", 1, "x", 1)))
    (commit,) = table.cluster()
    assert content(table) == sorted([*before, ("new", 1, "x", 1)], key=repr)
    assert not table.timeline.pending
    assert len([file for file in data_files(Path(table.path)) if f"_{commit.instant}.parquet" in file]) == 2
    assert table.verify() == []


@pytest.mark.slow
@pytest.mark.parametrize("version", [6, 9])
def test_a_clustering_can_be_rolled_back_and_restored(tmp_path: Path, version: int) -> None:
    table = small(tmp_path / "t", ALL_INDEXES, version=version)
    before, saved = content(table), table.timeline.completed_writes[-1].time
    table.savepoint(saved, user="me")
    slices = [one.file_id for one in table.file_slices()]
    (commit,) = table.cluster()
    table.rollback(commit.instant)
    assert content(table) == before
    assert [one.file_id for one in table.file_slices()] == slices
    check_record_index(Path(table.path))
    table.cluster()
    table.upsert(some_rows(0, 5, 9))
    table.restore(saved)
    assert content(table) == before
    assert table.verify() == []
    for check in (check_metadata_table, check_statistics, check_record_index):
        check(Path(table.path))


def test_a_write_of_a_plan_cannot_be_rolled_back(tmp_path: Path) -> None:
    table = small(tmp_path / "t")
    last = table.timeline.completed_writes[-1].time
    table.schedule_clustering()
    with pytest.raises(CommitError, match="is going to read its files"):
        table.rollback(last)


def test_old_file_groups_are_cleaned(tmp_path: Path) -> None:
    policy = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"}
    table = small(tmp_path / "t", policy)
    before = content(table)
    table.cluster()
    table.insert(rows(("new", 1, "z", 1)))
    assert table.clean()
    assert len(data_files(Path(table.path))) == 3
    assert content(table) == sorted([*before, ("new", 1, "z", 1)], key=repr)


def test_clustering_runs_after_writes(tmp_path: Path) -> None:
    inline = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "3"}
    table = new_table(tmp_path / "t", clock=Clock(), options={**NO_SMALL, **inline})
    counts = []
    for number in range(7):
        table.insert(some_rows(number * 10, number * 10 + 10, 1))
        counts.append(len(table.file_slices()))
    assert counts == [2, 4, 2, 4, 6, 2, 4]
    assert len(content(table)) == 70


def test_plans_are_made_after_writes(tmp_path: Path) -> None:
    planning = {"hoodie.clustering.schedule.inline": "true", "hoodie.clustering.async.max.commits": "2"}
    table = new_table(tmp_path / "t", clock=Clock(), options={**NO_SMALL, **planning})
    for number in range(3):
        table.insert(some_rows(number * 10, number * 10 + 10, 1))
    (planned,) = table.timeline.pending
    assert planned.action is Action.CLUSTERING
    assert [commit.instant for commit in table.cluster()] == [planned.time]


def test_what_cannot_be_clustered_is_refused(tmp_path: Path) -> None:
    buckets = new_table(tmp_path / "b", options={"hoodie.index.type": "BUCKET"})
    with pytest.raises(UnsupportedFeatureError, match="the hash of a record key determines its file group"):
        buckets.cluster()
    table = small(tmp_path / "t", {"hoodie.clustering.plan.strategy.sort.columns": "nothing"})
    with pytest.raises(SchemaError, match="cannot sort by the column nothing: there is none"):
        table.cluster()
    assert not table.timeline.pending


def test_a_bad_inline_clustering_is_a_warning(tmp_path: Path) -> None:
    inline = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}
    options = {**NO_SMALL, **inline, "hoodie.clustering.plan.strategy.sort.columns": "nothing"}
    table = new_table(tmp_path / "t", clock=Clock(), options=options)
    with pytest.warns(HudiFormatWarning, match="a service after it failed: .* there is none"):
        table.insert(some_rows(0, 4, 1))
    assert len(content(table)) == 4
