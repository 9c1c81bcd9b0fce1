"""Partition TTL: remove from the table the partitions that are older than a number of days.

They are removed as ``delete_partitions`` does: a replace commit names their file groups, and a later clean deletes the
files.

Source: KeepByTimeStrategy, KeepByCreationTimeStrategy, PartitionTTLStrategy, DeletePartitionUtils, Hudi 1.2.0;
spec/services.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone

from hudiformat.errors import CorruptTableError, NameFormatError, StorageError, WriteConflictError
from hudiformat.file_group.partition_metadata import find_metadata_file, read_partition_metadata
from hudiformat.file_group.slices import FileSlice, build_slices, latest_slices
from hudiformat.naming.instants import parse_instant
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.expiry import ExpiryOptions, ExpiryStrategy
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableState
from hudiformat.timeline.table_config import TimelineZone
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.commit.replacing import Replaced
from hudiformat.write.commit.transaction import Committed, attempts


def find_expired_partitions(state: TableState) -> list[str]:
    """Return the paths of the partitions that have expired by now, the oldest first.

    A partition with a pending compaction or clustering is left out until that service has run.

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
        since = _age_begins_at(state.storage, path, latest_slices(build_slices(path, files, state.visibility)), options)
        if since is not None and is_expired(since, now, days=options.days, zone=state.config.timeline_zone):
            found.append((since, path))
    return [path for _, path in sorted(found)[: options.most]]


def expire_partitions(state: TableState, partitions: Sequence[str] | None = None) -> Committed | None:
    """Remove the expired partitions from the table in one commit; return None if there are none.

    *partitions* are what :func:`find_expired_partitions` has returned for *state*.

    Raises:
        UnsupportedFeatureError: the table cannot be written, or its writers do not block each other.
        WriteConflictError: another writer has written to such a partition in the meantime.
        CommitError: the commit did not become visible.
    """
    paths = find_expired_partitions(state) if partitions is None else partitions
    if not paths:
        return None
    for write in attempts(state, Operation.DELETE_PARTITION, in_tasks=False):
        with write:
            write.commit((), replaced=_expired_groups(state.storage, write.plan, paths))
    return write.result


def is_expired(since: str, now: str, *, days: int, zone: TimelineZone) -> bool:
    """Return whether more than *days* days lie between two instants; False if one of them is not a time.

    Hudi multiplies days to milliseconds in 32 bits: with it, 25 to 49 days never pass, and 50 days are seven hours.

    Source: KeepByTimeStrategy.isPartitionExpired, HoodieInstantTimeGenerator.instantTimePlusMillis.
    """
    try:
        return parse_instant(now) > _add_age(parse_instant(since), timedelta(days=days), zone)
    except (NameFormatError, OverflowError):
        return False


def _add_age(moment: datetime, age: timedelta, zone: TimelineZone) -> datetime:
    """Return the wall-clock time that is *age* later; a day on which the clocks change has 23 or 25 hours."""
    if zone is TimelineZone.UTC:
        return moment + age
    return (moment.astimezone(timezone.utc) + age).astimezone().replace(tzinfo=None)


def _age_begins_at(storage: Storage, path: str, slices: Iterable[FileSlice], options: ExpiryOptions) -> str | None:
    """Return the instant from which the age of a partition is counted; None if the partition has no file groups."""
    newest = max((one.base_instant for one in slices), default=None)
    if newest is None or options.strategy is ExpiryStrategy.BY_TIME:
        return newest
    try:
        name = find_metadata_file(entry.name for entry in storage.list(path))
        return None if name is None else read_partition_metadata(storage, path, name).created
    except (StorageError, CorruptTableError):  # it was deleted in the meantime, or is damaged
        return None


def _expired_groups(storage: Storage, plan: WritePlan, partitions: Iterable[str]) -> Replaced:
    """Return the file groups of *partitions* that exist when the write begins and whose partition is still expired.

    Raises:
        WriteConflictError: other writers have written to all of the partitions since they were examined, so that none
            has expired any more, or have removed them.
    """
    options, groups = plan.options.expiry, {}
    for path in partitions:
        slices = list(latest_slices(build_slices(path, plan.files(storage, path), plan.visibility)))
        since = _age_begins_at(storage, path, slices, options)
        zone = plan.config.timeline_zone
        if since is not None and is_expired(since, plan.instant, days=options.days, zone=zone):
            groups[path] = tuple(one.file_id for one in slices)
    if not groups:
        raise WriteConflictError(
            f"{plan.root}: expected expired partitions, found none: other writers have written to "
            f"{', '.join(partitions)} or removed them in the meantime; look for expired partitions again",
            path=plan.root,
        )
    return groups
