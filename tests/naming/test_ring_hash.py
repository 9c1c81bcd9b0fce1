"""The places of record keys on a ring are those that Hudi computes (XXH32 of the key)."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.naming.ring_hash import RING_END, ring_positions, xxh32


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0x02CC5D05),
        ("a", 0x550D7456),
        ("abc", 0x32D153FF),
        ("Nobody inspects the spammish repetition", 0xE2293B2F),
    ],
)
def test_hashes_are_those_of_the_specification(text: str, expected: int) -> None:
    assert xxh32(pa.array([text])).tolist() == [expected]
    assert ring_positions(pa.array([text]), ["k"]).tolist() == [expected & RING_END]


@pytest.mark.parametrize("length", range(512, 532))
def test_long_texts_have_the_same_hash_among_few_and_among_many(length: int) -> None:
    texts = [f"{number:02d}{'x' * (length - 2)}" for number in range(20)]
    assert [xxh32(pa.array([text])).tolist() for text in texts] == [[one] for one in xxh32(pa.array(texts)).tolist()]


@given(st.lists(st.text(alphabet="abc,:ä\U0001f600", max_size=40), max_size=20))
def test_a_column_is_hashed_as_its_values(keys: list[str]) -> None:
    column = pa.array(["padding", *keys], pa.string())[1:]
    assert ring_positions(column, ["a"]).tolist() == [
        int(ring_positions(pa.array([key], pa.string()), ["a"])[0]) for key in keys
    ]


def test_of_a_composite_key_the_values_of_the_hash_fields_are_joined() -> None:
    keys = pa.array(["a:1,b:2", "a:__null__,b:2", "a:__empty__,b:x:y,c:3"])
    of = ["12", "null2", "x:y"]
    assert ring_positions(keys, ["a", "b"]).tolist() == ring_positions(pa.array(of), ["a"]).tolist()
    assert ring_positions(keys, ["b"]).tolist() == ring_positions(pa.array(["2", "2", "x:y"]), ["a"]).tolist()
