"""A metadata table that cannot be kept up is refused, or dropped on request."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat import HudiFormatWarning, Table, open_table
from hudiformat.errors import CorruptTableError, StorageError, UnsupportedFeatureError
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.contents import create_requested
from hudiformat.timeline.timeline import Action
from tests.faults import FaultyStorage, NoAnswer
from tests.metadata_statistics import check_statistics
from tests.metadata_table.tables import check_listing
from tests.metadata_tables import PARTITIONS, indexed_table, properties, set_properties, with_options
from tests.tables import content, rows, tree

DROP = "hoodie.metadata.index.drop"


def with_partition(path: Path, name: str) -> Table:
    table = indexed_table(path)
    set_properties(path, {PARTITIONS: f"column_stats,files,partition_stats,{name}"})
    return table


def test_a_partition_that_is_not_kept_up_is_refused_by_name_before_anything_is_written(tmp_path: Path) -> None:
    table = with_partition(tmp_path / "t", "expr_index_a")
    before = tree(tmp_path / "t")
    with pytest.raises(UnsupportedFeatureError, match=f"set {DROP}=expr_index_a to drop"):
        table.insert(rows(("a", 1, "x", 1)))
    assert tree(tmp_path / "t") == before


def test_it_is_dropped_alone_on_request(tmp_path: Path) -> None:
    table = with_options(with_partition(tmp_path / "t", "expr_index_a"), {DROP: "expr_index_a"})
    with pytest.warns(HudiFormatWarning, match="expr_index_a of the metadata table are dropped"):
        table.insert(rows(("a", 1, "x", 1)))
    assert properties(tmp_path / "t")[PARTITIONS] == "column_stats,files,partition_stats"
    check_listing(tmp_path / "t")
    check_statistics(tmp_path / "t")


def test_statistics_of_partitions_go_with_those_of_files_and_with_their_definition(tmp_path: Path) -> None:
    table = with_options(indexed_table(tmp_path / "t"), {DROP: "column_stats"})
    with pytest.warns(HudiFormatWarning, match="column_stats, partition_stats of the metadata table are dropped"):
        table.insert(rows(("a", 1, "x", 1)))
    assert properties(tmp_path / "t")[PARTITIONS] == "files"
    definitions = json.loads((tmp_path / "t/.hoodie/.index_defs/index.json").read_text())
    assert definitions == {"indexDefinitions": {}}
    check_listing(tmp_path / "t")
    assert content(table) == [("a", 1, "x", 1)]


def test_nothing_is_dropped_while_it_may_be_compacted(tmp_path: Path) -> None:
    table = with_options(indexed_table(tmp_path / "t"), {DROP: "column_stats"})
    own = FolderStorage(table._context.storage, ".hoodie/metadata")
    create_requested(own, load_table_config(own), "20000101000000001", Action.COMPACTION)
    with pytest.raises(UnsupportedFeatureError, match=r"is dropped, found 20000101000000001 compaction"):
        table.insert(rows(("a", 1, "x", 1)))


@pytest.mark.parametrize("partition", ["column_stats", "partition_stats"])
@pytest.mark.parametrize("change", ["upsert", "compact", "cluster", "log_compact"])
def test_what_a_commit_reads_is_opened_before_its_instant_is_made(tmp_path: Path, partition: str, change: str) -> None:
    path, options = tmp_path / "t", {"hoodie.log.compaction.blocks.threshold": "1"}
    made = indexed_table(path, options=options)
    made.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    made.upsert(rows(("a", 2, "x", 1), ("b", 2, "y", 1)))
    table = with_options(made, options)  # another process: it has not opened the metadata table yet
    for file in (path / ".hoodie" / "metadata" / partition).iterdir():
        if not file.name.startswith(".hoodie"):
            file.write_bytes(b"damaged")
    before = tree(path)
    changes: dict[str, Callable[[], object]] = {
        "upsert": lambda: table.upsert(rows(("a", 4, "x", 1))),
        "compact": table.compact,
        "cluster": table.cluster,
        "log_compact": table.log_compact,
    }
    with pytest.raises(CorruptTableError, match=f"expected to read {partition} of the metadata table"):
        changes[change]()
    assert tree(path) == before


def test_what_a_commit_reads_is_not_called_damaged_where_the_storage_gives_no_answer(tmp_path: Path) -> None:
    indexed_table(tmp_path / "t").upsert(rows(("a", 1, "x", 1)))
    faulty = open_table(FaultyStorage(LocalStorage(tmp_path / "t"), NoAnswer("map .hoodie/metadata/column_stats")))
    before = tree(tmp_path / "t")
    with pytest.raises(StorageError, match="expected to read column_stats .*no answer; nothing was written; try again"):
        faulty.upsert(rows(("a", 2, "x", 1)))
    assert tree(tmp_path / "t") == before


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("lost", ["files-*.hfile", "*files-*", ""])
def test_a_list_of_files_without_its_beginning_is_not_believed_and_not_written_on(
    tmp_path: Path, version: int, lost: str
) -> None:
    path = tmp_path / "t"
    made = indexed_table(path, version=version)
    made.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    own = path / ".hoodie" / "metadata" / "files"
    if version == 6 and lost == "files-*.hfile":
        with_options(made, {"hoodie.metadata.compact.max.delta.commits": "1"}).upsert(rows(("b", 2, "y", 2)))
    before = content(made)
    for file in own.glob(lost) if lost else [own]:
        file.unlink() if file.is_file() else shutil.rmtree(file)
    table = with_options(made, {})
    with pytest.warns(HudiFormatWarning, match="is not used, as it cannot be read: .*files: expected a"):
        assert content(table) == before
    with pytest.warns(HudiFormatWarning, match=r"metadata table cannot be read \(.*\), and is dropped"):
        table.upsert(rows(("c", 1, "z", 1)))
    assert content(with_options(made, {})) == [*before, ("c", 1, "z", 1)]
    assert table.verify() == []


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("change", ["rollback", "restore"])
def test_a_list_of_files_is_opened_before_a_rollback_or_restore_deletes_any(
    tmp_path: Path, change: str, version: int
) -> None:
    path = tmp_path / "t"
    made = indexed_table(path, version=version)
    commits = [made.upsert(rows(("a", number, "x", 1), ("b", 1, "y", 1))).instant for number in range(3)]
    for file in (path / ".hoodie" / "metadata" / "files").glob("*files-*"):
        file.write_bytes(b"damaged")
    table = with_options(made, {})
    before = tree(path)
    changes: dict[str, Callable[[], object]] = {
        "rollback": lambda: table.rollback(commits[2]),
        "restore": lambda: table.restore(commits[0]),
    }
    with pytest.raises(CorruptTableError, match="expected to read files of the metadata table.*enable=false to drop"):
        changes[change]()
    assert tree(path) == before
    table = with_options(made, {"hoodie.metadata.enable": "false"})
    changes[change]()
    assert content(table)[0] == ("a", 1 if change == "rollback" else 0, "x", 1)


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("left", ["*.inflight", ""])
def test_a_metadata_table_without_the_newest_write_is_not_written_on(tmp_path: Path, version: int, left: str) -> None:
    path = tmp_path / "t"
    made = indexed_table(path, version=version, options={"hoodie.parquet.small.file.limit": "0"})
    for key in "ab":
        newest = made.insert(rows((key, 1, "x", 1))).instant
    for file in (path / ".hoodie" / "metadata" / ".hoodie").rglob(f"{newest}*"):
        if not (left and file.match(left)):
            file.unlink()
    table = with_options(made, {})
    with pytest.raises(StorageError, match="which a commit names, is there, but was not listed"):
        content(table)
    with pytest.warns(HudiFormatWarning, match=r"does not list x/.*, which the newest write has made, and is dropped"):
        table.insert(rows(("c", 1, "z", 1)))
    assert content(with_options(made, {})) == [("a", 1, "x", 1), ("b", 1, "x", 1), ("c", 1, "z", 1)]
    assert table.verify() == []
