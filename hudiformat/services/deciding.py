"""Decide whether each service of a table is due, and why, for ``maintain``.

A plan that waits on the timeline is always due, whoever made it, unless another process is running it.  Otherwise a
service is due by Hudi's counts, if the options turn it on.  Nothing is changed here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.services.cleaning import plan_clean
from hudiformat.services.clustering_plan import plan_clustering, resizes_buckets
from hudiformat.services.execution import is_running
from hudiformat.services.indexing import unbuilt_indexes
from hudiformat.services.metadata_services import may_serve_metadata_table
from hudiformat.table.options.values import IndexType
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants, instants_to_archive
from hudiformat.timeline.table_config import TableType
from hudiformat.timeline.timeline import Action, Instant, Timeline
from hudiformat.write.commit.changing import hold_table_lock
from hudiformat.write.commit.failed_writes import dead_writes
from hudiformat.write.commit.sweeping import sweep_before_archiving
from hudiformat.write.expiring import find_expired_partitions
from hudiformat.write.reporting.commits import report_archiving


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
    began = time.monotonic()
    with hold_table_lock(context) as owning:
        state = owning.state()
        limits = _limits(state)
        # Once an instant is off the timeline, nothing distinguishes its files from those of an archived commit.
        sweep_before_archiving(state, instants_to_archive(state.storage, state.config, limits))
        done = archive_instants(state.storage, state.config, limits, confirm=owning.confirm)
    report_archiving(context, len(done), seconds=time.monotonic() - began)
    return done


def _limits(state: TableState) -> ArchiveLimits:
    options = state.options.services
    return ArchiveLimits(
        max_commits=options.archive_max_commits,
        min_commits=options.archive_min_commits,
        compaction_delta_commits=options.compact_delta_commits,
    )


class Service(str, Enum):
    """A service that ``maintain`` runs; they run in this order.

    Hudi removes expired partitions after compaction and clustering.  Here they are removed first: files that are going
    to be deleted need not be rewritten, and a new base file would make the partition young again.
    """

    ROLLBACK = "rollback"
    METADATA = "metadata"
    EXPIRY = "ttl"
    COMPACTION = "compaction"
    LOG_COMPACTION = "log-compaction"
    CLUSTERING = "clustering"
    CLEANING = "clean"
    ARCHIVING = "archive"


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a service is due, and why or why not; ``partitions`` are the ones that have expired."""

    is_due: bool
    why: str
    partitions: tuple[str, ...] = ()


def decide(state: TableState, service: Service) -> Decision:
    """Decide whether *service* is due on a table.

    Raises:
        CorruptTableError, StorageError: a file of the timeline cannot be read.
    """
    return _DECISIONS[service](state)


def _rollback(state: TableState) -> Decision:
    dead = dead_writes(state)
    if not dead:
        return Decision(False, "no write was left by a writer that died")
    return Decision(True, f"writers that died have left {_format_instants(dead)}")


def _metadata(state: TableState) -> Decision:
    if FILES not in state.config.metadata_partitions:
        if state.options.metadata_enable:
            return Decision(True, "hoodie.metadata.enable=true, and the table has no metadata table")
        return Decision(False, "the table has no metadata table")
    if state.options.metadata_enable and (unbuilt := unbuilt_indexes(state)):
        return Decision(True, f"nobody has built {', '.join(unbuilt)}, which were to follow other indexes")
    if may_serve_metadata_table(state):
        return Decision(True, "the metadata table has enough commits to be compacted, cleaned or archived")
    return Decision(False, "the metadata table has too few new commits to be compacted, cleaned or archived")


def _compaction(state: TableState) -> Decision:
    if state.config.table_type is TableType.COPY_ON_WRITE:
        return Decision(False, "a copy-on-write table has no log files")
    planned = _decide_on_plans(state, Action.COMPACTION)
    if planned is not None:
        return planned
    return compaction_by_count(state)


def compaction_by_count(state: TableState) -> Decision:
    """Decide by the number of delta commits alone whether a merge-on-read table is to be compacted."""
    count, enough = len(since_compaction(state.timeline)), state.options.services.compact_delta_commits
    return _by_count(
        count, enough, "delta commits since the newest compaction", "hoodie.compact.inline.max.delta.commits"
    )


def _log_compaction(state: TableState) -> Decision:
    options = state.options.services
    if state.config.table_type is TableType.COPY_ON_WRITE:
        return Decision(False, "a copy-on-write table has no log files")
    if (planned := _decide_on_plans(state, Action.LOG_COMPACTION)) is not None:
        return planned
    if not options.log_compaction:
        return Decision(False, "hoodie.log.compaction.enable is false")
    return _by_count(
        _since_log_compaction(state),
        options.log_compaction_blocks,
        "delta commits since the newest compaction or log compaction",
        "hoodie.log.compaction.blocks.threshold",
    )


def _since_log_compaction(state: TableState) -> int:
    """Return the number of delta commits with rows since the newest compaction or log compaction.

    Source: ScheduleCompactionActionExecutor.needLogCompact.
    """
    deltas = since_compaction(state.timeline)
    for number, done in enumerate(reversed(deltas)):
        if state.metadata(done).operation_type == "LOG_COMPACT":
            return number
    return len(deltas)


def _clustering(state: TableState) -> Decision:
    options = state.options.clustering
    if state.options.index_type is IndexType.BUCKET and not resizes_buckets(state):
        return Decision(False, "the hash of a record key names its file group, which clustering would change")
    if (planned := _decide_on_plans(state, Action.CLUSTERING)) is not None:
        return planned
    if not (options.inline or options.schedule_inline or options.is_async):
        return Decision(False, "hoodie.clustering.async.enabled and hoodie.clustering.inline are false")
    every, key = options.async_commits, "hoodie.clustering.async.max.commits"
    if options.inline:
        every, key = options.inline_commits, "hoodie.clustering.inline.max.commits"
    decision = _by_count(since_clustering(state), every, "commits since the newest clustering", key)
    if not decision.is_due:
        return decision
    plan = plan_clustering(state)
    if plan is None:
        return Decision(False, f"{decision.why}, but no file groups are worth it")
    groups = plan.input_groups or ()
    small = sum(len(group.slices or ()) for group in groups)
    files = sum(group.num_output_file_groups or 1 for group in groups)
    return Decision(True, f"{decision.why}; {_number(small, 'file group')} would become about {files}")


def _expiry(state: TableState) -> Decision:
    options = state.options.expiry
    if options.days <= 0:
        return Decision(False, "hoodie.partition.ttl.strategy.days.retain is not set")
    age = f"{_number(options.days, 'day')} ({options.strategy.value})"
    partitions = tuple(find_expired_partitions(state))
    if not partitions:
        return Decision(False, f"no partition is older than {age}")
    return Decision(
        True, f"{_number(len(partitions), 'partition')} older than {age}: {_format_few(partitions)}", partitions
    )


def _cleaning(state: TableState) -> Decision:
    options = state.options.services
    if any(pending.action is Action.CLEAN for pending in state.timeline.pending):
        return Decision(True, "a clean was left half-way")
    if not options.clean_automatic:
        return Decision(False, "hoodie.clean.automatic is false")
    plan = plan_clean(state)
    if plan is None:
        return Decision(False, f"{options.clean_policy.value} keeps every file")
    files = [len(found) for found in (plan.file_paths_to_be_deleted_per_partition or {}).values()]
    where = _number(len(files), "partition")
    return Decision(True, f"{options.clean_policy.value} does not keep {_number(sum(files), 'file')} in {where}")


def _archiving(state: TableState) -> Decision:
    options, commits = state.options.services, len(state.timeline.completed_writes)
    if not options.archive_automatic:
        return Decision(False, "hoodie.archive.automatic is false")
    most = options.archive_max_commits
    if commits <= most:
        return Decision(False, f"{commits} commits on the active timeline, up to {most} stay (hoodie.keep.max.commits)")
    why = f"{commits} commits on the active timeline, more than {most} (hoodie.keep.max.commits)"
    count = len(archivable_instants(state))
    if not count:
        return Decision(False, f"{why}, but cleans, savepoints or pending instants need them")
    return Decision(True, f"{why}; {_number(count, 'instant')} can go")


def _decide_on_plans(state: TableState, action: Action) -> Decision | None:
    """Return the decision for plans that are on the timeline; None if there are none."""
    pending = state.timeline.pending
    if action is Action.CLUSTERING:
        planned = [one for one in pending if state.is_clustering(one)]
    else:
        planned = [one for one in pending if one.action is action]
    waiting = [one for one in planned if not is_running(state, one)]
    if waiting:
        return Decision(True, f"planned and not run: {_format_instants(waiting)}")
    if planned:
        return Decision(False, f"another process is running {_format_instants(planned)}")
    return None


def _by_count(count: int, enough: int, what: str, key: str) -> Decision:
    if count < enough:
        return Decision(False, f"{count} {what}, fewer than {enough} ({key})")
    return Decision(True, f"{count} {what}, {enough} are enough ({key})")


_FEW = 5


def _format_few(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more


def _format_instants(instants: list[Instant]) -> str:
    return _format_few(tuple(str(one) for one in instants))


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


_DECISIONS: Mapping[Service, Callable[[TableState], Decision]] = {
    Service.ROLLBACK: _rollback,
    Service.METADATA: _metadata,
    Service.COMPACTION: _compaction,
    Service.LOG_COMPACTION: _log_compaction,
    Service.CLUSTERING: _clustering,
    Service.EXPIRY: _expiry,
    Service.CLEANING: _cleaning,
    Service.ARCHIVING: _archiving,
}
