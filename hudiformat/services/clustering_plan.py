"""Plan which file slices a clustering rewrites together.

Source: PartitionAwareClusteringPlanStrategy, SparkSizeBasedClusteringPlanStrategy, ClusteringPlanPartitionFilter,
ClusteringFileSliceComparator, Hudi 1.2.0; spec/services.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from hudiformat.file_group.bootstrap.sources import source_uri
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import root_uri
from hudiformat.services.resizing import EXECUTION as _RESIZING
from hudiformat.services.resizing import plan_resize_groups
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.buckets import BucketEngine
from hudiformat.table.options.clustering import ClusteringOptions, PartitionFilter, SliceOrder
from hudiformat.table.options.values import IndexType
from hudiformat.table.state import TableState
from hudiformat.timeline.plans import ClusteringGroup, ClusteringPlan, ClusteringStrategy, SliceInfo

SORT_COLUMNS = "hoodie.clustering.plan.strategy.sort.columns"
"""The parameter of a plan that names the columns by which rows are sorted."""

_EXECUTION = "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy"
_MIB = 1024 * 1024
_DAY_PARTS = 24


def plan_clustering(state: TableState) -> ClusteringPlan | None:
    """Return the plan of the next clustering of a table; None if no file slices are worth one."""
    options = state.options.clustering
    paths = () if options.selected else state.partition_paths
    resizes = resizes_buckets(state)
    groups: list[ClusteringGroup] = []
    chosen = sorted(chosen_partitions(paths, options, state.context.clock()))
    for path, _ in zip(chosen, state.files_of_each(chosen), strict=True):
        if resizes:
            groups += _resizes(state, path)
        else:
            slices = eligible_slices(state.slices(path), state.busy_groups, options)
            groups += (_group(state, *one) for one in group_slices(slices, options, state.options.sizing.max_file_size))
        if len(groups) >= options.most_groups:
            break
    if not groups:
        return None
    sort = {SORT_COLUMNS: ",".join(options.sort_columns)} if options.sort_columns else {}
    return ClusteringPlan(
        input_groups=tuple(groups[: options.most_groups]),
        strategy=ClusteringStrategy(_RESIZING if resizes else _EXECUTION, sort, 1),
        extra_metadata={},
        preserve_hoodie_metadata=True,
        missing_schedule_partitions=(),
    )


def resizes_buckets(state: TableState) -> bool:
    """Return whether a clustering of the table splits and merges its buckets."""
    options = state.options
    return options.index_type is IndexType.BUCKET and options.bucket_engine is BucketEngine.CONSISTENT_HASHING


def _resizes(state: TableState, path: str) -> Iterator[ClusteringGroup]:
    """Yield the groups of a partition whose buckets are split or merged; none while it has a pending plan.

    Source: BaseConsistentHashingBucketClusteringPlanStrategy.getFileSlicesEligibleForClustering.
    """
    if any(busy == path for busy, _ in state.in_clustering):
        return
    free = [one for one in state.slices(path) if (path, one.file_id) not in state.busy_groups]
    for slices, files, buckets in plan_resize_groups(state, path, free):
        yield replace(_group(state, slices, files), extra_metadata=buckets)


def chosen_partitions(paths: Sequence[str], options: ClusteringOptions, now: datetime) -> list[str]:
    """Return which of the partitions *paths* a clustering considers.

    Those that ``options.selected`` names, if it names any, or else those that match ``options.pattern``; of these, the
    ones that ``options.partition_filter`` lets pass.
    """
    if options.selected:
        paths = options.selected
    elif options.pattern:
        paths = [path for path in paths if re.fullmatch(options.pattern, path)]
    if options.partition_filter is PartitionFilter.RECENT_DAYS:
        newest = sorted(paths, reverse=True)[options.skipped_days :]
        return newest[: options.days] if options.days > 0 else newest
    if options.partition_filter is PartitionFilter.SELECTED_PARTITIONS:
        return [path for path in paths if options.begin <= path and (not options.end or path <= options.end)]
    if options.partition_filter is PartitionFilter.DAY_ROLLING:
        return sorted(paths)[now.hour :: _DAY_PARTS]
    return list(paths)


def eligible_slices(
    slices: Iterable[FileSlice], busy: frozenset[tuple[str, str]], options: ClusteringOptions
) -> list[FileSlice]:
    """Return the slices that are small, or have no base file, and that no pending plan names."""
    return [
        one
        for one in slices
        if (one.partition_path, one.file_id) not in busy
        and (0 if one.base_file is None else one.base_file.size) < options.small_file_limit
    ]


def group_slices(
    slices: Sequence[FileSlice], options: ClusteringOptions, file_size: int
) -> Iterator[tuple[list[FileSlice], int]]:
    """Yield *slices* of one partition in groups, with the number of files that each group becomes.

    A slice without a base file counts as *file_size* bytes.  A group of one slice without log files, whose rows are not
    to be sorted, is left as it is, because the new file would equal the old one.  (Hudi rewrites it at every
    clustering.)
    """
    size_of = partial(_size, file_size=file_size)
    fields = options.slice_order
    ordered = sorted(slices, key=lambda one: tuple(_sort_key(one, field, size_of(one)) for field in fields))
    groups: list[tuple[list[FileSlice], int]] = []
    group: list[FileSlice] = []
    total = 0
    for one in ordered:
        if group and total + size_of(one) > options.group_bytes:
            groups.append((group, total))
            if len(groups) >= options.most_groups:
                group = []
                break
            group, total = [], 0
        group.append(one)
        total += size_of(one)
    if group:
        groups.append((group, total))
    for found, size in groups:
        files = -(-size // options.target_size)
        if _is_worth_it(found, files, options):
            yield found, files


def _is_worth_it(slices: Sequence[FileSlice], files: int, options: ClusteringOptions) -> bool:
    if len(slices) > 1 or files > 1:
        return True
    return options.single_group and bool(slices[0].log_files or options.sort_columns)


def _size(one: FileSlice, *, file_size: int) -> int:
    return file_size if one.base_file is None else one.base_file.size


def _sort_key(one: FileSlice, field: SliceOrder, size: int) -> str | int:
    if field is SliceOrder.SIZE:
        return -size
    return "" if one.base_file is None else one.base_file.name.instant


def _group(state: TableState, slices: Sequence[FileSlice], files: int) -> ClusteringGroup:
    logs = [log for one in slices for log in one.log_files]
    log_bytes = sum(log.size for log in logs)
    bases = sum(_size(one, file_size=state.options.sizing.max_file_size) for one in slices)
    read = sum(one.size for one in slices)
    return ClusteringGroup(
        slices=tuple(_slice_info(state.storage, one) for one in slices),
        metrics={
            "TOTAL_LOG_FILES": float(len(logs)),
            "TOTAL_LOG_FILES_SIZE": float(log_bytes),
            "TOTAL_IO_READ_MB": float(read // _MIB),
            "TOTAL_IO_WRITE_MB": float(bases // _MIB),
            "TOTAL_IO_MB": float((read + bases) // _MIB),
        },
        num_output_file_groups=files,
    )


def _slice_info(storage: Storage, one: FileSlice) -> SliceInfo:
    """Return a slice as a plan names it: by the full paths of its files, as Hudi reads them."""
    root = storage.root
    folder = f"{root_uri(root)}/"
    return SliceInfo(
        data_file_path="" if one.base_file is None else folder + one.base_path,
        delta_file_paths=tuple(folder + path for path in one.log_paths),
        file_id=one.file_id,
        partition_path=one.partition_path,
        bootstrap_file_path="" if one.base_file is None else source_uri(storage, one.base_path) or "",
    )
