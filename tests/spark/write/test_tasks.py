"""What a task of a write does with its rows, and what it sends back."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hudiformat as hf
from hudiformat.naming.file_names import WriteToken
from hudiformat.table.options.values import Operation
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.commit.transaction import attempts

pytest.importorskip("pyspark.sql")

from hudiformat.spark.write import tasks
from hudiformat.spark.write.by_tasks import _pack_tagged
from hudiformat.spark.write.lookup.tagging import GROUP, PATH, key_columns
from hudiformat.spark.write.tasks import (
    decode_stats,
    encode_stats,
    last_of_each_key,
    opens_groups,
    write_rows,
    write_token,
)


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


BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("p", pa.string())])


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize(
    "operation", [Operation.BULK_INSERT, Operation.INSERT_OVERWRITE, Operation.INSERT_OVERWRITE_TABLE]
)
def test_one_task_writes_a_bucket_whatever_the_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: Operation, table_type: str
) -> None:
    """Two tasks that wrote base files of one bucket would hide each other's rows."""
    table = hf.create_table(
        tmp_path / "t",
        name="t",
        schema=SCHEMA,
        record_key="id",
        partition_by="p",
        table_type=table_type,
        options=BUCKETS,
    )
    rows = pa.RecordBatch.from_pylist([{"id": f"k{n}", "ts": 1, "p": "ab"[n % 2]} for n in range(40)], SCHEMA)

    def write_files(plan: WritePlan) -> list[WriteStat]:
        assert not opens_groups(plan)
        keys = plan.schema.only(key_columns(plan))
        read = [rows.slice(0, 20), rows.slice(20)]  # what two tasks have read
        packs = [pack for part in read for pack in _pack_tagged(plan, keys, [part])]
        places = sorted({(row[PATH], row[GROUP]) for pack in packs for row in pack.select([PATH, GROUP]).to_pylist()})
        assert len(places) == 2 * 2
        stats: list[WriteStat] = []
        for number, (path, group) in enumerate(places):  # each in a task of its own
            own = [pack.filter((pc.field(PATH) == path) & (pc.field(GROUP) == group)) for pack in packs]
            monkeypatch.setattr(tasks, "write_token", lambda number=number: WriteToken(number, 0, number))
            for message in write_rows(plan, plan.schema, own):
                stats += decode_stats(message["stats"][0].as_py())
        return stats

    for write in attempts(table._context.state(), operation):
        with write:
            write.commit(write_files(write.plan))
    found = hf.open_table(table.path).snapshot(columns=SCHEMA.names).sort_by("id")
    assert found.equals(pa.Table.from_batches([rows]).sort_by("id"))
