"""The keys of statistics: those that Hudi wrote, and known vectors of the hash."""

from __future__ import annotations

import pytest

from hudiformat.metadata_table.index_keys import column_id, file_id, partition_id, xxh64


def test_the_keys_are_those_in_a_table_of_hudis() -> None:
    assert column_id("name") == "F5SYxeUa1U8="
    assert column_id("_hoodie_commit_time") == "JBBzUToHtLc="
    assert partition_id("east") == "wi9Vfb92PdQ="
    assert file_id("b361a50f-1a8b-4340-8b48-e9c575c63c53-0_0-4702-8345_20261121062436847.parquet") == (
        "enuNFvNRGv0bItEEjElfSQ=="
    )


def test_a_table_without_partitions_has_one_partition_called_dot() -> None:
    assert partition_id("") == partition_id(".")


@pytest.mark.parametrize(
    ("data", "seed", "expected"),
    [
        (b"", 0, 0xEF46DB3751D8E999),
        (b"a", 0, 0xD24EC4F1A98C6E5B),
        (b"abc", 0, 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0, 0xFBCEA83C8A378BF1),
        (bytes(range(4)), 0, 0xFFCED8604453CC1E),
        (bytes(range(100)), 0xFFFFFFFFDABADABA, 0xFEBB9CA47614888B),
    ],
)
def test_the_hash_is_that_of_the_specification(data: bytes, seed: int, expected: int) -> None:
    assert xxh64(data, seed) == expected
