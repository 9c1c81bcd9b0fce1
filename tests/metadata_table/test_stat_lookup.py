"""Looking up the statistics of files and partitions."""

from __future__ import annotations

from hudiformat.metadata_table.partition import Deletes, Part
from hudiformat.metadata_table.stat_lookup import statistics_of_files, statistics_of_partition
from hudiformat.metadata_table.stat_records import file_key, partition_key
from tests.metadata_table.statistics import TYPED, numbers, part


def test_the_newest_record_of_a_file_counts_unless_it_was_dropped() -> None:
    parts: list[Part] = [
        part({file_key("p", name, "c"): TYPED.of_file(name, "c", numbers(1, 2)) for name in ("f", "g", "h")}),
        Deletes(frozenset({file_key("p", "g", "c")})),
        part({file_key("p", "h", "c"): TYPED.of_file("h", "c", numbers(3, 4))}),
        part({file_key("q", "f", "c"): TYPED.of_file("f", "c", numbers(7, 8))}),
    ]
    found = statistics_of_files(parts, "p", ["c", "d"])
    assert found == {"f": {"c": numbers(1, 2)}, "h": {"c": numbers(3, 4)}}


def test_partitions_have_tight_statistics_or_none() -> None:
    parts: list[Part] = [
        part({partition_key("p", name): TYPED.of_partition("p", name, numbers(1, 2)) for name in ("c", "e", "f")}),
        part({partition_key("p", "d"): TYPED.of_file("p", "d", numbers(1, 2))}),
        Deletes(frozenset({partition_key("p", "e")})),
        part({partition_key("p", "f"): TYPED.of_partition("p", "f", numbers(3, 4))}),
    ]
    assert statistics_of_partition(parts, "p", ["c", "d", "e", "f"]) == {"c": numbers(1, 2), "f": numbers(3, 4)}
