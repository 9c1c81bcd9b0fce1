"""The services of a table's metadata table: compaction, cleaning and archiving, so that reading it stays cheap.

Without them every write would leave one more log file to read.  Hudi runs them in the same way, before its writes.

Source: HoodieBackedTableMetadataWriter.performTableServices, HoodieMetadataWriteUtils, Hudi 1.2.0.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from hudiformat.file_group.slices import FileSlice
from hudiformat.metadata_table.changes import IndexKind
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.metadata_table.merging import merge_records
from hudiformat.metadata_table.partition import OpenMetadata
from hudiformat.metadata_table.updates import encode_base_file
from hudiformat.naming.file_names import BaseFileName, WriteToken, parse_data_file
from hudiformat.services.cleaning import clean
from hudiformat.services.execution import compaction_operation, compaction_plan_of, slice_of
from hudiformat.table.options.values import CleanPolicy, WriteOptions
from hudiformat.table.state import TableState
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.contents import complete_instant, create_requested, remove_pending, transition_inflight
from hudiformat.timeline.plans import CompactionPlan
from hudiformat.timeline.timeline import Action, Instant, State, Timeline
from hudiformat.write.commit.changing import change_timeline
from hudiformat.write.commit.files import base_file_stat, delete_files
from hudiformat.write.metadata.metadata_table import MetadataTable

_FIRST = "00000000000000"
"""The prefix of the instants that set up the metadata table."""
_KEPT_VERSIONS = 2
_COMPACTION_SUFFIX = "001"
_CLEAN_AFTER = 3
"""The commits after a compaction until the files that it replaced are deleted: a reader may be reading them."""


def serve_metadata_table(seen: TableState) -> bool:
    """Clean, compact and archive the metadata table if that is due, and return whether anything was.

    *seen* is the state of the table, just read; it has a metadata table.
    """
    options = seen.options.services
    if not may_serve_metadata_table(seen):
        return False
    with change_timeline(seen.context, seen) as state:
        if FILES not in state.config.metadata_partitions:  # the metadata table has been dropped in the meantime
            return True
        table = MetadataTable.of(state)
        if _clean(table):
            table = table.refresh()
        if _is_due(table):
            table = _compact(table)
        if len(table.own.timeline.completed_writes) > options.archive_max_commits + 1:
            limits = ArchiveLimits(
                max_commits=options.archive_max_commits + 1,
                min_commits=options.archive_min_commits + 1,
                compaction_delta_commits=options.metadata_delta_commits,
                # A pending instant is recorded later at its own, older time, and the timeline then begins there:
                # instants after it that were archived would be missing from the timeline, and count as unfinished.
                retain_from=min((one.time for one in table.outer.timeline.pending), default=None),
            )
            archive_instants(table.own.storage, table.own.config, limits)
        return True


def may_serve_metadata_table(seen: TableState) -> bool:
    """Return whether a service of the metadata table may be due, by looking only at the timelines."""
    table = MetadataTable.of(seen)
    commits, options = len(table.own.timeline.completed_writes), table.outer.options.services
    return _may_clean(table.own.timeline) or _is_due(table) or commits > options.archive_max_commits + 1


def _may_clean(own: Timeline) -> bool:
    """Return whether there may be more slices than are kept: a compaction has added some since the last clean."""
    since = _since_compaction(own)
    if since is None or len(since) < _CLEAN_AFTER:
        return False
    if any(one.action is Action.CLEAN for one in own.pending):
        return True
    cleaned = max((one.time for one in own.completed if one.action is Action.CLEAN), default="")
    newer = [one for one in own.completed if one.action is Action.COMMIT and one.time > cleaned]
    has_more = bool(cleaned) or not (own.first_active or "").startswith(_FIRST)  # earlier compactions may be archived
    return len(newer) >= (1 if has_more else _KEPT_VERSIONS)


def _clean(table: MetadataTable) -> bool:
    if not _may_clean(table.own.timeline):
        return False
    services = replace(WriteOptions().services, clean_policy=CleanPolicy.BY_VERSIONS, clean_versions=_KEPT_VERSIONS)
    return bool(clean(replace(table.own.context, options=WriteOptions(services=services))))


def _since_compaction(own: Timeline) -> list[Instant] | None:
    """Return the instants that were completed after the newest compaction began; None if there was no compaction."""
    newest = max((one.time for one in own.completed if one.action is Action.COMMIT), default=None)
    if newest is None:
        return None
    return [one for one in own.completed if (one.completion_time or one.time) > newest and one.time != newest]


def _is_due(table: MetadataTable) -> bool:
    """Return whether there are enough delta commits, all valid by now, and no other writer is compacting already."""
    own, outer = table.own.timeline, table.outer
    since = _since_compaction(own)
    deltas = [one for one in (own.completed if since is None else since) if one.action is Action.DELTA_COMMIT]
    recorded = {one.time for one in own.completed}
    # A base file is valid as a whole: what a pending instant has recorded must not be in it.
    is_early = any(one.time in recorded for one in outer.timeline.pending)
    if table.own.logs_name_slices:
        is_early = any(one.time <= _newest_delta(own) for one in outer.timeline.pending)
    is_planned = any(one.action in (Action.COMPACTION, Action.LOG_COMPACTION) for one in own.pending)
    if is_early or (is_planned and outer.options.concurrency.has_other_writers):
        return False
    if is_planned and table.own.logs_name_slices:
        return True
    return len(deltas) >= outer.options.services.metadata_delta_commits


def _newest_delta(own: Timeline) -> str:
    return max((one.time for one in own.completed if one.action is Action.DELTA_COMMIT), default="")


def _compact(table: MetadataTable) -> MetadataTable:
    table = _without_unfinished(table)
    storage, config, schema = table.own.storage, table.own.config, table.own.schema
    kinds = {kind.name: kind for kind in table.kinds()}
    planned = [one for one in table.own.timeline.pending if one.action is Action.COMPACTION]
    if planned:
        begun, slices = _resume(table, planned[0])
        slices = [one for one in slices if one.partition_path in kinds]
    else:
        slices = [one for name in kinds for one in table.own.slices(name) if one.log_files]
        plan = CompactionPlan(
            tuple(compaction_operation(storage, one) for one in slices), missing_schedule_partitions=()
        )
        begun = create_requested(storage, config, _time(table), Action.COMPACTION, plan)
    if begun.state is State.REQUESTED:
        begun = transition_inflight(storage, config, begun)
    opened = table.open_existing()
    stats: defaultdict[str, tuple[WriteStat, ...]] = defaultdict(tuple)
    for one in slices:
        stat = _merge(table, opened, one, kinds[one.partition_path], begun.time)
        stats[one.partition_path] += (stat,)
    metadata = CommitMetadata("COMPACT", stats, {"schema": schema.avro}, compacted=True)
    complete_instant(storage, config, begun, metadata, completion_time=table.refresh().next_instant)
    return table.refresh()


def _time(table: MetadataTable) -> str:
    """Return the instant of a compaction; in version 6 right after the newest delta commit, as it has all older ones.

    Source: HoodieBackedTableMetadataWriterTableVersionSix.createCompactionTimestamp.
    """
    if table.own.logs_name_slices:
        return f"{_newest_delta(table.own.timeline)}{_COMPACTION_SUFFIX}"
    return table.next_instant


def _resume(table: MetadataTable, planned: Instant) -> tuple[Instant, list[FileSlice]]:
    """Return an interrupted compaction of version 6, and its slices, after deleting the files that it has written.

    It cannot be removed from the timeline, because log files that were written since are named by it.
    """
    plan = compaction_plan_of(table.own, planned)
    slices = [slice_of(operation) for operation in plan.operations or ()]
    for one in slices:
        for file in table.own.storage.list(one.partition_path):
            name = parse_data_file(file.name)
            if isinstance(name, BaseFileName) and (name.file_id, name.instant) == (one.file_id, planned.time):
                table.own.storage.delete(f"{one.partition_path}/{file.name}")
    return planned, slices


def _merge(table: MetadataTable, opened: OpenMetadata, one: FileSlice, kind: IndexKind, time: str) -> WriteStat:
    """Write the next base file of a file group; its entries are in memory."""
    schema = table.own.schema.avro_with_meta
    keys, values = merge_records(opened.parts_of(one), kind, schema)
    content = encode_base_file(keys, values, schema=schema, partition=kind.name)
    path = f"{kind.name}/{BaseFileName(one.file_id, str(WriteToken(0, 0, 0)), time, 'hfile')}"
    table.own.storage.create(path, content)
    return base_file_stat(partition_path=kind.name, file_id=one.file_id, path=path, rows=len(keys), size=len(content))


def _without_unfinished(table: MetadataTable) -> MetadataTable:
    """Remove the compactions of writers that died from the timeline: all that they would have merged still exists."""
    unfinished = [
        pending
        for pending in table.own.timeline.pending
        if pending.action is Action.LOG_COMPACTION
        or (pending.action is Action.COMPACTION and not table.own.logs_name_slices)
    ]
    for pending in unfinished:
        delete_files(table.own.storage, table.own.config, pending.time)
        remove_pending(table.own.storage, table.own.config, pending)
    return table.refresh() if unfinished else table
