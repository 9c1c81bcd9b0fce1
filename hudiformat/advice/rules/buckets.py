"""Rules about the buckets of a table whose file groups are found by the hash of a key."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hudiformat.advice.advice import Advice, Effect, Severity
from hudiformat.advice.commands import copy_into_new
from hudiformat.advice.facts import Facts
from hudiformat.numbers import format_count, size_text
from hudiformat.table.options.buckets import BucketEngine
from hudiformat.table.options.values import IndexType

LEAST_COMMITS = 5
"""With fewer commits, what comes to a table is not known."""
FAR_MORE, FAR_MORE_STILL = 4, 16
"""How many times the buckets that the data need: Hudi's advice is to plan for twice or three times the data."""
TOO_LARGE = 2
"""How many times the target the rows of a bucket have: its file cannot be split, and each update rewrites it."""
SKEWED = 4
"""How many times the mean of all buckets the largest has; with even hashes it has less than twice of it."""
LEAST_ROWS = 100
"""Rows of a bucket, on average, from which on the sizes of buckets mean something."""
_COUNT, _FIELD = "hoodie.bucket.index.num.buckets", "hoodie.bucket.index.hash.field"


def advise_buckets(facts: Facts) -> Advice | None:
    """Advise another number of buckets, or another field to hash, for a table with simple buckets."""
    options = facts.state.options
    is_simple = options.index_type is IndexType.BUCKET and options.bucket_engine is BucketEngine.SIMPLE
    if (
        not is_simple
        or options.bucketing.rules
        or not facts.estimates_sizes
        or len(facts.history.rows) < LEAST_COMMITS
        or not facts.slices
    ):
        return None
    return next(filter(None, (_skewed(facts), _few(facts), _many(facts))), None)


def _many(facts: Facts) -> Advice | None:
    buckets, needed = facts.state.options.num_buckets, _needed(facts)
    if buckets < FAR_MORE * needed:
        return None
    partitions, groups = len(facts.columns.paths), len(facts.slices)
    after = min(partitions * needed, groups)
    if groups < FAR_MORE * after:
        return None
    most = int(facts.payload_to_come().max())
    return _advice(
        facts,
        severity=Severity.HIGH if groups >= FAR_MORE_STILL * after else Severity.MEDIUM,
        finding="too-many-buckets",
        verb="Make fewer buckets",
        found=f"{format_count(buckets, 'bucket')} in each partition; {needed} hold the {size_text(most)} that the "
        f"largest has in {format_count(facts.commits, 'more commit')}",
        reason="Each bucket of each partition is a file group, however few rows it has.",
        effects=(Effect("file_groups", groups, after),),
        options={_COUNT: str(needed)},
    )


def _few(facts: Facts) -> Advice | None:
    payload, columns = facts.payload(), facts.columns
    largest = int(payload.max())
    if largest < TOO_LARGE * facts.target:
        return None
    needed, buckets = _needed(facts), facts.state.options.num_buckets
    assert facts.workload is not None  # noqa: S101 - the caller has checked
    before, measure = _largest_group(facts), "largest_group_bytes"
    if columns.has_base.any():
        before, measure = int(np.median(columns.base_bytes[columns.has_base])), "median_file_bytes"
    after = round(max(before - facts.workload.file_bytes, 0) * buckets / needed) + facts.workload.file_bytes
    return _advice(
        facts,
        severity=Severity.HIGH if largest >= FAR_MORE * facts.target else Severity.MEDIUM,
        finding="too-few-buckets",
        verb="Make more buckets",
        found=f"the rows of the largest bucket are {size_text(largest)}, more than the {size_text(facts.target)} of a "
        f"file; each partition has {format_count(buckets, 'bucket')}",
        reason="A bucket is one file, which is read and rewritten as a whole.",
        effects=(Effect(measure, before, after),),
        options={_COUNT: str(needed)},
    )


def _skewed(facts: Facts) -> Advice | None:
    state = facts.state
    keys, hashed = state.config.record_key_fields, state.options.hash_fields or state.config.record_key_fields
    payload, buckets = facts.payload(), state.options.num_buckets
    assert facts.workload is not None  # noqa: S101 - the caller has checked
    if set(hashed) == set(keys) or buckets < SKEWED:
        return None
    total, largest = facts.columns.by_partition(payload), int(payload.max())
    mean = int(total[facts.columns.partition[int(payload.argmax())]]) // buckets
    if largest < SKEWED * mean or mean < LEAST_ROWS * facts.workload.row_bytes:
        return None
    return _advice(
        facts,
        severity=Severity.HIGH if largest > facts.target else Severity.MEDIUM,
        finding="skewed-buckets",
        verb="Hash the whole record key",
        found=f"the largest bucket has {size_text(largest)} of rows, {largest / max(mean, 1):.0f} times the mean; "
        f"keys are hashed by {', '.join(hashed)}",
        reason="Rows with one value of the hashed fields go to one bucket, which is read and rewritten as a whole.",
        effects=(_evened(facts, mean),),
        options={_FIELD: ",".join(keys)},
    )


def _evened(facts: Facts, mean: int) -> Effect:
    """Return what becomes of the largest file if the rows of each bucket are *mean* bytes of a base file."""
    assert facts.workload is not None  # noqa: S101 - the caller has checked
    if facts.columns.has_base.any():
        return Effect("largest_file_bytes", int(facts.columns.base_bytes.max()), mean + facts.workload.file_bytes)
    before = _largest_group(facts)
    return Effect("largest_group_bytes", before, round(before * mean / max(int(facts.payload().max()), 1)))


def _largest_group(facts: Facts) -> int:
    return max(one.size for one in facts.slices)


def _needed(facts: Facts) -> int:
    """Return how many buckets hold the rows that the largest partition is going to have."""
    return max(-(-int(facts.payload_to_come().max()) // facts.target), 1)


def _advice(
    facts: Facts,
    *,
    severity: Severity,
    finding: str,
    verb: str,
    found: str,
    reason: str,
    effects: tuple[Effect, ...],
    options: Mapping[str, str],
) -> Advice:
    copied = copy_into_new(facts, options=options)
    return Advice(
        severity=severity,
        finding=finding,
        verb=verb,
        found=found,
        reason=f"{reason} Hudi does not change the buckets of a table: its rows are copied into a new one.",
        effects=effects,
        properties=options,
        command="" if copied is None else copied.command,
        into="" if copied is None else copied.into,
        cost_bytes=sum(one.size for one in facts.slices),
    )
