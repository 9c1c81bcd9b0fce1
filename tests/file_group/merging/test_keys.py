"""Keys are found by their hashes, and by comparison where hashes are equal; rows are taken as Arrow takes them.

Of rows with the same key one is kept; a property over parts of rows is in tests/write/test_rows.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat import testing
from hudiformat.file_group.merging import keys as module
from hudiformat.file_group.merging.keys import KeyIndex, RowSource, key_hashes

TEXTS = st.lists(st.text(max_size=20) | st.sampled_from(["a", "b", "\0", "\0\0", ""]), max_size=30)


def chunked(texts: list[str], cut: int = 0) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(texts[:cut], pa.string()), pa.array(texts[cut:], pa.string())])


@pytest.fixture(params=[64, 4, 0])
def hashes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real hashes; hashes that differ in their lowest bits only; and hashes that are all equal."""

    def few(keys: pa.ChunkedArray) -> module.Hashes:
        hashes: module.Hashes = key_hashes(keys) % np.uint64(2**request.param)
        return hashes

    if request.param < 64:
        monkeypatch.setattr(module, "key_hashes", few)


@settings(deadline=None)
@given(TEXTS, st.integers(0, 30))
def test_a_hash_depends_on_nothing_but_the_text(texts: list[str], cut: int) -> None:
    alone = [int(key_hashes(pa.chunked_array([[text]], pa.string()))[0]) for text in texts]
    assert key_hashes(chunked(texts, cut)).tolist() == alone
    assert key_hashes(chunked(["before", *texts], 0).slice(1)).tolist() == alone


def test_long_keys_have_the_same_hash_among_few_and_among_many() -> None:
    texts = [f"{number} {'kä' * (600 + number)}" for number in range(40)] + ["x" * 1024, "x" * 1025, "short"]
    among_many = key_hashes(chunked(texts)).tolist()
    assert [int(key_hashes(chunked([text, "beside"]))[0]) for text in texts] == among_many


def test_different_texts_have_different_hashes() -> None:
    texts = [f"{before}{i}{after}" for i in range(2000) for before in ("", "key-", "x" * 9) for after in ("", "\0")]
    assert len(set(key_hashes(chunked(texts)).tolist())) == len(texts)


def index_of(keys: list[str]) -> KeyIndex:
    return KeyIndex.of(chunked(keys, 1))


KEYS = ["b", "a", "b", "", "c", "a", "b"]


@pytest.mark.usefixtures("hashes")
def test_distinct_keys_are_numbered() -> None:
    index = KeyIndex.of(chunked(KEYS, 3))
    assert len(index) == 4
    assert [KEYS[index.rows[number]] for number in index.numbers()] == KEYS
    index = KeyIndex.of(chunked(["b", "c", "a"]))
    assert sorted(index.numbers().tolist()) == [0, 1, 2]
    assert index.rows[index.numbers()].tolist() == [0, 1, 2]
    index = KeyIndex.of(chunked([]))
    assert (len(index.numbers()), len(index)) == (0, 0)


@pytest.mark.usefixtures("hashes")
def test_keys_are_found_in_an_index() -> None:
    known = ["b", "", "a", "longer than eight"]
    index = index_of(known)
    rows, numbers = index.find(chunked(["x", "a", "b", "a", "longer than nine", ""], 2))
    assert (rows.tolist(), [known[index.rows[number]] for number in numbers]) == ([1, 2, 3, 5], ["a", "b", "a", ""])
    assert [part.tolist() for part in index.find(chunked([]))] == [[], []]


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9), max_size=40))
def test_hashes_are_sorted_whichever_bits_they_differ_in(values: list[int]) -> None:
    hashes = np.array(values, np.uint64)
    assert hashes[module._sort_hashes(hashes)].tolist() == sorted(values)


def test_an_empty_index_has_no_matches() -> None:
    assert [part.tolist() for part in index_of([]).find(chunked(["a"]))] == [[], []]


@pytest.mark.usefixtures("hashes")
def test_a_key_that_only_shares_a_hash_is_no_match() -> None:
    assert [part.tolist() for part in index_of(["a"]).find(chunked(["b", "c"]))] == [[], []]


ROWS = 300
COLUMNS: dict[str, Any] = {
    "keys of one length": [f"key-{number:04}" for number in range(ROWS)],
    "texts": ["ab" * (number % 19) for number in range(ROWS)],
    "texts and nulls": [None if number % 3 else "é" * (number % 9) for number in range(ROWS)],
    "empty texts": [""] * ROWS,
    "nulls": pa.nulls(ROWS, pa.string()),
    "bytes": [bytes([number % 256]) * 20 for number in range(ROWS)],
    "numbers": range(ROWS),
    "numbers and nulls": [None if number % 7 == 0 else number for number in range(ROWS)],
    "flags and nulls": [(True, False, None)[number % 3] for number in range(ROWS)],
    "lists": [[number] * (number % 3) for number in range(ROWS)],
    "dictionary": pa.array([f"word {number % 4}" for number in range(ROWS)]).dictionary_encode(),
}
TABLE = pa.table(COLUMNS)
INDICES = np.random.default_rng(3).integers(0, 100, 250)


@pytest.mark.parametrize(
    "table", [TABLE, TABLE.slice(37, 120), pa.concat_tables([TABLE, TABLE])], ids=["whole", "sliced", "in chunks"]
)
def test_any_column_is_taken(table: pa.Table) -> None:
    taken = RowSource(table).take(INDICES)
    taken.validate(full=True)
    assert taken.equals(table.take(pa.array(INDICES)))


def test_some_columns_are_taken_alone() -> None:
    taken = RowSource(TABLE).take(INDICES, ["numbers", "texts"])
    assert taken.equals(TABLE.select(["numbers", "texts"]).take(pa.array(INDICES)))


@pytest.mark.slow
@given(batch=testing.batches(), data=st.data())
def test_rows_of_any_shape_are_taken(batch: pa.RecordBatch, data: st.DataObject) -> None:
    indices = data.draw(st.lists(st.integers(0, batch.num_rows - 1))) if batch.num_rows else []
    table = pa.Table.from_batches([batch])
    taken = RowSource(table).take(np.array(indices, np.int64))
    taken.validate(full=True)
    assert repr(taken.to_pylist()) == repr(table.take(pa.array(indices, pa.int64())).to_pylist())


def test_consecutive_rows_are_not_copied() -> None:
    taken = RowSource(TABLE).take(np.arange(5, 9))
    assert taken["numbers"].chunk(0).buffers()[1].address == TABLE["numbers"].chunk(0).buffers()[1].address
    assert RowSource(TABLE).take(np.arange(0)).num_rows == 0


@pytest.mark.parametrize("index", [-1, ROWS])
def test_an_index_outside_the_table_is_refused(index: int) -> None:
    with pytest.raises(IndexError, match="there are 300 rows"):
        RowSource(TABLE).take(np.array([index, 1]))
