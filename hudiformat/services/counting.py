"""Count what has been written since a service last ran, which decides whether it is due; and archive if it is."""

from __future__ import annotations

from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants, instants_to_archive
from hudiformat.timeline.timeline import Action, Instant, Timeline
from hudiformat.write.commit.changing import hold_table_lock
from hudiformat.write.commit.sweeping import sweep_before_archiving


def since_compaction(timeline: Timeline) -> list[Instant]:
    """Return the delta commits that were completed after the newest compaction began.

    Source: CompactionUtils.getCompletedDeltaCommitsSinceLatestCompaction.
    """
    newest = max((done.time for done in timeline.completed if done.action is Action.COMMIT), default="")
    deltas = (done for done in timeline.completed if done.action is Action.DELTA_COMMIT)
    return [done for done in deltas if (done.completion_time or done.time) > newest]


def since_clustering(state: TableState) -> int:
    """Return the number of commits since the last clustering began, planned or completed.

    Source: ClusteringPlanActionExecutor, which counts the commits since the last one.
    """
    done = [one for one in state.timeline.completed if one.action is Action.REPLACE_COMMIT]
    clusterings = [one.time for one in done if state.metadata(one).operation_type == "CLUSTER"]
    clusterings += [one.time for one in state.timeline.pending if state.is_clustering(one)]
    newest = max(clusterings, default="")
    return sum(one.time > newest for one in state.timeline.completed_writes)


def archivable_instants(state: TableState) -> tuple[Instant, ...]:
    """Return the instants that archiving would take off the active timeline."""
    if len(state.timeline.completed_writes) <= state.options.services.archive_max_commits:
        return ()
    return instants_to_archive(state.storage, state.config, _limits(state))


def archive_table(context: TableContext) -> tuple[Instant, ...]:
    """Archive the commits beyond ``hoodie.keep.max.commits`` under the table's lock, and return the archived instants.

    Raises:
        LockError: another writer keeps the table's lock.
    """
    with hold_table_lock(context) as owning:
        state = owning.state()
        limits = _limits(state)
        # Once an instant is off the timeline, nothing distinguishes its files from those of an archived commit.
        sweep_before_archiving(state, instants_to_archive(state.storage, state.config, limits))
        return archive_instants(state.storage, state.config, limits, confirm=owning.confirm)


def _limits(state: TableState) -> ArchiveLimits:
    options = state.options.services
    return ArchiveLimits(
        max_commits=options.archive_max_commits,
        min_commits=options.archive_min_commits,
        compaction_delta_commits=options.compact_delta_commits,
    )
