"""Rows are packed by file group and come out again, whatever batches they come in."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark.sql")

from hudiformat.spark.write import batches, packing
from hudiformat.spark.write.lookup.tagging import GROUP, PATH

ROWS = st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.sampled_from(["+0", "+1", "f-0"]), st.text(max_size=3)))
SCHEMA = pa.schema([pa.field(name, pa.string()) for name in (PATH, "text", GROUP)])


def batch_of(rows: list[tuple[str, str, str]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{PATH: path, GROUP: group, "text": text} for path, group, text in rows], SCHEMA)


def sorted_by_group(packs: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """As Spark sorts them."""
    values = pa.Table.from_batches(packs) if packs else None
    return [] if values is None else values.sort_by([(PATH, "ascending"), (GROUP, "ascending")]).to_batches()


@given(st.lists(ROWS, max_size=4), *[st.sampled_from([1, 60, 10_000])] * 4)
def test_rows_come_out_by_file_group(
    parts: list[list[tuple[str, str, str]]], gathered: int, at_once: int, smallest: int, largest: int
) -> None:
    limits = packing.PackLimits(smallest, largest, at_once)
    values = list(packing.pack(batches.regroup_batches(map(batch_of, parts), at_once=gathered), limits=limits))
    found: dict[tuple[str, str], list[str]] = {}
    for path, group, rows in packing.unpack(sorted_by_group(values)):
        assert (path, group) not in found
        found[path, group] = [text for batch in rows for text in batch["text"].to_pylist()]
    expected: dict[tuple[str, str], list[str]] = {}
    for path, group, text in (row for part in parts for row in part):
        expected.setdefault((path, group), []).append(text)
    assert {key: sorted(texts) for key, texts in found.items()} == {
        key: sorted(texts) for key, texts in expected.items()
    }


def test_rows_of_one_file_group_are_one_value() -> None:
    rows = batch_of([("a", "+0", "x"), ("b", "+0", "y"), ("a", "+0", "z")])
    [values] = packing.pack(batches.regroup_batches([rows, rows]))
    assert values.select([PATH, GROUP]).to_pydict() == {PATH: ["a", "b"], GROUP: ["+0", "+0"]}


def values_of(groups: int, *, rows: int, parts: int) -> pa.RecordBatch:
    """The values of *parts* batches of *rows* rows of 1,000 bytes each, of so many file groups."""
    batch = batch_of([("a", f"+{number % groups}", "x" * 1000) for number in range(rows)])
    return pa.Table.from_batches(packing.pack([batch] * parts)).combine_chunks().to_batches()[0]


def test_large_values_are_cut_so_that_java_puts_none_aside() -> None:
    sizes = [len(value.as_py()) for value in values_of(2, rows=2000, parts=1)[2]]
    assert len(sizes) == 8
    assert max(sizes) < 300_000


def test_rows_of_many_file_groups_wait_for_others() -> None:
    assert len(values_of(100, rows=2000, parts=10)) == 3 * 100  # each of four parts, but for what is left
    assert len(values_of(10, rows=2000, parts=10)) == 10 * 10
