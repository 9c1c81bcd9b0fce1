"""Merging a file group into its next base file."""

from __future__ import annotations

import json

import pytest

from hudiformat.errors import CorruptBlockError
from hudiformat.metadata_table.kinds.bloom_filters import BloomFiltersKind
from hudiformat.metadata_table.kinds.column_stats import ColumnStatsKind
from hudiformat.metadata_table.kinds.files import ALL_PARTITIONS, FilesKind, encode_entries
from hudiformat.metadata_table.merging import merge_records
from hudiformat.metadata_table.partition import Deletes, Part
from hudiformat.metadata_table.records import FileEntry, decode_file_entries
from hudiformat.metadata_table.stat_records import decode_stat_record
from tests.metadata_table.statistics import SCHEMA, TYPED, numbers, part

STATS = ColumnStatsKind(("c",), TYPED)


def entries(key: str, **sizes: int) -> bytes:
    return encode_entries(key, {name: FileEntry(max(size, 0), size < 0) for name, size in sizes.items()}, SCHEMA)


def test_file_lists_are_merged_and_deleted_names_left_out() -> None:
    parts = [
        part({"p": entries("p", a=1, b=2), ALL_PARTITIONS: entries(ALL_PARTITIONS, p=0)}),
        part({"p": entries("p", a=-1, c=3, d=-1), "q": entries("q", e=1, f=-1)}),
    ]
    keys, values = merge_records(parts, FilesKind(SCHEMA), SCHEMA)
    found = {
        key: decode_file_entries(value, SCHEMA) for key, value in zip(keys.to_pylist(), values.to_pylist(), strict=True)
    }
    assert keys.to_pylist() == sorted([ALL_PARTITIONS, "p", "q"])
    assert {key: dict.fromkeys(names) for key, names in found.items()} == {
        ALL_PARTITIONS: {"p": None},
        "p": {"b": None, "c": None},
        "q": {"e": None},
    }


def test_dropped_keys_are_gone_unless_they_come_again() -> None:
    one = TYPED.of_file("f", "c", numbers(1, 2))
    parts: list[Part] = [part({"a": one, "b": one, "c": one}), Deletes(frozenset({"a", "b", "x"})), part({"b": one})]
    keys, values = merge_records(parts, STATS, SCHEMA)
    assert keys.to_pylist() == ["b", "c"]
    assert values.to_pylist() == [one, one]


def test_records_of_another_release_get_the_schema_of_this_one() -> None:
    older = json.loads(SCHEMA)
    older["fields"] = [field for field in older["fields"] if field["name"] != "SecondaryIndexMetadata"]
    record = TYPED.of_file("f", "c", numbers(1, 2))
    keys, values = merge_records([part({"a": record[:-1]}, json.dumps(older))], STATS, SCHEMA)
    assert keys.to_pylist() == ["a"]
    assert decode_stat_record(values[0].as_py(), SCHEMA).statistics == numbers(1, 2)
    with pytest.raises(CorruptBlockError, match="expected a HoodieMetadataRecord"):
        merge_records([part({"a": b""}, json.dumps(older))], STATS, SCHEMA)


def test_nothing_gives_nothing() -> None:
    keys, values = merge_records([], STATS, SCHEMA)
    assert (len(keys), len(values)) == (0, 0)


def test_of_a_plain_kind_the_newest_record_counts() -> None:
    kind = BloomFiltersKind(SCHEMA)
    parts: list[Part] = [
        part({"a": b"1", "b": b"1", "c": b"1"}),
        Deletes(frozenset("bc")),
        part({"a": b"2", "c": b"3"}),
    ]
    keys, values = merge_records(parts, kind, SCHEMA)
    assert dict(zip(keys.to_pylist(), values.to_pylist(), strict=True)) == {"a": b"2", "c": b"3"}
