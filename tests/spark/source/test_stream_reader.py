"""Offsets of a stream out of a table: completion times of commits."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.table.options.values import Operation
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants
from hudiformat.write.commit.transaction import begin_write

limits = pytest.importorskip("pyspark.sql.streaming.datasource")

from hudiformat.spark.options import SourceOptions
from hudiformat.spark.read.pieces import SlicePiece
from hudiformat.spark.source.stream_reader import HudiStreamReader

SCHEMA = pa.schema([pa.field("id", pa.string()), pa.field("ts", pa.int64())])


@pytest.fixture
def table(tmp_path: Path) -> hf.Table:
    return hf.create_table(tmp_path / "t", name="t", schema=SCHEMA, record_key=["id"], ordering=["ts"])


def reader(table: hf.Table, **options: str) -> HudiStreamReader:
    given = {"path": table.path, **{key.lower().replace("__", "."): value for key, value in options.items()}}
    return HudiStreamReader(SourceOptions(given), SCHEMA)


def write(table: hf.Table, count: int) -> list[str]:
    for number in range(count):
        table.upsert(pa.table({"id": [f"k{number}"], "ts": [number]}, schema=SCHEMA))
    return [str(one.completion_time) for one in table.timeline.by_completion_time if one.action.value == "deltacommit"]


def test_offsets_are_completion_times(table: hf.Table) -> None:
    stream = reader(table)
    start = stream.initialOffset()
    assert start == {"completed": "000"}
    assert stream.latestOffset(start, limits.ReadAllAvailable()) == start
    assert stream.reportLatestOffset() is None
    times = write(table, 3)
    assert stream.latestOffset(start, limits.ReadAllAvailable()) == {"completed": times[2]}
    assert stream.latestOffset(start, limits.ReadMaxFiles(2)) == {"completed": times[1]}
    assert stream.latestOffset({"completed": times[1]}, limits.ReadMaxFiles(2)) == {"completed": times[2]}
    assert stream.reportLatestOffset() == {"completed": times[2]}


def test_a_write_that_is_not_complete_ends_no_batch(table: hf.Table) -> None:
    [time] = write(table, 1)
    with begin_write(table._context, Operation.UPSERT):
        assert reader(table).latestOffset({"completed": "000"}, limits.ReadAllAvailable()) == {"completed": time}


def test_available_now_ends_with_what_was_there(table: hf.Table) -> None:
    stream = reader(table)
    [first] = write(table, 1)
    stream.prepareForTriggerAvailableNow()
    write(table, 2)
    assert stream.latestOffset({"completed": "000"}, limits.ReadAllAvailable()) == {"completed": first}
    assert stream.latestOffset({"completed": first}, limits.ReadAllAvailable()) == {"completed": first}


def test_archived_commits_count_one_by_one_too(table: hf.Table) -> None:
    times = write(table, 8)
    table.compact()
    archive_instants(table._context.storage, table.config, ArchiveLimits(3, 2, compaction_delta_commits=1))
    assert len(table.timeline.completed_writes) < 8
    offset = reader(table).latestOffset({"completed": "000"}, limits.ReadMaxFiles(1))
    assert offset == {"completed": times[0]}


@pytest.mark.parametrize(
    ("start", "expected"), [("earliest", "000"), ("latest", None), ("20200101000000", "20200101000000")]
)
def test_a_stream_starts_where_it_is_told_to(table: hf.Table, start: str, expected: str | None) -> None:
    times = write(table, 2)
    stream = reader(table, hoodie__datasource__streaming__startOffset=start)
    assert stream.initialOffset() == {"completed": expected or times[-1]}


def test_the_latest_of_a_table_without_commits_is_its_beginning(table: hf.Table) -> None:
    assert reader(table, hoodie__datasource__streaming__startOffset="latest").initialOffset() == {"completed": "000"}


def test_the_limit_counts_commits(table: hf.Table) -> None:
    assert reader(table).getDefaultReadLimit() == limits.ReadAllAvailable()
    assert reader(table, maxCommitsPerTrigger="3").getDefaultReadLimit() == limits.ReadMaxFiles(3)


@pytest.mark.parametrize("limit", ["0", "-1", "x"])
def test_a_limit_that_is_no_number_is_refused(table: hf.Table, limit: str) -> None:
    with pytest.raises(hf.OptionError, match="maxCommitsPerTrigger: expected a number above 0"):
        reader(table, maxCommitsPerTrigger=limit).getDefaultReadLimit()


def test_snapshots_are_no_streams(table: hf.Table) -> None:
    with pytest.raises(hf.OptionError, match="expected incremental or cdc for a stream, found snapshot"):
        reader(table, hoodie__datasource__query__type="snapshot")


def test_a_batch_is_planned_the_same_when_it_comes_again(table: hf.Table) -> None:
    times = write(table, 3)
    stream = reader(table)
    assert stream.partitions({"completed": times[0]}, {"completed": times[0]}) == []

    def read() -> list[dict[str, object]]:
        found = stream.partitions({"completed": times[0]}, {"completed": times[1]})
        assert all(isinstance(piece, SlicePiece) for one in found for piece in one.value)
        return [row for one in found for batch in stream.read(one) for row in batch.to_pylist()]

    assert read() == [{"id": "k1", "ts": 1}]
    write(table, 2)
    assert read() == [{"id": "k1", "ts": 1}]
