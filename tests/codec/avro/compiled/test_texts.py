"""Texts handled eight bytes at a time, as Python runs it and as numba does."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.codec.avro.compiled import texts
from tests.codec.avro.builders import SLOW

_PAD = b"\xff" * 32


def utf8_on_machine() -> Callable[[int, int], bool]:
    pytest.importorskip("numba")
    from hudiformat.kernels.native import compile_kernel

    return compile_kernel(texts.is_utf8)


def buffer(text: bytes) -> np.typing.NDArray[np.uint8]:
    return np.frombuffer(text + _PAD, np.uint8)


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.slow
def test_every_pair_and_the_edges_of_longer_sequences_are_judged_as_python_judges() -> None:
    machine = utf8_on_machine()
    edges = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED]
    edges += [0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFF]
    pairs = [bytes(pair) for pair in product(range(0x70, 0x100), repeat=2)]
    triples = [bytes(triple) for triple in product(edges, repeat=3)]
    fours = [bytes([lead, *rest]) for lead in edges[-12:] for rest in product([0x41, 0x80, 0x8F, 0x90, 0xBF], repeat=3)]
    for before in (b"", b"abcdef"):  # the second begins in one word and ends in the next
        for text in (*pairs, *triples, *fours):
            data = buffer(before + text)
            assert machine(data.ctypes.data, len(before + text)) == is_text(text), text


@SLOW
@given(text=st.text(max_size=40).map(str.encode), junk=st.binary(max_size=3), at=st.integers(0, 40))
def test_texts_with_junk_in_them_are_judged_as_python_judges(text: bytes, junk: bytes, at: int) -> None:
    mixed = text[:at] + junk + text[at:]
    assert texts.is_utf8(buffer(mixed).ctypes.data, len(mixed)) == is_text(mixed)


@pytest.mark.parametrize("text", ["a\u00e9", "\u20ac" * 9, "\U0001f600", "\ud7ff\ue000", "\U0010ffff", "1234567\u00e9"])
def test_texts_of_every_length_of_character_are_utf8(text: str) -> None:
    data = buffer(text.encode())
    assert texts.is_utf8(data.ctypes.data, len(text.encode()))
    assert not texts.is_utf8(data.ctypes.data, len(text.encode()) - 1)


@pytest.mark.parametrize("size", [*range(34), 63, 64, 65, 200])
def test_a_text_is_copied_and_its_high_bits_are_seen(size: int) -> None:
    text = bytes(range(65, 65 + size % 50)) + b"x" * (size - size % 50)
    for at in (None, *range(size)):
        marked = text if at is None else text[:at] + b"\xc3" + text[at + 1 :]
        source, target = buffer(marked), np.zeros(size + 64, np.uint8)
        every = texts.copy_text(target.ctypes.data, source.ctypes.data, size)
        assert target[:size].tobytes() == marked
        assert not target[size + 32 :].any()
        assert bool(every) == (at is not None)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 8, 11, 12, 13, 16, 17, 40])
def test_a_view_is_arrows(size: int) -> None:
    text = bytes(range(65, 65 + size))
    source, target = buffer(b"before" + text), np.zeros(2, np.int64)
    high = texts.view_text(target.ctypes.data, source.ctypes.data + 6, size, 6)
    assert not high
    views = pa.Array.from_buffers(pa.string_view(), 1, [None, pa.py_buffer(target), pa.py_buffer(source)])
    views.validate(full=True)
    assert views.to_pylist() == [text.decode()]
    if size <= 12:
        assert target.tobytes()[4:] == text.ljust(12, b"\0")
