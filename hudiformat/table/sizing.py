"""Where the new rows of a write go: a table's state handed to the rules of sizing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from hudiformat.sizing import (
    Commits,
    FlinkAssigner,
    GroupVerdict,
    Kind,
    PartitionPlan,
    Pending,
    Profile,
    RecordSize,
    SizingOptions,
    flink_record_size,
    flink_small_files,
    plan_in_order,
    plan_partition,
    spark_record_size,
    spark_small_files,
)
from hudiformat.table.context import TableContext
from hudiformat.table.options import LOG_SEEING_INDEX_TYPES
from hudiformat.timeline import (
    Action,
    ClusteringPlan,
    Instant,
    RequestedReplaceMetadata,
    State,
    TableType,
    Timeline,
    read_compaction_plan,
    read_content,
    read_metadata,
)
from hudiformat.view import FileSlice

Groups = frozenset[tuple[str, str]]
"""File groups as (partition path, file id)."""


@dataclass(frozen=True, slots=True)
class SizingProfile:
    """What sizing has to know of a table besides its file slices.  It travels to other processes: plain values only."""

    kind: Kind
    engine: str
    options: SizingOptions
    record_size: RecordSize
    in_compaction: Groups = frozenset()
    in_clustering: Groups = frozenset()

    def small_files(self, partition_path: str, slices: Sequence[FileSlice]) -> tuple[GroupVerdict, ...]:
        """The file groups of a partition in the order in which they are filled; *slices* are the newest of each."""
        if self.engine == "flink":
            return flink_small_files(slices, self.kind, self.options)
        pending = Pending(_ids_in(self.in_compaction, partition_path), _ids_in(self.in_clustering, partition_path))
        return spark_small_files(slices, self.kind, self.options, pending)

    def plan(self, partition_path: str, inserts: int, groups: Sequence[GroupVerdict]) -> PartitionPlan:
        """Where *inserts* new rows of a partition go; *groups* as :meth:`small_files` gives them."""
        if self.engine == "flink":
            numbers = count()
            profile = Profile(lambda _path: groups, self.record_size)
            assigner = FlinkAssigner(profile, self.options, lambda: f"new {next(numbers)}")
            return plan_in_order(partition_path, inserts, assigner)
        return plan_partition(partition_path, inserts, groups, self.record_size, self.options)


def sizing_profile(context: TableContext) -> SizingProfile:
    """The profile of a table as it is now; commits are read as far as the record size asks for them.

    Raises:
        CorruptTableError: a commit or a pending plan that is needed is damaged.
    """
    timeline = context.timeline()
    options = context.options
    commits = _newest_first(context, timeline)
    estimate = flink_record_size if options.sizing_engine == "flink" else spark_record_size
    return SizingProfile(
        kind=kind_of(context),
        engine=options.sizing_engine,
        options=options.sizing,
        record_size=estimate(commits, options.sizing),
        in_compaction=frozenset(_in_compaction(context, timeline)),
        in_clustering=frozenset(_in_clustering(context, timeline)),
    )


def kind_of(context: TableContext) -> Kind:
    """What decides where new rows of a table may go."""
    if context.config.table_type is TableType.COPY_ON_WRITE:
        return Kind.COW
    return Kind.MOR if context.options.index_type in LOG_SEEING_INDEX_TYPES else Kind.MOR_BLIND


def _newest_first(context: TableContext, timeline: Timeline) -> Commits:
    for instant in reversed(timeline.completed_writes):
        yield instant, read_metadata(context.storage, context.config, instant)


def _in_compaction(context: TableContext, timeline: Timeline) -> Iterator[tuple[str, str]]:
    for pending in timeline.pending:
        if pending.action is Action.COMPACTION:
            plan = read_compaction_plan(context.storage, context.config, pending)
            for operation in plan.operations or ():
                yield operation.partition_path or "", operation.file_id or ""


def _in_clustering(context: TableContext, timeline: Timeline) -> Iterator[tuple[str, str]]:
    for plan in _clustering_plans(context, timeline):
        for group in plan.input_groups or ():
            for part in group.slices or ():
                yield part.partition_path or "", part.file_id or ""


def _clustering_plans(context: TableContext, timeline: Timeline) -> Iterator[ClusteringPlan]:
    """The plans of pending clusterings; a replace commit that is none, an insert overwrite say, has no plan."""
    for pending in timeline.pending:
        if pending.action.completed_as is Action.REPLACE_COMMIT:
            requested = Instant(pending.time, pending.action, State.REQUESTED)
            content = read_content(context.storage, context.config, requested)
            if isinstance(content, RequestedReplaceMetadata) and content.clustering_plan is not None:
                yield content.clustering_plan


def _ids_in(groups: Iterable[tuple[str, str]], partition_path: str) -> frozenset[str]:
    return frozenset(file_id for path, file_id in groups if path == partition_path)
