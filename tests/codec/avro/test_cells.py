"""Cells fused and joined to rows of bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hudiformat.codec.avro import cells
from hudiformat.codec.avro.cells import (
    Cell,
    Constant,
    FixedCell,
    Reference,
    Run,
    Word,
    constant_byte,
    equal_texts,
    fixed_word,
    fuse,
    integers,
    join,
    row_sizes,
    text_words,
)
from hudiformat.codec.avro.encode import encode_datums, encode_records
from hudiformat.codec.avro.schema import arrow_to_avro
from hudiformat.errors import EncodeError
from hudiformat.kernels import VARIABLE


@pytest.fixture(autouse=True)
def _by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0")  # kernels have no cells


def test_chunks_of_two_gigabytes_use_long_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = pa.RecordBatch.from_pydict({"a": ["x", None, "yz"], "b": [1.0, 2.0, 3.0], "c": [[1], [], [2, 3]]})
    schema = arrow_to_avro(batch.schema, name="r", namespace="n")
    expected = encode_records(batch, schema)
    monkeypatch.setattr(cells, "INT32_MAX", len(expected) - 1)
    assert encode_records(batch, schema) == expected


def test_text_of_over_two_gigabytes_in_one_chunk_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = pa.RecordBatch.from_pydict({"a": ["x" * 13, "y" * 14]})
    monkeypatch.setattr(cells, "INT32_MAX", 26)
    with pytest.raises(EncodeError, match="27 bytes of one column"):
        encode_datums(batch, arrow_to_avro(batch.schema, name="r", namespace="n"))


@pytest.mark.parametrize("text", [["ab", "c"], ["a", "a longer text", "bc"], ["a" * 9, "b" * 10], ["x" * 13, "y" * 14]])
def test_text_that_ends_where_its_buffer_ends(text: list[str]) -> None:
    data = "".join(text).encode()
    offsets_ = np.cumsum([0, *map(len, text)], dtype=np.int32)
    column = pa.Array.from_buffers(pa.string(), len(text), [None, pa.py_buffer(offsets_), pa.py_buffer(data)])
    batch = pa.RecordBatch.from_arrays([column], names=["a"])
    expected = b"".join(b"\2" + bytes([2 * len(item)]) + item.encode() for item in text)
    assert encode_datums(batch, arrow_to_avro(batch.schema, name="r", namespace="n")).buffers()[2] == expected


def test_neighbours_of_at_most_eight_bytes_become_one_word() -> None:
    text = text_words(np.frombuffer(b"abcd....", np.uint8), np.array([0, 1]), np.array([1, 3]))
    cells = [
        Constant(b"\x02"),
        *integers(np.array([1, 3]), None),
        Word(text, np.array([1, 3]), 3),
        *integers(np.array([1, 300]), None),
    ]
    [word] = fuse(cells)
    assert isinstance(word, Word)
    assert word.values.tolist() == [0x02610202, 0x04D86463620602]
    assert row_sizes(cells, 2).tolist() == [4, 7]
    data, ends = join(cells, row_sizes(cells, 2))
    assert data.tobytes() == bytes.fromhex("02 02 61 0202 06 62 63 64 d8 04")
    assert ends.tolist() == [0, 4, 11]


def test_cells_of_equal_lengths_become_a_run() -> None:
    cells: list[Cell] = [
        Constant(b"\x02"),
        Word(np.array([10, 11], np.uint64), 1, 1),
        FixedCell(np.arange(40, dtype=np.uint8), 20),
    ]
    [run] = fuse(cells)
    assert isinstance(run, Run)
    assert run.lengths == 22
    data, _ = join(cells, row_sizes(cells, 2))
    assert data.tobytes() == b"\x02\x0a" + bytes(range(20)) + b"\x02\x0b" + bytes(range(20, 40))


def test_rows_without_a_value_have_no_bytes() -> None:
    present = np.array([True, False])
    cells = [
        constant_byte(2, present),
        fixed_word(np.array([7, 8], np.uint64), 1, present),
        *integers(np.array([300, 1]), present),
    ]
    lengths = row_sizes(cells, 2)
    assert lengths.tolist() == [4, 0]
    assert join(cells, lengths)[0].tobytes() == bytes.fromhex("02 07 d8 04")


def test_texts_that_are_all_the_same_are_a_constant() -> None:
    assert equal_texts(np.frombuffer(b"ababab", np.uint8), 2) == [Constant(b"\x04ab")]
    prefix, texts = equal_texts(np.frombuffer(b"abcdab", np.uint8), 2)
    assert prefix == Constant(b"\x04")
    assert isinstance(texts, FixedCell)


@pytest.mark.parametrize("lengths", [[1, 2], [12, 13], [40, 0]])
def test_long_and_short_references_are_joined(lengths: list[int]) -> None:
    data = np.arange(100, dtype=np.uint8)
    cells: list[Cell] = [Constant(b"x" * 20), Reference(data, np.array([50, 10]), np.array(lengths))]
    expected = b"".join(b"x" * 20 + bytes(range(at, at + length)) for at, length in zip((50, 10), lengths, strict=True))
    assert join(cells, row_sizes(cells, 2))[0].tobytes() == expected
