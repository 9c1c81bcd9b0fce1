"""The rules that writers and simulations share: for many commits at once they say what they say for each."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.services.compaction import choose_to_compact
from hudiformat.sizing import SizingOptions, Verdict, flink_record_size, plan_partition, spark_record_size
from hudiformat.sizing.record_size import RecordSize, record_sizes
from hudiformat.sizing.small_files import GroupVerdict
from hudiformat.sizing.spark import spare_bytes
from hudiformat.table.options.values import CleanPolicy, ServiceOptions
from hudiformat.timeline.archive.archiving import ArchiveLimits
from tests.sizing.support import commit

MIB = 1 << 20
written = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 9)), max_size=12)


@given(commits=written, newest=st.integers(0, 6))
def test_record_sizes_of_many_commits_are_those_of_each(commits: list[tuple[int, int]], newest: int) -> None:
    options = SizingOptions(small_file_limit=100, estimation_commits=newest)
    sizes, records = (np.array([one[at] for one in commits], np.int64) for at in (0, 1))
    spark = record_sizes(sizes, records, options, newest=newest)
    flink = record_sizes(sizes, records, options, newest=None)
    for number in range(len(commits) + 1):
        before = [commit(str(at), ("a_0-0-0_1.parquet", *commits[at])) for at in reversed(range(number))]
        assert spark[number] == spark_record_size(before, options).size
        assert flink[number] == flink_record_size(before, options).size


@given(size=st.integers(0, 300), rows=st.integers(1, 50), average=st.integers(1, 20))
def test_a_group_with_bytes_to_spare_takes_all_rows(size: int, rows: int, average: int) -> None:
    options = SizingOptions(max_file_size=200, small_file_limit=400)
    plan = plan_partition("", rows, [GroupVerdict("a", size, Verdict.SMALL)], RecordSize(average), options)
    takes_all = bool(plan.buckets) and plan.buckets[0].file_id == "a" and plan.buckets[0].records == rows
    assert takes_all == (spare_bytes(size, rows, average, options) >= 0)


def chosen(logs: list[int], sizes: list[int], options: ServiceOptions) -> list[int]:
    files, log_bytes, all_bytes = (np.array(values, np.int64) for values in ([1] * len(logs), logs, sizes))
    found: list[int] = choose_to_compact(files, log_bytes, all_bytes, options).tolist()
    return found


def test_a_compaction_takes_the_most_logs_first_until_its_bytes_are_reached() -> None:
    sizes = [3 * MIB, 3 * MIB, 3 * MIB]
    assert chosen([1, 3, 2], sizes, ServiceOptions()) == [1, 2, 0]
    assert chosen([1, 3, 2], sizes, ServiceOptions(compaction_target_io_mb=7)) == [1, 2]
    assert chosen([1, 3, 2], sizes, ServiceOptions(compaction_target_io_mb=6)) == [1]
    assert chosen([1, 3, 2], sizes, ServiceOptions(compaction_target_io_mb=1)) == [1]
    assert chosen([1, 3, 2], sizes, ServiceOptions(compaction_log_size=2)) == [1, 2]
    assert chosen([1, 3, 2], sizes, ServiceOptions(compaction_log_files=2)) == []
    assert chosen([2, 2], [MIB, MIB], ServiceOptions()) == [0, 1]


def test_a_clean_keeps_the_newest_commits() -> None:
    options = ServiceOptions(clean_commits=3)
    assert [options.first_retained(count) for count in (2, 3, 4, 9)] == [None, None, 1, 6]
    assert ServiceOptions(clean_policy=CleanPolicy.BY_HOURS).first_retained(9) is None


def test_archiving_leaves_the_least_once_there_are_more_than_the_most() -> None:
    assert [ArchiveLimits(5, 3).surplus(count) for count in (3, 5, 6, 9)] == [0, 0, 3, 6]
