"""The rows that a merge keeps, compared with Arrow's filter."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.file_group.merging import slice as slice_module
from hudiformat.file_group.merging.slice import _kept_rows
from tests.effort import examples

TEXTS = [None if n % 7 == 0 else f"t{n}" for n in range(110)]
PAIRS = [None if n % 5 == 0 else {"n": n, "t": text} for n, text in enumerate(TEXTS)]
PAIR = pa.struct([("n", pa.int64()), ("t", pa.string())])
COLUMNS = {
    "number": pa.array(range(110), pa.int64()),
    "flag": pa.array([None if n % 3 == 0 else n % 2 == 0 for n in range(110)]),
    "text": pa.array(TEXTS),
    "large text": pa.array(TEXTS, pa.large_string()),
    "bytes": pa.array([None if text is None else text.encode() for text in TEXTS], pa.binary()),
    "decimal": pa.array(range(110), pa.decimal128(20, 2)),
    "dictionary": pa.array(TEXTS).dictionary_encode(),
    "list": pa.array([[n, None] * (n % 4) if n % 3 else None for n in range(110)], pa.list_(pa.int64())),
    "struct": pa.array(PAIRS, PAIR),
    "list of structs": pa.array([PAIRS[: n % 6] or None for n in range(110)], pa.list_(PAIR)),
    "map": pa.array([[(f"k{n}", n)] if n % 4 else None for n in range(110)], pa.map_(pa.string(), pa.int64())),
    "vector": pa.array([None if n % 9 == 0 else [n, n + 1] for n in range(110)], pa.list_(pa.float32(), 2)),
    "nothing": pa.nulls(110),
}


@pytest.mark.parametrize("long", [1, 5, 1024])
@settings(max_examples=examples(100))
@given(data=st.data())
def test_kept_rows_are_those_of_arrows_filter(data: st.DataObject, long: int) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4, unique=True), "columns")
    schema = pa.schema([pa.field(name, COLUMNS[name].type, metadata={"a": name}) for name in names])
    start, length = data.draw(st.integers(0, 10), "start"), data.draw(st.integers(0, 100), "rows")
    batch = pa.RecordBatch.from_arrays([COLUMNS[name] for name in names], schema=schema).slice(start, length)
    flags = np.ones(length, np.bool_)
    for _ in range(data.draw(st.integers(0, 4), "runs left out")):
        first = data.draw(st.integers(0, length), "first left out")
        flags[first : first + data.draw(st.sampled_from([1, 2, 30, 100]), "left out")] = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slice_module, "_LONG", long)
        found = list(_kept_rows(batch, flags))
    assert all(one.num_rows for one in found)
    assert pa.Table.from_batches(found, schema) == pa.Table.from_batches([batch.filter(pa.array(flags))])
    assert all(one.schema.equals(schema, check_metadata=True) for one in found)


def test_long_runs_are_not_copied() -> None:
    batch = pa.record_batch({"a": pa.array(range(5000)), "b": pa.array([[n] for n in range(5000)])})
    flags = np.ones(5000, np.bool_)
    flags[2000:2100] = False
    before = pa.total_allocated_bytes()
    assert [one.num_rows for one in _kept_rows(batch, flags)] == [2000, 2900]
    assert pa.total_allocated_bytes() == before


def test_a_run_that_is_the_lesser_part_of_a_batch_does_not_keep_it_alive() -> None:
    batch = pa.record_batch({"a": pa.array(range(10_000))})
    flags = np.arange(10_000) < 4000
    (found,) = _kept_rows(batch, flags)
    assert (found.num_rows, found.get_total_buffer_size()) == (4000, 4000 * 8)
