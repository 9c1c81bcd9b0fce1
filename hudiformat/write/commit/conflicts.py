"""Decide whether a write may commit after what other writers have committed since it began.

Of two writes that run at the same time, the one that commits second must leave the table as if it had begun after the
first.  The second write conflicts

- if both write to, or remove, the same file group (as in Hudi);
- if one of them overwrites or removes a partition that the other writes to;
- if it has looked up its keys and added those that it did not find, and the other has added keys where it looked.

In the last case only partitions are compared, or with a global index the whole table, because the keys that another
write has added are not known.  With a bucket index, the file group is enough: it depends on the key.  Rules and the
table of all pairs: spec/writing.md.

Source: SimpleConcurrentFileWritesConflictResolutionStrategy and its variant for bucket indexes, Hudi 1.2.0, which know
only the first of these rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from hudiformat.naming.file_names import base_name
from hudiformat.table.options.buckets import BucketEngine
from hudiformat.table.options.values import DuplicatePolicy, IndexType, Operation, WriteOptions
from hudiformat.table.state import TableState
from hudiformat.timeline.archive.archiving import read_archived
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.timeline import Action, Instant, Timeline

Group = tuple[str, str]
"""A partition path and a file id; with a bucket index, the bucket instead of the file id."""

_BUCKET_DIGITS = 8
_NO_COMMIT = (None, "", "null")
_ADDS_NO_KEYS = ("DELETE", "DELETE_PREPPED", "DELETE_PARTITION", "COMPACT", "LOG_COMPACT", "CLUSTER", "INDEX")
"""Operations that add no new keys, even if their statistics count inserts; any other, Hudi's too, may add keys."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a write has done, as far as no other write may do the same at the same time."""

    groups: frozenset[Group]
    rewritten: frozenset[Group]
    """File groups whose base file the write replaces: no compaction may replace them, too."""
    partitions: frozenset[str]
    """Partitions that the write has written to, or removed file groups from."""
    has_new_keys: frozenset[str]
    """Partitions to which the write has added keys that may be new."""
    overwrites: bool
    """Whether the write replaces all rows of its partitions."""
    overwrites_table: bool

    @classmethod
    def of(cls, metadata: CommitMetadata, *, by_bucket: bool) -> Claim:
        """Return the claim of a write that commits, or has committed, with *metadata*."""
        every, name = metadata.write_stats, metadata.operation_type
        replaced = _replaced(metadata, by_bucket=by_bucket)
        return cls(
            groups=frozenset(_group(stat, by_bucket=by_bucket) for stat in every) | replaced,
            rewritten=frozenset(_group(stat, by_bucket=by_bucket) for stat in every if _replaces_base(stat)),
            partitions=frozenset([*(stat.partition_path or "" for stat in every), *(path for path, _ in replaced)]),
            has_new_keys=frozenset(
                stat.partition_path or "" for stat in every if name not in _ADDS_NO_KEYS and (stat.num_inserts or 0) > 0
            ),
            overwrites=name in (Operation.INSERT_OVERWRITE.value, Operation.DELETE_PARTITION.value),
            overwrites_table=name == Operation.INSERT_OVERWRITE_TABLE.value,
        )

    def overwritten_of(self, other: Claim) -> frozenset[str]:
        """Return the partitions of *other* whose rows this write replaces."""
        if self.overwrites_table:
            return other.partitions
        return self.partitions & other.partitions if self.overwrites else frozenset()


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """How a write looks up its keys before it adds them."""

    before_adding: bool
    """False for an insert that does not look up its keys, and may add a key for a second time."""
    everywhere: bool = False
    by_bucket: bool = False

    @classmethod
    def of(cls, operation: Operation, options: WriteOptions) -> KeyLookup:
        """Return how a write with *options* looks up its keys."""
        checks = operation is Operation.INSERT and options.insert_duplicates is not DuplicatePolicy.NONE
        return cls(
            before_adding=operation is Operation.UPSERT or checks,
            everywhere=options.is_global,
            by_bucket=options.index_type is IndexType.BUCKET and options.bucket_engine is BucketEngine.SIMPLE,
        )


def find_conflict(
    state: TableState, operation: Operation, own: Instant, metadata: CommitMetadata, *, seen: Timeline
) -> str | None:
    """Return why the write *own* cannot commit with *metadata*; None if it can.

    *state* was read under the table's lock, and *seen* is the timeline when the write began.

    Raises:
        CorruptTableError: the archived timeline is damaged.
    """
    if (archived := _archived_since(state, seen)) is not None:
        return f"{archived} was completed and archived since this write began, so its files can no longer be compared"
    known = frozenset(seen.completed)
    look_up = KeyLookup.of(operation, state.options)
    claim = Claim.of(metadata, by_bucket=look_up.by_bucket)
    for done in state.timeline.completed_writes:
        if done not in known:
            other = state.metadata(done)
            # In table version 6 log files belong to the slice that was the newest when the write began.
            is_behind = state.logs_name_slices and done.time > own.time
            is_compaction = done.action is Action.COMMIT and other.operation_type == "COMPACT" and not is_behind
            reason = conflict_with_commit(claim, look_up, done, other, is_compaction=is_compaction)
            if reason is not None:
                return reason
    for instant, groups in groupby(state.pending_groups, key=lambda group: group.instant):
        if instant.action is not Action.LOG_COMPACTION and instant.time != own.time:
            planned = [(one.partition_path, _group_id(one.file_id, by_bucket=look_up.by_bucket)) for one in groups]
            rewrites = instant.action is not Action.COMPACTION or (state.logs_name_slices and instant.time > own.time)
            if (reason := conflict_with_plan(claim, instant, planned, rewrites=rewrites)) is not None:
                return reason
    return None


def _archived_since(state: TableState, seen: Timeline) -> Instant | None:
    """Return a write that was pending in *seen*, and has been completed and archived since; None if there is none.

    Archiving goes up to the newest completed write before the first pending one.  A write that began before that one
    may be completed after it, and archived while this write goes on.
    """
    first = state.timeline.first_active or ""
    left = {one.time for one in state.timeline.instants}
    vanished = {one.time for one in seen.pending if one.time not in left and one.time < first}
    archived = read_archived(state.storage, state.config, contents=False) if vanished else ()
    return next((one.instant for one in archived if one.instant.time in vanished and one.instant.is_completed), None)


def conflict_with_commit(
    claim: Claim, look_up: KeyLookup, other: Instant, metadata: CommitMetadata, *, is_compaction: bool
) -> str | None:
    """Return why a write with *claim* cannot commit after the completed *other*; None if it can."""
    theirs = Claim.of(metadata, by_bucket=look_up.by_bucket)
    shared = theirs.groups & (claim.rewritten if is_compaction else claim.groups)
    if shared:
        return _group_conflict(other, shared)
    if is_compaction:
        return None
    return _overwrite_conflict(claim, theirs, other) or _insert_conflict(claim, look_up, theirs, other)


def _overwrite_conflict(claim: Claim, theirs: Claim, other: Instant) -> str | None:
    if shared := claim.overwritten_of(theirs):
        return f"this write overwrites or removes the partition {min(shared)!r}, which {other} has written to"
    if shared := theirs.overwritten_of(claim):
        return f"{other} has overwritten or removed the partition {min(shared)!r}, which this write has written to"
    return None


def _insert_conflict(claim: Claim, look_up: KeyLookup, theirs: Claim, other: Instant) -> str | None:
    if not look_up.before_adding or look_up.by_bucket or not claim.has_new_keys:
        return None
    if look_up.everywhere and theirs.has_new_keys:
        return f"both this write and {other} have put new keys into the table, whose index is global"
    if both := claim.has_new_keys & theirs.has_new_keys:
        return f"both this write and {other} have put new keys into the partition {min(both)!r}"
    return None


def conflict_with_plan(claim: Claim, other: Instant, groups: Iterable[Group], *, rewrites: bool) -> str | None:
    """Return why a write with *claim* cannot commit while *other*, which is going to rewrite *groups*, is pending.

    A compaction (*rewrites* is false) blocks only a write that replaces base files itself; in table version 6 it blocks
    every write that had begun when the compaction was planned.
    """
    shared = frozenset(groups) & (claim.groups if rewrites else claim.rewritten)
    return _group_conflict(other, shared) if shared else None


def _group_conflict(other: Instant, shared: Iterable[Group]) -> str:
    partition, file_id = min(shared)
    return f"{other} changes the file group {file_id} in the partition {partition!r} as well"


def _group(stat: WriteStat, *, by_bucket: bool) -> Group:
    return stat.partition_path or "", _group_id(stat.file_id or "", by_bucket=by_bucket)


def _group_id(file_id: str, *, by_bucket: bool) -> str:
    return file_id[:_BUCKET_DIGITS] if by_bucket else file_id


def _replaced(metadata: CommitMetadata, *, by_bucket: bool) -> frozenset[Group]:
    replaced: Mapping[str, tuple[str, ...]] = metadata.partition_to_replace_file_ids or {}
    return frozenset((path, _group_id(name, by_bucket=by_bucket)) for path, names in replaced.items() for name in names)


def _replaces_base(stat: WriteStat) -> bool:
    return not base_name(stat.path or "").startswith(".") and stat.prev_commit not in _NO_COMMIT
