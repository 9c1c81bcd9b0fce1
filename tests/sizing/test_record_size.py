"""The average size of a record, as Spark and as Flink see it."""

from __future__ import annotations

import pytest

from hudiformat.sizing import RecordSize, SizingOptions, flink_record_size, spark_record_size
from hudiformat.timeline.timeline import Action
from tests.sizing.support import commit, endless

OPTIONS = SizingOptions(small_file_limit=1000, record_size_estimate=77)
LOG = ".f_1.log.1_0-0-0"


def test_without_commits_the_configured_estimate_counts() -> None:
    assert spark_record_size([], OPTIONS) == RecordSize(77)
    assert flink_record_size([], OPTIONS) == RecordSize(77)
    assert SizingOptions().record_size_estimate == 1024


def test_the_newest_commit_with_enough_bytes_counts_and_is_named() -> None:
    commits = [commit("3", ("f", 1000, 10)), commit("2", ("f", 1001, 10)), commit("1", ("f", 9999, 10))]
    found = spark_record_size(commits, OPTIONS)
    assert found == RecordSize(101, "2", (("3", "1000 bytes, not more than 1000"),))  # strict, and rounded up
    assert flink_record_size(commits, OPTIONS) == found


def test_the_threshold_is_a_share_of_the_small_file_limit() -> None:
    commits = [commit("1", ("f", 501, 1))]
    assert spark_record_size(commits, SizingOptions(small_file_limit=1000, estimation_threshold=0.5)).size == 501
    assert spark_record_size(commits, SizingOptions(small_file_limit=1002, estimation_threshold=0.5)).size == 1024


def test_spark_counts_bytes_without_the_metadata_of_each_file() -> None:
    commits = [commit("1", ("f", 1000, 10), ("g", 1000, 10))]
    options = SizingOptions(small_file_limit=1000, metadata_size=100)
    assert spark_record_size(commits, options).size == 90
    assert flink_record_size(commits, options).size == 100


def test_spark_counts_base_files_alone_in_a_delta_commit_and_flink_all_bytes() -> None:
    commits = [commit("1", ("f", 2000, 10), (LOG, 4000, 20), action=Action.DELTA_COMMIT)]
    assert spark_record_size(commits, OPTIONS).size == 200
    assert flink_record_size(commits, OPTIONS) == RecordSize(200, "1")
    more = [commit("1", ("f", 2000, 10), (LOG, 8000, 10), action=Action.DELTA_COMMIT)]
    assert (spark_record_size(more, OPTIONS).size, flink_record_size(more, OPTIONS).size) == (200, 500)


def test_spark_counts_logs_that_a_compaction_names() -> None:
    assert spark_record_size([commit("1", (LOG, 4000, 20))], OPTIONS).size == 200


def test_a_delta_commit_of_logs_uses_up_one_of_sparks_five() -> None:
    logs = [commit(str(i), (LOG, 9999, 9), action=Action.DELTA_COMMIT) for i in range(9, 4, -1)]
    found = spark_record_size(endless(logs), OPTIONS)
    assert (found.size, found.instant) == (77, None)
    assert found.passed_over[0] == ("9", "0 bytes, but no records")
    assert len(found.passed_over) == 5
    base = commit("1", ("f", 3000, 10))
    assert spark_record_size([*logs[:4], base], OPTIONS).instant == "1"


def test_flink_reads_all_commits() -> None:
    small = [commit(str(i), ("f", 10, 9)) for i in range(19, 9, -1)]
    base = commit("1", ("f", 3000, 10))
    assert flink_record_size([*small, base], OPTIONS).instant == "1"
    assert spark_record_size([*small, base], OPTIONS).instant is None


def test_replace_commits_count_for_flink_alone_and_use_up_none_of_sparks_five() -> None:
    replaced = [commit(str(i), ("f", 5000, 10), action=Action.REPLACE_COMMIT) for i in range(9, 3, -1)]
    base = commit("1", ("f", 3000, 10))
    assert spark_record_size([*replaced, base], OPTIONS) == RecordSize(300, "1")
    assert flink_record_size([*replaced, base], OPTIONS) == RecordSize(500, "9")


@pytest.mark.parametrize("estimate", [spark_record_size, flink_record_size])
def test_a_commit_without_records_is_skipped(estimate: object) -> None:
    assert callable(estimate)
    found = estimate([commit("2", ("f", 5000, 0)), commit("1", ("f", 5000, 5))], OPTIONS)
    assert found == RecordSize(1000, "1", (("2", "5000 bytes, but no records"),))
