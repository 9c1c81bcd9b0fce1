"""Which file groups are small: for Spark and for Flink, with indexes of both kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from hudiformat.file_group.slices import FileSlice, LogFile
from hudiformat.naming.file_names import LogFileName
from hudiformat.sizing import (
    GroupVerdict,
    Kind,
    Pending,
    SizingOptions,
    Verdict,
    estimated_size,
    flink_small_files,
    in_hudi_order,
    spark_small_files,
)
from tests.sizing.support import LIMITS, MB, group, small, verdicts

Find = Callable[[Sequence[FileSlice], Kind, SizingOptions, Pending], tuple[GroupVerdict, ...]]
ALL_KINDS = pytest.mark.parametrize("kind", list(Kind))


def test_cow_small_is_strictly_below_the_limit() -> None:
    slices = [group("a", 100 * MB), group("b", 100 * MB - 1), group("c", 0)]
    found = spark_small_files(slices, Kind.COW, LIMITS)
    assert verdicts(found) == {"a": Verdict.TOO_LARGE, "b": Verdict.SMALL, "c": Verdict.SMALL}
    assert {item.file_id: item.size for item in found} == {"a": 100 * MB, "b": 100 * MB - 1, "c": 0}


def test_flink_takes_an_empty_file_for_a_damaged_one() -> None:
    found = flink_small_files([group("a", 100 * MB), group("b", 1), group("c", 0)], Kind.COW, LIMITS)
    assert verdicts(found) == {"a": Verdict.TOO_LARGE, "b": Verdict.SMALL, "c": Verdict.EMPTY}


@pytest.mark.parametrize("find", [spark_small_files, flink_small_files])
def test_what_rewrites_base_files_passes_over_rows_in_log_files(find: Find) -> None:
    slices = [group("a", 10, [1]), group("b", 10), group("c", None, [1]), group("d", 10)]
    found = find(slices, Kind.MOR_BLIND, LIMITS, Pending(compaction=frozenset("d")))
    assert verdicts(found) == {
        "a": Verdict.HAS_LOGS,
        "b": Verdict.SMALL,
        "c": Verdict.HAS_LOGS,
        "d": Verdict.IN_COMPACTION,
    }


@ALL_KINDS
@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_nothing_turns_small_files_off(kind: Kind, limit: int) -> None:
    options = replace(LIMITS, small_file_limit=limit)
    slices = [group("a", 1), group("b", 1, [10])]
    assert set(verdicts(spark_small_files(slices, kind, options)).values()) == {Verdict.DISABLED}
    assert set(verdicts(flink_small_files(slices, kind, options)).values()) == {Verdict.DISABLED}


def test_blind_mor_skips_slices_with_logs_and_takes_the_smallest_first() -> None:
    slices = [
        group("a", 30),
        group("b", 10),
        group("c", 5, [1]),
        group("d", 20),
        group("e", 100 * MB),
        group("f", None, [3]),
    ]
    found = spark_small_files(slices, Kind.MOR_BLIND, LIMITS)
    assert small(found) == ["b", "d", "a"]
    assert verdicts(found)["c"] is Verdict.HAS_LOGS
    assert verdicts(found)["f"] is Verdict.HAS_LOGS
    assert verdicts(found)["e"] is Verdict.TOO_LARGE


@pytest.mark.parametrize(("limit", "expected"), [(0, []), (-1, []), (1, ["b"]), (2, ["b", "d"]), (9, ["b", "d", "a"])])
def test_blind_mor_takes_no_more_candidates_than_allowed(limit: int, expected: list[str]) -> None:
    slices = [group("a", 30), group("b", 10), group("d", 20)]
    found = spark_small_files(slices, Kind.MOR_BLIND, replace(LIMITS, candidates_limit=limit))
    assert small(found) == expected
    assert list(verdicts(found).values()).count(Verdict.OVER_LIMIT) == 3 - len(expected)


def test_a_blind_candidate_in_clustering_uses_up_a_slot() -> None:
    slices = [group("a", 30), group("b", 10), group("d", 20)]
    options = replace(LIMITS, candidates_limit=1)
    found = spark_small_files(slices, Kind.MOR_BLIND, options, Pending(clustering=frozenset("b")))
    assert small(found) == []
    assert verdicts(found) == {"b": Verdict.IN_CLUSTERING, "d": Verdict.OVER_LIMIT, "a": Verdict.OVER_LIMIT}


def test_a_blind_candidate_in_compaction_uses_up_none() -> None:
    slices = [group("a", 30), group("b", 10)]
    options = replace(LIMITS, candidates_limit=1)
    found = spark_small_files(slices, Kind.MOR_BLIND, options, Pending(compaction=frozenset("b")))
    assert small(found) == ["a"]
    assert verdicts(found)["b"] is Verdict.IN_COMPACTION


def test_equal_base_files_stay_in_hudis_order() -> None:
    slices = [group(name, 10) for name in ("x", "1b", "a")]
    ordered = [item.file_id for item in in_hudi_order(slices)]
    assert small(spark_small_files(slices, Kind.MOR_BLIND, LIMITS)) == ordered


def test_seeing_mor_counts_logs_by_the_ratio_against_the_maximum() -> None:
    slices = [
        group("a", 119 * MB),  # above the small file limit, which does not matter
        group("b", 120 * MB),
        group("c", 50 * MB, [100 * MB, 100 * MB]),  # 50 + 0.35 x 200 = 120
        group("d", 50 * MB, [100 * MB, 100 * MB - 3]),
        group("e", None, [342 * MB]),
        group("f", None, [343 * MB]),
    ]
    options = replace(LIMITS, candidates_limit=0)  # which does not matter either
    found = spark_small_files(slices, Kind.MOR, options)
    assert sorted(small(found)) == ["a", "d", "e"]
    assert {verdicts(found)[name] for name in "bcf"} == {Verdict.FILLED}
    assert flink_small_files(slices, Kind.MOR, options) == found


def test_the_size_of_logs_is_cut_to_whole_bytes() -> None:
    assert estimated_size(group("a", 10, [1, 1]), LIMITS) == 10
    assert estimated_size(group("a", 10, [2, 1]), LIMITS) == 11
    assert estimated_size(group("a", None, [100]), LIMITS) == 35


def test_groups_in_compaction_are_candidates_for_flink_alone() -> None:
    slices = [group("a", 10, [5]), group("b", 10)]
    pending = Pending(compaction=frozenset("a"))
    assert verdicts(spark_small_files(slices, Kind.MOR, LIMITS, pending))["a"] is Verdict.IN_COMPACTION
    assert sorted(small(flink_small_files(slices, Kind.MOR, LIMITS))) == ["a", "b"]


@ALL_KINDS
def test_groups_in_clustering_are_left_out(kind: Kind) -> None:
    slices = [group("a", 10), group("b", 10)]
    found = spark_small_files(slices, kind, LIMITS, Pending(clustering=frozenset("a")))
    assert verdicts(found) == {"a": Verdict.IN_CLUSTERING, "b": Verdict.SMALL}
    found = flink_small_files(slices, kind, LIMITS, Pending(clustering=frozenset("a")))
    assert verdicts(found) == {"a": Verdict.IN_CLUSTERING, "b": Verdict.SMALL}


def test_a_group_that_is_skipped_anyway_keeps_its_reason() -> None:
    found = spark_small_files([group("a", 100 * MB)], Kind.COW, LIMITS, Pending(clustering=frozenset("a")))
    assert verdicts(found) == {"a": Verdict.TOO_LARGE}


def java_order(names: list[str], capacity: int) -> list[str]:
    def bucket(name: str) -> int:
        code = 0
        for char in name:
            code = (31 * code + ord(char)) & 0xFFFFFFFF
        return (code ^ (code >> 16)) & (capacity - 1)

    return sorted(names, key=lambda name: (bucket(name), name))


@pytest.mark.parametrize(("count", "capacity"), [(1, 16), (11, 16), (12, 32), (23, 32), (24, 64), (100, 256)])
def test_the_order_is_that_of_a_hash_set_made_of_the_base_files(count: int, capacity: int) -> None:
    names = [f"{i * 7919:08x}-{i}" for i in range(count)]
    slices: list[FileSlice] = [group(name, 1) for name in names]
    assert [item.file_id for item in in_hudi_order(slices)] == java_order(names, capacity)


def test_groups_of_logs_make_the_hash_set_grow_later() -> None:
    names = [f"{i * 7919:08x}-{i}" for i in range(12)]
    slices = [group(name, None, [1]) for name in names]
    assert [item.file_id for item in in_hudi_order(slices)] == java_order(names, 16)
    slices.append(group("last", None, [1]))
    assert [item.file_id for item in in_hudi_order(slices)] == java_order([*names, "last"], 32)


@pytest.mark.parametrize("rules", [spark_small_files, flink_small_files])
def test_small_files_carry_their_location(rules: Callable[..., tuple[GroupVerdict, ...]]) -> None:
    log_only = FileSlice(
        "p", "b", "3", None, tuple(LogFile(LogFileName("b", time, 1, "0-0-0"), 10) for time in ("3", "4", "5"))
    )
    found = rules([group("a", 10, [5]), log_only, group("c")], Kind.MOR, LIMITS)
    assert {item.file_id: item.instant for item in found} == {"a": "1", "b": "5", "c": "1"}
