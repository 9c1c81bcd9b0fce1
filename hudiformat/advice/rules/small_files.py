"""Rules about small files that no writer fills, and about estimates by which new files are made too small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hudiformat.advice.advice import Advice, Effect, Severity
from hudiformat.advice.commands import run
from hudiformat.advice.facts import Facts
from hudiformat.file_group.slices import FileSlice
from hudiformat.numbers import count_text, format_count, size_text
from hudiformat.services.clustering_plan import chosen_partitions, eligible_slices, group_slices
from hudiformat.sizing.record_size import RecordSize
from hudiformat.sizing.small_files import Kind
from hudiformat.sizing.spark import plan_partition
from hudiformat.table.options.clustering import ClusteringOptions, PartitionFilter
from hudiformat.table.options.values import Operation, SizingEngine
from hudiformat.write.commit.plan import SizingProfile, sizing_profile

LEAST_GROUPS = 8
"""So many file groups, or commits, or so: with fewer, a change saves nothing that anybody would notice."""
LARGE, VERY_LARGE = 2, 8
"""An effect is worth a change if a number halves; it is grave if it falls to an eighth."""
_LIMIT = "hoodie.parquet.small.file.limit"
_CLUSTERING = "hoodie.clustering.plan.strategy."
_SMALL = f"{_CLUSTERING}small.file.limit"
_MOST_GROUPS = f"{_CLUSTERING}max.num.groups"
_MOST_PLANNED = 1000
"""For how many partitions the files that a commit writes are planned, those with the most new rows."""


@dataclass(frozen=True, slots=True)
class _Regrouping:
    """What a clustering does: the slices that it takes, their files and bytes, their groups, and the files it makes."""

    taken: int
    read: int
    bytes: int
    groups: int
    files: int


def advise_clustering(facts: Facts) -> Advice | None:
    """Advise to cluster small file groups, and to change what keeps writers from filling them."""
    small = int((facts.columns.has_base & (facts.columns.base_bytes < facts.small)).sum())
    if facts.has_buckets or small < LEAST_GROUPS or facts.state.in_clustering:
        return None
    found = _regrouping(facts)
    if found.taken < LEAST_GROUPS or found.taken < LARGE * found.files:
        return None
    cause, properties = _cause(facts, found)
    groups = len(facts.slices)
    options = {_SMALL: str(facts.small), f"{_CLUSTERING}target.file.max.bytes": str(facts.target)}
    limits = _limits_of_reach(facts.state.options.clustering, facts.small, found.groups)
    options |= {one.key: one.value for one in limits}
    if "hoodie.clustering.inline" in properties:
        properties = {**properties, **options}
    effect = Effect("file_groups", groups, groups - found.taken + found.files)
    severity = Severity.HIGH if effect.factor >= VERY_LARGE else Severity.MEDIUM
    return Advice(
        severity=severity if cause else Severity.LOW,
        finding="unfilled-small-files" if cause else "small-files",
        verb="Cluster",
        found=f"{count_text(small)} of {format_count(groups, 'file group')} are below {size_text(facts.small)}"
        f"{cause and ', and no writer fills them: '}{cause}",
        reason="A query opens each file; a clustering rewrites small ones into few large ones.",
        effects=(
            effect,
            Effect("files_read", facts.columns.files_read, facts.columns.files_read - found.read + found.files),
        ),
        properties=properties,
        command=run(facts, "cluster", options),
        cost_bytes=found.bytes,
    )


def _regrouping(facts: Facts, limits: Sequence[_Limit] = ()) -> _Regrouping:
    """Return what a clustering of small file groups into files of the target size would do.

    It takes all of them, or as many as the *limits* of the writers' options let it take.
    """
    options = replace(
        facts.state.options.clustering,
        target_size=facts.target,
        small_file_limit=facts.small,
        selected=(),
        pattern="",
        partition_filter=PartitionFilter.NONE,
        most_groups=len(facts.slices),
    )
    for one in limits:
        options = one.set_in(options, facts.state.options.clustering)
    slices_of, busy = _by_partition(facts.slices), facts.state.busy_groups
    plans = [
        one
        for path in sorted(chosen_partitions(sorted(slices_of), options, facts.state.context.clock()))
        for one in group_slices(eligible_slices(slices_of.get(path, ()), busy, options), options, facts.target)
    ][: options.most_groups]
    taken = [one for slices, _ in plans for one in slices]
    return _Regrouping(
        taken=len(taken),
        read=sum((one.base_file is not None) + len(one.log_files) for one in taken),
        bytes=sum(one.size for one in taken),
        groups=len(plans),
        files=sum(count for _, count in plans),
    )


def _by_partition(slices: Sequence[FileSlice]) -> dict[str, list[FileSlice]]:
    found: dict[str, list[FileSlice]] = {}
    for one in slices:
        found.setdefault(one.partition_path, []).append(one)
    return found


@dataclass(frozen=True, slots=True)
class _Limit:
    """An option that keeps clusterings from some small files: its key, what it says, and the value that it needs."""

    key: str
    said: str
    value: str
    field: str

    def set_in(self, options: ClusteringOptions, own: ClusteringOptions) -> ClusteringOptions:
        """Return *options* with the value that the option has among the writers' *own*."""
        changed = {self.field: getattr(own, self.field)}
        if self.field == "partition_filter":
            changed |= {name: getattr(own, name) for name in ("days", "skipped_days", "begin", "end")}
        return replace(options, **changed)


def _limits_of_reach(own: ClusteringOptions, small: int, groups: int) -> list[_Limit]:
    """Return the options of the writers that may keep a clustering from one of so many *groups* of small files."""
    found = []
    if own.most_groups < groups:
        found.append(_Limit(_MOST_GROUPS, str(own.most_groups), str(groups), "most_groups"))
    if own.selected:
        found.append(_Limit(f"{_CLUSTERING}partition.selected", ",".join(own.selected), "", "selected"))
    elif own.pattern:
        found.append(_Limit(f"{_CLUSTERING}partition.regex.pattern", own.pattern, "", "pattern"))
    if own.partition_filter is not PartitionFilter.NONE:
        key, none = "hoodie.clustering.plan.partition.filter.mode", PartitionFilter.NONE.value
        found.append(_Limit(key, own.partition_filter.value, none, "partition_filter"))
    if own.small_file_limit < small:
        found.append(_Limit(_SMALL, str(own.small_file_limit), str(small), "small_file_limit"))
    return found


def _out_of_reach(facts: Facts, found: _Regrouping) -> tuple[str, dict[str, str]]:
    """Return why the clusterings of the writers do not reach most small files, and the properties that change it."""
    limits = _limits_of_reach(facts.state.options.clustering, facts.small, found.groups)
    reached = _regrouping(facts, limits)
    if LARGE * reached.taken >= found.taken:
        return "", {}
    alone = [one for one in limits if LARGE * _regrouping(facts, [one]).taken < found.taken]
    causes = alone or limits
    text = f"a clustering takes {count_text(reached.taken)} of {format_count(found.taken, 'small file')}, by "
    return text + ", ".join(f"{one.key}={one.said}" for one in causes), {one.key: one.value for one in causes}


def _cause(facts: Facts, found: _Regrouping) -> tuple[str, dict[str, str]]:
    """Return why small files stay, and the properties that change it; an empty text if a writer fills them."""
    options, operations = facts.state.options, facts.history.operations
    clustering = options.clustering
    if clustering.inline or clustering.schedule_inline or clustering.is_async:
        why, properties = _out_of_reach(facts, found)
        if why:
            return why, properties
    if options.sizing.small_file_limit <= 0:
        return f"{_LIMIT}={options.sizing.small_file_limit}", {_LIMIT: str(facts.default_small)}
    bulk = sum(one == "BULK_INSERT" for one in operations)
    if LARGE * bulk >= max(len(operations), 1):
        commits = format_count(len(operations), "commit")
        text = f"{count_text(bulk)} of {commits} are bulk inserts, which open new file groups"
        return text, {"hoodie.clustering.inline": "true"}
    columns = facts.columns
    is_small = columns.base_bytes < facts.small
    hidden = int((is_small & (columns.log_files > 0)).sum())
    profile = sizing_profile(facts.state, Operation.UPSERT)
    if profile.kind is Kind.MOR_BLIND and LARGE * hidden >= int(is_small.sum()):
        text = f"{count_text(hidden)} have log files, in which the index {options.index_type.value} finds no records"
        return text, {} if options.services.compact_inline else {"hoodie.compact.inline": "true"}
    return "", {}


def advise_record_size(facts: Facts) -> Advice | None:
    """Advise another estimate of the record size if new files are made by one that the rows do not have."""
    profile, workload = sizing_profile(facts.state, Operation.UPSERT), facts.workload
    options = profile.options
    is_planned = not facts.has_buckets and profile.engine is SizingEngine.SPARK and options.auto_split
    if not is_planned or workload is None or not facts.knows_sizes:
        return None
    full = max(int((options.max_file_size - workload.file_bytes) / workload.row_bytes), 1)
    actual, estimate = -(-options.max_file_size // full), profile.record_size
    if max(actual, estimate.size) < LARGE * min(actual, estimate.size):
        return None
    rows = round(float(np.median(np.array(workload.trace))) * (1 - workload.updates))
    now = _files_written(facts, profile, rows, estimate)
    effect = Effect("files_written", now, _files_written(facts, profile, rows, RecordSize(actual)), 1)
    if now < LARGE * max(effect.after, 1) or now - effect.after < LARGE:
        return None
    source = f"the commit {estimate.instant}" if estimate.instant else "hoodie.copyonwrite.record.size.estimate"
    properties = {"hoodie.copyonwrite.record.size.estimate": str(actual)}
    if estimate.instant is not None:
        properties["hoodie.record.size.estimation.threshold"] = "1000"
    return Advice(
        severity=Severity.HIGH if effect.factor >= VERY_LARGE else Severity.MEDIUM,
        finding="record-size-estimate",
        verb="Correct the estimate of the record size",
        found=f"new files are planned for rows of {estimate.size:,} bytes, by {source}; they have {actual:,}",
        reason=f"A file takes as many rows as fit by the estimate. {_passed_over(estimate)}",
        effects=(effect,),
        properties=properties,
    )


def _passed_over(estimate: RecordSize) -> str:
    if not estimate.passed_over:
        return "No commit is there to measure it by." if estimate.instant is None else "That commit had other rows."
    return (
        f"{format_count(len(estimate.passed_over), 'newer commit')} did not count: the newest has "
        f"{estimate.passed_over[0][1]}."
    )


def _files_written(facts: Facts, profile: SizingProfile, rows: int, size: RecordSize) -> int:
    """Return how many file groups one more commit of so many new rows fills or opens."""
    shares, options = facts.history.by_partition, profile.options
    total = sum(shares.values()) or 1
    assert facts.workload is not None  # noqa: S101 - the caller has checked
    fits = max(int(options.largest_new_file / facts.workload.row_bytes), 1)
    known = _by_partition(facts.slices)
    found = 0
    for path, count in shares.most_common(_MOST_PLANNED):
        groups = profile.small_files(path, known.get(path, []))
        plan = plan_partition(path, round(rows * count / total), groups, size, options)
        found += sum(1 if one.file_id is not None else -(-one.records // fits) for one in plan.buckets)
    return found
