"""Compaction right after a write, when enough delta commits have gathered."""

from __future__ import annotations

from hudiformat.services.compaction import compact
from hudiformat.table.begin import Commit
from hudiformat.table.context import TableContext
from hudiformat.timeline import Action, TableType, Timeline


def compact_inline(context: TableContext) -> list[Commit]:
    """Compact when ``hoodie.compact.inline`` says so and there are ``hoodie.compact.inline.max.delta.commits``.

    Raises:
        HudiFormatError: as for :func:`hudiformat.services.compact`; the write before it is visible all the same.

    Source: BaseHoodieWriteClient.runTableServicesInlineInternal; ScheduleCompactionActionExecutor.needCompact with
    the trigger NUM_COMMITS, Hudi 1.2.0.
    """
    options = context.options.services
    if not options.compact_inline or context.config.table_type is TableType.COPY_ON_WRITE:
        return []
    if _delta_commits(context.timeline()) < options.compact_delta_commits:
        return []
    return compact(context)


def _delta_commits(timeline: Timeline) -> int:
    """The delta commits since the last compaction, or all of them."""
    compactions = [done.time for done in timeline.completed_writes if done.action is Action.COMMIT]
    last = max(compactions, default="")
    return sum(done.action is Action.DELTA_COMMIT and done.time > last for done in timeline.completed_writes)
