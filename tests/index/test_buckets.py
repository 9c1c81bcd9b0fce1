"""Copy-on-write tables with a bucket index: the hash of a key says which base file is rewritten."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hudiformat import CorruptTableError, OptionError, Table, UnsupportedFeatureError, open_table
from tests.tables import FLAGGED, Clock, content, data_files, new_table, rows, tree

TWO = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}


def made(path: Path, **options: str) -> Table:
    table = new_table(path / "t", table_type="COPY_ON_WRITE", schema=FLAGGED, options={**TWO, **options})
    table.upsert(rows(*((key, 5, "x", 1) for key in "abcd"), ("b", 4, "x", 9), schema=FLAGGED))
    return table


def test_each_bucket_has_a_base_file_that_updates_and_deletes_rewrite(tmp_path: Path) -> None:
    table = made(tmp_path)
    assert content(table) == [(key, 5, "x", 1) for key in "abcd"]
    first = {one.file_id for one in table.file_slices()}
    assert sorted(file_id[:8] for file_id in first) == ["00000000", "00000001"]
    later = (("a", 6, "x", 2), ("b", 4, "x", 2), ("c", 6, "x", 2, True), ("e", 1, "x", 2), ("f", 1, "y", 2, True))
    commit = table.upsert(rows(*later, schema=FLAGGED))
    table.delete(rows(("d", 0, "x"), ("n", 0, "z"), schema=FLAGGED))
    assert content(table) == [("a", 6, "x", 2), ("b", 5, "x", 1), ("e", 1, "x", 2)]
    assert {one.file_id for one in table.file_slices("x")} == first
    assert not [path for path in data_files(Path(table.path)) if not path.endswith(".parquet")]
    counts = [sum(getattr(stat, name) or 0 for stat in commit.stats) for name in ("num_inserts", "num_deletes")]
    assert counts == [1, 1]
    assert {stat.prev_commit for stat in commit.stats if stat.partition_path == "y"} <= {"null"}


def test_an_insert_is_not_compared_unless_it_has_to_be(tmp_path: Path) -> None:
    more = rows(("a", 9, "x", 2), ("a", 3, "x", 3), ("c", 1, "x", 3, True), schema=FLAGGED)
    doubled = made(tmp_path)
    doubled.insert(more)
    assert content(doubled)[:3] == [("a", 3, "x", 3), ("a", 5, "x", 1), ("a", 9, "x", 2)]
    single = made(tmp_path / "single", **{"hoodie.merge.allow.duplicate.on.inserts": "false"})
    single.insert(more)
    assert content(single) == [("a", 9, "x", 2), *((key, 5, "x", 1) for key in "bcd")]
    single.insert(rows(("c", 1, "x", 3, True), schema=FLAGGED))
    assert len(content(single)) == 4


def test_a_bulk_insert_adds_to_the_buckets_that_are_there(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.bulk_insert(rows(("e", 1, "x", 2), ("a", 9, "x", 2), schema=FLAGGED))
    assert len(table.file_slices()) == 2
    assert len(content(table)) == 6


def test_writers_that_do_not_wait_need_log_files(tmp_path: Path) -> None:
    mode = {"hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL"}
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options={**TWO, **mode})
    with pytest.raises(UnsupportedFeatureError, match="but with a bucket index and log files"):
        table.upsert(rows(("a", 1, "x", 1)))


def test_buckets_have_log_files_only(tmp_path: Path) -> None:
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
    table = new_table(tmp_path / "t", options=options)
    table.insert(rows(*((f"k{i}", 1, "x") for i in range(20))))
    table.upsert(rows(*((f"k{i}", 2, "x") for i in range(20))))
    slices = table.file_slices()
    assert sorted(item.file_id[:8] for item in slices) == ["00000000", "00000001"]
    assert all(item.base_file is None and len(item.log_files) == 2 for item in slices)
    assert table.read_optimized().num_rows == 0


@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
def test_file_groups_that_are_none_of_the_buckets_are_refused(tmp_path: Path, index: str) -> None:
    """Properties of tables that Hudi made need not name the index; the file groups contradict the options then."""
    new_table(tmp_path / "t", options={"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "8"})
    properties = tmp_path / "t" / ".hoodie" / "hoodie.properties"
    properties.write_text(re.sub(r"(?m)^hoodie\.(bucket\.)?index\..*\n", "", properties.read_text()))
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "8"}
    data = rows(*((f"k{i}", 1, "x") for i in range(50)))
    open_table(tmp_path / "t", options=options, clock=Clock()).insert(data)
    before = tree(tmp_path)
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"}
    table = open_table(tmp_path / "t", options=options, clock=Clock())
    with pytest.raises(OptionError, match="is none of 4 buckets; hoodie.index.type and"):
        table.upsert(data)
    assert tree(tmp_path) == before


def test_a_bucket_with_two_file_groups_is_refused(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=TWO)
    table.insert(rows(("a", 1, "x", 1)))
    log = next((tmp_path / "t" / "x").glob(".0*.log.*"))
    log.with_name(re.sub(r"^(\.\d{8})-[^_]*", r"\1-0000-0000-0000-000000000000-0", log.name)).write_bytes(
        log.read_bytes()
    )
    before = tree(tmp_path)
    with pytest.raises(
        CorruptTableError, match=r"one file group for bucket \d of partition 'x', found \d{8}-.* and \d{8}-"
    ):
        table.upsert(rows(("a", 2, "x", 2)))
    assert tree(tmp_path) == before
    table.insert_overwrite(rows(("a", 3, "x", 3)))
    table.upsert(rows(("a", 4, "x", 4)))
    assert content(table) == [("a", 4, "x", 4)]
