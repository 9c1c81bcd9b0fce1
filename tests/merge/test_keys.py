"""Keys are told apart by hashes, and by themselves where hashes are alike."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.merge import keys as module
from hudiformat.merge.keys import KeyIndex, key_hashes

TEXTS = st.lists(st.text(max_size=20) | st.sampled_from(["a", "b", "\0", "\0\0", ""]), max_size=30)


def chunked(texts: list[str], cut: int = 0) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(texts[:cut], pa.string()), pa.array(texts[cut:], pa.string())])


@pytest.fixture(params=[64, 4, 0])
def hashes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real hashes; such as differ in their lowest bits alone; and the worst there can be."""
    few: Callable[[pa.ChunkedArray], module.Hashes] = lambda keys: key_hashes(keys) % np.uint64(2**request.param)  # noqa: E731
    if request.param < 64:
        monkeypatch.setattr(module, "key_hashes", few)


@settings(deadline=None)
@given(TEXTS, st.integers(0, 30))
def test_a_hash_depends_on_nothing_but_the_text(texts: list[str], cut: int) -> None:
    alone = [int(key_hashes(pa.chunked_array([[text]], pa.string()))[0]) for text in texts]
    assert key_hashes(chunked(texts, cut)).tolist() == alone
    assert key_hashes(chunked(["before", *texts], 0).slice(1)).tolist() == alone


def test_different_texts_have_different_hashes() -> None:
    texts = [f"{before}{i}{after}" for i in range(2000) for before in ("", "key-", "x" * 9) for after in ("", "\0")]
    assert len(set(key_hashes(chunked(texts)).tolist())) == len(texts)


def index_of(keys: list[str]) -> KeyIndex:
    return KeyIndex.of(chunked(keys, 1))


KEYS = ["b", "a", "b", "", "c", "a", "b"]


@pytest.mark.usefixtures("hashes")
def test_keys_are_numbered() -> None:
    index = KeyIndex.of(chunked(KEYS, 3))
    assert len(index) == 4
    assert [KEYS[index.rows[number]] for number in index.numbers()] == KEYS
    index = KeyIndex.of(chunked(["b", "c", "a"]))
    assert sorted(index.numbers().tolist()) == [0, 1, 2]
    assert index.rows[index.numbers()].tolist() == [0, 1, 2]
    index = KeyIndex.of(chunked([]))
    assert (len(index.numbers()), len(index)) == (0, 0)


@pytest.mark.usefixtures("hashes")
def test_keys_are_found() -> None:
    known = ["b", "", "a", "longer than eight"]
    index = index_of(known)
    rows, numbers = index.find(chunked(["x", "a", "b", "a", "longer than nine", ""], 2))
    assert (rows.tolist(), [known[index.rows[number]] for number in numbers]) == ([1, 2, 3, 5], ["a", "b", "a", ""])
    assert [part.tolist() for part in index.find(chunked([]))] == [[], []]


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9), max_size=40))
def test_hashes_are_sorted_whichever_bits_they_differ_in(values: list[int]) -> None:
    hashes = np.array(values, np.uint64)
    assert hashes[module._order(hashes)].tolist() == sorted(values)


def test_nothing_is_found_in_no_keys() -> None:
    assert [part.tolist() for part in index_of([]).find(chunked(["a"]))] == [[], []]


@pytest.mark.usefixtures("hashes")
def test_a_key_that_is_not_there_is_not_found_though_its_hash_is() -> None:
    assert [part.tolist() for part in index_of(["a"]).find(chunked(["b", "c"]))] == [[], []]
