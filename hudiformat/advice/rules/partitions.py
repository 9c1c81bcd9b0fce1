"""The rule about partitions that are so small that each file in them is small."""

from __future__ import annotations

import numpy as np

from hudiformat.advice.advice import Advice, Effect, Severity
from hudiformat.advice.commands import copy_into_new
from hudiformat.advice.facts import Facts
from hudiformat.advice.rules.buckets import LEAST_COMMITS
from hudiformat.numbers import count_text, format_count, size_text

LEAST_PARTITIONS = 10
"""A table with fewer partitions has few files, however small they are."""
MICRO = 10
"""A partition whose rows are a tenth of a file, after the commits to come, is a micro partition."""
MOST = 0.8
"""The share of micro partitions from which on they are the rule: a few small ones are in each table."""
FEWER, FAR_FEWER = 4, 16
"""How many times fewer file groups a coarser partitioning has: it costs a copy of the table, and queries that pruned by
the partition read more."""


def advise_partitions(facts: Facts) -> Advice | None:
    """Advise fewer partition fields, or none, if most partitions stay far smaller than a file."""
    paths, fields, workload = facts.columns.paths, facts.state.config.partition_fields, facts.workload
    is_known = facts.knows_sizes and len(facts.history.rows) >= LEAST_COMMITS
    if not fields or not is_known or workload is None or len(paths) < LEAST_PARTITIONS:
        return None
    to_come = facts.payload_to_come()
    micro = int((to_come < facts.target / MICRO).sum())
    if micro < MOST * len(paths):
        return None
    groups, coarser, after = len(facts.slices), _coarser(facts), 0
    for kept in coarser:
        after = _groups_by(facts, kept)
        if groups >= FEWER * after:
            fields = fields[:kept]
            break
    else:
        return None
    copied = copy_into_new(facts, partition_by=fields)
    by = f"by {', '.join(fields)} alone" if fields else "by nothing, or by a coarser value such as the month"
    largest = int(np.quantile(to_come, MOST))
    return Advice(
        severity=Severity.HIGH if groups >= FAR_FEWER * after else Severity.MEDIUM,
        finding="micro-partitions",
        verb=f"Partition {by}",
        found=f"{count_text(micro)} of {format_count(len(paths), 'partition')} have less than "
        f"{size_text(largest + 1)} of rows in {format_count(facts.commits, 'more commit')}, and a file holds "
        f"{size_text(facts.target)}",
        reason="Each partition has files of its own, however few rows it has. Queries that name a partition read more "
        "files of others then.",
        effects=(Effect("file_groups", groups, after),),
        command="" if copied is None else copied.command,
        into="" if copied is None else copied.into,
        cost_bytes=sum(one.size for one in facts.slices),
    )


def _coarser(facts: Facts) -> list[int]:
    """Return with how many of the partition fields the table could do, the most first."""
    fields = facts.state.config.partition_fields
    is_split = all(path.count("/") == len(fields) - 1 for path in facts.columns.paths)
    return list(range(len(fields) - 1, -1, -1)) if is_split else [0]


def _groups_by(facts: Facts, kept: int) -> int:
    """Return how many file groups the table has with *kept* of its partition fields, if it is written anew."""
    options = facts.state.options
    sums: dict[str, int] = {}
    for path, size in zip(facts.columns.paths, facts.columns.by_partition(facts.payload()).tolist(), strict=True):
        shorter = "/".join(path.split("/")[:kept])
        sums[shorter] = sums.get(shorter, 0) + size
    if facts.has_buckets:
        return len(sums) * options.num_buckets
    return sum(max(-(-size // options.sizing.largest_new_file), 1) for size in sums.values())
