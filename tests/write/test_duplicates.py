"""One row of several with one key is kept."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.file_group.merging.rule import Combining
from hudiformat.write.duplicates import combine, combine_rows, combine_stream

ROWS = st.lists(st.tuples(st.sampled_from("abcdef"), st.one_of(st.none(), st.integers(0, 3))), max_size=12)
SCHEMA = pa.schema([pa.field("key", pa.string()), pa.field("ts", pa.int64()), pa.field("n", pa.int64())])


@pytest.mark.slow
@pytest.mark.parametrize("ordering", [("ts",), ()])
@given(st.lists(ROWS, max_size=4), st.sampled_from([0, 50, 10**6]))
def test_the_row_with_the_highest_ordering_value_is_kept_of_equals_the_last(
    ordering: tuple[str, ...], parts: list[list[tuple[str, int | None]]], memory: int
) -> None:
    batches, number = [], 0
    expected: dict[str, tuple[int, int]] = {}
    for part in parts:
        rows = []
        for key, ts in part:
            rank = (ts or 0) if ordering else 0  # null counts as Hudi's default, 0
            if key not in expected or rank >= expected[key][0]:
                expected[key] = (rank, number)
            rows.append({"key": key, "ts": ts, "n": number})
            number += 1
        batches.append(pa.RecordBatch.from_pylist(rows, SCHEMA))
    found = [
        row for batch in combine_stream(batches, "key", Combining(ordering), memory=memory) for row in batch.to_pylist()
    ]
    assert {row["key"]: row["n"] for row in found} == {key: last for key, (_, last) in expected.items()}
    assert len(found) == len(expected)


def test_nothing_is_combined_where_there_are_no_rows() -> None:
    assert list(combine_stream([], "k", Combining(("ts",)), memory=0)) == []


TWICE, ORDERED = pa.array(["a", "b", "a"]), pa.table({"ts": [2, 1, 1], "n": [0, 1, 2]})
BY_TS = Combining(("ts",))


def test_the_kept_rows_are_in_the_order_in_which_they_came() -> None:
    found = combine_rows(ORDERED, [TWICE], BY_TS)
    assert found is not None
    assert found[0].tolist() == [0, 1]
    assert combine(ORDERED, [TWICE], BY_TS)["n"].to_pylist() == [0, 1]
    assert combine(ORDERED, [TWICE], Combining())["n"].to_pylist() == [1, 2]  # the last one, without ordering columns


def test_rows_of_different_keys_are_all_kept() -> None:
    paths = pa.array(["x", "x", "y"])
    assert combine_rows(ORDERED, [paths, TWICE], BY_TS) is None  # one key in two partitions is two records
    assert combine_rows(ORDERED, [pa.array(["a", "b", "c"])], BY_TS) is None
    assert combine(ORDERED, [paths, TWICE], BY_TS) is ORDERED
