"""What a base file's footer says of its keys."""

from __future__ import annotations

import base64
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.basefile import BloomFilter, FileKeys, parse_filters, read_file_keys
from hudiformat.errors import CorruptTableError
from hudiformat.storage import LocalStorage

KEYS = pa.array(["b", "d", "f"])


def file_with(folder: Path, footer: dict[str, str]) -> FileKeys:
    with pq.ParquetWriter(folder / "f.parquet", pa.schema([("a", pa.int64())])) as writer:
        writer.add_key_value_metadata(footer)
    return read_file_keys(LocalStorage(folder), "f.parquet")


def dynamic(*filters: BloomFilter) -> str:
    """Source: InternalDynamicBloomFilter.write."""
    parts = [base64.b64decode(one.serialize()) for one in filters]
    return base64.b64encode(parts[0][:13] + struct.pack(">iii", 3, 0, len(parts)) + b"".join(parts)).decode()


def test_keys_outside_of_the_range_are_not_there(tmp_path: Path) -> None:
    found = file_with(tmp_path, {"hoodie_min_record_key": "b", "hoodie_max_record_key": "f"})
    assert found.in_range(pa.array(["a", "b", "c", "f", "g"])).tolist() == [False, True, True, True, False]
    assert found.might_contain(pa.array(["c"]))
    assert not found.might_contain(pa.array([], pa.string()))


def test_no_range_says_nothing_nor_one_that_java_orders_otherwise(tmp_path: Path) -> None:
    assert file_with(tmp_path, {}) == FileKeys(None, None)
    assert FileKeys(None, None).in_range(KEYS).all()
    emoji = pa.array(["\U0001f600", "z"])
    assert FileKeys(("a", "b"), None).in_range(emoji).all()


def test_a_filter_of_either_type_knows_its_keys(tmp_path: Path) -> None:
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


def test_many_keys_are_asked_in_pieces() -> None:
    keys = pa.array([str(number) for number in range(40_000)])
    assert BloomFilter.of(keys.slice(0, 30_000)).might_contain(keys).sum() == pytest.approx(30_000, abs=1)
    assert np.array_equal(BloomFilter.of(KEYS).might_contain(pa.array([], pa.string())), np.empty(0, np.bool_))


@pytest.mark.parametrize("cut", [5, 20, 30])
def test_a_dynamic_filter_that_breaks_off_is_damage(cut: int) -> None:
    data = base64.b64decode(dynamic(BloomFilter.of(KEYS)))
    with pytest.raises(CorruptTableError, match="not a bloom filter"):
        parse_filters(base64.b64encode(data[:cut]).decode(), "DYNAMIC_V0")


def test_a_simple_filter_ends_with_its_bits() -> None:
    data = base64.b64decode(BloomFilter.of(KEYS).serialize())
    with pytest.raises(CorruptTableError, match="bits in"):
        BloomFilter.parse(base64.b64encode(data + b"x").decode())


def test_junk_is_no_base_file(tmp_path: Path) -> None:
    (tmp_path / "f.parquet").write_bytes(b"junk")
    with pytest.raises(CorruptTableError, match="not a readable base file"):
        read_file_keys(LocalStorage(tmp_path), "f.parquet")
