"""What sizing has to know of a table, read from its timeline."""

from __future__ import annotations

from collections.abc import Iterator

from hudiformat.sizing import Commits, Kind, flink_record_size, spark_record_size
from hudiformat.table.context import TableContext
from hudiformat.table.options import LOG_SEEING_INDEX_TYPES
from hudiformat.table.sizing import Groups, SizingProfile
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
        in_compaction=frozenset(groups_being_compacted(context, timeline)),
        in_clustering=groups_in_clustering(context),
    )


def kind_of(context: TableContext) -> Kind:
    """What decides where new rows of a table may go."""
    if context.config.table_type is TableType.COPY_ON_WRITE:
        return Kind.COW
    return Kind.MOR if context.options.index_type in LOG_SEEING_INDEX_TYPES else Kind.MOR_BLIND


def _newest_first(context: TableContext, timeline: Timeline) -> Commits:
    for instant in reversed(timeline.completed_writes):
        yield instant, read_metadata(context.storage, context.config, instant)


def groups_being_compacted(context: TableContext, timeline: Timeline) -> dict[tuple[str, str], str]:
    """The file groups of pending compactions, by partition path and file id, and the compactions' instants."""
    return {
        (operation.partition_path or "", operation.file_id or ""): pending.time
        for pending in timeline.pending
        if pending.action is Action.COMPACTION
        for operation in read_compaction_plan(context.storage, context.config, pending).operations or ()
    }


def groups_in_clustering(context: TableContext) -> Groups:
    """The file groups that a pending clustering is going to replace.

    Source: ClusteringUtils.getAllFileGroupsInPendingClusteringPlans.
    """
    return frozenset(
        (part.partition_path or "", part.file_id or "")
        for plan in _clustering_plans(context, context.timeline())
        for group in plan.input_groups or ()
        for part in group.slices or ()
    )


def _clustering_plans(context: TableContext, timeline: Timeline) -> Iterator[ClusteringPlan]:
    """The plans of pending clusterings; a replace commit that is none, an insert overwrite say, has no plan."""
    for pending in timeline.pending:
        if pending.action.completed_as is Action.REPLACE_COMMIT:
            requested = Instant(pending.time, pending.action, State.REQUESTED)
            content = read_content(context.storage, context.config, requested)
            if isinstance(content, RequestedReplaceMetadata) and content.clustering_plan is not None:
                yield content.clustering_plan
