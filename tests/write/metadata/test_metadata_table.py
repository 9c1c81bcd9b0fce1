"""A table whose properties name a metadata table.

It is read for the listing, and kept up by every action.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.compute as pc
import pytest

from hudiformat import Commit, CommitError, HudiFormatWarning, LogReader, StorageError, Table, open_table
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.metadata_table.listing import listing
from hudiformat.metadata_table.merging import merge_records
from hudiformat.metadata_table.records import FileEntry, encode_file_entries
from hudiformat.metadata_table.stat_records import decode_stat_record
from hudiformat.naming.file_names import LogFileName
from hudiformat.schema.meta_fields import META_FIELDS
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.local import LocalStorage
from hudiformat.table.options.values import Operation
from hudiformat.timeline.config_files import update_table_config
from hudiformat.timeline.contents import begin_instant
from hudiformat.timeline.table_config import CHECKSUM_KEY
from hudiformat.timeline.timeline import Action
from hudiformat.write.commit.changing import unregister_write
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.metadata.metadata_table import MetadataTable
from tests.effort import LONG, only_long
from tests.faults import FaultyStorage
from tests.metadata_statistics import check_metadata_table, check_statistics, records_of, rows_of
from tests.metadata_table.tables import add_metadata_table, check_listing
from tests.metadata_tables import (
    NAME,
    PARTITIONS,
    add_expression_index,
    add_secondary_index,
    base_files,
    indexed_table,
    properties,
    some_keys,
    told,
    with_metadata_table,
    with_options,
    with_partitioned_index,
)
from tests.tables import GOLDEN, content, multiset, new_table, rows, tree

pytestmark = pytest.mark.unmeasured

T = TypeVar("T")


@pytest.fixture
def path(own_golden: Callable[[str], Path]) -> Path:
    return own_golden(NAME)


def test_a_write_keeps_statistics_up_and_drops_what_it_was_asked_to_with_one_warning(path: Path) -> None:
    before = properties(path)
    assert before[PARTITIONS] == "column_stats,files,partition_stats,record_index"
    table = open_table(path, options={"hoodie.metadata.index.drop": "record_index"})
    rows = table.snapshot()
    with pytest.warns(HudiFormatWarning, match="record_index of the metadata table are dropped, as ") as caught:
        commit = table.delete(some_keys(table, 3))
    assert len(caught) == 1
    own = sorted(entry.name for entry in (path / ".hoodie" / "metadata").iterdir())
    assert own == [".hoodie", "column_stats", "files", "partition_stats"]
    left = "column_stats,files,partition_stats"
    assert {**properties(path), CHECKSUM_KEY: ""} == {**before, PARTITIONS: left, CHECKSUM_KEY: ""}
    assert commit.num_deletes == 3
    assert table.snapshot().num_rows == rows.num_rows - 3
    table.delete(some_keys(table, 1))  # nothing is left to drop; a warning would be an error
    check_listing(path)
    check_statistics(path)


def test_the_block_is_what_hudi_writes(path: Path) -> None:
    """Its header, but for spaces and escapes in the schema, and its records."""
    table = quietly_kept(path)
    commit = table.delete(some_keys(table, 1))
    folder = path / ".hoodie" / "metadata" / "files"
    theirs, ours = (
        next(iter(LogReader(folder / name)))
        for name in (
            ".files-0000-0_20261121062448801.log.1_3-4827-8634",
            f".files-0000-0_{commit.instant}.log.1_0-0-0",
        )
    )
    assert ours.instant == commit.instant
    assert json.loads(ours.schema) == json.loads(theirs.schema)
    file, their_file = HFileReader(memoryview(ours.content)), HFileReader(memoryview(theirs.content))
    assert list(file.file_info) == list(their_file.file_info)
    stat = commit.stats[0]
    assert stat.path is not None
    partition, _, name = stat.path.partition("/")
    assert [key for key, _ in file] == [b"__all_partitions__", partition.encode()]
    assert [value for _, value in file] == [
        encode_file_entries({partition: FileEntry(0, is_deleted=False)}, 1, theirs.schema),
        encode_file_entries({name: FileEntry(stat.file_size_in_bytes, is_deleted=False)}, 2, theirs.schema),
    ]


ALL = {
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.compact.max.delta.commits": "4",
    "hoodie.index.type": "GLOBAL_SIMPLE",
}


def with_secondary_indexes(table: Table, options: dict[str, str]) -> Table:
    """The table with an index of each of two columns."""
    for column in ("v", "p"):
        add_secondary_index(Path(table.path), column)
    return with_options(table, options)


MOR, COW = "MERGE_ON_READ", "COPY_ON_WRITE"
KINDS_OF_TABLES = [(MOR, 9), *([(COW, 6), (MOR, 6), (COW, 9), (MOR, 8), (COW, 8)] if LONG else [])]


@only_long
@pytest.mark.slow
@pytest.mark.parametrize(("table_type", "version"), KINDS_OF_TABLES)
def test_every_action_keeps_all_indexes_up(tmp_path: Path, table_type: str, version: int) -> None:
    path = tmp_path / "t"
    table = indexed_table(path, options=ALL, table_type=table_type, version=version)
    if version > 6:
        table = with_secondary_indexes(table, ALL)
    actions: list[Callable[[], object]] = [
        lambda: table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1), ("c", 1, "x", 5))),
        lambda: table.upsert(rows(("a", 2, "x", 2), ("d", 1, "z", None))),
        lambda: table.upsert(rows(("c", 3, "y", 3))),  # it moves
        lambda: table.upsert(rows(("c", 2, "y", 4), ("a", 3, "x", None))),  # the first loses
        lambda: table.delete(rows(("b", 0, "y"))),
        lambda: table.upsert(rows(("b", 4, "y", 9))),
        lambda: table.compact() if table_type == "MERGE_ON_READ" else None,
        lambda: table.bulk_insert(rows(("e", 1, "x", 7), ("f", 1, "w", 8))),
        lambda: table.rollback(table.upsert(rows(("g", 1, "new", 1), ("a", 9, "x", 9))).instant),
        lambda: table.insert_overwrite(rows(("h", 1, "x", 1))),
        lambda: table.delete_partitions(["y"]),
        lambda: table.upsert(rows(("b", 5, "y", 9))),
        lambda: with_options(table, {"hoodie.clean.commits.retained": "1"}).clean(),
        lambda: table.insert_overwrite_table(rows(("i", 1, "x", 1))),
    ]
    for action in actions:
        action()
        check_listing(path)
        check_metadata_table(path)
    assert base_files(table)


@pytest.mark.slow
@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_a_partitioned_record_index_is_kept_up(tmp_path: Path, table_type: str) -> None:
    path = tmp_path / "t"
    options = {
        "hoodie.metadata.record.index.enable": "true",
        "hoodie.metadata.compact.max.delta.commits": "3",
        "hoodie.metadata.index.column.stats.enable": "false",
    }
    indexed_table(path, table_type=table_type, options=options)
    with_partitioned_index(path)
    table = open_table(path, options={**options, "hudiformat.sync": "false"})
    actions: list[Callable[[], object]] = [
        lambda: table.insert(rows(("a", 1, "x-1_2", 1), ("a", 1, "y/z a", 1), ("c", 1, "x-1_2", 5))),
        lambda: table.upsert(rows(("a", 2, "x-1_2", 2), ("d", 1, "new", None))),
        lambda: table.delete(rows(("a", 0, "y/z a"))),
        lambda: table.compact() if table_type == "MERGE_ON_READ" else None,
        lambda: table.bulk_insert(rows(("e", 1, "new", 7), ("f", 1, "w", 8))),
        lambda: table.insert_overwrite(rows(("h", 1, "x-1_2", 1))),
        lambda: table.rollback(table.upsert(rows(("g", 1, "newer", 1), ("a", 9, "x-1_2", 9))).instant),
        lambda: table.delete_partitions(["w"]),
        lambda: table.upsert(rows(("b", 5, "w", 9), ("g", 5, "newer", 9))),
    ]
    for action in actions:
        action()
        check_metadata_table(path)
    unique = pc.field("k") == "g"
    explanation = table.scan(filter=unique).explain()
    assert (len(explanation.read), explanation.left_out) == (1, {"record_index": len(table.file_slices()) - 1})
    assert content(table, filter=unique) == [("g", 5, "newer", 9)]


@pytest.mark.slow
@pytest.mark.parametrize("version", [8, 9])
def test_expression_indexes_are_kept_up(tmp_path: Path, version: int) -> None:
    path = tmp_path / "t"
    options = {"hoodie.metadata.compact.max.delta.commits": "3", "hoodie.clean.commits.retained": "1"}
    indexed_table(path, version=version, options=options)
    of_p, of_v = add_expression_index(path, "p", "upper"), add_expression_index(path, "v", "identity")
    table = open_table(path, options={**options, "hudiformat.sync": "false"})
    actions: list[Callable[[], object]] = [
        lambda: table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 2))),
        lambda: table.upsert(rows(("a", 2, "x", 7))),
        lambda: table.delete(rows(("b", 0, "y"))),
        table.compact,
        lambda: table.insert_overwrite(rows(("h", 1, "x", 3))),
        lambda: table.rollback(table.insert(rows(("c", 1, "new", 1))).instant),
        table.clean,
    ]
    for action in actions:
        action()
        ranges = merged_ranges(table, of_v)
        for one in table.file_slices():
            name = None if one.base_file is None else path / one.partition_path / str(one.base_file.name)
            values = [] if name is None else rows_of(name)["v"].to_pylist()
            if values and name is not None:  # a file without rows has no record
                assert ranges[name.name] == (min(values), max(values))
                lower, upper = ranges[one.partition_path]
                assert lower <= min(values) <= max(values) <= upper
        check_metadata_table(path)
    assert merged_ranges(table, of_p)["x"] == ("X", "X")


def merged_ranges(table: Table, index: str) -> dict[str, tuple[Any, Any]]:
    """The bounds of each file and partition path in an index."""
    own = MetadataTable.of(table._context.state())
    schema = own.own.schema.avro_with_meta
    (kind,) = (one for one in own.kinds() if one.name == index)
    _, values = merge_records(own.open_existing().parts(index), kind, schema)
    records = [decode_stat_record(value, schema) for value in values.to_pylist()]
    return {one.name: (one.statistics.lower, one.statistics.upper) for one in records if one.statistics is not None}


@pytest.mark.slow
@pytest.mark.parametrize("version", [6, 9])
def test_log_compaction_and_restore_keep_all_indexes_up(tmp_path: Path, version: int) -> None:
    path = tmp_path / "t"
    options = {**ALL, "hoodie.log.compaction.blocks.threshold": "2", "hoodie.metadata.compact.max.delta.commits": "99"}
    table = indexed_table(path, options=options, version=version)
    if version > 6:
        table = with_secondary_indexes(table, options)
    first = table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.savepoint(first.instant)
    for number in range(3):
        table.upsert(rows(("a", number + 2, "x", number)))
    table.log_compact()
    check_metadata_table(path)
    table.restore(first.instant)
    check_metadata_table(path)
    table.upsert(rows(("c", 1, "x", 1)))
    check_metadata_table(path)


@pytest.mark.slow
@pytest.mark.parametrize("is_partitioned", [False, True])
def test_a_write_whose_entries_are_in_a_base_file_is_rolled_back(tmp_path: Path, *, is_partitioned: bool) -> None:
    path = tmp_path / "t"
    options = {**ALL, "hoodie.metadata.compact.max.delta.commits": "1"}
    indexed_table(path, options=options)
    if is_partitioned:
        with_partitioned_index(path)
    for column in ("v", "p"):
        add_secondary_index(path, column)
    table = open_table(path, options={**options, "hudiformat.sync": "false"})
    before = table.config.metadata_partitions
    first = table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 2), ("c", 1, "y", 3), ("d", 1, "y", 4)))
    table.upsert(rows(("a", 2, "x", 5)))
    expected = content(table)
    writes: list[Callable[[], Commit]] = [
        lambda: table.insert(rows(("e", 1, "new", 1), ("f", 1, "x", 1))),
        lambda: table.upsert(rows(("b", 3, "x", 9), ("c", 3, "z", 3))),  # the second moves
        lambda: table.delete(rows(("a", 0, "x"), ("d", 0, "y"))),
        lambda: table.insert_overwrite(rows(("b", 4, "x", 1))),
        lambda: table.delete_partitions(["y"]),
    ]
    for write in writes:
        table.rollback(write().instant)
        assert content(table) == expected
        check_metadata_table(path)
    table.savepoint(first.instant)
    table.delete(rows(("b", 0, "x")))
    table.insert(rows(("e", 1, "new", 1)))
    table.restore(first.instant)
    check_metadata_table(path)
    table.insert(rows(("h", 1, "x", 1)))
    check_metadata_table(path)
    assert open_table(path).config.metadata_partitions == before


def test_partial_updates_leave_no_value_out(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = indexed_table(path)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 2)))
    schema = json.dumps(
        {
            "type": "record",
            "name": "r",
            "fields": [
                {"name": "k", "type": ["null", "string"], "default": None},
                {"name": "ts", "type": ["null", "long"], "default": None},
                {"name": "p", "type": ["null", "string"], "default": None},
            ],
        }
    )
    partial = with_options(table, {"hoodie.write.partial.update.schema": schema})
    partial.upsert(rows(("a", 5, "x")).select(["k", "ts", "p"]))
    check_statistics(path)
    assert content(table, filter=pc.field("v") == 1) == [("a", 5, "x", 1)]
    assert content(table, filter=(pc.field("v") == 1) & (pc.field("ts") == 5)) == [("a", 5, "x", 1)]


def quietly_kept(path: Path) -> Table:
    """The table at *path*, whose metadata table has no partition any more but the one that is kept up."""
    update_table_config(LocalStorage(path), {PARTITIONS: "files"}, saved_at=datetime(2024, 2, 29, tzinfo=timezone.utc))
    return open_table(path, clock=None)


KINDS: dict[str, dict[str, Any]] = {
    "merge on read": {},
    "copy on write": {"table_type": "COPY_ON_WRITE"},
    "without partitions": {"partition_by": []},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_action_says_what_it_did(tmp_path: Path, kind: str) -> None:
    table = with_metadata_table(new_table(tmp_path / "t", **KINDS[kind]))
    first = table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.upsert(rows(("a", 2, "x", 2), ("c", 1, "z", 1)))
    table.delete(rows(("b", 0, "y")))
    if kind != "copy on write":
        table.upsert(rows(("a", 3, "x", 3)))
        table.compact()
    check_listing(tmp_path / "t")
    saved = table.savepoint(first.instant)
    table.delete_savepoint(saved.time)
    if kind != "without partitions":
        table.delete_partitions(["y"])
        check_listing(tmp_path / "t")
    table.insert_overwrite(rows(("d", 1, "x", 1)))
    table.rollback(table.upsert(rows(("e", 1, "new", 1))).instant)
    check_listing(tmp_path / "t")
    table.upsert(rows(("f", 1, "x", 1)))
    before = len(told(table))
    with_options(table, {"hoodie.clean.commits.retained": "1"}).clean()
    assert len(told(table)) == before + 1
    check_listing(tmp_path / "t")


def test_a_failed_commit_takes_back_what_it_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = with_metadata_table(new_table(tmp_path / "t"))
    table.insert(rows(("a", 1, "x", 1)))
    before = tree(tmp_path / "t")

    def fail(*_args: object, **_options: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr("hudiformat.write.commit.publishing.complete_instant", fail)
    with pytest.raises(CommitError, match="the disk is full"):
        table.insert(rows(("b", 1, "new", 1)))
    assert tree(tmp_path / "t") == before


def test_what_a_dead_writer_said_does_not_count_and_is_taken_back(tmp_path: Path) -> None:
    table = with_metadata_table(new_table(tmp_path / "t"))
    table.insert(rows(("a", 1, "x", 1)))
    slices = table.file_slices()
    dead = table.insert(rows(("b", 1, "new", 1)))
    (done,) = (tmp_path / "t" / ".hoodie" / "timeline").glob(f"{dead.instant}_*")
    done.unlink()
    assert table.file_slices() == slices
    assert dead.instant in told(table)
    table.insert(rows(("c", 1, "y", 1)))
    assert dead.instant not in told(table)
    assert content(table) == [("a", 1, "x", 1), ("c", 1, "y", 1)]
    check_listing(tmp_path / "t")


@pytest.mark.parametrize("again", ["rollback", "restore"])
def test_what_is_in_a_base_file_already_is_said_to_be_gone(tmp_path: Path, again: str) -> None:
    table = with_metadata_table(new_table(tmp_path / "t"), {"hoodie.metadata.compact.max.delta.commits": "1"})
    first = table.insert(rows(("a", 1, "x", 1)))
    second = table.insert(rows(("b", 1, "new", 1)))
    assert any(f"_{second.instant[:8]}" in name for name in base_files(table))
    if again == "rollback":
        table.rollback(second.instant)
    else:
        table.restore(first.instant)
    check_listing(tmp_path / "t")
    assert dict(listing(table._context.storage, table.config, table.timeline)).keys() == {"x"}
    table.insert(rows(("c", 1, "x", 1)))
    check_listing(tmp_path / "t")


def test_a_restore_undoes_what_is_in_a_base_file_and_what_is_not_yet(tmp_path: Path) -> None:
    table = with_metadata_table(new_table(tmp_path / "t"), {"hoodie.metadata.compact.max.delta.commits": "3"})
    done = [table.bulk_insert(rows((f"k{step}", step, "x", step))).instant for step in range(6)]
    own = Path(table.path) / ".hoodie" / "metadata" / ".hoodie" / "timeline"
    compacted = max(path.name[:17] for path in own.glob("*.commit"))
    assert done[1] < compacted < done[5]
    table.restore(done[0])
    assert content(table) == [("k0", 0, "x", 0)]
    check_listing(tmp_path / "t")


@dataclass
class FailsOnce:
    """A fault at the operation whose name and path are ``what``."""

    what: str
    has_failed: bool = False

    def run(self, what: str, action: Callable[[], T]) -> T:
        if what == self.what and not self.has_failed:
            self.has_failed = True
            raise StorageError(f"the storage fails: {what}")
        return action()


@pytest.mark.slow
@pytest.mark.parametrize("has_record_index", [False, True])
def test_a_restore_that_goes_on_undoes_what_its_first_attempt_had_deleted(
    tmp_path: Path, has_record_index: bool
) -> None:
    """It does not see these files any more, and a base file of the metadata table has them."""
    compacting = {"hoodie.metadata.compact.max.delta.commits": "3"}
    if has_record_index:
        table = indexed_table(tmp_path / "t", options={**compacting, "hoodie.metadata.record.index.enable": "true"})
    else:
        table = with_metadata_table(new_table(tmp_path / "t"), compacting)
    done = [table.upsert(rows(("k", step, "x", step))).instant for step in range(6)]
    fault = FailsOnce(f"delete_folder .hoodie/.temp/{done[1]}")
    failing = open_table(FaultyStorage(table._context.storage, fault), clock=table._context.clock)
    with pytest.raises(StorageError, match="the storage fails"):
        failing.restore(done[0])
    own = Path(table.path) / ".hoodie" / "metadata" / ".hoodie" / "timeline"
    assert done[2] < max(path.name[:17] for path in own.glob("*.commit"))
    assert not any(done[2] in path.name for path in (tmp_path / "t").rglob("*") if "metadata" not in path.parts)
    table.restore(done[0])
    assert content(table) == [("k", 0, "x", 0)]
    state = table._context.state()
    listed = {file.name for _, files in listing(state.storage, state.config, state.timeline) for file in files}
    assert not any(time in name for name in listed for time in done[1:])
    check_metadata_table(tmp_path / "t")
    check_listing(tmp_path / "t")


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_write_that_is_older_than_the_metadata_table_is_undone_in_it(tmp_path: Path, is_stopped: bool) -> None:
    """It has no delta commit of its own, as its files were listed when the metadata table was made."""
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE")
    first = table.upsert(rows(("a", 1, "x", 1)))
    second = table.upsert(rows(("a", 2, "x", 2)))
    add_metadata_table(tmp_path / "t")
    table = with_options(table, {})
    if is_stopped:  # after it has deleted the files, whose names the next attempt does not see any more
        (made,) = (tmp_path / "t" / "x").glob(f"*_{second.instant}.parquet")
        made.unlink()
    table.restore(first.instant)
    state = table._context.state()
    listed = {file.name for _, files in listing(state.storage, state.config, state.timeline) for file in files}
    assert not any(second.instant in name for name in listed)
    check_listing(tmp_path / "t")


def test_a_compaction_that_is_run_again_says_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = with_metadata_table(new_table(tmp_path / "t"))
    for number in (1, 2):
        table.upsert(rows(("a", number, "x", 1)))
    with monkeypatch.context() as patch:
        patch.setattr(
            "hudiformat.write.commit.publishing.complete_instant",
            lambda *_, **__: (_ for _ in ()).throw(StorageError("x")),
        )
        with pytest.raises(CommitError, match="x; the table is as it was"):
            table.compact()
    table.compact()
    assert len([one for one in table.timeline.completed if one.action is Action.COMMIT]) == 1
    check_listing(tmp_path / "t")


STATES = {
    "has no partition files": {PARTITIONS: "column_stats"},
    r"is being built \(record_index\)": {f"{PARTITIONS}.inflight": "record_index"},
}


@pytest.mark.parametrize("reason", STATES)
def test_one_in_no_known_state_is_dropped_with_a_warning(tmp_path: Path, reason: str) -> None:
    table = with_metadata_table(new_table(tmp_path / "t"))
    saved_at = datetime(2024, 2, 29, tzinfo=timezone.utc)
    update_table_config(table._context.storage, STATES[reason], saved_at=saved_at)
    assert_dropped(table, reason)


def assert_dropped(table: Table, reason: str) -> None:
    with pytest.warns(HudiFormatWarning, match=f"the metadata table {reason}, and is dropped"):
        table.insert(rows(("a", 1, "x", 1)))
    found = properties(Path(table.path))
    assert (found[PARTITIONS], found[f"{PARTITIONS}.inflight"]) == ("", "")
    assert not (Path(table.path) / ".hoodie" / "metadata").exists()
    assert content(open_table(table.path)) == [("a", 1, "x", 1)]


def test_one_of_another_version_is_dropped(tmp_path: Path) -> None:
    table = with_metadata_table(new_table(tmp_path / "t"))
    own = FolderStorage(table._context.storage, ".hoodie/metadata")
    update_table_config(own, {"hoodie.table.version": "8"}, saved_at=datetime(2024, 2, 29, tzinfo=timezone.utc))
    assert_dropped(table, "has version 8, the table 9")


def test_one_without_a_commit_or_properties_is_dropped(tmp_path: Path) -> None:
    for number, (gone, reason) in enumerate([("timeline", "has no commit"), ("hoodie.properties", "cannot be read")]):
        table = with_metadata_table(new_table(tmp_path / str(number)))
        lost = Path(table.path) / ".hoodie/metadata/.hoodie" / gone
        shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
        assert_dropped(table, reason + (".*" if number else ""))


def test_one_that_is_there_may_be_asked_for(tmp_path: Path) -> None:
    with_metadata_table(new_table(tmp_path / "t"), {"hoodie.metadata.enable": "true"}).insert(rows(("a", 1, "x", 1)))
    check_listing(tmp_path / "t")


def test_a_write_that_is_refused_drops_nothing(path: Path) -> None:
    before = properties(path)
    table = open_table(path)
    rows = table.snapshot()
    with pytest.raises(ValueError, match="is missing"):
        table.delete(rows.drop_columns(list(table.config.record_key_fields)))
    assert properties(path) == before
    assert multiset(table.snapshot()) == multiset(rows)


def test_a_writer_that_says_so_drops_it_without_a_warning(path: Path) -> None:
    table = open_table(path, options={"hoodie.metadata.enable": "false"})
    table.delete(some_keys(table, 1))
    assert open_table(path).config.metadata_partitions == ()
    assert not (path / ".hoodie" / "metadata").exists()


def test_partitions_that_a_restore_brings_back_have_statistics_again(tmp_path: Path) -> None:
    table = indexed_table(tmp_path / "t", options={"hoodie.metadata.compact.max.delta.commits": "1"})
    first = table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.insert_overwrite_table(rows(("c", 1, "x", 1)))
    check_statistics(tmp_path / "t")
    table.restore(first.instant)
    assert content(table) == [("a", 1, "x", 1), ("b", 1, "y", 1)]
    check_statistics(tmp_path / "t")


OF_VERSION_6 = {"hoodie.index.type": "INMEMORY", "hoodie.metadata.compact.max.delta.commits": "99"}


def own_logs(path: Path) -> list[Path]:
    """The log files of the list of files, in merge order."""
    return sorted(
        (path / ".hoodie/metadata/files").glob(".files-*"), key=lambda log: LogFileName.parse(log.name).sort_key
    )


def test_names_of_version_6(tmp_path: Path) -> None:
    """A log file has the instant of its slice in its name, a compaction that of the delta commit before it and 001."""
    path = tmp_path / "t"
    table = indexed_table(path, version=6, options={"hoodie.metadata.compact.max.delta.commits": "3"})
    commits = [table.upsert(rows(("a", number, "x", number))).instant for number in range(2)]
    assert told(table) == ["00000000000000010", "00000000000000011", f"{commits[0]}", f"{commits[0]}001", commits[1]]
    names = {log.name for log in own_logs(path)}
    assert names == {
        ".files-0000-0_00000000000000010.log.1_0-0-0",
        ".files-0000-0_00000000000000010.log.2_0-0-0",
        f".files-0000-0_{commits[0]}001.log.1_0-0-0",
    }
    check_listing(path)


def test_a_log_file_of_version_6_with_blocks_of_several_writes(tmp_path: Path) -> None:
    """Hudi appends to a log file where the file system can: the blocks of a write that is rolled back are hidden."""
    path = tmp_path / "t"
    table = indexed_table(path, version=6, options=OF_VERSION_6)
    table.upsert(rows(("a", 1, "x", 1)))
    newest = table.upsert(rows(("b", 1, "new", 1)))
    *_, before, last = own_logs(path)
    before.write_bytes(before.read_bytes() + last.read_bytes())
    last.unlink()
    check_listing(path)
    table.rollback(newest.instant)
    check_listing(path)
    assert own_logs(path)[-2:] == [before, last]
    table.upsert(rows(("c", 1, "y", 1)))
    check_listing(path)
    assert content(table) == [("a", 1, "x", 1), ("c", 1, "y", 1)]


def test_statistics_of_version_6_cover_all_columns(tmp_path: Path) -> None:
    table = indexed_table(tmp_path / "t", version=6, schema=rows().schema)
    table.upsert(rows(("a", 1, "x", 1)))
    records = records_of(tmp_path / "t", "column_stats").values()
    assert {one["ColumnStatsMetadata"]["columnName"] for one in records} == {*META_FIELDS, "k", "ts", "p", "v"}


@pytest.mark.slow
def test_flinks_table_with_a_pending_compaction_keeps_its_metadata_table(tmp_path: Path) -> None:
    with zipfile.ZipFile(GOLDEN / "flink" / "f-v6-mor-bucket-compacted.zip") as archive:
        archive.extractall(tmp_path)
    table = open_table(tmp_path / "table")
    assert {one.action for one in table.timeline.pending} == {Action.COMPACTION}
    before = table.config.metadata_partitions
    assert before
    check_listing(tmp_path / "table")
    first = table.snapshot().slice(0, 1)
    table.delete(first)  # a warning would be an error
    assert open_table(tmp_path / "table").config.metadata_partitions == before
    check_listing(tmp_path / "table")
    table.compact()
    check_listing(tmp_path / "table")


def test_a_torn_log_file_of_version_6_goes_with_the_write_of_the_writer_that_died(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = indexed_table(path, version=6, options=OF_VERSION_6)
    table.upsert(rows(("a", 1, "x", 1)))
    last = own_logs(path)[-1]
    write = begin_write(table._context, Operation.UPSERT)
    own = MetadataTable.of(table._context.state()).own
    begin_instant(own.storage, own.config, write.instant.time, Action.DELTA_COMMIT)
    torn = last.with_name(last.name.replace(".log.2_", ".log.3_"))
    torn.write_bytes(last.read_bytes()[:100])
    write._heartbeat.stop()
    unregister_write(str(path), write.instant.time)
    with pytest.warns(HudiFormatWarning, match="the metadata table is not used"):
        assert content(open_table(path)) == [("a", 1, "x", 1)]
    open_table(path).upsert(rows(("b", 1, "x", 1)))
    check_listing(path)
    assert content(open_table(path)) == [("a", 1, "x", 1), ("b", 1, "x", 1)]
    write.abandon()
