"""The services of a table's metadata table: compaction, cleaning and archiving, so that reading it stays cheap.

Without them every write would leave one more log file to read; Hudi runs them in the same way, before its writes.
Source: HoodieBackedTableMetadataWriter.performTableServices, HoodieMetadataWriteUtils, Hudi 1.2.0.
"""

from __future__ import annotations

from dataclasses import replace

from hudiformat.metadata import FILES, encode_base_file, listing
from hudiformat.naming import BaseFileName, WriteToken
from hudiformat.options.enums import CleanPolicy
from hudiformat.options.values import WriteOptions
from hudiformat.services.cleaning import clean
from hudiformat.services.compaction import compaction_operation
from hudiformat.table.state import TableContext
from hudiformat.timeline import (
    Action,
    ArchiveLimits,
    CommitMetadata,
    CompactionPlan,
    Instant,
    Timeline,
    archive,
    complete,
    create_requested,
    load_timeline,
    remove_pending,
    transition_inflight,
)
from hudiformat.transaction.files import base_file_stat, take_files_away
from hudiformat.transaction.metadata_table import FILE_ID, MetadataTable
from hudiformat.transaction.publishing import exclusive
from hudiformat.view import FileSlice, Visibility, build_slices, latest_slices

_KEPT_VERSIONS = 2
_CLEAN_AFTER = 3
"""Commits after which a compaction is old enough that what it replaced goes: a reader may be at it before."""


def serve_metadata_table(context: TableContext) -> None:
    """Clean, compact and archive the metadata table where that is due; nothing where there is none."""
    table = MetadataTable.of(context.storage, context.clock)
    if table is None:
        return
    options = context.options.services
    with exclusive(context):
        _clean(table)
        if _is_due(context, table):
            _compact(context, table)
        if len(table.timeline().completed_writes) > options.archive_max_commits + 1:
            limits = ArchiveLimits(
                max_commits=options.archive_max_commits + 1,
                min_commits=options.archive_min_commits + 1,
                compaction_delta_commits=options.metadata_delta_commits,
            )
            archive(table.storage, table.config, limits)


def _clean(table: MetadataTable) -> None:
    since = _since_compaction(table.timeline())
    if since is not None and len(since) >= _CLEAN_AFTER:
        services = replace(WriteOptions().services, clean_policy=CleanPolicy.BY_VERSIONS, clean_versions=_KEPT_VERSIONS)
        clean(TableContext(table.storage, table.config, WriteOptions(services=services), table.clock))


def _since_compaction(own: Timeline) -> list[Instant] | None:
    """What was completed after the newest compaction had begun; None where there was none."""
    newest = max((one.time for one in own.completed if one.action is Action.COMMIT), default=None)
    if newest is None:
        return None
    return [one for one in own.completed if (one.completion_time or one.time) > newest and one.time != newest]


def _is_due(context: TableContext, table: MetadataTable) -> bool:
    """Whether there are enough delta commits, all of which count by now, and nobody is at it already."""
    own = table.timeline()
    since = _since_compaction(own)
    deltas = [one for one in (own.completed if since is None else since) if one.action is Action.DELTA_COMMIT]
    told = {one.time for one in own.completed}
    # A base file counts as a whole: what a pending instant has said must not be in it.
    uncounted = any(one.time in told for one in context.timeline().pending)
    planned = any(one.action in (Action.COMPACTION, Action.LOG_COMPACTION) for one in own.pending)
    if uncounted or (planned and context.options.concurrency.has_other_writers):
        return False
    return len(deltas) >= context.options.services.metadata_delta_commits


def _compact(context: TableContext, table: MetadataTable) -> None:
    storage, config, schema = table.storage, table.config, table.schema()
    assert schema is not None  # noqa: S101 - what has delta commits has a schema
    _take_unfinished_away(table)
    plan = CompactionPlan((compaction_operation(_newest_slice(table)),), missing_schedule_partitions=())
    begun = create_requested(storage, config, table.next_instant(), Action.COMPACTION, plan)
    begun = transition_inflight(storage, config, begun)
    records = listing(context.storage, context.config, context.timeline()).records()
    content = encode_base_file(records, schema=schema.avro_with_meta)
    path = f"{FILES}/{BaseFileName(FILE_ID, str(WriteToken(0, 0, 0)), begun.time, 'hfile')}"
    storage.create(path, content)
    stat = base_file_stat(partition_path=FILES, file_id=FILE_ID, path=path, rows=len(records), size=len(content))
    metadata = CommitMetadata("COMPACT", {FILES: (stat,)}, {"schema": schema.avro}, compacted=True)
    complete(storage, config, begun, metadata, completion_time=table.next_instant())


def _newest_slice(table: MetadataTable) -> FileSlice:
    visibility = Visibility.of(load_timeline(table.storage, table.config))
    slices = latest_slices(build_slices(FILES, table.storage.list(FILES), visibility))
    return next(found for found in slices if found.file_id == FILE_ID)


def _take_unfinished_away(table: MetadataTable) -> None:
    """Unplan the compactions of writers that died: all that they would have merged is still there."""
    for pending in table.timeline().pending:
        if pending.action in (Action.COMPACTION, Action.LOG_COMPACTION):
            take_files_away(table.storage, table.config, pending.time)
            remove_pending(table.storage, table.config, pending)
