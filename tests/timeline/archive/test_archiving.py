"""Archiving: which instants are archived, in which order, and where they can be read afterwards."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.errors import CorruptTableError, OptionError, StorageError
from hudiformat.storage.local import LocalStorage
from hudiformat.table.new_table import new_table_config
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants, read_archived
from hudiformat.timeline.cleans import ActionInstant, CleanerPlan
from hudiformat.timeline.contents import complete_instant, create_requested, transition_inflight
from hudiformat.timeline.plans import CompactionPlan, RequestedReplaceMetadata
from hudiformat.timeline.table_config import TableType
from hudiformat.timeline.timeline import Action, load_timeline
from tests.effort import examples
from tests.timeline.support import COMMIT, FEW, METADATA, REPLACE, Table, number_of, time


@pytest.fixture(params=[6, 8, 9])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def table(tmp_path: Path, version: int) -> Table:
    return Table(tmp_path, version, TableType.COPY_ON_WRITE)


@pytest.fixture
def merge_on_read(tmp_path: Path, version: int) -> Table:
    return Table(tmp_path, version, TableType.MERGE_ON_READ)


def test_the_oldest_are_archived_until_the_minimum_remains(table: Table) -> None:
    table.add_all(1, 2, action=Action.COMMIT)
    assert table.chosen() == []
    table.add_all(3, 4, action=Action.COMMIT)
    assert table.chosen() == [1, 2, 3]
    assert table.chosen(ArchiveLimits(max_commits=3, min_commits=2)) == [1, 2]
    assert table.chosen(ArchiveLimits(max_commits=4, min_commits=1)) == []
    assert table.chosen(ArchiveLimits(max_commits=2, min_commits=1, retain_from=time(2))) == [1]


@pytest.mark.parametrize(("most", "least"), [(1, 1), (3, 0), (2, 3)])
def test_limits_that_contradict_each_other_are_refused(most: int, least: int) -> None:
    with pytest.raises(OptionError, match=f"found {least} and {most}") as caught:
        ArchiveLimits(max_commits=most, min_commits=least)
    assert caught.value.option == "hoodie.keep.min.commits"


def test_the_commit_before_a_pending_one_remains(table: Table) -> None:
    table.add_all(1, 2, 5, 6, action=Action.COMMIT)
    table.begin(3, Action.COMMIT)
    assert table.chosen() == [1]


def test_nothing_is_archived_if_the_oldest_is_pending(table: Table) -> None:
    table.begin(1, Action.COMMIT)
    table.add_all(2, 3, 4, action=Action.COMMIT)
    assert table.chosen() == []


def test_a_pending_clean_does_not_prevent_archiving(table: Table) -> None:
    table.begin(1, Action.CLEAN)
    table.add_all(2, 3, 4, action=Action.COMMIT)
    assert table.chosen() == [2, 3]


def test_a_commit_with_a_savepoint_and_all_later_ones_remain(table: Table) -> None:
    table.add_all(1, 2, 3, 4, action=Action.COMMIT)
    table.add(2, Action.SAVEPOINT)
    assert table.chosen() == [1]
    assert table.chosen(ArchiveLimits(max_commits=2, min_commits=1, beyond_savepoint=True)) == [1, 3, 4]


def test_delta_commits_remain_until_a_compaction_is_due(merge_on_read: Table) -> None:
    merge_on_read.add_all(1, 2, 3, 4)
    assert merge_on_read.chosen() == [1, 2, 3]
    assert merge_on_read.chosen(ArchiveLimits(max_commits=2, min_commits=1, compaction_delta_commits=3)) == [1]
    assert merge_on_read.chosen(ArchiveLimits(max_commits=2, min_commits=1)) == []


def test_the_last_compaction_remains_until_another_is_due(merge_on_read: Table) -> None:
    merge_on_read.add_all(1, 2)
    merge_on_read.add(3, Action.COMPACTION, CompactionPlan())
    merge_on_read.add_all(4, 5)
    assert merge_on_read.chosen(ArchiveLimits(max_commits=2, min_commits=1, compaction_delta_commits=3)) == [1, 2]
    assert merge_on_read.chosen(ArchiveLimits(max_commits=2, min_commits=1, compaction_delta_commits=2)) == [1, 2, 3]


def test_a_table_without_delta_commits_keeps_none(merge_on_read: Table) -> None:
    merge_on_read.add_all(1, 2, 3, action=Action.REPLACE_COMMIT)
    merge_on_read.add(4, Action.CLEAN, CleanerPlan(ActionInstant(time(3), "replacecommit", "COMPLETED")))
    assert merge_on_read.chosen() == [1, 2]


def test_replace_commits_remain_until_their_files_are_cleaned(table: Table) -> None:
    table.add_all(1, 4, 5, 7, action=Action.COMMIT)
    table.add_all(2, 3, action=Action.REPLACE_COMMIT)
    assert table.chosen() == [1]
    table.add(6, Action.CLEAN, CleanerPlan(ActionInstant(time(3), "replacecommit", "COMPLETED")))
    assert table.chosen() == [1, 2]


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (None, [1, 2, 3, 4]),  # a clean that says nothing stands for all before it
        (CleanerPlan(policy="KEEP_LATEST_FILE_VERSIONS"), [1, 2, 3, 4]),
        (CleanerPlan(ActionInstant(time(4), "commit", "COMPLETED")), [1, 2, 3, 4]),
        (
            CleanerPlan(
                ActionInstant(time(4), "commit", "COMPLETED"),
                extra_metadata={"savepointed_timestamps": f"{time(3)},{time(1)}"},
            ),
            [1],
        ),
        (
            CleanerPlan(
                ActionInstant(time(4), "commit", "COMPLETED"), extra_metadata={"savepointed_timestamps": time(3)}
            ),
            [1, 2, 3, 4],
        ),
        (CleanerPlan(policy="KEEP_LATEST_FILE_VERSIONS", extra_metadata={"savepointed_timestamps": time(1)}), [1]),
    ],
    ids=["empty", "file versions", "commits", "savepoint before", "savepoint behind", "file versions, savepoint"],
)
def test_the_plan_of_a_clean_has_the_instant_up_to_which_files_are_deleted(
    newest: Table, plan: CleanerPlan | None, expected: list[int]
) -> None:
    newest.add_all(1, 3, 4, 6, action=Action.COMMIT)
    newest.add(2, Action.REPLACE_COMMIT, RequestedReplaceMetadata())
    newest.add(5, Action.CLEAN, plan)
    assert newest.chosen() == expected


def test_cleans_and_rollbacks_are_archived_with_the_commits_around_them(newest: Table) -> None:
    newest.add_all(1, 4, 6, 8, action=Action.COMMIT)
    newest.add_all(2, 7, action=Action.CLEAN)
    newest.add_all(3, 5, action=Action.ROLLBACK)
    assert newest.chosen() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("action", [Action.RESTORE, Action.INDEXING])
def test_restores_and_indexings_do_not_stay_before_archived_commits(newest: Table, action: Action) -> None:
    newest.add(1, action)
    newest.add_all(2, 3, 4, 5, action=Action.COMMIT)
    newest.add(6, action)
    assert newest.chosen() == [1, 2, 3, 4]


def test_in_layout_1_cleans_and_rollbacks_are_archived_by_their_own_numbers(oldest: Table) -> None:
    oldest.add_all(1, 2, 3, action=Action.CLEAN)
    oldest.add_all(4, 5, action=Action.ROLLBACK)
    oldest.add(6, Action.COMMIT)
    assert oldest.chosen() == [1, 2]


def test_instants_that_the_metadata_table_has_not_compacted_remain(table: Table) -> None:
    table.add_all(1, 2, 3, 4, action=Action.COMMIT)
    properties = {**table.config.properties, "hoodie.table.metadata.partitions": "files"}
    table.config = new_table_config(
        name="t", record_key_fields=["k"], version=table.config.version, table_type=TableType.COPY_ON_WRITE,
        extra=properties,
    )  # fmt: skip
    assert table.chosen() == []
    old = table.config.layout_version == 1
    name = f"{time(3)}.commit" if old else f"{time(3)}_{time(3, 700)}.commit"
    table.storage.create(f".hoodie/metadata/{table.config.timeline_folder}/{name}", b"")
    assert table.chosen() == [1, 2]


def test_archived_instants_leave_the_active_timeline_and_can_be_read(merge_on_read: Table) -> None:
    first, second = merge_on_read.add_all(1, 2)
    plan = CompactionPlan(version=2)
    compaction = merge_on_read.add(3, Action.COMPACTION, plan)
    merge_on_read.add_all(4)
    merge_on_read.storage.create(f".hoodie/.temp/{time(1)}/MARKERS.type", b"")
    assert merge_on_read.archive() == [1, 2, 3]
    assert merge_on_read.active() == [4]
    assert not merge_on_read.storage.exists(f".hoodie/.temp/{time(1)}")
    found = merge_on_read.archived()
    assert [one.instant.action for one in found] == [first.action, second.action, Action.COMMIT]
    assert [one.metadata for one in found] == [COMMIT, COMMIT, COMMIT]
    assert [one.plan for one in found] == [None, None, plan]
    assert [one.instant.completion_time for one in found] == [
        one.completion_time or one.time for one in (first, second, compaction)
    ]
    instants = read_archived(merge_on_read.storage, merge_on_read.config, contents=False)
    assert [one.instant for one in instants] == [one.instant for one in found]


def test_the_archive_grows(table: Table) -> None:
    for number in range(1, 9):
        table.add(number, Action.COMMIT)
        table.archive()
    assert [number_of(one.instant) for one in table.archived()] == [1, 2, 3, 4, 5, 6]
    assert table.active() == [7, 8]
    names = [info.name for info in table.storage.list(table.config.history_folder)]
    if table.config.layout_version == 1:
        assert names == [f".commits_.archive.{number}_1-0-1" for number in (1, 2, 3)]
    else:
        manifests = [f"manifest_{number}" for number in (1, 2, 3)]
        assert names == [
            *(f"{time(first)}_{time(first + 1)}_0.parquet" for first in (1, 3, 5)),
            "_version_",
            *manifests,
        ]


def test_every_kind_of_content_is_archived(table: Table) -> None:
    clean = CleanerPlan(ActionInstant(time(6), "commit", "COMPLETED"))
    replace = RequestedReplaceMetadata("CLUSTER")
    table.add(1, Action.CLEAN, clean)
    table.add(2, Action.CLEAN, clean)
    table.add(3, Action.ROLLBACK)
    table.add(4, Action.ROLLBACK)
    table.add(5, Action.REPLACE_COMMIT, replace)
    table.add(6, Action.COMMIT)
    table.add(7, Action.CLEAN, clean)
    table.add(8, Action.ROLLBACK)
    table.add_all(9, 10, action=Action.COMMIT)
    table.archive()
    found = {one.instant.action: (one.metadata, one.plan) for one in table.archived()}
    assert found == {
        Action.CLEAN: (METADATA[Action.CLEAN], clean),
        Action.ROLLBACK: (METADATA[Action.ROLLBACK], None),
        Action.REPLACE_COMMIT: (REPLACE, replace),
        Action.COMMIT: (COMMIT, None),
    }


def test_an_inflight_file_is_archived_instead_of_the_plan(table: Table) -> None:
    requested = create_requested(table.storage, table.config, time(1), Action.REPLACE_COMMIT, None)
    inflight = transition_inflight(table.storage, table.config, requested, COMMIT)
    complete_instant(table.storage, table.config, inflight, REPLACE, completion_time=time(2))
    table.add(3, Action.CLEAN, CleanerPlan(ActionInstant(time(2), "commit", "COMPLETED")))
    table.add_all(4, 5, action=Action.COMMIT)
    assert table.archive() == ([1, 4] if table.config.layout_version == 1 else [1, 3, 4])
    (first, *_) = table.archived()
    assert (first.metadata, first.plan) == (REPLACE, None)


def test_empty_files_have_no_content(table: Table) -> None:
    instants = table.add_all(1, 2, 3, action=Action.COMMIT)
    table.storage.create(f"{table.config.timeline_folder}/{instants[0].file_name}", b"", overwrite=True)
    assert table.archive() == [1, 2]
    assert [one.metadata for one in table.archived()] == [None, COMMIT]


class FailingStorage(LocalStorage):
    """A storage on which nothing can be deleted."""

    def delete(self, path: str) -> bool:
        raise StorageError("dead", path=path)


def test_a_crash_before_the_deletion_archives_nothing_twice(table: Table) -> None:
    table.add_all(1, 2, 3, action=Action.COMMIT)
    with pytest.raises(StorageError, match="dead"):
        archive_instants(FailingStorage(table.storage.root), table.config, FEW)
    assert table.active() == [1, 2, 3]
    assert table.archive() == [1, 2]
    assert [number_of(one.instant) for one in table.archived()] == [1, 2]
    assert table.active() == [3]


def test_pending_states_are_deleted_first_and_completed_ones_from_the_oldest(newest: Table) -> None:
    deleted: list[str] = []

    class Watched(LocalStorage):
        def delete(self, path: str) -> bool:
            deleted.append(path.rpartition("/")[2])
            return super().delete(path)

    newest.add_all(1, 2, 3, action=Action.COMMIT)
    archive_instants(Watched(newest.storage.root), newest.config, FEW)
    names = [name for name in deleted if "." in name]
    pending = [f"{time(number)}.{state}" for number in (1, 2) for state in ("commit.requested", "inflight")]
    assert names == [*pending, f"{time(1)}_{time(1, 500)}.commit", f"{time(2)}_{time(2, 500)}.commit"]


def test_a_damaged_instant_is_not_archived_and_nothing_is_deleted(oldest: Table) -> None:
    oldest.add_all(1, 2, 3, action=Action.COMMIT)
    oldest.storage.create(f".hoodie/{time(1)}.commit", b"{", overwrite=True)
    with pytest.raises(CorruptTableError, match=f"{time(1)}.commit: expected commit metadata in JSON"):
        oldest.archive()
    assert oldest.active() == [1, 2, 3]


ACTIONS = (Action.COMMIT, Action.DELTA_COMMIT, Action.COMPACTION, Action.REPLACE_COMMIT, Action.CLEAN, Action.ROLLBACK)
STEPS = st.lists(st.sampled_from((*ACTIONS, "pending", "savepoint", "archive")), min_size=8, max_size=25)


@settings(max_examples=examples(15), deadline=None)  # of many files each
@given(steps=STEPS, version=st.sampled_from([6, 9]), kind=st.sampled_from(TableType))
def test_no_instant_is_lost_and_the_newest_remain(steps: list[Any], version: int, kind: TableType) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = Table(Path(folder), version, kind)
        done, pending = [], []
        for number, step in enumerate((*steps, "archive"), start=1):
            if step == "archive":
                before = load_timeline(table.storage, table.config)
                went = set(archive_instants(table.storage, table.config, FEW)) & set(before.completed_writes)
                writes = load_timeline(table.storage, table.config).completed_writes
                assert before.completed_writes[: len(went)] == tuple(sorted(went, key=lambda one: one.sort_key))
                assert before.completed_writes[len(went) :] == writes
                assert len(writes) >= min(len(before.completed_writes), FEW.min_commits)
            elif step == "pending":
                pending.append(table.begin(number, Action.DELTA_COMMIT))
            elif step == "savepoint":
                done.append(table.add(number, Action.SAVEPOINT))
            else:
                done.append(table.add(number, step))
        active = load_timeline(table.storage, table.config)
        found = [one.instant for one in table.archived()] + list(active.completed)
        assert sorted((one.time, one.action) for one in found) == [(one.time, one.action) for one in done]
        assert active.pending == tuple(pending)
