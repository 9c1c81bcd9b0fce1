"""The MD5 of many keys at once is that of hashlib, key by key."""

from __future__ import annotations

import hashlib

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.sizing.key_hash import md5_hashes


@settings(deadline=None)
@given(keys=st.lists(st.text(max_size=200)))
def test_the_hash_is_the_first_half_of_md5(keys: list[str]) -> None:
    expected = [int.from_bytes(hashlib.md5(key.encode()).digest()[:8], "little", signed=True) for key in keys]
    assert md5_hashes(pa.array(keys, pa.string())).tolist() == expected


@pytest.mark.parametrize("length", [0, 54, 55, 56, 63, 64, 65, 119, 120, 128, 500])
def test_the_hash_of_keys_at_the_borders_of_md5s_blocks(length: int) -> None:
    expected = int.from_bytes(hashlib.md5(b"x" * length).digest()[:8], "little", signed=True)
    assert md5_hashes(pa.array(["x" * length])).tolist() == [expected]


@pytest.mark.parametrize("count", [1, 64, 65])
def test_the_hash_of_long_keys_however_many_they_are(count: int) -> None:
    keys = [f"{number:03d}{'x' * 600}" for number in range(count)]
    expected = [int.from_bytes(hashlib.md5(key.encode()).digest()[:8], "little", signed=True) for key in keys]
    assert md5_hashes(pa.array(keys)).tolist() == expected


def test_the_hash_of_a_slice_of_many_keys() -> None:
    keys = pa.array([f"key {i}" for i in range(20_000)])
    assert md5_hashes(keys.slice(5_000, 10_000)).tolist() == md5_hashes(keys).tolist()[5_000:15_000]


def test_the_hash_of_no_keys() -> None:
    assert md5_hashes(pa.array([], pa.string())).tolist() == []
