"""File groups that pending plans are going to rewrite."""

from __future__ import annotations

from hudiformat.file_group.pending_groups import PendingGroup, pending_groups
from hudiformat.timeline.contents import Content
from hudiformat.timeline.plans import (
    ClusteringGroup,
    ClusteringPlan,
    CompactionOperation,
    CompactionPlan,
    RequestedReplaceMetadata,
    SliceInfo,
)
from hudiformat.timeline.timeline import Action, Instant, State

COMPACTION = Instant("2", Action.COMPACTION, State.INFLIGHT)
CLUSTERING = Instant("3", Action.CLUSTERING, State.REQUESTED)


def groups_of(pending: Instant, plan: Content | None) -> list[PendingGroup]:
    """The groups of one pending instant whose requested file holds *plan*."""
    return list(pending_groups([pending], {pending: plan}.__getitem__))


def test_a_compaction_names_slices_and_their_files() -> None:
    plan = CompactionPlan(
        (
            CompactionOperation("1", (".f-0_1.log.1_0-0-0",), "f-0_0-0-0_1.parquet", "f-0", "x"),
            CompactionOperation("1", (".g-0_1.log.1_0-0-0", ".g-0_1.log.2_0-0-0"), None, "g-0", "y"),
        )
    )
    first, second = groups_of(COMPACTION, plan)
    assert first == PendingGroup(COMPACTION, "x", "f-0", "1", (".f-0_1.log.1_0-0-0", "f-0_0-0-0_1.parquet"))
    assert (second.key, second.files) == (("y", "g-0"), (".g-0_1.log.1_0-0-0", ".g-0_1.log.2_0-0-0"))


def test_a_table_without_partitions_has_one_path_that_is_empty() -> None:
    [group] = groups_of(COMPACTION, CompactionPlan((CompactionOperation(None),)))
    assert group == PendingGroup(COMPACTION, "", "")
    assert groups_of(COMPACTION, CompactionPlan(None)) == []


def test_a_clustering_names_groups_and_no_files() -> None:
    groups = (
        ClusteringGroup((SliceInfo(file_id="f-0", partition_path="x"), SliceInfo(file_id="g-0", partition_path="x"))),
        ClusteringGroup(None),
    )
    found = groups_of(CLUSTERING, RequestedReplaceMetadata("CLUSTER", ClusteringPlan(groups)))
    assert found == [PendingGroup(CLUSTERING, "x", "f-0"), PendingGroup(CLUSTERING, "x", "g-0")]


def test_a_replace_commit_without_a_plan_names_nothing() -> None:
    overwrite = Instant("4", Action.REPLACE_COMMIT, State.REQUESTED)
    assert groups_of(overwrite, None) == []
    assert groups_of(overwrite, RequestedReplaceMetadata("INSERT_OVERWRITE", None)) == []


def test_several_plans_are_read_one_after_the_other() -> None:
    read: list[Instant] = []

    def content(instant: Instant) -> Content:
        read.append(instant)
        return CompactionPlan((CompactionOperation(None, file_id=instant.time),))

    later = Instant("5", Action.LOG_COMPACTION, State.REQUESTED)
    found = pending_groups([COMPACTION, later], content)
    assert next(found).file_id == "2"
    assert [one.time for one in read] == ["2"]
    assert next(found).instant is later
