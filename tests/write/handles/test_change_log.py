"""Tables with change data: what a merge does to the rows of a base file is written down beside the next one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hudiformat import BlockType, LogReader, OptionError, StorageError, Table, UnsupportedFeatureError, open_table
from hudiformat.table.options.values import CdcMode
from hudiformat.timeline.config_files import update_table_config
from hudiformat.write.handles.change_log import change_log_schema
from tests.tables import content, new_table, rows

CDC, MODE = "hoodie.table.cdc.enabled", "hoodie.table.cdc.supplemental.logging.mode"
MODES = ("OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER")


def made(path: Path, mode: str = "DATA_BEFORE_AFTER", **changes: Any) -> Table:
    options = {CDC: "true", MODE: mode, **changes.pop("options", {})}
    table = new_table(path / "t", **{"table_type": "COPY_ON_WRITE", **changes}, options=options)
    table.upsert(rows(*((key, 5, "x", 1) for key in "abcd")))
    return table


def change_logs(table: Table) -> list[Path]:
    return sorted(Path(table.path).rglob("*.cdc"))


def changes(table: Table, begin: str = "000") -> list[tuple[str, str | None, str | None]]:
    """Operation, and the values of k and v before and after."""

    def plain(image: str | None) -> str | None:
        found = None if image is None else json.loads(image)
        return None if found is None else f"{found['k']}{found['v']}"

    return sorted(
        ((row["op"], plain(row["before"]), plain(row["after"])) for row in table.cdc(begin).to_pylist()), key=repr
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_every_mode_says_what_was_done(tmp_path: Path, mode: str, table_type: str) -> None:
    table = made(tmp_path, mode, table_type=table_type)
    newest = table.timeline.completed[-1]
    first = newest.completion_time or newest.time
    table.upsert(rows(("a", 6, "x", 2), ("b", 4, "x", 2), ("n", 1, "x", 2), ("z", 1, "y", 2)))
    table.delete(rows(("c", 0, "x"), ("none", 0, "x")))
    assert changes(table, first) == [
        ("d", "c1", None), ("i", None, "n2"), ("i", None, "z2"), ("u", "a1", "a2"),
    ]  # fmt: skip
    assert content(table) == [("a", 6, "x", 2), ("b", 5, "x", 1), ("d", 5, "x", 1), ("n", 1, "x", 2), ("z", 1, "y", 2)]
    (block,) = LogReader(change_logs(table)[0])
    assert block.type is BlockType.CDC_DATA
    assert block.schema == change_log_schema(table._context.state().schema.avro, CdcMode(mode))
    assert block.to_arrow()["op"].to_pylist() == ["u", "i"]


def test_a_log_of_what_was_appended_names_the_slice_below_it(tmp_path: Path) -> None:
    table = made(tmp_path, table_type="MERGE_ON_READ")
    (base,) = [str(one.base_file.name) for one in table.file_slices() if one.base_file]
    (first,) = table.delete(rows(("a", 0, "x"))).stats
    (second,) = table.delete(rows(("b", 0, "x"))).stats
    assert (second.base_file, second.prev_commit) == (base, table.timeline.completed[0].time)
    assert second.log_files == (*(first.log_files or ()), (second.path or "").rpartition("/")[2])


def test_a_bucket_that_is_new_needs_no_log(tmp_path: Path) -> None:
    buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    table = made(tmp_path, options=buckets)
    assert change_logs(table) == []
    table.upsert(rows(("a", 6, "x", 2)))
    assert len(change_logs(table)) == 1
    assert changes(table)[-1] == ("u", "a1", "a2")
    appended = made(tmp_path / "logs", options=buckets, table_type="MERGE_ON_READ")
    assert changes(appended) == [("i", None, f"{key}1") for key in "abcd"]


def test_a_merge_that_changes_nothing_says_so(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert(rows(("a", 1, "x", 2)))
    (block,) = LogReader(change_logs(table)[0])
    assert block.num_records() == 0
    assert changes(table) == [("i", None, f"{key}1") for key in "abcd"]


def test_inserts_into_a_file_are_changes_of_it(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.insert(rows(("a", 6, "x", 2)))
    assert changes(table)[-1] == ("i", None, "d1")
    assert ("i", None, "a2") in changes(table)


def test_a_log_has_blocks_of_the_size_that_is_asked_for(tmp_path: Path) -> None:
    made(tmp_path)
    table = open_table(tmp_path / "t", options={"hoodie.logfile.data.block.max.size": "1"})
    table.upsert(rows(("a", 6, "x", 2), ("n", 6, "x", 2)))
    assert [block.num_records() for block in LogReader(change_logs(table)[0])] == [1, 1]
    (stat,) = [stat for stat in table.upsert(rows(("b", 7, "x", 3))).stats if stat.cdc_stats]
    assert stat.cdc_stats is not None
    assert {(tmp_path / "t" / path).stat().st_size for path in stat.cdc_stats} == set(stat.cdc_stats.values())


def test_a_write_that_fails_leaves_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path)

    def fail(*_args: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr("hudiformat.write.handles.change_log.ChangeLog.close", fail)
    with pytest.raises(StorageError, match="the disk is full"):
        table.upsert(rows(("a", 6, "x", 2)))
    assert change_logs(table) == []
    assert len(content(table)) == 4


def test_cleaning_takes_the_logs_of_files_that_go(tmp_path: Path) -> None:
    table = made(tmp_path)
    for number in (6, 7, 8):
        table.upsert(rows(("a", number, "x", number)))
    assert len(change_logs(table)) == 3
    one = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"}
    assert open_table(table.path, options=one, clock=table._context.clock).clean()
    (left,) = change_logs(table)
    assert table.timeline.completed_writes[-1].time in left.name


def test_other_modes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="expected one of OP_KEY_ONLY, DATA_BEFORE, DATA_BEFORE_AFTER, found 'ALL'"):
        new_table(tmp_path / "bad", options={CDC: "true", MODE: "all".upper()})
    table = made(tmp_path)
    update_table_config(table._context.storage, {MODE: "ALL"}, saved_at=table._context.clock())
    with pytest.raises(UnsupportedFeatureError, match="change data in the mode ALL"):
        open_table(table.path).insert(rows(("a", 6, "x", 2)))


def test_the_schema_names_the_tables_record_once() -> None:
    table = '{"type":"record","name":"r","namespace":"n","fields":[{"name":"a","type":"int"}]}'
    found = json.loads(change_log_schema(table, CdcMode.BEFORE_AFTER))
    assert (found["name"], found["namespace"]) == ("CDC", "n")
    assert [field["type"][1] for field in found["fields"]] == ["string", "string", json.loads(table), "r"]
    unnamed = '{"type":"record","name":"r","fields":[]}'
    assert [field["name"] for field in json.loads(change_log_schema(unnamed, CdcMode.BEFORE))["fields"]] == [
        "op", "record_key", "before",
    ]  # fmt: skip
