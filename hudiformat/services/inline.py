"""What follows a write by itself: compaction, cleaning and archiving, as far as the options ask for them.

Source: BaseHoodieWriteClient.postCommit, runTableServicesInline, Hudi 1.2.0.
"""

from __future__ import annotations

import warnings

from hudiformat.errors import HudiFormatError, HudiFormatWarning
from hudiformat.services.cleaning import clean
from hudiformat.services.compaction import compact
from hudiformat.services.metadata_services import serve_metadata_table
from hudiformat.table.state import TableContext
from hudiformat.timeline import Action, ArchiveLimits, TableType, Timeline, archive
from hudiformat.transaction.publishing import exclusive


def serve_inline(context: TableContext) -> None:
    """Run the services that are due after a write.

    The write is committed by then: what fails here is a warning, and is tried again after the next write.
    """
    try:
        _serve(context)
    except HudiFormatError as error:
        message = f"{context.storage.root}: the write is committed, but a service after it failed: {error}"
        warnings.warn(message, HudiFormatWarning, stacklevel=3)


def _serve(context: TableContext) -> None:
    options = context.options.services
    is_mor = context.config.table_type is TableType.MERGE_ON_READ
    if options.compact_inline and is_mor and _waiting(context.timeline()) >= options.compact_delta_commits:
        compact(context)
    if options.clean_automatic:
        clean(context)
    serve_metadata_table(context)
    if options.archive_automatic and len(context.timeline().completed_writes) > options.archive_max_commits:
        limits = ArchiveLimits(
            max_commits=options.archive_max_commits,
            min_commits=options.archive_min_commits,
            compaction_delta_commits=options.compact_delta_commits,
        )
        with exclusive(context):
            archive(context.storage, context.config, limits)


def _waiting(timeline: Timeline) -> int:
    """Delta commits that were completed after the newest compaction had begun.

    Source: CompactionUtils.getCompletedDeltaCommitsSinceLatestCompaction.
    """
    compactions = [done.time for done in timeline.completed if done.action is Action.COMMIT]
    newest = max(compactions, default="")
    deltas = (done for done in timeline.completed if done.action is Action.DELTA_COMMIT)
    return sum((done.completion_time or done.time) > newest for done in deltas)
