"""What the statistics of partitions are given of an action."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from hudiformat.codec.statistics import ColumnStatistics, unknown_statistics
from hudiformat.metadata_table.changes import Change, KeyedRecords, Stored
from hudiformat.metadata_table.kinds.partition_stats import PartitionStatsKind
from hudiformat.metadata_table.stat_records import decode_stat_record, partition_key
from hudiformat.timeline.commit_metadata import IndexedFile, WriteStat
from tests.metadata_table.statistics import SCHEMA, TYPED, numbers

KIND = PartitionStatsKind({"c": pa.int32(), "d": pa.string()}, TYPED)
TEXTS = ColumnStatistics(pa.string(), "a", "b", 2)


def written(name: str, **columns: ColumnStatistics) -> WriteStat:
    return WriteStat(path=f"p/{name}", indexed=IndexedFile(columns) if columns else None)


def found(records: KeyedRecords) -> Mapping[tuple[str, str], ColumnStatistics | None]:
    decoded = [decode_stat_record(value, SCHEMA) for value in records.values.to_pylist()]
    assert all(record.is_tight for record in decoded)
    return {(record.name, record.column): record.statistics for record in decoded}


def test_files_that_are_added_widen_what_is_known() -> None:
    change = Change(
        written={"p": [written("f", c=numbers(5, 6), d=TEXTS)]},
        adds_only=lambda _: True,
        of_partition=lambda _: {"c": numbers(1, 2), "d": TEXTS},
    )
    assert found(KIND.records(change)) == {
        ("p", "c"): numbers(1, 6, 4),
        ("p", "d"): ColumnStatistics(pa.string(), "a", "b", 4),
    }


def test_else_the_statistics_are_those_of_all_live_files() -> None:
    change = Change(
        written={"p": [written("f", c=numbers(5, 6), d=TEXTS)]},
        live=lambda _: ["f", "g"],
        known=lambda _: {"g": {"c": numbers(3, 4), "d": TEXTS}, "old": {"c": numbers(0, 99), "d": TEXTS}},
    )
    assert found(KIND.records(change))["p", "c"] == numbers(3, 6, 4)
    assert found(
        KIND.records(Change(written=change.written, live=change.live, known=change.known, adds_only=lambda _: True))
    )["p", "c"] == numbers(3, 6, 4)


def test_a_file_of_which_nothing_is_known_leaves_no_value_out() -> None:
    change = Change(written={"p": [written("f")]}, live=lambda _: ["f"])
    assert found(KIND.records(change))["p", "c"] == unknown_statistics(pa.int32())


def test_a_file_that_lacks_a_column_has_nulls_in_it() -> None:
    change = Change(written={"p": [written("f", c=numbers(1, 2))]}, live=lambda _: ["f"])
    assert found(KIND.records(change))["p", "d"] == ColumnStatistics(pa.string(), None, None, 2, 2)
    change = Change(written={"p": []}, live=lambda _: ["f"], known=lambda _: {"f": {"c": None, "d": TEXTS}})
    assert found(KIND.records(change))["p", "c"] == unknown_statistics(pa.int32())


def test_partitions_without_files_have_none() -> None:
    gone = [partition_key("p", "c"), partition_key("p", "d")]
    assert KIND.records(Change(emptied=["p"])).dropped.to_pylist() == gone
    assert KIND.records(Change(deleted={"p": ["f"]}, gone=["p"], undone=["p"])).dropped.to_pylist() == gone


def test_what_is_rolled_back_is_computed_anew_and_what_is_cleaned_is_not() -> None:
    known = {"g": {"c": numbers(3, 4), "d": TEXTS}}
    undone = Change(deleted={"p": ["f"]}, undone=["p"], live=lambda _: ["g"], known=lambda _: known)
    assert found(KIND.records(undone))["p", "c"] == numbers(3, 4)
    assert not KIND.records(Change(deleted={"p": ["f"]}))


def test_a_newer_record_replaces_the_older_one() -> None:
    older, newer = (Stored(TYPED.of_partition("p", "c", numbers(*bounds)), SCHEMA) for bounds in ((1, 9), (3, 4)))
    assert KIND.merge("key", older, newer) == newer
    assert KIND.encode_base_record("key", newer) == newer.value
    assert KIND.name == "partition_stats"
