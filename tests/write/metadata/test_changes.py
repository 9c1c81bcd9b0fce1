"""Which files readers need once an action is completed, and what is known of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hudiformat import Table
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.rollbacks import RollbackMetadata, RollbackPartitionMetadata
from hudiformat.write.metadata.changes import MetadataChanges, kept_files
from hudiformat.write.metadata.indexes import indexed_columns
from hudiformat.write.metadata.metadata_table import MetadataTable
from tests.metadata_tables import indexed_table
from tests.tables import rows


def changes(table: Table) -> MetadataChanges:
    found = MetadataTable.of(table._context.state())
    return MetadataChanges(found.outer, found.own, indexed_columns(found.outer))


def names(table: Table, partition: str) -> list[str]:
    (one,) = table.file_slices(partition)
    return [str(one.base_file.name), *(str(log.name) for log in one.log_files)]  # type: ignore[union-attr]  # each has a base file


def test_files_of_replaced_groups_are_not_needed_any_more(tmp_path: Path) -> None:
    table = indexed_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    (one,) = table.file_slices("x")
    metadata = CommitMetadata("DELETE_PARTITION", partition_to_replace_file_ids={"x": (one.file_id,)})
    change = changes(table).of_commit("99990101000000000", metadata, done="99990101000000001")
    assert change.emptied == ["x"]
    assert change.live("y") == names(table, "y")
    assert change.known("x").keys() == set(names(table, "x"))
    assert change.of_partition("x")["ts"].upper == 1


def test_files_of_rolled_back_writes_are_not_needed_either(tmp_path: Path) -> None:
    table = indexed_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1)))
    before = names(table, "x")
    second = table.upsert(rows(("a", 2, "x", 2)))
    gone = names(table, "x")[-1]
    rollback = RollbackMetadata(
        start_rollback_time=second.instant,
        time_taken_in_millis=0,
        total_files_deleted=1,
        commits_rollback=(second.instant,),
        partition_metadata={"x": RollbackPartitionMetadata("x", (f"/table/x/{gone}",))},
    )
    change = changes(table).of_rollbacks([rollback], [second.instant], {})
    assert (change.live("x"), change.deleted, change.gone) == (before, {"x": [gone]}, [])
    assert changes(table).of_rollbacks([rollback], [], {}).deleted == {}
    listed = {second.instant: {"x": [gone, "other"]}}
    assert changes(table).of_rollbacks([rollback], [second.instant], listed).deleted == {"x": [gone, "other"]}


def test_log_files_of_a_rollback_are_not_kept_if_the_same_restore_deletes_their_slice() -> None:
    """In version 6 a rollback adds a log file to a slice, which the next rollback of the restore deletes."""
    first = RollbackMetadata(
        start_rollback_time="99",
        time_taken_in_millis=1,
        total_files_deleted=0,
        commits_rollback=("3",),
        partition_metadata={
            "x": RollbackPartitionMetadata("x", (), rollback_log_files={"x/.g_2.log.2": 105, "x/.h_1.log.2": 105})
        },
    )
    second = replace(
        first, commits_rollback=("2",), partition_metadata={"x": RollbackPartitionMetadata("x", ("/t/x/.g_2.log.2",))}
    )
    kept = kept_files([first, second])
    assert [stat.path for stat in kept["x"]] == ["x/.h_1.log.2"]
    assert kept_files([second]) == {}
