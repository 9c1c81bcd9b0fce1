"""What the statistics of files are given of an action."""

from __future__ import annotations

from hudiformat.metadata_table.changes import Change, Stored
from hudiformat.metadata_table.kinds.column_stats import ColumnStatsKind
from hudiformat.metadata_table.stat_records import decode_stat_record, file_key
from hudiformat.timeline.commit_metadata import IndexedFile, WriteStat
from tests.metadata_table.statistics import SCHEMA, TYPED, numbers

KIND = ColumnStatsKind(("c", "d"), TYPED)


def test_files_that_were_written_have_records_and_those_of_deleted_ones_are_dropped() -> None:
    written = WriteStat(path="p/f.parquet", indexed=IndexedFile({"c": numbers(1, 2)}))
    records = KIND.records(Change(written={"p": (written, WriteStat(path="p/g"), WriteStat())}, deleted={"q": ["h"]}))
    assert records.keys.to_pylist() == [file_key("p", "f.parquet", "c")]
    found = decode_stat_record(records.values[0].as_py(), SCHEMA)
    assert (found.name, found.column, found.statistics) == ("f.parquet", "c", numbers(1, 2))
    assert records.dropped.to_pylist() == [file_key("q", "h", column) for column in ("c", "d")]


def test_records_of_one_file_are_added_up() -> None:
    one, other = (Stored(TYPED.of_file("f", "c", numbers(*bounds)), SCHEMA) for bounds in ((1, 2), (5, 6)))
    merged = KIND.merge("key", one, other)
    assert decode_stat_record(*merged).statistics == numbers(1, 6, 4)
    assert KIND.encode_base_record("key", merged) == merged.value
    assert KIND.name == "column_stats"
