"""Whether a write may commit after what other writers have done since it began.

Two writes conflict when they write to one file group.  Hudi stops there; here two upserts conflict as well when both
have put new keys into one partition and it is not known that the keys differ, for they could leave a key twice.
Source: SimpleConcurrentFileWritesConflictResolutionStrategy and the variant for bucket indexes, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from hudiformat.naming import base_name
from hudiformat.options import IndexType, Operation
from hudiformat.table import TableState
from hudiformat.timeline import Action, CommitMetadata, Instant, WriteStat

Group = tuple[str, str]
"""A partition path and a file id; with a bucket index, the bucket instead of the file id."""

_BUCKET_DIGITS = 8
_NO_COMMIT = (None, "", "null")


@dataclass(frozen=True, slots=True)
class Claim:
    """What a write has to itself."""

    operation: Operation
    groups: frozenset[Group]
    rewritten: frozenset[Group]
    """Groups whose base file it replaces: no compaction may do the same."""
    grown: frozenset[str]
    """Partitions into which it has put new keys."""

    @classmethod
    def of(cls, operation: Operation, metadata: CommitMetadata, *, by_bucket: bool) -> Claim:
        """The claim of a write that is about to commit with this metadata."""
        every = metadata.write_stats
        return cls(
            operation=operation,
            groups=frozenset(_group(stat, by_bucket=by_bucket) for stat in every)
            | _replaced(metadata, by_bucket=by_bucket),
            rewritten=frozenset(_group(stat, by_bucket=by_bucket) for stat in every if _replaces_base(stat)),
            grown=frozenset() if by_bucket else frozenset(stat.partition_path or "" for stat in every if _adds(stat)),
        )


def conflict_of(
    state: TableState, operation: Operation, own: Instant, metadata: CommitMetadata, *, seen: Collection[Instant]
) -> str | None:
    """Why the write *own* cannot commit with *metadata*; None when it can.

    *state* was read under the table's lock, *seen* are the instants that were completed when the write began.
    """
    by_bucket = state.options.index_type is IndexType.BUCKET
    claim = Claim.of(operation, metadata, by_bucket=by_bucket)
    for done in state.timeline.completed_writes:
        if done not in seen:
            other = state.metadata(done)
            # In table version 6 log files belong to the slice that was the newest when the write began.
            is_behind = state.logs_name_slices and done.time > own.time
            is_compaction = done.action is Action.COMMIT and other.operation_type == "COMPACT" and not is_behind
            reason = conflict_with_commit(claim, done, other, is_compaction=is_compaction, by_bucket=by_bucket)
            if reason is not None:
                return reason
    for instant, groups in groupby(state.pending_groups, key=lambda group: group.instant):
        if instant.action is not Action.LOG_COMPACTION and instant.time != own.time:
            planned = [(group.partition_path, _group_id(group.file_id, by_bucket=by_bucket)) for group in groups]
            rewrites = instant.action is not Action.COMPACTION or (state.logs_name_slices and instant.time > own.time)
            if (reason := conflict_with_plan(claim, instant, planned, rewrites=rewrites)) is not None:
                return reason
    return None


def conflict_with_commit(
    claim: Claim, other: Instant, metadata: CommitMetadata, *, is_compaction: bool, by_bucket: bool
) -> str | None:
    """Why a write with *claim* cannot commit beside the completed *other*; None when it can."""
    stats = [stat for group in metadata.partition_to_write_stats.values() for stat in group]
    taken = {_group(stat, by_bucket=by_bucket) for stat in stats} | _replaced(metadata, by_bucket=by_bucket)
    shared = taken & (claim.rewritten if is_compaction else claim.groups)
    if shared:
        return _shared_group(other, shared)
    if claim.operation is Operation.UPSERT and metadata.operation_type in (None, "UPSERT", "INSERT", "BULK_INSERT"):
        both = claim.grown & {stat.partition_path or "" for stat in stats if _adds(stat)}
        if both and not is_compaction:
            return f"both this write and {other} have put new keys into the partition {min(both)!r}"
    return None


def conflict_with_plan(claim: Claim, other: Instant, groups: Iterable[Group], *, rewrites: bool) -> str | None:
    """Why a write with *claim* cannot commit while *other*, which is going to rewrite *groups*, is pending.

    A compaction (*rewrites* false) is in the way only of a write that replaces base files itself; in table version 6 of
    every write that had begun when it was planned.
    """
    shared = frozenset(groups) & (claim.groups if rewrites else claim.rewritten)
    return _shared_group(other, shared) if shared else None


def _shared_group(other: Instant, shared: Iterable[Group]) -> str:
    partition, file_id = min(shared)
    return f"{other} has the file group {file_id} in the partition {partition!r} as well"


def _group(stat: WriteStat, *, by_bucket: bool) -> Group:
    return stat.partition_path or "", _group_id(stat.file_id or "", by_bucket=by_bucket)


def _group_id(file_id: str, *, by_bucket: bool) -> str:
    return file_id[:_BUCKET_DIGITS] if by_bucket else file_id


def _replaced(metadata: CommitMetadata, *, by_bucket: bool) -> set[Group]:
    replaced: Mapping[str, tuple[str, ...]] = metadata.partition_to_replace_file_ids or {}
    return {(path, _group_id(file_id, by_bucket=by_bucket)) for path, ids in replaced.items() for file_id in ids}


def _replaces_base(stat: WriteStat) -> bool:
    return not base_name(stat.path or "").startswith(".") and stat.prev_commit not in _NO_COMMIT


def _adds(stat: WriteStat) -> bool:
    return (stat.num_inserts or 0) > 0
