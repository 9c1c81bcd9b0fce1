"""Building indexes of tables that have data, and dropping them."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from threading import Barrier, Thread

import pytest

from hudiformat import (
    CorruptTableError,
    OptionError,
    SchemaError,
    StorageError,
    Table,
    UnsupportedFeatureError,
    WriteConflictError,
    open_table,
)
from hudiformat.metadata_table.definitions import IndexDefinition, load_definitions
from hudiformat.services.indexing import create_index, rebuild_indexes, unbuilt_indexes
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableState
from hudiformat.timeline.contents import complete_instant, create_requested, read_content, transition_inflight
from hudiformat.timeline.plans import IndexCommitMetadata, IndexPartitionInfo, IndexPlan
from hudiformat.timeline.timeline import Action
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.metadata.indexing import BuildLimits
from hudiformat.write.metadata.unfinished import BUILDER, FOLLOWING_KEY
from tests.effort import every, only_long, sample
from tests.faults import FaultyStorage
from tests.metadata_statistics import check_metadata_table, indexed_columns
from tests.metadata_table.tables import check_listing
from tests.metadata_tables import add_expression_index, add_index, add_secondary_index, indexed_table
from tests.services.test_versions import Dying, rows_of
from tests.tables import Clock, content, new_table, rows, tree

pytestmark = pytest.mark.unmeasured

INDEXES = ["files", "column_stats", "partition_stats", "bloom_filters", "record_index"]
SHARED = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hudiformat.sync": "false",
}


def grown(path: Path, version: int = 9, table_type: str = "MERGE_ON_READ") -> Table:
    """A table with several slices, log files, deletes and a rollback, and without a metadata table."""
    options = {"hoodie.index.type": "INMEMORY"} if table_type == "MERGE_ON_READ" else {}
    table = new_table(path, version=version, table_type=table_type, options=options)
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "x", 2), ("c", 1, "y", 3)))
    table.upsert(rows(("a", 2, "x", 4), ("d", 2, "y", 5)))
    if table_type == "MERGE_ON_READ":
        table.compact()
    table.rollback(table.upsert(rows(("z", 9, "x", 9))).instant)
    table.delete(rows(("b", 9, "x")))
    table.upsert(rows(("a", 3, "x", None), ("e", 2, "z", 5)))
    return table


def check(path: Path) -> None:
    check_listing(path)
    check_metadata_table(path)
    assert open_table(path).verify() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table_type", "version"), sample(product(["MERGE_ON_READ", "COPY_ON_WRITE"], [6, 8, 9]), of=6)
)
def test_all_indexes_can_be_built(tmp_path: Path, table_type: str, version: int) -> None:
    table = grown(tmp_path / "t", version, table_type)
    expected = content(table)
    indexes = [name for name in INDEXES if version > 6 or name != "partition_stats"]
    for name in indexes:
        [built] = table.create_index(name)
        assert built.action is Action.INDEXING
        assert table.create_index(name) == []
        check(tmp_path / "t")
    assert table._context.state().config.metadata_partitions == tuple(sorted(indexes))
    assert content(open_table(tmp_path / "t")) == expected
    table.upsert(rows(("a", 5, "x", 7), ("f", 5, "y", 8)))
    table.delete(rows(("c", 9, "y")))
    check(tmp_path / "t")


def test_what_an_index_needs_is_built_first(tmp_path: Path) -> None:
    table = grown(tmp_path / "t")
    built = table.create_index("partition_stats")
    done = [read_content(table._context.storage, table.config, one) for one in built]
    infos = [one.index_partition_infos for one in done if isinstance(one, IndexCommitMetadata)]
    newest = table.timeline.completed_writes[-1].time
    found = [(info.metadata_partition_path, info.index_upto_instant) for group in infos for info in group or ()]
    assert found == [(name, newest) for name in ("files", "column_stats", "partition_stats")]
    check(tmp_path / "t")


def test_a_table_without_rows(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    for name in INDEXES:
        assert len(table.create_index(name)) == 1
    table.upsert(rows(("a", 1, "x", 1)))
    check(tmp_path / "t")


def test_a_table_without_partitions(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", partition_by=[])
    table.upsert(rows(("a", 1, "x", 1)))
    with pytest.raises(OptionError, match="for partition_stats, found a table without partitions"):
        table.create_index("partition_stats")
    table.create_index("column_stats")
    check(tmp_path / "t")


def test_columns_can_be_chosen(tmp_path: Path) -> None:
    table = grown(tmp_path / "t")
    assert len(table.create_index("column_stats", columns=["ts", "v"])) == 2
    assert indexed_columns(tmp_path / "t")[-2:] == ["ts", "v"]
    assert table.create_index("column_stats", columns=["v"]) == []
    with pytest.raises(OptionError, match="expected columns that column_stats has, .*; drop the index first"):
        table.create_index("column_stats", columns=["p"])
    assert table.drop_index("column_stats")
    table.create_index("column_stats", columns=["p"])
    assert indexed_columns(tmp_path / "t")[-1] == "p"
    check(tmp_path / "t")


@pytest.mark.slow
def test_indexes_can_be_dropped(tmp_path: Path) -> None:
    table = grown(tmp_path / "t")
    expected = content(table)
    for name in INDEXES:
        table.create_index(name)
    assert table.drop_index("record_index")
    assert not table.drop_index("record_index")
    assert table.drop_index("column_stats")
    assert open_table(tmp_path / "t").config.metadata_partitions == ("bloom_filters", "files")
    assert table.drop_index("files")
    assert open_table(tmp_path / "t").config.metadata_partitions == ()
    assert not (tmp_path / "t/.hoodie/metadata").exists()
    table.create_index("record_index")
    check(tmp_path / "t")
    assert content(table) == expected


def test_indexes_of_others_can_be_dropped_by_either_name(tmp_path: Path) -> None:
    path = tmp_path / "t"
    indexed_table(path, options={"hoodie.metadata.record.index.enable": "true"})
    for column in ("v", "ts"):
        add_secondary_index(path, column)
    add_expression_index(path, "k", "upper")
    add_index(path, IndexDefinition("expr_index_odd", "column_stats", "split", ("k",), {"expr": "split"}), groups=1)
    table = open_table(path)
    with pytest.raises(UnsupportedFeatureError, match="expr_index_odd"):
        table.upsert(rows(("a", 1, "x", 1)))
    assert table.drop_index("expr_index_upper_k")
    assert table.drop_index("odd")
    assert not table.drop_index("expr_index_odd")
    table.upsert(rows(("a", 1, "x", 1)))
    before = tree(path)
    with pytest.raises(
        OptionError, match=r"expected no index that needs record_index, found secondary_index_ts, .*_v; "
    ):
        table.drop_index("record_index")
    assert tree(path) == before
    assert table.drop_index("v")
    assert table.drop_index("record_index", dependents=True)
    assert open_table(path).config.metadata_partitions == ("column_stats", "files", "partition_stats")
    assert set(load_definitions(table._context.storage, open_table(path).config)) == {"column_stats"}
    table.upsert(rows(("a", 2, "x", 1)))
    check(path)


def test_a_partitioned_record_index_is_built_with_file_groups_for_each_partition(tmp_path: Path) -> None:
    grown(tmp_path / "t", table_type="COPY_ON_WRITE")
    options = {"hoodie.metadata.record.level.index.enable": "true", "hoodie.index.type": "RECORD_LEVEL_INDEX"}
    table = open_table(tmp_path / "t", options={**options, "hudiformat.sync": "false"})
    create_index(table._context, "record_index", limits=BuildLimits(group_bytes=100))
    files = {path.name.split("_")[0] for path in (tmp_path / "t/.hoodie/metadata/record_index").glob("*.hfile")}
    assert {name.rsplit("-", 2)[0] for name in files} == {"record-index-x", "record-index-y", "record-index-z"}
    assert len(files) > 3
    check(tmp_path / "t")
    table.upsert(rows(("a", 9, "x", 9), ("a", 9, "y", 9), ("z", 1, "new", 1)))
    check(tmp_path / "t")


def test_version_6_has_no_partitioned_record_index(tmp_path: Path) -> None:
    options = {"hoodie.metadata.record.level.index.enable": "true", "hoodie.metadata.enable": "true"}
    with pytest.raises(UnsupportedFeatureError, match="a partitioned record index in table version 6"):
        new_table(tmp_path / "new", version=6, options=options)
    assert tree(tmp_path) == {}
    grown(tmp_path / "t", 6)
    before = tree(tmp_path / "t")
    with pytest.raises(UnsupportedFeatureError, match="a partitioned record index in table version 6"):
        open_table(tmp_path / "t", options=options).create_index("record_index")
    assert tree(tmp_path / "t") == before


def test_what_cannot_be_built_is_refused_before_anything_is_changed(tmp_path: Path) -> None:
    table = grown(tmp_path / "t")
    before = tree(tmp_path / "t")
    for error, message, arguments in (
        (OptionError, "index: expected one of files, .*, found 'nothing'", {"name": "nothing"}),
        (OptionError, "expected columns for column_stats alone", {"name": "record_index", "columns": ["v"]}),
        (SchemaError, "no column 'w'", {"name": "column_stats", "columns": ["w"]}),
    ):
        with pytest.raises(error, match=message):
            table.create_index(**arguments)
    with pytest.raises(OptionError, match="found 'nothing'"):
        table.drop_index("nothing")
    off = open_table(tmp_path / "t", options={"hoodie.metadata.enable": "false"})
    with pytest.raises(OptionError, match="expected true, as .* is a part of the metadata table"):
        off.create_index("files")
    assert tree(tmp_path / "t") == before


def test_a_write_that_began_before_an_index_is_written_again(tmp_path: Path) -> None:
    table = grown(tmp_path / "t")
    one, other = (open_table(tmp_path / "t", options=SHARED) for _ in range(2))
    with begin_write(one._context, Operation.UPSERT) as write:
        other.create_index("record_index")
        with pytest.raises(WriteConflictError, match="an index of the metadata table was built"):
            write.commit([])
    one.upsert(rows(("a", 7, "x", 7)))
    assert ("a", 7, "x", 7) in content(table)
    check(tmp_path / "t")


@pytest.mark.slow
def test_a_rollback_of_a_write_that_is_in_a_built_index(tmp_path: Path) -> None:
    table = indexed_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1)))
    newest = table.upsert(rows(("a", 2, "x", 2), ("b", 2, "y", 2)))
    table.create_index("bloom_filters")
    table.create_index("record_index")
    table.rollback(newest.instant)
    assert content(table) == [("a", 1, "x", 1)]
    check(tmp_path / "t")


@only_long
@pytest.mark.slow
def test_the_metadata_tables_own_services_go_on(tmp_path: Path) -> None:
    grown(tmp_path / "t")
    options = {"hoodie.metadata.compact.max.delta.commits": "2", "hudiformat.sync": "false"}
    table = open_table(tmp_path / "t", options=options)
    for name in INDEXES:
        table.create_index(name)
    for number in range(7):
        table.upsert(rows(("a", 10 + number, "x", number), (f"n{number}", 1, "y", number)))
        check(tmp_path / "t")
    own = list((tmp_path / "t/.hoodie/metadata/.hoodie/timeline").glob("*.commit"))
    assert own


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
def test_a_process_that_dies_leaves_a_table_that_can_be_written(tmp_path: Path, after: bool) -> None:
    expected = content(grown(tmp_path / "t"))
    names: set[tuple[str, ...]] = set()
    for moment in itertools.count(1, every(47)):
        path = Path(shutil.copytree(tmp_path / "t", tmp_path / "copy"))
        table = open_table(path, clock=Clock(), options={"hudiformat.sync": "false"})
        faulty = replace(table._context, storage=FaultyStorage(table._context.storage, Dying(moment, after=after)))
        has_died = False
        try:
            create_index(faulty, "record_index")
        except StorageError:
            has_died = True
        now = open_table(path, options={"hudiformat.sync": "false"})
        names.add(now.config.metadata_partitions)
        assert content(now) == expected
        now.upsert(rows(("later", 1, "x", 1)))
        assert now.timeline.pending == ()
        now.create_index("record_index")
        check(path)
        assert content(now) == sorted([*expected, ("later", 1, "x", 1)], key=repr)
        shutil.rmtree(path)
        if not has_died:
            break
    assert names == {(), ("files",), ("files", "record_index")}


def test_two_threads_build_the_same_index(tmp_path: Path) -> None:
    grown(tmp_path / "t")
    barrier, built = Barrier(2), list[int]()

    def build() -> None:
        table = open_table(tmp_path / "t", options={"hudiformat.sync": "false"})
        barrier.wait()
        built.append(len(table.create_index("column_stats")))

    threads = [Thread(target=build) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(built) == [0, 2]
    check(tmp_path / "t")


def test_progress_is_told_in_bytes(tmp_path: Path) -> None:
    table = grown(tmp_path / "t")
    told: list[tuple[str, int, int]] = []
    create_index(table._context, "bloom_filters", progress=lambda *seen: told.append(seen))
    total = sum(one.size for one in table.file_slices())
    assert told[-1] == ("bloom_filters", total, total)
    assert {name for name, *_ in told} == {"bloom_filters"}


def test_what_version_6_does_not_know_is_refused_by_name(tmp_path: Path) -> None:
    table = grown(tmp_path / "t", 6)
    with pytest.raises(OptionError, match="for partition_stats, found a table of version 6"):
        table.create_index("partition_stats")
    with pytest.raises(UnsupportedFeatureError, match="leave them out, and all columns are indexed"):
        table.create_index("column_stats", columns=["v"])


GOLDENS = (
    "v9-mor-many-blocks-h120",
    "v8-cow-cdc-h102",
    "v6-mor-compaction-pending-h120",
    "v9-mor-evolved-h120",
    "v9-mor-multilevel-hive-h120",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", sample(GOLDENS, of=4))
def test_hudis_tables_get_indexes(own_golden: Callable[[str], Path], name: str) -> None:
    path = own_golden(name)
    table = open_table(path)
    expected = rows_of(table)
    for index in ("column_stats", "bloom_filters", "record_index"):
        table.create_index(index)
    check_listing(path)
    check_metadata_table(path)
    assert rows_of(open_table(path)) == expected


ENABLED = {"hoodie.metadata.enable": "true", "hudiformat.sync": "false"}


def test_a_write_that_has_the_metadata_table_on_builds_it(tmp_path: Path) -> None:
    grown(tmp_path / "t")
    table = open_table(tmp_path / "t", options={**ENABLED, "hoodie.metadata.index.bloom.filter.enable": "true"})
    table.upsert(rows(("a", 5, "x", 7)))
    built = ("bloom_filters", "column_stats", "files", "partition_stats")
    assert open_table(tmp_path / "t").config.metadata_partitions == built
    check(tmp_path / "t")


def test_a_metadata_table_that_is_dropped_is_built_again(tmp_path: Path) -> None:
    table = grown(tmp_path / "t")
    table.create_index("record_index")
    (tmp_path / "t/.hoodie/metadata/.hoodie/hoodie.properties").write_bytes(b"damaged")
    table = open_table(tmp_path / "t", options=ENABLED)
    with pytest.warns(match="is dropped; it is built again after the write"):
        table.upsert(rows(("a", 5, "x", 7)))
    assert "record_index" in open_table(tmp_path / "t").config.metadata_partitions
    check(tmp_path / "t")


@pytest.mark.parametrize("builder", ["a write", "maintain"])
@pytest.mark.parametrize("version", [6, 9])
def test_indexes_that_were_to_follow_are_built_by_the_next_process(tmp_path: Path, version: int, builder: str) -> None:
    grown(tmp_path / "t", version)
    wanted = {"files": [], "column_stats": ["v"], "bloom_filters": [], "record_index": []}
    seen: set[tuple[str, ...]] = set()
    for moment in itertools.count(1, every(13)):
        path = Path(shutil.copytree(tmp_path / "t", tmp_path / "copy"))
        context = open_table(path, options=ENABLED)._context
        dying = replace(context, storage=FaultyStorage(context.storage, Dying(moment, after=False)))
        with suppress(StorageError):
            rebuild_indexes(dying, wanted)
        built = open_table(path).config.metadata_partitions
        is_complete, has_begun = set(built) == set(wanted), bool(built)
        if has_begun:
            seen.add(built)
            table = open_table(path, options=ENABLED)
            _ = table.upsert(rows(("a", 7, "x", 7))) if builder == "a write" else table.maintain(only=["metadata"])
            now = open_table(path)
            assert set(now.config.metadata_partitions) == set(wanted)
            if version == 9 and "column_stats" not in built:
                assert load_definitions(now._context.storage, now.config)["column_stats"].fields[-1] == "v"
            check(path)
        shutil.rmtree(path)
        if is_complete:
            break
    assert len(seen) > 2


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({**BUILDER, FOLLOWING_KEY: '{"record_index": []}'}, {"record_index": ()}),
        ({**BUILDER, FOLLOWING_KEY: '{"files": [], "column_stats": ["v"]}'}, {"column_stats": ("v",)}),
        ({FOLLOWING_KEY: "of another writer"}, {}),
        (BUILDER, {}),
        (None, {}),
    ],
)
def test_what_an_indexing_says_of_those_that_follow(
    tmp_path: Path, extra: dict[str, str] | None, expected: dict[str, tuple[str, ...]]
) -> None:
    grown(tmp_path / "t").create_index("files")
    assert unbuilt_indexes(with_last_indexing(tmp_path / "t", extra)) == expected


def test_an_index_that_a_table_cannot_have_is_not_built_later(tmp_path: Path) -> None:
    grown(tmp_path / "t", 6)
    wanted: dict[str, list[str]] = {"files": [], "column_stats": [], "partition_stats": []}
    context = open_table(tmp_path / "t", options=ENABLED)._context
    assert len(rebuild_indexes(context, wanted)) == 2
    assert unbuilt_indexes(context.state()) == {}


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"record_index": 1}'])
def test_a_text_that_names_no_indexes_is_an_error(tmp_path: Path, text: str) -> None:
    grown(tmp_path / "t").create_index("files")
    state = with_last_indexing(tmp_path / "t", {**BUILDER, FOLLOWING_KEY: text})
    with pytest.raises(CorruptTableError, match="expected the indexes that follow .* by create_index"):
        unbuilt_indexes(state)


def with_last_indexing(path: Path, extra: dict[str, str] | None) -> TableState:
    """The state of a table on whose timeline an indexing comes last, with *extra* metadata."""
    state = open_table(path)._context.state()
    info = IndexPartitionInfo(metadata_partition_path="files", extra_metadata=extra)
    pending = create_requested(state.storage, state.config, "29990101000000000", Action.INDEXING, IndexPlan())
    inflight = transition_inflight(state.storage, state.config, pending)
    content = IndexCommitMetadata(index_partition_infos=(info,))
    complete_instant(state.storage, state.config, inflight, content, completion_time="29990101000000001")
    return open_table(path)._context.state()


@pytest.mark.slow
def test_another_version_keeps_the_indexes(tmp_path: Path) -> None:
    table = grown(tmp_path / "t")
    table.create_index("column_stats", columns=["v"])
    table.create_index("record_index")
    table = open_table(tmp_path / "t", options=ENABLED)
    for version in (8, 6, 9):
        table.change_version(version)
        assert open_table(tmp_path / "t").config.metadata_partitions == ("column_stats", "files", "record_index")
        table.upsert(rows(("a", version, "x", 7)))
        check(tmp_path / "t")
