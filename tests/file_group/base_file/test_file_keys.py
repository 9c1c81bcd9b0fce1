"""The key range and the bloom filters in the footer of a base file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.file_group.base_file.bloom import BloomFilter
from hudiformat.file_group.base_file.file_indexes import FileKeys
from hudiformat.file_group.base_file.read import read_file_keys
from hudiformat.storage.local import LocalStorage
from tests.file_group.base_file.test_bloom import dynamic

KEYS = pa.array(["b", "d", "f"])


def file_with(folder: Path, footer: dict[str, str]) -> FileKeys:
    with pq.ParquetWriter(folder / "f.parquet", pa.schema([("a", pa.int64())])) as writer:
        writer.add_key_value_metadata(footer)
    return read_file_keys(LocalStorage(folder), "f.parquet")


def test_keys_outside_of_the_range(tmp_path: Path) -> None:
    found = file_with(tmp_path, {"hoodie_min_record_key": "b", "hoodie_max_record_key": "f"})
    assert found.in_range(pa.array(["a", "b", "c", "f", "g"])).tolist() == [False, True, True, True, False]
    assert found.might_contain(pa.array(["c"]))
    assert not found.might_contain(pa.array([], pa.string()))


def test_all_keys_are_in_range_without_one_or_if_java_may_order_them_differently(tmp_path: Path) -> None:
    assert file_with(tmp_path, {}) == FileKeys(None, None)
    assert FileKeys(None, None).in_range(KEYS).all()
    emoji = pa.array(["\U0001f600", "z"])
    assert FileKeys(("a", "b"), None).in_range(emoji).all()


def test_a_filter_of_either_type_contains_its_keys(tmp_path: Path) -> None:
    simple, other = BloomFilter.of(KEYS), BloomFilter.of(pa.array(["x", "y", "z"]))
    code = "hoodie_bloom_filter_type_code"
    for footer in (
        {"org.apache.hudi.bloomfilter": simple.serialize()},
        {"org.apache.hudi.bloomfilter": simple.serialize(), code: "SIMPLE"},
        {"org.apache.hudi.bloomfilter": dynamic(other, simple), code: "DYNAMIC_V0"},
    ):
        found = file_with(tmp_path, footer)
        assert [found.might_contain(pa.array([key])) for key in ("b", "d", "c")] == [True, True, False]
    assert file_with(tmp_path, {"org.apache.hudi.bloomfilter": "?", code: "NEW"}).filters is None


def test_keys_of_many_files_are_those_of_each() -> None:
    keys = pa.array(["b", "a", "c", "\uffff", "\U00010000"])
    counts, parts = [2, 0, 1, 2], [keys[:2], keys[2:2], keys[2:3], keys[3:]]
    assert FileKeys.of_each(keys, counts, bloom_filter=True) == [FileKeys.of_keys(part) for part in parts]
    plain = FileKeys.of_each(keys, counts, bloom_filter=False)
    assert [one.key_range for one in plain] == [("a", "b"), None, ("c", "c"), ("\U00010000", "\uffff")]
    assert {one.filter_text for one in plain} == {None}


@pytest.mark.parametrize("last", ["z", "\U00010000"])
def test_keys_of_some_large_files_are_those_of_each(last: str) -> None:
    keys = pa.array([*(f"k{number * 7919 % 1000:03}" for number in range(500)), "\uffff", last])
    counts = [300, 0, 202]
    parts = [keys[:300], keys[300:300], keys[300:]]
    assert FileKeys.of_each(keys, counts, bloom_filter=True) == [FileKeys.of_keys(part) for part in parts]
