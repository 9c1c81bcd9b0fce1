"""What log files change in the indexes of single records, compared with the rows that are there afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from hudiformat import Table, open_table
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.log.reader import LogReader
from tests.effort import sample
from tests.metadata_statistics import check_record_index, check_secondary_indexes
from tests.metadata_tables import add_secondary_index, indexed_table
from tests.tables import FLAGGED, rows

pytestmark = pytest.mark.unmeasured

RECORD_INDEX = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
    "hoodie.parquet.small.file.limit": "0",
}
INDEXES: dict[str, dict[str, str]] = {
    "SIMPLE": {},
    "INMEMORY": {},
    "BUCKET": {"hoodie.bucket.index.num.buckets": "2"},
    "GLOBAL_SIMPLE": {},
    "RECORD_INDEX": {},
}
NON_BLOCKING = {
    **INDEXES["BUCKET"],
    "hoodie.index.type": "BUCKET",
    "hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}


def table_of(path: Path, index: str, options: Mapping[str, str] | None = None, *, version: int = 9) -> Table:
    chosen = {**RECORD_INDEX, **INDEXES[index], "hoodie.index.type": index, **(options or {})}
    indexed_table(path, schema=FLAGGED, options=chosen, version=version)
    if version > 6:
        add_secondary_index(path, "v")
    return open_table(path, options={**chosen, "hudiformat.sync": "false"})


def recorded(path: Path, instant: str) -> list[str]:
    """The keys that got a record in the record index at *instant*, and those that lost theirs, with a minus."""
    found = []
    for log in (path / ".hoodie/metadata/record_index").glob(f"*{instant}*"):
        for block in LogReader(log):
            if block.type.name == "DELETE":
                found += [f"-{key}" for key in block.deletes()["record_key"].to_pylist()]
            else:
                batches = HFileReader(memoryview(block.content)).blocks()
                found += [key.decode() for batch in batches for key in batch["key"].to_pylist()]
    return sorted(found)


def flagged(*changes: tuple[str, int, bool], path: str = "x", value: int = 0) -> pa.Table:
    return rows(*((key, ts, path, value, gone) for key, ts, gone in changes), schema=FLAGGED)


def check(path: Path) -> None:
    check_record_index(path)
    check_secondary_indexes(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("index", "version"), sample(product(["SIMPLE", "GLOBAL_SIMPLE", "RECORD_INDEX"], [6, 9]), of=6)
)
def test_only_keys_that_come_and_go_get_a_record(tmp_path: Path, index: str, version: int) -> None:
    path = tmp_path / "t"
    table = table_of(path, index, version=version)
    steps = [
        (flagged(("a", 10, False), ("b", 10, False), ("c", 10, False)), ["a", "b", "c"]),
        (flagged(("a", 11, False), ("b", 12, False)), []),
        (flagged(("a", 5, True)), []),  # it loses
        # The key of a delete that has lost is looked at again, where the index finds keys in log files.
        (flagged(("a", 7, False), ("c", 9, False)), [] if index != "SIMPLE" else ["a"]),
        (flagged(("c", 15, True), ("d", 1, False)), ["-c", "d"]),
        (flagged(("c", 16, False), value=7), ["c"]),
        (flagged(("c", 17, False), ("b", 13, False)), [] if index != "SIMPLE" else ["c"]),
    ]
    for changes, expected in steps:
        commit = table.upsert(changes)
        if version > 6:  # whose log files are not named by their writes
            assert recorded(path, commit.instant) == expected
        check(path)


def test_a_row_that_loses_against_an_older_delete_gets_no_record(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", "SIMPLE")
    table.upsert(flagged(("a", 10, False), ("b", 10, False)))
    table.upsert(flagged(("a", 20, True)))
    assert recorded(tmp_path / "t", table.upsert(flagged(("a", 15, False))).instant) == ["-a"]
    check(tmp_path / "t")


@pytest.mark.slow
@pytest.mark.parametrize(("index", "seed"), sample(product(INDEXES, range(2)), of=16))
def test_entries_are_those_of_the_rows_after_any_writes(tmp_path: Path, index: str, seed: int) -> None:
    path, random = tmp_path / "t", Random(seed)
    table = table_of(path, index, {"hoodie.metadata.compact.max.delta.commits": "4"})
    for _ in range(12):
        keys = random.sample("abcdefgh", 3)
        ordering = random.randrange(1, 20)
        changes = [(key, ordering, random.random() < 0.4) for key in keys]
        home = random.choice("xy") if index in ("GLOBAL_SIMPLE", "RECORD_INDEX") else "x"
        action = random.random()
        if action < 0.7:
            table.upsert(flagged(*changes, path=home, value=ordering % 3))
        elif action < 0.85:
            table.delete(flagged(*changes).select(["k", "p"]))
        elif action < 0.95:
            table.compact()
        else:
            table.rollback(table.upsert(flagged(*changes, path=home)).instant)
        check(path)


@pytest.mark.slow
def test_beside_writers_of_the_same_file_groups_the_commit_reads_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = table_of(path, "BUCKET", NON_BLOCKING)
    table.upsert(flagged(("a", 10, False), ("b", 10, False)))
    assert recorded(path, table.upsert(flagged(("a", 11, False), value=4)).instant) == ["a"]
    table.upsert(flagged(("a", 5, True)))
    check(path)
    table.upsert(flagged(("a", 15, True)))  # whether it wins is not known: the key stays
    check_record_index(path, exact=False)
    check_secondary_indexes(path)
    table.delete(flagged(("a", 0, True)).select(["k", "p"]))
    check(path)


def test_new_rows_of_a_write_that_does_not_combine_them_count_once(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", "BUCKET", {"hoodie.combine.before.upsert": "false"})
    table.upsert(flagged(("a", 1, False), ("a", 2, False), ("b", 3, False), ("b", 4, True)))
    check(tmp_path / "t")
