"""Which file slices a clustering takes, in which groups."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from hudiformat import Table
from hudiformat.file_group.slices import BaseFile, FileSlice, LogFile
from hudiformat.naming.file_names import BaseFileName, LogFileName
from hudiformat.services.clustering_plan import chosen_partitions, eligible_slices, group_slices, plan_clustering
from hudiformat.table.options.clustering import ClusteringOptions, PartitionFilter, SliceOrder
from tests.tables import new_table, rows

NOON = datetime(2024, 2, 29, 12)
DAYS = [f"2024-02-{day:02}" for day in range(1, 29)]
FILE_SIZE = 120
NO_SMALL = {"hoodie.parquet.small.file.limit": "0"}


def slice_of(number: int, size: int | None, *, logs: int = 0, instant: str = "20240101000000000") -> FileSlice:
    file_id = f"00000000-0000-0000-0000-{number:012}-0"
    base = None if size is None else BaseFile(BaseFileName(file_id, "0-0-0", instant, "parquet"), size)
    names = [f".{file_id}_20240102000000000.log.{log + 1}_0-0-0" for log in range(logs)]
    return FileSlice("x", file_id, instant, base, tuple(LogFile(LogFileName.parse(name), 10) for name in names))


def groups(sizes: list[int | None], **options: object) -> list[tuple[list[int], int]]:
    """The sizes of the slices of each group, and its number of files."""
    chosen = ClusteringOptions(**{"group_bytes": 100, "target_size": 50, **options})  # type: ignore[arg-type]  # options of several types
    slices = [slice_of(number, size) for number, size in enumerate(sizes)]
    found = group_slices(slices, chosen, FILE_SIZE)
    return [([one.base_file.size if one.base_file else 0 for one in group], files) for group, files in found]


def test_the_largest_come_first_and_groups_have_a_limit() -> None:
    assert groups([10, 60, 30, 20]) == [([60, 30], 2), ([20, 10], 1)]
    assert groups([100, 100]) == [([100], 2), ([100], 2)]
    assert groups([60, 60, 60], most_groups=2) == [([60], 2), ([60], 2)]
    assert groups([]) == []


def test_the_oldest_come_first_where_that_is_asked_for() -> None:
    options = ClusteringOptions(slice_order=(SliceOrder.INSTANT_TIME, SliceOrder.SIZE), group_bytes=100)
    slices = [slice_of(1, 5, instant="2"), slice_of(2, 6, instant="1"), slice_of(3, 7, instant="2"), slice_of(4, None)]
    ((found, _),) = group_slices(slices[:3], options, FILE_SIZE)
    assert [one.base_file.size for one in found if one.base_file] == [6, 7, 5]
    assert next(group_slices([*slices, slice_of(5, None)], options, 10))[0][:2] == [slices[3], slice_of(5, None)]


def test_a_slice_without_a_base_file_counts_as_a_full_one() -> None:
    assert groups([None, 10]) == [([0], 3)]  # 120 bytes are 3 files, and 10 alone stay
    assert groups([None, 10], group_bytes=200) == [([0, 10], 3)]


def test_a_slice_alone_is_left_unless_something_is_gained() -> None:
    assert groups([10]) == []
    assert groups([10], sort_columns=("v",)) == [([10], 1)]
    assert groups([10], sort_columns=("v",), single_group=False) == []
    logged = slice_of(0, 10, logs=2)
    assert list(group_slices([logged], ClusteringOptions(), FILE_SIZE)) == [([logged], 1)]


def test_large_files_and_those_of_pending_plans_are_left_out() -> None:
    slices = [slice_of(0, 9), slice_of(1, 10), slice_of(2, None), slice_of(3, 1)]
    busy = frozenset({("x", slices[3].file_id), ("y", slices[0].file_id)})
    assert eligible_slices(slices, busy, ClusteringOptions(small_file_limit=10)) == [slices[0], slices[2]]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (ClusteringOptions(), DAYS),
        (ClusteringOptions(partition_filter=PartitionFilter.RECENT_DAYS), DAYS[:-3:-1]),
        (ClusteringOptions(partition_filter=PartitionFilter.RECENT_DAYS, skipped_days=3, days=1), [DAYS[-4]]),
        (ClusteringOptions(partition_filter=PartitionFilter.RECENT_DAYS, days=-1), DAYS[::-1]),
        (ClusteringOptions(partition_filter=PartitionFilter.RECENT_DAYS, skipped_days=99), []),
        (ClusteringOptions(partition_filter=PartitionFilter.SELECTED_PARTITIONS), DAYS),
        (
            ClusteringOptions(partition_filter=PartitionFilter.SELECTED_PARTITIONS, begin=DAYS[3], end=DAYS[5]),
            DAYS[3:6],
        ),
        (ClusteringOptions(partition_filter=PartitionFilter.DAY_ROLLING), [DAYS[12]]),
    ],
)
def test_partitions_are_filtered(options: ClusteringOptions, expected: list[str]) -> None:
    assert chosen_partitions(DAYS, options, NOON) == expected


def with_options(table: Table, **options: object) -> Table:
    chosen = replace(table._context.options.clustering, **options)  # type: ignore[arg-type]  # options of several types
    return Table(replace(table._context, options=replace(table._context.options, clustering=chosen)))


@pytest.fixture
def small(tmp_path: Path) -> Table:
    """A table with two small file groups in each of three partitions."""
    table = new_table(tmp_path / "t", options=NO_SMALL)
    for number in range(2):
        table.insert(rows(*((f"{path}{number}", 1, path, number) for path in ("x", "y", "zz"))))
    return table


def test_a_plan_names_files_by_full_paths_and_says_how_to_sort(small: Table) -> None:
    plan = plan_clustering(with_options(small, sort_columns=("v", "k"))._context.state())
    assert plan is not None
    assert plan.strategy is not None
    assert plan.strategy.strategy_params == {"hoodie.clustering.plan.strategy.sort.columns": "v,k"}
    groups_ = plan.input_groups or ()
    assert [len(group.slices or ()) for group in groups_] == [2, 2, 2]
    paths = [str(one.data_file_path) for group in groups_ for one in group.slices or ()]
    assert all(path.startswith(f"file:{small.path}/") and Path(path[5:]).is_file() for path in paths)
    assert (groups_[0].metrics or {})["TOTAL_LOG_FILES"] == 0.0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"selected": ("y",)}, ["y"]),
        ({"pattern": "z+"}, ["zz"]),
        ({"pattern": "z"}, []),
        ({"most_groups": 2}, ["x", "y"]),
        ({"small_file_limit": 1}, []),
    ],
)
def test_partitions_are_chosen(small: Table, options: dict[str, object], expected: list[str]) -> None:
    plan = plan_clustering(with_options(small, **options)._context.state())
    assert [(group.slices or ())[0].partition_path for group in (plan and plan.input_groups) or ()] == expected
