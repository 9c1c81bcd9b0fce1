"""Partition TTL: partitions that are older than a number of days are removed from the table.

They go as in ``delete_partitions``: a replace commit names their file groups, and a clean deletes the files later.
Source: KeepByTimeStrategy, KeepByCreationTimeStrategy, PartitionTTLStrategy, DeletePartitionUtils, Hudi 1.2.0;
spec/services.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone

from hudiformat.errors import NameFormatError, StorageError, WriteConflictError
from hudiformat.file_group.partitions import PARTITION_METADATA_FILE
from hudiformat.file_group.slices import FileSlice, build_slices, latest_slices
from hudiformat.naming.file_names import join_path
from hudiformat.naming.instants import parse_instant
from hudiformat.storage.protocol import Storage
from hudiformat.table.listing import list_files
from hudiformat.table.options.expiry import ExpiryOptions, ExpiryStrategy
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableState
from hudiformat.timeline.table_config import TimelineZone
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.commit.transaction import Commit, Replaced, write_and_commit

_CREATED = re.compile(rb"^commitTime=([0-9]+)", re.MULTILINE)


def expired_partitions(state: TableState) -> list[str]:
    """The partition paths that have expired by now, those of the oldest partitions first.

    A partition that a pending compaction or clustering names is left until that has run.

    Source: PartitionTTLStrategy.getExpiredPartitionPaths.
    """
    options = state.options.expiry
    if options.days <= 0 or not state.config.partition_fields or not state.timeline.completed:
        return []
    now, busy = state.next_instant, {path for path, _ in state.busy_groups}
    found = []
    for path, files in state.files():
        if path in busy or (options.selected and path not in options.selected):
            continue
        since = _since(state.storage, path, latest_slices(build_slices(path, files, state.visibility)), options)
        if since is not None and is_expired(since, now, days=options.days, zone=state.config.timeline_zone):
            found.append((since, path))
    return [path for _, path in sorted(found)[: options.most]]


def expire_partitions(state: TableState, partitions: Sequence[str] | None = None) -> tuple[Commit, TableState] | None:
    """Remove the expired partitions from the table, in one commit; None where there are none.

    *partitions* are what :func:`expired_partitions` has found in *state*.

    Raises:
        UnsupportedFeatureError: the table cannot be written, or writers do not block each other.
        WriteConflictError: another writer has written to such a partition meanwhile.
        CommitError: the commit did not become visible.
    """
    paths = expired_partitions(state) if partitions is None else partitions
    if not paths:
        return None
    return write_and_commit(
        state.context,
        Operation.DELETE_PARTITION,
        lambda _plan: (),
        seen=state,
        in_tasks=False,
        replace=lambda plan, _stats: _groups(state.storage, plan, paths),
    )


def is_expired(since: str, now: str, *, days: int, zone: TimelineZone) -> bool:
    """Whether more than *days* days have passed between two instants; never after an instant that is no time.

    Hudi multiplies days to milliseconds in 32 bits: there 25 to 49 days never pass, and 50 days are seven hours.

    Source: KeepByTimeStrategy.isPartitionExpired, HoodieInstantTimeGenerator.instantTimePlusMillis.
    """
    try:
        return parse_instant(now) > _plus(parse_instant(since), timedelta(days=days), zone)
    except (NameFormatError, OverflowError):
        return False


def _plus(moment: datetime, age: timedelta, zone: TimelineZone) -> datetime:
    """The wall-clock time after *age*; a day on which clocks change has 23 or 25 hours."""
    if zone is TimelineZone.UTC:
        return moment + age
    return (moment.astimezone(timezone.utc) + age).astimezone().replace(tzinfo=None)


def _since(storage: Storage, path: str, slices: Iterable[FileSlice], options: ExpiryOptions) -> str | None:
    """The instant from which the age of a partition is counted; None where it has no file groups."""
    newest = max((one.base_instant for one in slices), default=None)
    if newest is None or options.strategy is ExpiryStrategy.BY_TIME:
        return newest
    try:
        created = _CREATED.search(storage.read(join_path(path, PARTITION_METADATA_FILE)))
    except StorageError:  # it has one in another format, or has been deleted meanwhile
        return None
    return None if created is None else created[1].decode()


def _groups(storage: Storage, plan: WritePlan, partitions: Iterable[str]) -> Replaced:
    """The file groups of *partitions* that are there as the write begins.

    Raises:
        WriteConflictError: others have written to one of the partitions since it was looked at, so that its time has
            not come, or have removed all.
    """
    options, groups = plan.options.expiry, {}
    for path in partitions:
        [(_, files)] = list_files(storage, path)
        slices = list(latest_slices(build_slices(path, files, plan.visibility)))
        since = _since(storage, path, slices, options)
        zone = plan.config.timeline_zone
        if since is not None and is_expired(since, plan.instant, days=options.days, zone=zone):
            groups[path] = tuple(one.file_id for one in slices)
    if not groups:
        raise WriteConflictError(
            f"{plan.root}: nothing has expired any more: other writers have written to {', '.join(partitions)} or "
            "removed it meanwhile",
            path=plan.root,
        )
    return groups
