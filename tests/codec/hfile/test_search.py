"""Searching the bytes of a data block for entries."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.codec.hfile.entries import encode_entries, find_values
from tests.codec.hfile.files import Entry


def content(*entries: Entry) -> memoryview:
    keys, values = (pa.array([entry[at] for entry in entries], pa.large_binary()) for at in (0, 1))
    return encode_entries(keys, values)


def test_keys_that_are_there_and_others() -> None:
    block = content((b"a", b"1"), (b"ab", b"22"), (b"b", b""))
    assert find_values(block, [b"a", b"aa", b"ab", b"b", b"c", b""], suffix=1) == [b"1", None, b"22", b"", None, None]
    assert find_values(content(), [b"a"], suffix=1) == [None]


def test_entries_of_another_form_are_not_searched() -> None:
    block = content((b"a", b"1"))
    assert find_values(block, [b"a"], suffix=None) is None
    assert find_values(memoryview(bytes(block).replace(b"\x7f\xff", b"\x00\x01")), [b"a"], suffix=1) is None
    assert find_values(memoryview(b"short"), [b"a"], suffix=1) is None


@pytest.mark.parametrize("before", [b"", b"12345678", bytes.fromhex("0000000d 00000000")])
def test_a_value_that_looks_like_the_key_is_not_taken_for_its_entry(before: bytes) -> None:
    inside = before + bytes(content((b"k", b"false")))[8:]
    assert find_values(content((b"a", inside), (b"k", b"true")), [b"k"], suffix=1) is None


def test_a_key_at_the_very_beginning_is_no_entry() -> None:
    whole = bytes(content((b"k", b"v")))
    assert find_values(memoryview(whole[:-1]), [b"k"], suffix=1) is None  # breaks off


entries = st.dictionaries(st.binary(max_size=4), st.binary(max_size=30), max_size=8).map(lambda d: sorted(d.items()))


@given(entries=entries, others=st.lists(st.binary(max_size=4), max_size=4))
def test_what_is_found_is_what_is_there(entries: list[Entry], others: list[bytes]) -> None:
    known = dict(entries)
    wanted = [*known, *others]
    assert find_values(content(*entries), wanted, suffix=1) == [known.get(key) for key in wanted]
