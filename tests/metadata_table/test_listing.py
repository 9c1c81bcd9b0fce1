"""Listings out of metadata tables: made here, and those that real Hudi writes."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hudiformat as hf
from hudiformat import open_table
from hudiformat.codec.log.block import encode_block
from hudiformat.codec.log.build import delete_block
from hudiformat.file_group.partitions import list_partitions
from hudiformat.file_group.slices import Visibility
from hudiformat.metadata_table.listing import listing
from hudiformat.storage.local import LocalStorage
from hudiformat.table.options.values import Operation
from hudiformat.timeline.config_files import METADATA_FOLDER, load_table_config
from hudiformat.timeline.timeline import load_timeline
from hudiformat.write.commit.transaction import begin_write
from tests.conformance.hudi import RealHudi
from tests.effort import LONG, examples, only_long
from tests.metadata_table.tables import ALL, FIRST, GONE, T1, T2, T3, T4, MadeTable, check_listing, data_files, sizes
from tests.rows import assert_same_rows
from tests.tables import GOLDEN, NAMES, unpack


def test_a_table_without_a_write_has_no_partitions(tmp_path: Path) -> None:
    made = MadeTable(tmp_path)
    made.base(FIRST, {ALL: {}})
    assert made.listing().partitions() == []
    assert made.listed() == {}


def test_partitions_and_files_are_sorted_and_have_their_sizes(table: MadeTable) -> None:
    table.commit(T2, {ALL: {"o": 0, "p": 0}, "o": {"z": 3, "y": 4}, "p": {"b": 2}})
    found = table.listing()
    assert found.partitions() == ["o", "p"]
    assert [(file.name, file.size, file.is_dir) for file in found.files("o")] == [("y", 4, False), ("z", 3, False)]
    assert table.listed() == {"o": {"y": 4, "z": 3}, "p": {"a": 1, "b": 2}}


def test_no_such_partition_has_no_files(table: MadeTable) -> None:
    assert table.listing().files("q") == []


def test_a_table_without_partitions_has_one_partition(tmp_path: Path) -> None:
    made = MadeTable(tmp_path)
    made.base(FIRST, {ALL: {}})
    made.commit(T1, {ALL: {".": 0}, ".": {"a": 1}})
    assert made.listing().partitions() == [""]
    assert sizes(made.listing().files("")) == {"a": 1}
    assert made.listed() == {"": {"a": 1}}


def test_deleted_files_are_not_listed(table: MadeTable) -> None:
    table.commit(T2, {ALL: {"q": 0}, "p": {"a": GONE, "b": 2}, "q": {"c": 3}})
    table.commit(T3, {ALL: {"q": GONE}, "q": {"c": GONE}})
    assert table.listed() == {"p": {"b": 2}}
    assert table.listing().files("q") == []


def test_a_file_with_two_sizes_stays_deleted(table: MadeTable) -> None:
    """Hudi merges the log blocks first, in which the file then leaves no trace, and finds it again in the base file."""
    table.base(T2, {ALL: {"p": 0}, "p": {"a": 1}})
    table.commit(T3, {"p": {"a": 5}})
    table.commit(T4, {"p": {"a": GONE}})
    assert table.listed() == {"p": {}}


def test_a_compaction_replaces_older_records(table: MadeTable) -> None:
    table.base(T3, {ALL: {"p": 0}, "p": {"b": 2}})
    table.commit(T4, {"p": {"c": 3}})
    assert table.listed() == {"p": {"b": 2, "c": 3}}


def test_log_files_without_a_base_file(tmp_path: Path) -> None:
    made = MadeTable(tmp_path)
    made.commit(FIRST, {ALL: {"p": 0}, "p": {"a": 1}})
    made.commit(T2, {"p": {"b": 2}})
    assert made.listed() == {"p": {"a": 1, "b": 2}}


def test_a_delete_block_removes_a_key_until_it_is_written_again(table: MadeTable) -> None:
    table.log(T2, encode_block(delete_block(["p", "x"], instant=T2)))
    table.complete(T2, own=True)
    assert table.listing().files("p") == []
    assert table.listed() == {"p": {}}
    table.commit(T3, {"p": {"b": 2}})
    assert sizes(table.listing().files("p")) == {"b": 2}
    assert table.listed() == {"p": {"b": 2}}


names = st.sampled_from(["a", "b", "c"])
writes = st.dictionaries(st.sampled_from(["p", "q"]), st.dictionaries(names, st.sampled_from([1, 2, 3, GONE])))


@settings(max_examples=examples(20 if not LONG else 40), deadline=None)
@given(history=st.lists(st.tuples(writes, st.booleans()), max_size=5))
def test_any_history_of_writes_is_listed(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[dict[str, dict[str, int]], bool]]
) -> None:
    """Writes add files and delete files that are there; each may be followed by a compaction."""
    made = MadeTable(tmp_path_factory.mktemp("history"))
    made.base(FIRST, {ALL: {}})
    model: dict[str, dict[str, int]] = {}
    for number, (write, compacts) in enumerate(history):
        written: dict[str, dict[str, int]] = {}
        for path, files in write.items():
            now = model.setdefault(path, {})
            written[path] = {name: size for name, size in files.items() if size != GONE or name in now}
            for name, size in written[path].items():
                if size == GONE:
                    del now[name]
                else:
                    now[name] = max(size, now.get(name, 0))
        made.commit(f"202601010000{number * 2:02d}000", {ALL: dict.fromkeys(write, 0), **written})
        if compacts:
            made.base(f"202601010000{number * 2 + 1:02d}000", {ALL: dict.fromkeys(model, 0), **model})
    assert made.listed() == model
    found = made.listing()
    assert {path: sizes(found.files(path)) for path in found.partitions()} == model


def has_metadata_table(name: str) -> bool:
    with zipfile.ZipFile(GOLDEN / f"{name}.zip") as archive:
        return any(path.startswith(f"table/{METADATA_FOLDER}/files/") for path in archive.namelist())


WITH_METADATA_TABLE = [name for name in NAMES if has_metadata_table(name)]


def test_tables_of_both_layouts_are_there() -> None:
    assert WITH_METADATA_TABLE == ["v6-cow-metadata-table-h0150", "v9-mor-metadata-table-h120"]


@pytest.mark.parametrize("name", WITH_METADATA_TABLE)
def test_the_listing_is_that_of_the_folders(name: str, tmp_path: Path) -> None:
    storage = LocalStorage(unpack(name, tmp_path).table)
    config = load_table_config(storage)
    timeline = load_timeline(storage, config)
    visibility = Visibility.of(timeline)
    expected = {path: data_files(files, visibility) for path, files in list_partitions(storage)}
    assert all(expected.values())
    found = listing(storage, config, timeline)
    assert dict(found) == expected
    assert found.partitions() == sorted(expected)
    assert {path: found.files(path) for path in expected} == expected


OPTIONS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "false",
    "hoodie.metadata.compact.max.delta.commits": "3",
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "2",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.clean.automatic": "true",
}


@only_long
@pytest.mark.parametrize("partition", ["p", ""] if LONG else ["p"])
def test_the_listing_is_that_of_the_folders_at_every_step(hudi: RealHudi, tmp_path: Path, partition: str) -> None:
    path = tmp_path / "t"
    options = {**OPTIONS, "hoodie.datasource.write.partitionpath.field": partition}

    def write(number: int, operation: str = "upsert") -> None:
        rows = pa.table(
            {
                "id": [f"k{i}" for i in range(6)],
                "ts": [number] * 6,
                "p": [f"p{i % 3}" for i in range(6)],
                "n": [number] * 6,
            }
        )
        hudi.write(rows, str(path), {**options, "hoodie.datasource.write.operation": operation})
        check_listing(path)

    for number in range(1, 6):
        write(number)
    assert len(list((path / METADATA_FOLDER / "files").glob("*.hfile"))) > 1
    name = f"t_{partition or 'none'}"
    hudi.sql(f"create table {name} using hudi location '{path}'")
    newest = open_table(path).timeline.completed_writes[-1].time
    hudi.sql(f"call rollback_to_instant(table => '{name}', instant_time => '{newest}')")
    check_listing(path)
    write(6)
    write(7, "insert_overwrite_table")
    write(8)
    actions = {instant.action.value for instant in open_table(path).timeline.completed}
    assert {"clean", "rollback", "replacecommit"} <= actions


def rows(keys: range, number: int, *, partition: str | None = None) -> pa.Table:
    count = len(keys)
    return pa.table(
        {
            "id": [f"k{i}" for i in keys],
            "ts": [number] * count,
            "p": [partition or f"p{i % 3}" for i in keys],
            "n": [number] * count,
        }
    )


@only_long
def test_hudi_sees_no_stale_listing_after_any_of_our_actions(hudi: RealHudi, tmp_path: Path) -> None:
    path, name = tmp_path / "t", "kept_up"
    often = {"hoodie.metadata.compact.max.delta.commits": "4", "hoodie.clean.automatic": "false"}
    options = {**OPTIONS, **often, "hoodie.compact.inline": "false"}

    def hudi_writes(data: pa.Table) -> None:
        hudi.write(data, path, {**options, "hoodie.datasource.write.partitionpath.field": "p"})

    def agree() -> None:
        check_listing(path)
        key = ("_hoodie_partition_path", "_hoodie_record_key")
        listed, walked = (hudi.read(path, {"hoodie.metadata.enable": str(on).lower()}) for on in (True, False))
        assert_same_rows(listed, walked, key=key)
        assert_same_rows(hf.open_table(path).snapshot(), walked, key=key)

    def metadata_timeline() -> list[str]:
        return [one.time for one in hf.open_table(path / METADATA_FOLDER).timeline.completed]

    hudi_writes(rows(range(12), 1))
    hudi.sql(f"create table {name} using hudi location '{path}'")
    table = hf.open_table(path, options={**often, "hoodie.clean.commits.retained": "1"})
    table.insert(rows(range(20, 30), 2))
    table.upsert(rows(range(5), 3))
    table.insert(rows(range(100, 102), 3, partition="new"))
    table.delete(rows(range(5, 8), 3).select(["id", "p"]))
    table.compact()
    agree()
    hudi_writes(rows(range(3, 9), 4))
    begin = metadata_timeline()[0]
    table.insert_overwrite(rows(range(3), 5))
    table.delete_partitions(["new"])
    table.rollback(table.upsert(rows(range(4), 7)).instant)
    dead = begin_write(table._context, Operation.UPSERT)  # never heard of again
    for number in range(8, 14):
        table.upsert(rows(range(4), number))
    assert table.clean()
    dead._heartbeat.stop()
    agree()
    hudi_writes(rows(range(3, 12), 14))
    table.upsert(rows(range(4), 15))
    agree()
    assert metadata_timeline()[0] == begin == "00000000000000000"  # it has never been built anew
    validated = hudi.sql(f"call validate_metadata_table_files(table => '{name}')")
    assert validated.num_rows == 0, validated.to_pylist()


@pytest.mark.parametrize("place", ["..", "../..", "/etc", "a//b", ".hoodie", "p\0"])
def test_a_partition_elsewhere_is_refused(table: MadeTable, place: str) -> None:
    table.base(T3, {ALL: {"p": 0, place: 0}, "p": {"a": 1}, place: {"b": 1}})
    with pytest.raises(hf.CorruptTableError, match="expected the path of a partition"):
        table.listed()
    with pytest.raises(hf.CorruptTableError, match="expected the path of a partition"):
        table.listing().partitions()
