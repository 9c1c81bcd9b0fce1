"""Merging as a user's own merger says."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat.codec.log.block import LogBlock
from hudiformat.errors import DataError
from hudiformat.file_group.base_file.read import to_base_rows
from hudiformat.file_group.merging.candidates import read_candidates
from hudiformat.file_group.merging.rule import MergeRule, RecordMerger
from hudiformat.file_group.merging.slice import merge_log_entries, merge_slice
from hudiformat.timeline.table_config import MergeMode
from tests.file_group.merging.blocks import KEY, data, deletes, keys_of

SCHEMA = pa.schema([KEY, ("n", pa.int64())])


class Sum:
    """Adds what comes to what is there."""

    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        return newer.set_column(newer.schema.names.index("n"), "n", pc.add(older["n"], newer["n"]))


class Loses:
    """Gives back too little."""

    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        return newer.slice(older.num_rows)


def merged(base: list[tuple[str, int]], blocks: list[LogBlock], merger: RecordMerger) -> list[tuple[str, int]]:
    rule = MergeRule(MergeMode.CUSTOM, keys_of, merger=merger)
    rows = pa.Table.from_pylist([{"k": key, "n": n} for key, n in base], SCHEMA)
    logs = merge_log_entries(read_candidates(blocks, SCHEMA, rule), rule)
    table = pa.Table.from_batches(merge_slice(to_base_rows(rows.to_batches()), logs, rule), SCHEMA)
    return sorted((row["k"], row["n"]) for row in table.to_pylist())


def test_records_meet_in_their_order_and_then_the_base() -> None:
    log = [data([("a", 1), ("b", 10), ("c", 7)], SCHEMA), data([("a", 2), ("a", 4), ("b", 20)], SCHEMA)]
    assert merged([("a", 100), ("z", 5)], log, Sum()) == [("a", 107), ("b", 30), ("c", 7), ("z", 5)]


def test_a_delete_ends_what_was_before_it() -> None:
    log = [data([("a", 1), ("b", 1)], SCHEMA), deletes(["a", "b", "c"]), data([("a", 2), ("a", 3)], SCHEMA)]
    assert merged([("a", 100), ("b", 100), ("c", 100)], log, Sum()) == [("a", 105)]
    assert merged([("a", 1)], [deletes(["a"])], Sum()) == []
    assert merged([("a", 1)], [], Sum()) == [("a", 1)]


def test_a_merger_that_loses_rows_is_found_out() -> None:
    with pytest.raises(DataError, match="Loses was given 1 rows of k, n and gave 0 rows"):
        merged([("a", 1)], [data([("a", 2)], SCHEMA)], Loses())
