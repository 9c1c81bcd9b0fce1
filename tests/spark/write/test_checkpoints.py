"""Commits of a stream's batches name them."""

from __future__ import annotations

import pytest

from hudiformat import CorruptTableError, Table
from hudiformat.spark.write.checkpoints import checkpoint, newest_batch
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.transaction import begin_write


def commit(table: Table, extra: dict[str, str]) -> None:
    with begin_write(table._context, Operation.UPSERT) as write:
        write.commit([], extra)


def test_the_newest_batch_of_each_writer_is_found(table: Table) -> None:
    assert newest_batch(table._context.state(), "a") is None
    for extra in (checkpoint("a", 7), checkpoint("a", 8), {}, checkpoint("b", 0)):
        commit(table, extra)
    assert newest_batch(table._context.state(), "a") == 8
    assert newest_batch(table._context.state(), "b") == 0
    assert newest_batch(table._context.state(), "c") is None


def test_the_checkpoint_is_hudis() -> None:
    assert checkpoint("a", 7) == {"_hudi_streaming_sink_checkpoint": '{"a": "7"}'}


@pytest.mark.all_sets
@pytest.mark.parametrize("text", ["{", "[1]", '"a"', '{"a": "x"}', '{"a": []}'])
def test_a_damaged_checkpoint_is_an_error(table: Table, text: str) -> None:
    commit(table, {"_hudi_streaming_sink_checkpoint": text})
    with pytest.raises(CorruptTableError, match="expected writers and batches, found"):
        newest_batch(table._context.state(), "a")
