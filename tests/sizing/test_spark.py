"""Spark's assignment: counts to small files and new groups, keys to buckets by weight."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pyarrow as pa

from hudiformat.sizing import (
    GroupVerdict,
    InsertBucket,
    Kind,
    RecordSize,
    SizingOptions,
    Verdict,
    plan_partition,
    spark_small_files,
)
from tests.sizing.support import KB, LIMITS, MB, candidate, group


def test_the_worked_example_of_sizing() -> None:
    """40, 80, 90, 130 and 105 MB; the first three are small, and 300 thousand records of 1 kB more are left."""
    sizes = {"a": 40, "b": 80, "c": 90, "d": 130, "e": 105}
    slices = [group(name, size * MB) for name, size in sizes.items()]
    plan = plan_partition("p", 450_000, spark_small_files(slices, Kind.COW, LIMITS), KB, LIMITS)
    found = {item.file_id: (item.room, item.records, item.verdict) for item in plan.groups}
    assert found == {
        "a": (80_000, 80_000, Verdict.TAKEN),
        "b": (40_000, 40_000, Verdict.TAKEN),
        "c": (30_000, 30_000, Verdict.TAKEN),
        "d": (None, 0, Verdict.TOO_LARGE),
        "e": (None, 0, Verdict.TOO_LARGE),
    }
    assert [bucket.records for bucket in plan.buckets if bucket.file_id is None] == [120_000, 120_000, 60_000]
    assert plan.candidates == {"a", "b", "c"}
    assert plan.record_size == KB


def test_room_is_cut_to_whole_records_and_none_is_no_room() -> None:
    groups = [candidate("a", 120 * MB - 999), candidate("b", 120 * MB - 1999), candidate("c", 130 * MB)]
    plan = plan_partition("p", 5, groups, KB, LIMITS)
    assert [(item.room, item.records, item.verdict) for item in plan.groups] == [
        (0, 0, Verdict.FULL),
        (1, 1, Verdict.TAKEN),
        (0, 0, Verdict.FULL),
    ]
    assert plan.buckets == (InsertBucket("b", 1), InsertBucket(None, 4))
    assert plan.candidates == {"a", "b", "c"}


def test_small_files_after_the_last_record_take_none() -> None:
    plan = plan_partition("p", 3, [candidate("a", 0), candidate("b", 0)], KB, LIMITS)
    assert [(item.room, item.records, item.verdict) for item in plan.groups] == [
        (120_000, 3, Verdict.TAKEN),
        (120_000, 0, Verdict.SMALL),
    ]
    assert plan.buckets == (InsertBucket("a", 3),)


def test_skipped_groups_are_in_the_plan_unchanged() -> None:
    full = GroupVerdict("x", 7, Verdict.HAS_LOGS)
    assert plan_partition("p", 1, [full], KB, LIMITS).groups == (full,)


def test_new_groups_take_the_rounded_up_number_of_records_and_the_last_the_rest() -> None:
    options = SizingOptions(max_file_size=1000)
    plan = plan_partition("p", 11, [], RecordSize(300), options)
    assert (plan.records_per_group, [bucket.records for bucket in plan.buckets]) == (4, [4, 4, 3])
    exact = plan_partition("p", 8, [], RecordSize(250), options)
    assert [bucket.records for bucket in exact.buckets] == [4, 4]


def test_without_auto_split_new_groups_take_the_split_size() -> None:
    options = SizingOptions(auto_split=False, insert_split_size=5)
    assert [bucket.records for bucket in plan_partition("p", 11, [], KB, options).buckets] == [5, 5, 1]


def test_a_record_larger_than_a_file_has_a_group_of_its_own() -> None:
    plan = plan_partition("p", 2, [], RecordSize(5000), SizingOptions(max_file_size=1000))
    assert [bucket.records for bucket in plan.buckets] == [1, 1]


def test_without_inserts_there_is_neither_bucket_nor_candidate() -> None:
    plan = plan_partition("p", 0, [candidate("a", 0)], KB, LIMITS)
    assert (plan.buckets, plan.candidates) == ((), frozenset())
    assert len(plan.assign(pa.array([], pa.string()))) == 0


def test_one_bucket_takes_all_keys() -> None:
    plan = plan_partition("p", 3, [candidate("a", 0)], KB, LIMITS)
    assert plan.assign(pa.array(["x", "y", "z"])).tolist() == [0, 0, 0]


def by_hand(plan_records: list[int], key: str) -> int:
    """UpsertPartitioner.getPartition, a key at a time."""
    inserts = sum(plan_records)
    number = int.from_bytes(hashlib.md5(key.encode()).digest()[:8], "little", signed=True)
    share, total = (number % inserts) / inserts, 0.0
    for index, records in enumerate(plan_records):
        total += records / inserts
        if total >= share:
            return index
    return 0


def test_keys_go_to_buckets_by_their_hash_and_the_weights() -> None:
    options = SizingOptions(max_file_size=10_000)
    plan = plan_partition("p", 97, [candidate("a", 3_000), candidate("b", 9_000)], RecordSize(1000), options)
    records = [bucket.records for bucket in plan.buckets]
    assert records == [7, 1, *[10] * 8, 9]
    keys = [f"key-{i}" for i in range(97)]
    assert plan.assign(pa.array(keys)).tolist() == [by_hand(records, key) for key in keys]


def test_a_planned_last_group_of_one_record_usually_gets_none() -> None:
    plan = plan_partition("p", 11, [], RecordSize(100), SizingOptions(max_file_size=1000))
    assert [bucket.records for bucket in plan.buckets] == [10, 1]
    # r is at most 10/11, and the first bucket takes all up to it
    assert np.bincount(plan.assign(pa.array([f"k{i}" for i in range(11)])), minlength=2).tolist() == [11, 0]


def test_small_groups_are_filled_in_the_order_of_the_profile() -> None:
    groups = [candidate("b", 110 * MB), replace(candidate("a", 110 * MB), size=100 * MB)]
    plan = plan_partition("p", 15_000, groups, KB, LIMITS)
    assert plan.buckets == (InsertBucket("b", 10_000), InsertBucket("a", 5_000))


def test_a_number_falls_into_the_bucket_whose_share_contains_it() -> None:
    plan = plan_partition("p", 4, [candidate("a", 120 * MB - 2000), candidate("b", 120 * MB - 1000)], KB, LIMITS)
    assert [bucket.records for bucket in plan.buckets] == [2, 1, 1]
    assert plan.bucket_indices(np.array([0.0, 0.25, 0.5, 0.6, 1.0])).tolist() == [0, 0, 0, 1, 2]
    assert plan.bucket_indices(np.array([1.1])).tolist() == [0]
