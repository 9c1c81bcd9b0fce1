"""Partitions, file groups and sizes, from file slices."""

from __future__ import annotations

import numpy as np

from hudiformat.report.layout import histogram_of
from tests.report.support import layout, slice_of

SLICES = [
    slice_of("a", "a1-0", 50),
    slice_of("a", "a2-0", 200, 10, 20),
    slice_of("b", "b1-0", None, 500, instant="20240301120000000"),
    slice_of("c", "c1-0", 5),
]


def test_partitions_come_by_bytes_with_their_sums() -> None:
    found = layout(SLICES).partitions
    assert found.paths == ("b", "a", "c")
    assert found.groups.tolist() == found.shown.tolist() == [1, 2, 1]
    assert found.base_bytes.tolist() == [0, 250, 5]
    assert found.base_files.tolist() == [0, 2, 1]
    assert found.small.tolist() == [0, 1, 1]
    assert found.log_files.tolist() == [1, 2, 0]
    assert found.log_bytes.tolist() == [500, 30, 0]
    assert found.left_off == 0


def test_file_groups_come_in_the_order_of_their_partitions_the_largest_first() -> None:
    found = layout(SLICES).groups
    assert found.file_ids == ("b1-0", "a2-0", "a1-0", "c1-0")
    assert found.base_bytes.tolist() == [0, 200, 50, 5]
    assert found.log_bytes.tolist() == [500, 30, 0, 0]
    assert found.log_files.tolist() == [1, 2, 0, 0]
    assert [found.instants[place][:8] for place in found.instant] == ["20240301", *["20240229"] * 3]


def test_totals_are_of_all() -> None:
    found = layout(SLICES, most_partitions=1, most_groups=2)
    assert (found.totals.file_groups, found.totals.base_bytes, found.totals.log_bytes) == (4, 255, 530)
    assert (found.partition_count, found.groups_with_logs, found.stored_files, found.stored_bytes) == (3, 2, 4, 785)


def test_of_many_the_largest_are_listed() -> None:
    found = layout(SLICES, most_groups=2)
    assert found.groups.file_ids == ("b1-0", "a2-0")
    assert found.groups.left_off == 2
    assert found.partitions.groups.tolist() == [1, 2, 1]
    assert found.partitions.shown.tolist() == [1, 1, 0]


def test_file_groups_of_partitions_that_are_not_listed_are_not_either() -> None:
    found = layout(SLICES, most_partitions=1)
    assert (found.partitions.paths, found.partitions.left_off) == (("b",), 2)
    assert found.groups.file_ids == ("b1-0",)
    assert found.groups.left_off == 3


def test_a_table_without_files() -> None:
    found = layout([])
    assert (found.partition_count, found.partitions.paths, found.groups.file_ids) == (0, (), ())


def test_bins_double_every_second_one_and_hold_all_files() -> None:
    sizes = np.array([0, 1, 4, 5, 1000, 1000, 10**9])
    found = histogram_of(sizes)
    assert found.files.sum() == len(sizes)
    assert found.bytes.sum() == sizes.sum()
    assert len(found.edges) == len(found.files) + 1
    for size in sizes:
        (place,) = np.flatnonzero((found.edges[:-1] <= max(size, 1)) & (max(size, 1) < found.edges[1:]))
        assert found.files[place] > 0


def test_one_size_has_one_bin() -> None:
    assert histogram_of(np.array([4096, 4096])).files.tolist() == [2]
    assert histogram_of(np.array([], np.int64)).files.tolist() == []
