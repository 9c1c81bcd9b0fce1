"""Properties that are lost or half written."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import partial
from pathlib import Path

import pytest

import hudiformat as hf
from hudiformat import RepairKind, RepairStep, StepState
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.table_config import format_properties
from tests.check.repair.breaking import UNKNOWN, V6, V9, age, half_properties, lost_properties, own_rows, properties
from tests.effort import sample
from tests.tables import NAMES, new_table, rows, tree, unpack

MERGING = ("hoodie.record.merge.mode", "hoodie.compaction.payload.class", "hoodie.table.ordering.fields")


def lost(root: Path, name: str = V9) -> Path:
    path = unpack(name, root).table
    lost_properties(path)
    age(path)
    return path


def only(path: Path, **given: str) -> RepairStep:
    (step,) = hf.repair_table(path, properties=given).steps
    return step


def test_what_the_files_do_not_show_is_asked_for(tmp_path: Path) -> None:
    path = lost(tmp_path)
    step = only(path)
    assert (step.kind, step.state) == (RepairKind.PROPERTIES, StepState.REFUSED)
    assert "does not show hoodie.table.version, hoodie.table.ordering.fields: give" in step.reason
    assert "--set hoodie.table.version=..." in step.reason
    step = only(path, **{"hoodie.table.version": "9", "hoodie.table.ordering.fields": "ts"})
    assert "does not show hoodie.record.merge.mode" in step.reason
    assert hf.repair_table(path, apply=True).left != ()
    assert not properties(path).exists()


def test_in_version_6_the_payload_class_is_asked_for(tmp_path: Path) -> None:
    path = lost(tmp_path, V6)
    assert "does not show hoodie.table.version, hoodie.table.ordering.fields" in only(path).reason
    step = only(path, **{"hoodie.table.version": "6", "hoodie.table.ordering.fields": "ts"})
    assert "does not show hoodie.compaction.payload.class" in step.reason


def test_tables_without_ordering_columns_say_so_by_an_empty_value(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", ordering=[])
    table.upsert(rows(("a", 1, "x", 7), ("b", 3, "y", 8)))
    before = own_rows(table)
    lost_properties(tmp_path / "t")
    given = {"hoodie.table.version": "9", "hoodie.table.ordering.fields": ""}
    done = hf.repair_table(table.path, apply=True, properties=given)
    assert done.left == ()
    opened = hf.open_table(table.path)
    assert (opened.config.ordering_fields, own_rows(opened)) == ((), before)


def test_whole_lines_of_a_cut_file_count(tmp_path: Path) -> None:
    path = unpack(V9, tmp_path).table
    text = properties(path).read_text()
    properties(path).write_text(text[: text.index("hoodie.timeline.path=") + 10])  # the ordering columns come after it
    age(path)
    step = only(path)
    assert "does not show hoodie.table.ordering.fields" in step.reason
    step = only(path, **{"hoodie.table.ordering.fields": "ts"})
    assert (step.state, "EVENT_TIME_ORDERING" in step.what) == (StepState.PLANNED, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sample((name for name in NAMES if "damaged" not in name and "inflight" not in name), of=6)
)
def test_rebuilt_properties_read_the_same_rows(name: str, tmp_path: Path) -> None:
    """Where the caller gives what the error asks for, and nothing else."""
    path = unpack(name, tmp_path).table
    before, real = own_rows(hf.open_table(path)), hf.open_table(path).config.properties
    lost_properties(path)
    age(path)
    given: dict[str, str] = {}
    for _ in range(3):
        step = next(one for one in hf.repair_table(path, properties=given).steps if one.kind is RepairKind.PROPERTIES)
        if step.state is StepState.PLANNED:
            break
        asked = step.reason.partition("does not show ")[2].partition(": give")[0].split(", ")
        given |= {key: real.get(key, "") for key in asked}
        if "hoodie.table.ordering.fields" in asked:
            older = real.get("hoodie.table.precombine.field", "")
            given["hoodie.table.ordering.fields"] = real.get("hoodie.table.ordering.fields", older)
    hf.repair_table(path, apply=True, properties=given)
    assert own_rows(hf.open_table(path)) == before


def test_a_backup_beside_whole_properties_is_taken_away(tmp_path: Path) -> None:
    path = unpack(V9, tmp_path).table
    backup = properties(path).with_suffix(".properties.backup")
    backup.write_bytes(properties(path).read_bytes())
    assert "a shorter time as dead_after" in only(path).reason
    age(path)
    done = hf.repair_table(path, apply=True)
    assert [step.kind for step in done.steps] == [RepairKind.PROPERTIES]
    assert not backup.exists()
    assert hf.open_table(path).verify() == []


def test_a_writer_may_be_changing_them(tmp_path: Path) -> None:
    path = unpack(V9, tmp_path).table
    half_properties(path)
    assert only(path).state is StepState.REFUSED


def test_a_damaged_backup_does_not_count(tmp_path: Path) -> None:
    path = unpack(V9, tmp_path).table
    half_properties(path)
    properties(path).with_suffix(".properties.backup").write_bytes(b"#")
    properties(path).write_bytes(b"#")
    age(path)
    assert only(path).state is StepState.REFUSED
    done = hf.repair_table(path, apply=True, properties=UNKNOWN)
    assert done.left == ()
    assert sorted(path.glob(".hoodie/hoodie.properties*")) == [properties(path)]


def test_values_that_would_be_invalid_are_refused(tmp_path: Path) -> None:
    path = lost(tmp_path)
    step = only(path, **{**UNKNOWN, "hoodie.table.type": "COPY_ON_SIGHT"})
    assert "they would be invalid: " in step.reason
    step = only(path, **{**UNKNOWN, "hoodie.table.version": "7"})
    assert "expected a table version of 6, 8, 9, found 7" in step.reason


OLD = {
    "hoodie.table.name": "trips",
    "hoodie.table.type": "COPY_ON_WRITE",
    "hoodie.archivelog.folder": "archived",
    "hoodie.timeline.layout.version": "1",
}
"""What Hudi 0.5 wrote: tables had no version yet."""


@pytest.mark.parametrize("given", [{}, {"hoodie.table.version": "6", "hoodie.table.ordering.fields": "ts"}])
def test_a_table_of_an_old_version_is_refused_by_its_version_and_left_as_it_is(
    tmp_path: Path, given: dict[str, str]
) -> None:
    path = unpack(V6, tmp_path).table
    properties(path).write_bytes(format_properties(OLD, saved_at=datetime(2020, 1, 1, tzinfo=timezone.utc)))
    age(path)
    before = tree(path)
    message = r"found version 0; it has no hoodie\.table\.version"
    for call in (partial(hf.repair_table, properties=given), partial(hf.repair_table, apply=True), hf.open_table):
        with pytest.raises(hf.UnsupportedFeatureError, match=message) as told:
            call(path)
        assert told.value.feature == "table version 0"
    assert tree(path) == before


@pytest.mark.parametrize("key", ["hoodie.table.recordkey.fields", "hoodie.table.checksum"])
def test_newer_properties_without_a_version_are_damaged(tmp_path: Path, key: str) -> None:
    path = unpack(V6, tmp_path).table
    value = hf.open_table(path).config.properties[key]
    properties(path).write_bytes(format_properties({**OLD, key: value}, saved_at=datetime(2020, 1, 1)))
    with pytest.raises(hf.CorruptTableError):
        hf.open_table(path)


@pytest.mark.parametrize("name", ["hoodie.properties", "hoodie.properties.backup"])
def test_what_cannot_be_read_now_is_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = unpack(V9, tmp_path).table
    if name.endswith("backup"):
        properties(path).rename(path / ".hoodie" / name)
    age(path)
    read = LocalStorage.read

    def fail(storage: LocalStorage, asked: str) -> bytes:
        if asked == f".hoodie/{name}":
            raise hf.StorageError(f"cannot read {asked}: the storage is slow", path=asked)
        return read(storage, asked)

    monkeypatch.setattr(LocalStorage, "read", fail)
    with pytest.raises(hf.StorageError, match="the storage is slow"):
        hf.repair_table(path, apply=True, properties=UNKNOWN)
