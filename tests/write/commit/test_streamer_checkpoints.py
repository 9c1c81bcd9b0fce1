"""The checkpoint of Hudi Streamer goes from commit to commit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat import Table, open_table
from hudiformat.naming.file_names import WriteToken
from hudiformat.table.options.values import Operation
from hudiformat.timeline.timeline import read_metadata
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.write import WriteTask
from tests.tables import new_table, rows
from tests.write.commit.support import shared_table

V2 = {"streamer.checkpoint.key.v2": "20240101000000000", "streamer.checkpoint.reset.key.v2": "start"}
V1 = {"deltastreamer.checkpoint.key": "topic,0:7", "deltastreamer.checkpoint.ignore_key": "once"}
ROW = rows(("a", 1, "x", 1))


def by_streamer(table: Table, checkpoint: dict[str, str]) -> None:
    """A write with *checkpoint* in its extra metadata."""
    with (
        begin_write(table._context, Operation.UPSERT) as write,
        WriteTask(write.plan, WriteToken(0, 0, 0)) as task,
    ):
        for batch in ROW.to_batches():
            task.write_batch(batch)
        write.commit(task.finish(), checkpoint)


def newest(table: Table) -> dict[str, str]:
    """What the newest write has in its extra metadata of Streamer."""
    done = table.timeline.completed_writes[-1]
    extra = read_metadata(table._context.storage, table.config, done).extra_metadata
    return {key: value for key, value in extra.items() if "streamer" in key}


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("checkpoint", [V2, V1], ids=["v2", "v1"])
def test_every_kind_of_write_repeats_the_checkpoint(
    tmp_path: Path, table_type: str, checkpoint: dict[str, str]
) -> None:
    table = new_table(tmp_path / "t", table_type=table_type)
    by_streamer(table, checkpoint)
    writes: list[Callable[[], object]] = [
        lambda: table.upsert(ROW),
        lambda: table.insert(rows(("b", 1, "x", 1))),
        lambda: table.bulk_insert(rows(("c", 1, "y", 1))),
        lambda: table.delete(rows(("c", 1, "y", 1))),
        lambda: table.update({"v": 5}, where="k = 'a'"),
        lambda: table.insert_overwrite(ROW),
        lambda: table.delete_partitions(["x"]),
        lambda: table.insert_overwrite_table(ROW),
    ]
    for write in writes:
        write()
        assert newest(table) == checkpoint


def test_services_in_between_are_looked_past(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", table_type="MERGE_ON_READ")
    table.bulk_insert(ROW)
    table.bulk_insert(rows(("b", 1, "x", 1)))
    by_streamer(table, V2)
    assert table.compact()
    assert newest(table) == {}
    assert open_table(table.path, options={"hoodie.clustering.plan.strategy.small.file.limit": "999999999"}).cluster()
    table.upsert(ROW)
    assert newest(table) == V2


def test_a_newer_checkpoint_replaces_the_older_one(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    for checkpoint in (V1, V2):
        by_streamer(table, checkpoint)
    table.upsert(ROW)
    assert newest(table) == V2


def test_an_empty_checkpoint_is_none(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    by_streamer(table, {"deltastreamer.checkpoint.key": ""})
    table.upsert(ROW)
    assert newest(table) == {}


def test_a_write_beside_an_older_one_that_is_pending_repeats_nothing(tmp_path: Path) -> None:
    table = shared_table(tmp_path / "t")
    by_streamer(table, V2)
    with begin_write(table._context, Operation.UPSERT) as pending:
        table.upsert(rows(("b", 1, "y", 1)))
        assert newest(table) == {}
        pending.commit([], {"streamer.checkpoint.key.v2": "20240102000000000"})


def test_a_write_does_not_take_the_checkpoint_of_one_that_began_after_it(tmp_path: Path) -> None:
    table = shared_table(tmp_path / "t")
    by_streamer(table, V2)
    with begin_write(table._context, Operation.UPSERT) as older:
        with begin_write(table._context, Operation.UPSERT) as newer:
            newer.commit([], {"streamer.checkpoint.key.v2": "20240102000000000"})
        older.commit([])
    first, second = (
        read_metadata(table._context.storage, table.config, one) for one in table.timeline.completed_writes[1:]
    )
    assert first.extra_metadata["streamer.checkpoint.key.v2"] == V2["streamer.checkpoint.key.v2"]
    assert second.extra_metadata["streamer.checkpoint.key.v2"] == "20240102000000000"


def test_a_rollback_takes_the_checkpoint_back(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    by_streamer(table, V1)
    by_streamer(table, V2)
    table.rollback(table.timeline.completed_writes[-1])
    table.upsert(ROW)
    assert newest(table) == V1
