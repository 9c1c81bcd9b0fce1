"""Files of the archived timeline that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hudiformat as hf
from hudiformat import RepairKind, StepState
from hudiformat.timeline.archive.archiving import read_archived
from tests.check.repair.breaking import age, cut, cut_archive, cut_manifest, own_rows
from tests.tables import unpack

V9, V6 = "v9-mor-archived-h120", "v6-mor-archived-h0150"


def archived(path: Path) -> list[str]:
    table = hf.open_table(path)
    return [one.instant.time for one in read_archived(table._context.storage, table.config)]


def folder(path: Path) -> Path:
    return path / hf.open_table(path).config.history_folder


def test_a_manifest_is_made_again(tmp_path: Path) -> None:
    path = unpack(V9, tmp_path).table
    before = archived(path)
    cut_manifest(path)
    age(path)
    (step,) = hf.repair_table(path, apply=True).steps
    assert (step.kind, step.state, step.lost) == (RepairKind.ARCHIVE, StepState.DONE, "")
    assert archived(path) == before


@pytest.mark.parametrize("name", [V9, V6])
def test_what_can_be_read_stays(name: str, tmp_path: Path) -> None:
    path = unpack(name, tmp_path).table
    before, rows = archived(path), own_rows(hf.open_table(path))
    cut_archive(path)
    age(path)
    (step,) = hf.repair_table(path, apply=True).steps
    assert step.lost.startswith("the history of archived instants")
    assert set(archived(path)) < set(before)
    assert archived(path) != []
    assert own_rows(hf.open_table(path)) == rows


def test_several_files_are_taken_away_by_one_step_each_and_one_manifest(tmp_path: Path) -> None:
    path = unpack(V9, tmp_path).table
    files = sorted(folder(path).glob("*.parquet"))
    cut(files[0])
    files[1].unlink()
    age(path)
    done = hf.repair_table(path, apply=True)
    assert [step.state for step in done.steps] == [StepState.DONE, StepState.DONE]
    listed = json.loads((folder(path) / f"manifest_{(folder(path) / '_version_').read_text()}").read_text())["files"]
    assert {one["fileName"] for one in listed} == {file.name for file in files[2:]}
    assert not files[0].exists()


def test_files_that_were_merged_into_a_lost_one_count_again(tmp_path: Path) -> None:
    path = unpack(V9, tmp_path).table
    before = archived(path)
    files = sorted(folder(path).glob("*_0.parquet"))
    first, last = files[0].name.split("_")[0], files[-1].name.split("_")[1]
    merged = folder(path) / f"{first}_{last}_1.parquet"
    merged.write_bytes(b"PAR1 no longer")
    number = int((folder(path) / "_version_").read_text())
    manifest = {"files": [{"fileName": merged.name, "fileLen": 14}]}
    (folder(path) / f"manifest_{number}").write_text(json.dumps(manifest))
    age(path)
    hf.repair_table(path, apply=True)
    assert archived(path) == before
    assert hf.open_table(path).verify() == []


def test_without_a_manifest_files_that_were_merged_do_not_count(tmp_path: Path) -> None:
    path = unpack(V9, tmp_path).table
    before = archived(path)
    first = min(folder(path).glob("*_0.parquet"))
    higher = first.with_name(first.name.replace("_0.parquet", "_1.parquet"))
    higher.write_bytes(first.read_bytes())
    cut_manifest(path)
    age(path)
    hf.repair_table(path, apply=True)
    text = (folder(path) / f"manifest_{(folder(path) / '_version_').read_text()}").read_text()
    assert (higher.name in text, first.name in text) == (True, False)
    assert archived(path) == before


def test_an_archive_that_somebody_is_writing_is_left_alone(tmp_path: Path) -> None:
    path = unpack(V6, tmp_path).table
    cut_archive(path)
    (step,) = hf.repair_table(path).steps
    assert step.state is StepState.REFUSED
    assert "was written" in step.reason


def test_an_archive_log_with_a_block_whose_records_cannot_be_read(tmp_path: Path) -> None:
    path = unpack(V6, tmp_path).table
    newest = max(folder(path).glob(".commits*"))
    data = newest.read_bytes()
    at = data.rindex(b"#HUDI#", 0, len(data) - 100)
    middle = at + (len(data) - at) * 3 // 4
    newest.write_bytes(data[:middle] + b"\xff" * 40 + data[middle + 40 :])
    age(path)
    if hf.open_table(path).verify():
        hf.repair_table(path, apply=True)
    assert hf.open_table(path).verify() == []
    assert archived(path) != []
