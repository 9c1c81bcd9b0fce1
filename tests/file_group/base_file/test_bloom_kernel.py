"""The kernel that sets the bits of keys, against numpy: run by Python, by numba, and compiled ahead."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.file_group.base_file.bloom import BloomFilter
from hudiformat.file_group.base_file.bloom_kernel import LONGEST
from tests.effort import BUSY, examples
from tests.kernels.paths import KERNELS, by_numpy

Path = Callable[[], AbstractContextManager[None]]

pytest.importorskip("numba")


def filters(keys: pa.Array, counts: list[int]) -> list[BloomFilter]:
    """Filters of some keys each, of all of them, of these and more in a filter of the first few, and of one bit."""
    few = BloomFilter.of(keys[:3])
    return [*BloomFilter.of_each(keys, counts), BloomFilter.of(keys), few.with_keys(keys), BloomFilter(3, 1, b"\0")]


@pytest.mark.parametrize("path", KERNELS)
@given(st.lists(st.text(min_size=1, max_size=9), max_size=20), st.integers(0, 3), st.data())
@settings(max_examples=examples(200), suppress_health_check=BUSY)
def test_kernels_set_the_bits_that_numpy_sets(path: Path, texts: list[str], skipped: int, data: st.DataObject) -> None:
    keys = pa.array([*["skipped"] * skipped, *texts], pa.string())[skipped:]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(texts)), max_size=4)))
    counts = [end - start for start, end in zip([0, *cuts], [*cuts, len(texts)], strict=True)]
    with by_numpy():
        expected = filters(keys, counts)
    with path():
        assert filters(keys, counts) == expected


@pytest.mark.parametrize("path", KERNELS)
@pytest.mark.parametrize("length", [1, 4, 7, 12, 36, LONGEST, LONGEST + 1])
def test_keys_of_one_length_are_hashed_side_by_side(path: Path, length: int) -> None:
    keys = pa.array([f"{number * 7919:x}".rjust(length, "é")[-length:] for number in range(1, 12)])
    with by_numpy():
        expected = BloomFilter.of(keys)
    with path():
        assert BloomFilter.of(keys) == expected
