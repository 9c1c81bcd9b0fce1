"""What an expression index is given of an action."""

from __future__ import annotations

import pyarrow as pa

from hudiformat.codec.statistics import NO_ROWS, ColumnStatistics
from hudiformat.metadata_table.changes import Change, Stored
from hudiformat.metadata_table.kinds.expression_index import ExpressionIndexKind
from hudiformat.metadata_table.stat_records import decode_stat_record, file_key
from hudiformat.timeline.commit_metadata import IndexedFile, WriteStat
from tests.metadata_table.statistics import SCHEMA, TYPED, numbers

KIND = ExpressionIndexKind("expr_index_up", "s", pa.int32(), TYPED)
OF_P0 = "p2Wv2lLRNls=2CMHrhWVE9w=Z+KNMU8CLlo="
"""The key of the partition p0 in an index of s that Hudi 1.2.0 made."""


def stat(name: str, found: ColumnStatistics) -> WriteStat:
    return WriteStat(path=f"p0/{name}", indexed=IndexedFile(expressions={"expr_index_up": found}))


def test_files_and_their_partition_get_records() -> None:
    written = {"p0": (stat("a.parquet", numbers(1, 2)), stat("b.parquet", numbers(5, 9)), stat(".d", NO_ROWS))}
    records = KIND.records(Change(written={**written, "p1": (WriteStat(path="p1/x"),)}, deleted={"p0": ["old"]}))
    assert records.keys.to_pylist() == [file_key("p0", "a.parquet", "s"), file_key("p0", "b.parquet", "s"), OF_P0]
    assert records.dropped.to_pylist() == [file_key("p0", "old", "s")]
    total = decode_stat_record(records.values[2].as_py(), SCHEMA)
    assert total.statistics is not None
    assert (total.name, total.is_tight, total.statistics.lower, total.statistics.upper) == ("p0", False, 1, 9)


def test_what_a_partition_gets_is_added_to_what_it_had() -> None:
    had = Stored(TYPED.of_partition("p0", "s", numbers(3, 4)), SCHEMA)
    more = Stored(TYPED.encode_for_partition("p0", "s", numbers(1, 2)), SCHEMA)
    merged = decode_stat_record(*KIND.merge(OF_P0, had, more))
    assert merged.statistics is not None
    assert (merged.statistics.lower, merged.statistics.upper, merged.is_tight) == (1, 4, False)
    assert KIND.merge(OF_P0, more, had) == had, "bounds that are tight replace others"


def test_where_writes_are_undone_a_partition_may_have_any_value() -> None:
    """Hudi may have narrowed the bounds to files that are gone, and those before them count again."""
    records = KIND.records(Change(undone=["p0", "gone"], gone=["gone"]))
    assert records.keys.to_pylist() == [OF_P0]
    narrow = Stored(TYPED.of_partition("p0", "s", numbers(3, 4)), SCHEMA)
    merged = decode_stat_record(*KIND.merge(OF_P0, narrow, Stored(records.values[0].as_py(), SCHEMA)))
    assert merged.statistics is not None
    assert (merged.statistics.lower, merged.statistics.upper) == (-(2**31), 2**31 - 1)


def test_of_a_file_the_newest_record_counts() -> None:
    older, newer = (Stored(TYPED.of_file("a", "s", numbers(low, 9)), SCHEMA) for low in (1, 2))
    assert KIND.merge(file_key("p0", "a", "s"), older, newer) == newer
    assert KIND.encode_base_record("key", newer) == newer.value
    assert not KIND.is_plain
