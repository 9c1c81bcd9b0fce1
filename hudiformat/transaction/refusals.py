"""Operations that a table cannot have, refused before its timeline is touched."""

from __future__ import annotations

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.options import (
    REPLACING,
    BucketEngine,
    ConcurrencyMode,
    DuplicatePolicy,
    IndexType,
    Operation,
)
from hudiformat.table import TableState


def refuse_operation(state: TableState, operation: Operation) -> None:
    """Refuse what an operation would do to others' rows, to keys or to buckets.

    Raises:
        UnsupportedFeatureError: it cannot be done on this table, or in this mode.
    """
    _refuse_replacing(state, operation)
    _refuse_looking_up(state, operation)
    _refuse_reopening(state, operation)


def _refuse_replacing(state: TableState, operation: Operation) -> None:
    """Without blocking others, file groups cannot be removed: others may be adding rows to them."""
    if operation in REPLACING and state.options.concurrency.is_non_blocking:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: {operation.value} removes file groups that other writers may be writing to: set "
            f"hoodie.write.concurrency.mode to {ConcurrencyMode.OPTIMISTIC.value} for it",
            feature=f"{operation.value} without blocking other writers",
        )


def _refuse_looking_up(state: TableState, operation: Operation) -> None:
    """A bucket index does not know which keys there are: for an insert, every row of a bucket would be a duplicate."""
    policy = state.options.insert_duplicates
    has_buckets = state.options.index_type is IndexType.BUCKET
    if operation is Operation.INSERT and has_buckets and policy is not DuplicatePolicy.NONE:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: hoodie.datasource.insert.dup.policy={policy.value} looks keys up, which a bucket "
            "index does not; upsert the rows instead",
            feature="insert policies with a bucket index",
        )


def _refuse_reopening(state: TableState, operation: Operation) -> None:
    """The buckets of a ring have had their file ids from the beginning: removed once, they would hide what comes."""
    has_rings = state.options.index_type is IndexType.BUCKET and state.options.bucket_engine is not BucketEngine.SIMPLE
    if operation in REPLACING and has_rings:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: {operation.value} removes the file groups of buckets, whose ids a ring keeps; "
            "delete the rows instead",
            feature=f"{operation.value} with consistent hashing",
        )
