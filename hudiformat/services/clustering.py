"""Clustering: rewrite the rows of small file groups into fewer and larger ones, and sort them if the options say so.

A clustering is planned first.  Until it is completed, writers do not add to the file groups of the plan.  The old file
groups stay for time travel until a clean deletes them.

Source: ClusteringPlanActionExecutor, MultipleSparkJobExecutionStrategy, SparkSortAndSizeExecutionStrategy, Hudi 1.2.0;
spec/services.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from hudiformat.errors import UnsupportedFeatureError, WriteConflictError
from hudiformat.file_group.merging.rule import RecordMerger
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import WriteToken, base_name
from hudiformat.services.clustering_plan import SORT_COLUMNS, plan_clustering, resizes_buckets
from hudiformat.services.execution import (
    Part,
    ServiceClaim,
    by_partition,
    claim_service,
    complete_claimed,
    cost_of,
    is_running,
    run_parts,
    take_back_on_error,
)
from hudiformat.services.ordering import RowOrder, row_order
from hudiformat.services.resizing import RewriteBuckets, mark_rings, rings_after, rows_of, save_rings
from hudiformat.services.service_result import ServiceResult, commits_result, plan_result
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.values import IndexType
from hudiformat.table.registered import refuse_lacking_columns
from hudiformat.table.state import TableContext, TableState
from hudiformat.table.support import refuse_unwritable
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.contents import remove_pending
from hudiformat.timeline.plans import ClusteringGroup, ClusteringPlan, RequestedReplaceMetadata, SliceInfo
from hudiformat.timeline.timeline import Action, Instant, State
from hudiformat.write.commit.changing import change_timeline
from hudiformat.write.commit.files import GroupTarget, delete_files
from hudiformat.write.commit.heartbeats import delete_heartbeat
from hudiformat.write.commit.plan import WritePlan, plan_of_service
from hudiformat.write.commit.publishing import announce
from hudiformat.write.commit.transaction import Commit
from hudiformat.write.commit.validators import validate
from hudiformat.write.handles.clustered import ClusteredFiles, CopiedFiles, can_copy
from hudiformat.write.index.hash_ring import HashRing
from hudiformat.write.metadata.preparing import refuse_unreadable

T = TypeVar("T")

_SERVICE, _CLUSTER = "clustering", "CLUSTER"
_SORTED = 4
"""How many times the memory of other rows those that are sorted take."""


def schedule_clustering(context: TableContext) -> ServiceResult[Instant]:
    """Plan to rewrite small file groups into larger ones, if some are worth it.

    The options ``hoodie.clustering.plan.strategy.*`` choose the file groups.  Groups that a pending compaction or
    clustering names are left out.

    Raises:
        UnsupportedFeatureError: the table has a bucket index, or cannot be written.
        SchemaError: a column to sort by does not exist, or has no order.
        LockError: another writer keeps the table's lock.
    """
    return plan_result(_SERVICE, _schedule(context, _check(context.state())))


def cluster(context: TableContext, seen: TableState | None = None) -> ServiceResult[Commit]:
    """Run the clusterings that are planned or were interrupted; plan one first if there are none.

    Clusterings that another process is running, as its heartbeat shows, are left to it.  A plan whose file slices are
    no longer the newest, because of a later write, is taken off the timeline.

    *seen* is the state of the table, just read.

    Raises:
        UnsupportedFeatureError, SchemaError: as for :func:`schedule_clustering`.
        LockError: another writer keeps the table's lock.
        CommitError: a clustering could not be completed; one that was planned before stays planned.
    """
    seen = _check(context.state() if seen is None else seen)
    planned = None
    if not _pending_clusterings(seen) and (planned := _schedule(context, seen)) is None:
        return commits_result(_SERVICE, [])
    with take_back_on_error(context, planned), ExitStack() as undo:
        with change_timeline(context) as state:
            waiting = [instant for instant in _pending_clusterings(state) if not is_running(state, instant)]
            overtaken = [instant for instant in waiting if _slices_of(state, instant) is None]
            for instant in overtaken:
                delete_heartbeat(state.storage, instant.time)
                delete_files(state.storage, state.config, instant.time)
                remove_pending(state.storage, state.config, instant)
            if overtaken:
                state = state.context.state()  # noqa: PLW2901 - removing the plans has changed the timeline
            claimed = [claim_service(state, instant, undo) for instant in waiting if instant not in overtaken]
        return commits_result(_SERVICE, [_run(state, one) for one in claimed])


def _check(state: TableState) -> TableState:
    if state.options.index_type is IndexType.BUCKET and not resizes_buckets(state):
        raise UnsupportedFeatureError(
            f"{state.storage.root}: cannot cluster: expected no simple bucket index, found "
            "one, where the hash of a record key determines its file group; use compact(), "
            "which merges the log files of a bucket, or "
            "hoodie.index.bucket.engine=CONSISTENT_HASHING, with which clustering splits and "
            "merges buckets",
            feature="clustering with a bucket index",
        )
    refuse_unwritable(state)
    return state


def _pending_clusterings(state: TableState) -> list[Instant]:
    return [instant for instant in state.timeline.pending if state.is_clustering(instant)]


def _schedule(context: TableContext, seen: TableState) -> Instant | None:
    with change_timeline(context, seen) as state:
        refuse_unreadable(state)
        if state.logs_name_slices and state.pending_writes:
            return None  # their log files may be added to the slices of the plan, and their names would not show it
        plan = plan_clustering(state)
        if plan is None:
            return None
        row_order(state.schema.arrow_with_meta, state.options.clustering.sort_columns, state.options.clustering.layout)
        action = Action.REPLACE_COMMIT if state.logs_name_slices else Action.CLUSTERING
        return announce(state, action, RequestedReplaceMetadata(_CLUSTER, plan, {}))


def _plan_of(state: TableState, instant: Instant) -> ClusteringPlan:
    plan = state.plan(Instant(instant.time, instant.action, State.REQUESTED))
    assert isinstance(plan, RequestedReplaceMetadata)  # noqa: S101 - as is_clustering has found
    assert plan.clustering_plan is not None  # noqa: S101 - a clustering has one
    return plan.clustering_plan


def _slices_of(state: TableState, instant: Instant) -> list[list[FileSlice]] | None:
    """Return the file slices of each group of a plan; None if one of them is no longer the newest of its file group."""
    found = []
    groups = _plan_of(state, instant).input_groups or ()
    deque(state.files_of_each({one.partition_path or "" for group in groups for one in group.slices or ()}), maxlen=0)
    for group in groups:
        slices = [_newest(state, one) for one in group.slices or ()]
        if None in slices:
            return None
        found.append([one for one in slices if one is not None])
    return found


def _newest(state: TableState, planned: SliceInfo) -> FileSlice | None:
    """Return the newest slice of a file group if its files are those that are *planned*; else None."""
    names = {base_name(path) for path in (planned.data_file_path, *(planned.delta_file_paths or ())) if path}
    for one in state.slices(planned.partition_path or ""):
        if one.file_id == planned.file_id:
            base = () if one.base_file is None else (one.base_file.name.stored_as,)
            return one if {*base, *one.log_names} == names else None
    return None


def _run(state: TableState, claimed: ServiceClaim) -> Commit:
    plan = _plan_of(state, claimed.instant)
    slices = _slices_of(state, claimed.instant) or []
    writing = plan_of_service(state, claimed.instant.time)
    order = _order_of(writing, plan)
    rings = rings_after(state, claimed.instant.time, plan)
    parts = [
        _part(state, order, group, inputs, rings) for group, inputs in zip(plan.input_groups or (), slices, strict=True)
    ]
    # Rows that are sorted are in memory together.
    costs = [cost_of(inputs) if order is None else _SORTED * cost_of(inputs) for inputs in slices]
    replaced: dict[str, list[str]] = {}
    for inputs in slices:
        replaced.setdefault(inputs[0].partition_path, []).extend(one.file_id for one in inputs)
    metadata = CommitMetadata(
        operation_type=_CLUSTER,
        partition_to_write_stats=by_partition(run_parts(state, claimed, writing, parts, costs)),
        partition_to_replace_file_ids={path: tuple(ids) for path, ids in sorted(replaced.items())},
    )
    # Before the clustering completes: writers need the new rings from that moment on, and ignore them until then.
    save_rings(state.storage, rings)
    done = complete_claimed(
        state, claimed, writing, metadata, check=partial(_check_completion, claimed.instant, metadata)
    )
    mark_rings(state.storage, rings)
    return done


def _part(
    state: TableState,
    order: RowOrder | None,
    group: ClusteringGroup,
    slices: Sequence[FileSlice],
    rings: Mapping[str, HashRing],
) -> Part:
    """Return the function that rewrites a group."""
    merger = state.context.merger
    ring = rings.get(slices[0].partition_path)
    if ring is not None:
        return RewriteBuckets(slices, ring, order, merger)
    return _Rewrite(slices, group.num_output_file_groups or 1, order, merger)


def _order_of(writing: WritePlan, plan: ClusteringPlan) -> RowOrder | None:
    names = ((plan.strategy and plan.strategy.strategy_params) or {}).get(SORT_COLUMNS, "")
    columns = tuple(name.strip() for name in names.split(",") if name.strip())
    return row_order(writing.schema.arrow_with_meta, columns, writing.options.clustering.layout)


@dataclass(frozen=True, slots=True)
class _Rewrite:
    """Writes the rows of *slices*, all of one partition, to *count* new file groups or more."""

    slices: Sequence[FileSlice]
    count: int
    order: RowOrder | None
    merger: RecordMerger | None

    def __call__(self, plan: WritePlan, storage: Storage, token: WriteToken) -> list[WriteStat]:
        target = GroupTarget(storage, plan, token, self.slices[0].partition_path)
        for one in self.slices:
            if one.is_registered:
                refuse_lacking_columns(storage, plan.config, one)
        ratio = plan.options.sizing.log_ratio
        size = sum(one.size - one.log_bytes + int(one.log_bytes * ratio) for one in self.slices)
        count, most = self.count, plan.options.clustering.target_size
        if self.order is None and can_copy(target, self.slices):
            return _copy(CopiedFiles(target, count=count, expected_size=size, target_size=most), self.slices)
        return self._decode(target, ClusteredFiles(target, count=count, expected_size=size, target_size=most))

    def _decode(self, target: GroupTarget, files: ClusteredFiles) -> list[WriteStat]:
        rows = rows_of(target, self.slices, order=self.order, merger=self.merger)
        return _write_parts(files, files.write, rows)


def _copy(files: CopiedFiles, slices: Sequence[FileSlice]) -> list[WriteStat]:
    return _write_parts(files, files.add, slices)


def _write_parts(files: ClusteredFiles | CopiedFiles, add: Callable[[T], None], parts: Iterable[T]) -> list[WriteStat]:
    try:
        for part in parts:
            add(part)
        return files.close()
    except BaseException:
        files.abandon()
        raise


def _check_completion(instant: Instant, metadata: CommitMetadata, current: TableState) -> None:
    """Check under the lock that a clustering may complete.

    Raises:
        WriteConflictError: as for :func:`_refuse_overtaken`.
        ValidationError: a pre-commit validator refuses it, as in Hudi.
    """
    _refuse_overtaken(instant, current)
    if current.options.validation.validators:
        validate(current, instant, metadata)


def _refuse_overtaken(instant: Instant, current: TableState) -> None:
    """Check under the lock that nothing has been added to the file groups of a clustering.

    Raises:
        WriteConflictError: a write has added to one of them.
    """
    if _slices_of(current, instant) is None:
        root = current.storage.root
        raise WriteConflictError(
            f"{root}: {instant} cannot commit: a write has added to its file groups since it was planned; run the "
            "clustering again, which makes a new plan",
            path=root,
        )
