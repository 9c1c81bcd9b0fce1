"""Streams of rows: small ones are written as tables are, larger ones while they come."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.api.streaming import StreamLimits, write_stream
from hudiformat.arguments import ArrowRows
from hudiformat.services.inline import after_write, before_write
from hudiformat.table.options.values import Operation
from tests.effort import sample
from tests.tables import SCHEMA, content, new_table, rows, tree

INDEXES: dict[str, dict[str, str]] = {
    "simple": {"hoodie.index.type": "SIMPLE"},
    "bucket": {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"},
    "global": {"hoodie.index.type": "GLOBAL_SIMPLE"},
}


def write_large(table: hf.Table, operation: Operation, data: ArrowRows) -> hf.Commit:
    """Write as the method of *table* for *operation* does; every stream is a large one, and every batch a piece."""
    limits = StreamLimits(most_at_once=100, piece=1)
    return after_write(write_stream(before_write(table._context), operation=operation, data=data, limits=limits))


def batches(*, ts: int = 1, twice: bool = False) -> Iterator[pa.RecordBatch]:
    for start in range(0, 60, 10):
        numbers = range(start, start + 10)
        yield from rows(*((f"k{number}", ts, f"p{number % 2}", number) for number in numbers)).to_batches()
    if twice:
        yield from rows(
            *((f"k{number}", ts + 1, f"p{number % 2}", -number) for number in range(5, 60, 10))
        ).to_batches()


@pytest.mark.parametrize(
    ("index", "table_type", "operation"),
    sample(
        product(
            INDEXES, ["MERGE_ON_READ", "COPY_ON_WRITE"], [Operation.INSERT, Operation.BULK_INSERT, Operation.UPSERT]
        ),
        of=3,
    ),
)
def test_a_large_stream_gives_the_rows_of_the_same_table(
    tmp_path: Path, index: str, table_type: str, operation: Operation
) -> None:
    streamed, whole = (
        new_table(tmp_path / name, table_type=table_type, options=INDEXES[index]) for name in ("streamed", "whole")
    )
    for table in (streamed, whole):
        table.insert(rows(("k3", 0, "p1", 0), ("other", 0, "p1", 0)))
    twice = operation is Operation.UPSERT
    commit = write_large(streamed, operation, pa.RecordBatchReader.from_batches(SCHEMA, batches(twice=twice)))
    getattr(whole, operation.value.lower())(pa.Table.from_batches(batches(twice=twice), SCHEMA))
    assert sorted(content(streamed)) == sorted(content(whole))
    assert commit.num_writes >= 60
    assert len(streamed.timeline.completed) == 2
    assert streamed.verify() == []


def test_of_two_rows_far_apart_the_later_counts(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=INDEXES["simple"])
    write_large(table, Operation.UPSERT, batches(twice=True))
    found = {row[0]: row[3] for row in content(table)}
    assert (found["k5"], found["k6"], len(found)) == (-5, 6, 60)


def test_a_bad_row_far_down_leaves_the_table_as_it_was(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=INDEXES["simple"])
    table.insert(rows(("a", 1, "x", 1)))

    def bad() -> Iterator[pa.RecordBatch]:
        yield from batches()
        yield pa.RecordBatch.from_pydict({"k": [None], "ts": [1], "p": ["x"], "v": [1]}, schema=SCHEMA)

    with pytest.raises(hf.DataError, match="record key k: null or empty"):
        write_large(table, Operation.INSERT, bad())
    assert content(table) == [("a", 1, "x", 1)]
    table.upsert(rows(("a", 2, "x", 2)))
    assert content(table) == [("a", 2, "x", 2)]
    assert [path for path in tree(tmp_path) if "/p0/" in path and path.endswith(".parquet")] == []


@pytest.mark.parametrize("sort", ["GLOBAL_SORT", "PARTITION_SORT"])
def test_what_is_sorted_is_sorted_as_a_whole(tmp_path: Path, sort: str) -> None:
    table = new_table(tmp_path / "t", options={**INDEXES["simple"], "hoodie.bulkinsert.sort.mode": sort})
    write_large(table, Operation.BULK_INSERT, reversed(list(batches())))
    keys = table.snapshot(columns=["k", "p"]).filter(pa.compute.field("p") == "p0")["k"].to_pylist()
    assert keys == sorted(keys)


def test_a_small_stream_is_read_before_anything_is_written(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=INDEXES["simple"])

    def bad() -> Iterator[pa.RecordBatch]:
        yield from batches()
        raise ValueError("the source has failed")

    with pytest.raises(ValueError, match="the source has failed"):
        table.insert(bad())
    assert table.timeline.instants == ()
    table.insert(batches())
    assert table.count() == 60


@pytest.mark.parametrize("data", [iter([]), iter([5]), iter(["a"])], ids=["nothing", "numbers", "texts"])
def test_an_iterator_of_something_else(tmp_path: Path, data: Iterator[Any]) -> None:
    table = new_table(tmp_path / "t", options=INDEXES["simple"])
    with pytest.raises(hf.DataError, match="expected an iterator of pyarrow.RecordBatch, found"):
        table.insert(data)


def test_a_stream_is_not_written_twice(tmp_path: Path) -> None:
    options = {
        **INDEXES["simple"],
        "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
        "hoodie.write.num.retries.on.conflict.failures": "3",
    }
    table = new_table(tmp_path / "t", options=options)
    table.insert(rows(("k1", 0, "p1", 0)))
    other = hf.open_table(table.path, options=options)

    def overtaken() -> Iterator[pa.RecordBatch]:
        yield from batches()
        other.upsert(rows(("k1", 5, "p1", 5)))

    with pytest.raises(hf.WriteConflictError, match="the rows of a stream cannot be read again: give them anew"):
        write_large(table, Operation.UPSERT, overtaken())
    assert content(table) == [("k1", 5, "p1", 5)]
    write_large(table, Operation.UPSERT, batches(ts=9))
    assert table.count() == 60
