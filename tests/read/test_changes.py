"""Queries of what writes have changed."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow.compute as pc
import pytest

from hudiformat import CorruptTableError, SchemaError, StorageError, Table, UnsupportedFeatureError, open_table
from hudiformat.errors import FilesGoneError
from hudiformat.naming.file_names import LogFileName
from hudiformat.read.changes import _is_older
from hudiformat.timeline.timeline import Action, Instant, State
from tests.tables import GoldenTable, new_table, rows


@pytest.fixture
def logged(tmp_path: Path) -> tuple[Table, list[Path]]:
    """A table whose change-data logs hold operations and keys alone, and the base files of a file group in order."""
    with zipfile.ZipFile(Path(__file__).parent / "hudi" / "v9-cow-cdc-keys.zip") as archive:
        archive.extractall(tmp_path)
    groups: dict[str, list[Path]] = {}
    for path in sorted((tmp_path / "table" / "y").glob("*.parquet"), key=lambda path: path.stem.rpartition("_")[2]):
        groups.setdefault(path.name.partition("_")[0], []).append(path)
    return open_table(tmp_path / "table"), max(groups.values(), key=len)


def test_changes_whose_base_files_were_cleaned_away(logged: tuple[Table, list[Path]]) -> None:
    table, (first, *_) = logged
    first.unlink()
    instants = [done.completion_time for done in table.timeline.by_completion_time]
    with pytest.raises(StorageError, match=r"the base file of .* is not there \(any more\)"):
        table.cdc(str(instants[0]), str(instants[1]))


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_deletes_of_a_partition_whose_files_were_cleaned_away_are_not_left_out(table_type: str, tmp_path: Path) -> None:
    options = {"hoodie.table.cdc.enabled": "true", "hoodie.clean.automatic": "false"}
    table = new_table(tmp_path / "t", table_type=table_type, options=options)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    begin = str(table.timeline.completed[-1].completion_time)
    table.delete_partitions(["x"])
    table.insert(rows(("c", 1, "z", 1)))
    assert table.cdc(begin)["op"].to_pylist() == ["d", "i"]
    kept = {"hoodie.clean.commits.retained": "1"}
    clean = open_table(table.path, options=kept, clock=table._context.clock).clean()
    assert clean
    with pytest.raises(FilesGoneError, match=rf"x/\S+ was deleted by the clean {clean.time}"):
        table.cdc(begin)
    later = str(table.timeline.completed_writes[-2].completion_time)
    assert table.cdc(later)["op"].to_pylist() == ["i"]


def test_a_change_data_log_that_names_a_record_which_is_not_there(logged: tuple[Table, list[Path]]) -> None:
    table, (first, second, *_) = logged
    second.write_bytes(first.read_bytes())
    with pytest.raises(CorruptTableError, match=r"a change-data log names the record 'k2\d', which is not there"):
        table.cdc("000")


@pytest.mark.parametrize("kept", [0, -50])
def test_a_change_data_log_that_is_empty_or_cut(kept: int, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options={"hoodie.table.cdc.enabled": "true"})
    table.insert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    (log,) = (tmp_path / "t" / "x").glob("*.cdc")
    log.write_bytes(log.read_bytes()[:kept])
    why = "it is empty" if kept == 0 else "at byte 0: "
    with pytest.raises(CorruptTableError, match=f"x/{log.name}: the change-data log is damaged: {why}"):
        table.cdc("000")


def test_changes_of_a_table_without_change_data(tmp_path: Path) -> None:
    table = new_table(tmp_path / "table")
    table.insert(rows(("a", 1, "x", 1)))
    with pytest.raises(UnsupportedFeatureError, match=r"without hoodie.table.cdc.enabled") as caught:
        table.cdc("000")
    assert caught.value.feature == "change data"


def test_changes_after_the_last_write_are_none(golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(golden("v9-mor-cdc-h120").table)
    last = table.timeline.by_completion_time[-1].completion_time
    assert last is not None
    assert table.cdc(last).num_rows == 0
    assert table.incremental(last).num_rows == 0
    assert table.incremental("2026-11-20", "2026-11-21").num_rows == 0


@pytest.mark.slow
def test_columns_of_some_changes(golden: Callable[[str], GoldenTable], monkeypatch: pytest.MonkeyPatch) -> None:
    table = open_table(golden("v9-mor-cdc-h120").table)
    every = table.cdc("000")
    op, moment = pc.field("op"), pc.field("ts_ms")
    last = max(every["ts_ms"].to_pylist())
    for condition in (op == "d", (op != "d") & (moment == last), pc.field("before").is_null(), moment < last):
        expected = every.filter(condition)
        assert expected.num_rows
        assert table.cdc("000", filter=condition) == expected
        assert table.cdc("000", columns=["after", "op"], filter=condition) == expected.select(["after", "op"])
    with pytest.raises(SchemaError, match="no column 'k'; the columns are op, ts_ms, before, after"):
        table.cdc("000", columns=["k"])
    with pytest.raises(SchemaError, match="does not fit the columns"):
        table.cdc("000", filter=pc.field("k") == "a")

    def unread(*_: object) -> None:
        raise AssertionError("a file of a write that the filter rules out")

    monkeypatch.setattr("hudiformat.read.changes.ChangeReader._of_write", unread)
    assert table.cdc("000", columns=["op"], filter=moment > last).num_rows == 0


OWN = LogFileName.parse(".uuid-1_20240101000000010.log.2_0-0-0")


@pytest.mark.parametrize(
    ("name", "older"),
    [
        ("uuid-1_0-0-0_20240101000000005.parquet", True),
        ("uuid-10_0-0-0_20240101000000005.parquet", False),
        (".uuid-1_20240101000000010.log.1_0-0-0", True),
        (".uuid-1_20240101000000010.log.3_0-0-0", False),
        (".uuid-10_20240101000000010.log.1_0-0-0", False),
        ("uuid-1_0-0-0_20240101000000020.parquet", False),
        (".hoodie_partition_metadata", False),
    ],
)
def test_files_before_another_are_those_of_its_file_group(name: str, older: bool) -> None:
    """Not of a file group whose id begins with the same characters."""
    written = Instant("20240101000000020", Action.DELTA_COMMIT, State.COMPLETED)
    assert _is_older(name, OWN, written) == older
