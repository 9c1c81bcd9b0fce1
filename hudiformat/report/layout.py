"""The layout of a table, computed from its newest file slices: columns of numbers, of bounded length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hudiformat.file_group.slices import FileSlice, SliceTotals
from hudiformat.report.facts import Groups, Histogram, Layout, Numbers, Partitions

MOST_PARTITIONS, MOST_GROUPS = 20_000, 50_000
"""The numbers of partitions and file groups that a report lists, the largest ones; sums are over all."""
_BINS_PER_DOUBLING = 2


def layout_of(
    slices: Sequence[FileSlice],
    *,
    stored_files: int,
    stored_bytes: int,
    small_file_limit: int,
    most_partitions: int = MOST_PARTITIONS,
    most_groups: int = MOST_GROUPS,
) -> Layout:
    """Return the layout of a table with the newest file slices *slices*, and with *stored_files* files on storage."""
    columns = _Columns(slices)
    # A table without partitions has one partition, with an empty path.
    paths, partition = np.unique(np.array(columns.partitions, object), return_inverse=True)
    sums = _sums(columns, partition, len(paths), small_file_limit)
    kept = np.argsort(-(sums["base_bytes"] + sums["log_bytes"]), kind="stable")[:most_partitions]
    rank = np.full(len(paths), len(kept))  # partitions that are not listed share the last rank
    rank[kept] = np.arange(len(kept))
    order = columns.largest(most_groups)
    order = order[np.argsort(rank[partition[order]], kind="stable")]
    order = order[rank[partition[order]] < len(kept)]
    return Layout(
        totals=SliceTotals.of(slices, small_file_limit=small_file_limit),
        partition_count=len(paths),
        groups_with_logs=int((columns.log_files > 0).sum()),
        stored_files=stored_files,
        stored_bytes=stored_bytes,
        partitions=Partitions(
            paths=tuple(paths[kept].tolist()),
            **{name: values[kept] for name, values in sums.items()},
            shown=np.bincount(rank[partition[order]], minlength=len(kept)).astype(np.int64),
            left_off=len(paths) - len(kept),
        ),
        groups=columns.groups(order),
        histogram=histogram_of(columns.base_bytes[columns.has_base]),
    )


def histogram_of(sizes: Numbers) -> Histogram:
    """Return a histogram of file sizes, with the number of files and the bytes of each bin; two bins for each doubling.

    Bin edges are powers of the square root of 2, rounded up.  The sizes 100, 120 and 300 give the edges 91, 128, 182,
    256 and 363, the numbers of files 2, 0, 0, 1, and the bytes 220, 0, 0, 300.
    """
    if not len(sizes):
        return Histogram(*(np.zeros(0, np.int64) for _ in range(3)))
    exponents = np.log2(np.maximum(sizes, 1)) * _BINS_PER_DOUBLING
    first, last = int(np.floor(exponents.min())), int(np.floor(exponents.max())) + 1
    edges = np.ceil(2 ** (np.arange(first, last + 1) / _BINS_PER_DOUBLING)).astype(np.int64)
    place = np.clip(np.searchsorted(edges, np.maximum(sizes, 1), side="right") - 1, 0, last - first - 1)
    files = np.bincount(place, minlength=last - first)
    held = np.zeros(last - first, np.int64)
    np.add.at(held, place, sizes)
    return Histogram(edges, files.astype(np.int64), held)


class _Columns:
    """File slices as columns: one array per property."""

    def __init__(self, slices: Sequence[FileSlice]) -> None:
        count = len(slices)
        self.partitions = [one.partition_path for one in slices]
        self.file_ids = [one.file_id for one in slices]
        self.times = [one.base_instant for one in slices]
        self.has_base = np.fromiter((one.base_file is not None for one in slices), bool, count)
        bases = (0 if one.base_file is None else one.base_file.size for one in slices)
        self.base_bytes = np.fromiter(bases, np.int64, count)
        self.log_bytes = np.fromiter((one.log_bytes for one in slices), np.int64, count)
        self.log_files = np.fromiter((len(one.log_files) for one in slices), np.int64, count)

    def largest(self, most: int) -> Numbers:
        """Return the indexes of the largest slices, the largest first."""
        return np.argsort(-(self.base_bytes + self.log_bytes), kind="stable")[:most]

    def groups(self, order: Numbers) -> Groups:
        """Return the slices at the indexes *order*."""
        times = [self.times[place] for place in order]
        instants = tuple(sorted(set(times)))
        number = {time: place for place, time in enumerate(instants)}
        return Groups(
            file_ids=tuple(self.file_ids[place] for place in order),
            instants=instants,
            instant=np.fromiter((number[time] for time in times), np.int64, len(times)),
            base_bytes=self.base_bytes[order],
            log_bytes=self.log_bytes[order],
            log_files=self.log_files[order],
            left_off=len(self.file_ids) - len(order),
        )


def _sums(columns: _Columns, partition: Numbers, count: int, small_file_limit: int) -> dict[str, Numbers]:
    """Return the sums over the file slices of each partition."""
    small = columns.has_base & (columns.base_bytes < small_file_limit)
    parts = {
        "groups": np.ones(len(partition), np.int64),
        "base_files": columns.has_base,
        "base_bytes": columns.base_bytes,
        "small": small,
        "log_files": columns.log_files,
        "log_bytes": columns.log_bytes,
    }
    sums = {name: np.zeros(count, np.int64) for name in parts}
    for name, values in parts.items():
        np.add.at(sums[name], partition, values.astype(np.int64))
    return sums
