"""File groups whose files are damaged or missing are written anew."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from hudiformat import RepairKind, RepairStep, SchemaError, StepState, Table
from hudiformat.file_group.reader import SliceReader
from tests.check.repair.breaking import age, base_files, cut, log_files
from tests.tables import content, new_table, rows, tree


def made(path: Path, **changes: object) -> Table:
    return new_table(path, **{"options": {"hoodie.index.type": "INMEMORY"}, **changes})  # type: ignore[arg-type]  # options of several types


def one_step(table: Table) -> RepairStep:
    age(Path(table.path))
    (step,) = table.repair(apply=True).steps
    assert (step.kind, step.state) == (RepairKind.FILES, StepState.DONE)
    assert hf.open_table(table.path).verify() == []
    return step


def newest_base(table: Table, partition: str = "x") -> Path:
    (chosen,) = (files[-1][1] for files in base_files(Path(table.path, partition)).values())
    return chosen


@pytest.mark.parametrize("version", [6, 9])
def test_a_compaction_that_is_lost_is_done_again(version: int, tmp_path: Path) -> None:
    table = made(tmp_path / "t", version=version)
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    table.compact()
    table.upsert(rows(("b", 3, "x", 3)))
    cut(newest_base(table))
    step = one_step(table)
    assert "goes back to" in step.what
    assert "its 2 later log files" in step.what
    assert step.lost == ""
    assert content(table) == [("a", 2, "x", 2), ("b", 3, "x", 3)]


def test_what_a_copy_on_write_commit_has_changed_is_lost(tmp_path: Path) -> None:
    table = made(tmp_path / "t", table_type="COPY_ON_WRITE")
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    first = content(table)
    commit = table.upsert(rows(("a", 2, "x", 2), ("c", 2, "x", 2)))
    newest_base(table).unlink()
    step = one_step(table)
    assert step.lost == f"1 inserts, 1 updates and 0 deletes of {commit.instant}"
    assert content(table) == first
    assert content(table, as_of=table.timeline.completed_writes[0].time) == first


def test_an_older_base_file_that_is_damaged_too_is_passed_over(tmp_path: Path) -> None:
    table = made(tmp_path / "t", table_type="COPY_ON_WRITE")
    table.bulk_insert(rows(("a", 1, "x", 1)))
    first = content(table)
    for ts in (2, 3):
        table.upsert(rows(("a", ts, "x", ts)))
    for files in base_files(tmp_path / "t").values():
        for _, path in files[1:]:
            cut(path)
    assert one_step(table).lost.count("1 updates") == 2
    assert content(table) == first


@pytest.mark.slow
def test_without_another_base_file_the_rows_before_the_damage_stay(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.bulk_insert(rows(*((f"k{number:05}", 1, "x", number) for number in range(140_000))))
    table.upsert(rows(("new", 2, "x", 2)))
    base = newest_base(table)
    found = pq.read_table(base)
    metadata = pq.read_metadata(base).metadata
    pq.write_table(found.replace_schema_metadata(metadata), base, row_group_size=70_000)
    second = pq.read_metadata(base).row_group(1).column(0).data_page_offset
    data = bytearray(base.read_bytes())
    data[second - 4 : second + 2000] = bytes(2004)
    base.write_bytes(bytes(data))
    step = one_step(table)
    assert step.lost == "rows of the base file from where it is damaged"
    assert table.count() == 65_536 + 1  # a batch, and the row of the log file
    assert content(table, filter="k = 'new'") == [("new", 2, "x", 2)]


def test_without_any_base_file_the_rows_of_log_files_stay(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    newest_base(table).write_bytes(b"PAR1 no longer")
    step = one_step(table)
    assert step.what == "the file group is written anew from its 1 log files"
    assert content(table) == [("a", 2, "x", 2)]


def test_a_group_of_which_nothing_is_left_is_removed(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    for left in Path(table.path, "x").iterdir():
        left.unlink()
    step = one_step(table)
    assert step.lost == "all of its rows"
    assert content(table) == [("b", 1, "y", 1)]
    table.upsert(rows(("a", 2, "x", 2)))
    assert len(content(table)) == 2


def test_a_log_file_that_is_missing_costs_its_rows(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.bulk_insert(rows(("a", 1, "x", 1)))
    commit = table.upsert(rows(("a", 2, "x", 2)))
    table.upsert(rows(("b", 3, "x", 3)))
    (gone,) = (path for path in log_files(tmp_path / "t") if commit.instant in path.name)
    gone.unlink()
    assert commit.instant in one_step(table).lost
    assert content(table) == [("a", 1, "x", 1), ("b", 3, "x", 3)]


def test_damaged_log_files_of_such_a_group_are_read_as_far_as_they_can(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.bulk_insert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    table.compact()
    table.upsert(rows(("a", 3, "x", 3)))
    cut(newest_base(table))
    cut(log_files(tmp_path / "t")[-1])
    one_step(table)
    assert content(table) == [("a", 2, "x", 2)]


def test_files_that_somebody_may_be_writing_are_left_alone(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.bulk_insert(rows(("a", 1, "x", 1)))
    cut(newest_base(table))
    (step,) = table.repair(apply=True).steps
    assert (step.state, "was written" in step.reason) == (StepState.REFUSED, True)


def test_what_cannot_be_ended_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The metadata table stays where it is, too, if nothing that needs it away can be done."""
    table = new_table(tmp_path / "t", options={"hoodie.metadata.enable": "true"})
    table.upsert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    (newest,) = (one.base_file for one in table.file_slices("x"))
    assert newest is not None
    Path(table.path, "x", str(newest.name)).write_bytes(b"PAR1 no longer")
    age(Path(table.path))
    before = tree(Path(table.path))

    def fail(*_arguments: object, **_more: object) -> None:
        raise SchemaError("column v is of type int64, which does not fit int32: cast it")

    with monkeypatch.context() as patch:
        patch.setattr(SliceReader, "scan_stored", fail)
        steps = hf.repair_table(table.path, apply=True).steps
    assert {one.state for one in steps} == {StepState.REFUSED}
    assert "it cannot be done, and nothing of it is begun: column v is of type int64" in steps[-1].reason
    assert tree(Path(table.path)) == before
    assert hf.repair_table(table.path, apply=True).left == ()
    assert hf.open_table(table.path).verify() == []
