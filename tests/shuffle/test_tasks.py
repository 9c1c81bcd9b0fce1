"""What a task of a write does with its rows, and what it sends back."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudiformat.naming import WriteToken
from hudiformat.timeline import WriteStat

pytest.importorskip("pyspark.sql")

from hudiformat.shuffle.tasks import decode_stats, encode_stats, last_of_each_key, write_token


def test_outside_of_a_task_the_write_token_is_that_of_a_first_attempt() -> None:
    assert write_token() == WriteToken(0, 0, 0)


def test_statistics_of_a_task_are_one_value() -> None:
    stats = (WriteStat("f-0", "x/f-0_0-0-0_1.parquet", num_writes=3, partition_path="x"),)
    message = encode_stats(stats)
    assert (message.schema.names, message.num_rows) == (["stats"], 1)
    assert decode_stats(message["stats"][0].as_py()) == stats
    assert decode_stats(encode_stats([])["stats"][0].as_py()) == ()


def test_rows_are_combined_across_batches() -> None:
    names = ["id", "_hudiformat_path", "_hudiformat_key"]

    def batch(*ids: tuple[str, str]) -> pa.RecordBatch:
        columns = [
            [f"{path}{key}" for path, key in ids],
            [path for path, _ in ids],
            [key for _, key in ids],
        ]
        return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names=names)

    batches = [
        batch(("x", "1"), ("x", "1")),
        batch(),
        batch(("x", "1")),
        batch(("x", "1"), ("x", "2")),
        batch(("y", "2")),
    ]
    rows = [row["id"] for part in last_of_each_key(batches) for row in part.to_pylist()]
    assert rows == ["x1", "x2", "y2"]
