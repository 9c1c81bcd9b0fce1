"""Files that are gone: who has deleted them, said by name."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat import HudiFormatWarning, StorageError, Table, open_table
from hudiformat.errors import FilesGoneError
from hudiformat.file_group.deleted_files import (
    cleaned_files,
    deleted_files,
    describe_deletion,
    explain_missing_files,
    files_of,
)
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants
from hudiformat.timeline.timeline import Action, Instant, State, instant_path
from tests import tables
from tests.effort import sample
from tests.tables import new_table, rows

KEPT = {"hoodie.clean.commits.retained": "1", "hudiformat.sync": "false"}


@pytest.fixture(params=[6, 9])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """A table whose one file group has been written anew three times."""
    options = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    made = new_table(tmp_path / "t", version=request.param, table_type="COPY_ON_WRITE", options=options)
    for step in range(3):
        made.insert(rows((f"k{step}", 1, "x", step)))
    return made


def first_file(table: Table) -> str:
    [one] = table.file_slices(as_of=table.timeline.completed_writes[0].time)
    [path] = files_of(one)
    return path


def clean(table: Table) -> Instant:
    (done,) = open_table(table.path, options=KEPT, clock=table._context.clock).clean()
    return done


def why(table: Table, path: str) -> str | None:
    return describe_deletion(table._context.storage, table.config, [path])


def test_a_file_that_was_cleaned_names_the_clean(table: Table) -> None:
    path = first_file(table)
    done = clean(table)
    assert (
        why(table, path)
        == f"{path} was deleted by the clean {done.time}: ask again, for a later moment if one was named"
    )


def test_a_file_that_is_being_cleaned_names_the_clean(table: Table) -> None:
    path = first_file(table)
    done = clean(table)
    table._context.storage.delete(instant_path(table.config, done))
    assert why(table, path) is not None


def test_a_clean_that_was_archived_is_found_in_the_archive(table: Table) -> None:
    path = first_file(table)
    done = clean(table)
    for step in range(3, 8):
        table.insert(rows((f"k{step}", 1, "x", step)))
        clean(table)
    assert archive_instants(table._context.storage, table.config, ArchiveLimits(2, 1))
    timeline = table.timeline
    assert done.time not in {one.time for one in timeline.completed}
    assert why(table, path) is not None
    found = {one.time for one, _ in cleaned_files(table._context.storage, table.config, timeline)}
    assert done.time in found


def test_a_clean_whose_file_is_damaged_names_nothing(table: Table) -> None:
    path = first_file(table)
    done = clean(table)
    (Path(table.path) / instant_path(table.config, done)).write_bytes(b"junk")
    assert why(table, path) is None


def test_a_file_of_a_write_that_was_rolled_back_names_the_write(table: Table) -> None:
    newest = table.timeline.completed_writes[-1].time
    [one] = table.file_slices()
    [path] = files_of(one)
    table.rollback(newest)
    assert why(table, path) == f"{path} is of the write {newest}, which was rolled back: ask again"


def test_a_file_that_nobody_has_deleted_has_no_reason(table: Table) -> None:
    assert why(table, first_file(table)) is None
    assert describe_deletion(table._context.storage, table.config, []) is None


@pytest.mark.parametrize("is_there", [True, False])
def test_what_has_no_reason_stays_the_error_that_it_was(table: Table, is_there: bool) -> None:
    path = first_file(table)
    if not is_there:
        (Path(table.path) / path).unlink()
    with (
        pytest.raises(StorageError, match="worn out"),
        explain_missing_files(table._context.storage, table.config, lambda: [path]),
    ):
        raise StorageError("worn out")


def test_a_scan_whose_files_are_cleaned_half_way_says_so(table: Table) -> None:
    scan = table.scan()
    for step in (3, 4):
        table.insert(rows((f"k{step}", 1, "x", step)))
    clean(table)
    with pytest.raises(FilesGoneError, match="was deleted by the clean"):
        scan.read_all()


def test_a_scan_half_of_which_was_read_when_its_files_were_cleaned_says_so(table: Table) -> None:
    table.insert(rows(("other", 1, "y", 1)))
    batches = iter(table.scan(columns=["k"]))
    assert next(batches).num_rows == 3
    for step in (3, 4):
        table.upsert(rows(("k0", step, "x", step), ("other", step, "y", step)))
    clean(table)
    with pytest.raises(FilesGoneError, match=r"y/.*parquet was deleted by the clean"):
        list(batches)


def test_changes_whose_files_were_cleaned_say_so(tmp_path: Path) -> None:
    options = {"hoodie.clean.automatic": "false", "hoodie.table.cdc.enabled": "true"}
    made = new_table(tmp_path / "c", table_type="COPY_ON_WRITE", options=options)
    for step in range(3):
        made.upsert(rows(("k", step, "x", step)))
    clean(made)
    with pytest.raises(FilesGoneError, match="was deleted by the clean"):
        made.cdc("000")


def test_an_error_of_files_that_are_gone_travels_to_other_processes() -> None:
    error = pickle.loads(pickle.dumps(FilesGoneError("gone", path="/t")))
    assert (type(error), str(error), error.path) == (FilesGoneError, "gone", "/t")


def test_a_plan_names_what_it_is_going_to_delete(table: Table) -> None:
    path = first_file(table)
    done = clean(table)
    state = table._context.state()
    plan = state.content(Instant(done.time, Action.CLEAN, State.REQUESTED))
    done_or_planned: list[Callable[[], object]] = [lambda: plan, lambda: state.content(done)]
    for content in done_or_planned:
        assert path in {f"{folder}/{name}" for folder, name in deleted_files(content())}
    assert list(deleted_files(None)) == []


@pytest.mark.parametrize("version", [6, 9])
def test_a_log_file_of_a_write_that_was_given_up(tmp_path: Path, version: int) -> None:
    """In version 6 its name does not say whose it is."""
    table = new_table(tmp_path / "t", version=version)
    table.insert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    [one] = table.file_slices()
    path = files_of(one)[-1]
    assert why(table, path) is None  # a commit has written it
    other = path.replace(".log.1_", ".log.7_")
    reason = f"{other} was of a write that was given up or rolled back: ask again"
    assert why(table, other) == (reason if version == 6 else None)


@pytest.mark.parametrize("version", sample([6, 8, 9], of=3))
@pytest.mark.parametrize(
    ("table_type", "logged"), [("COPY_ON_WRITE", False), ("MERGE_ON_READ", False), ("MERGE_ON_READ", True)]
)
@pytest.mark.parametrize("metadata", ["true", "false"])
def test_a_missing_base_file_is_an_error_and_not_fewer_rows(
    tmp_path: Path, version: int, table_type: str, logged: bool, metadata: str
) -> None:
    options = {"hoodie.index.type": "SIMPLE", "hoodie.metadata.enable": metadata}
    table = new_table(tmp_path / "t", table_type=table_type, version=version, options=options)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    if logged:
        table.upsert(rows(("a", 2, "x", 3)))
    [one] = table.file_slices("x")
    assert one.base_file is not None
    (tmp_path / "t" / "x" / str(one.base_file.name)).unlink()
    for read in (table.snapshot, lambda: table.scan().read_all(), table.count):
        with pytest.raises(StorageError, match=re.escape(str(one.base_file.name))):
            read()
    skipping = open_table(table.path, options={"hudiformat.damage": "skip"})
    with pytest.warns(HudiFormatWarning, match=f"{re.escape(str(one.base_file.name))}.*"):
        found = skipping.snapshot(columns=["k"]).sort_by("k")["k"].to_pylist()
    assert found == (["a", "b"] if logged else ["b"])


def test_a_file_that_a_later_write_has_replaced_is_not_missing(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options={"hoodie.index.type": "SIMPLE"})
    table.insert(rows(("a", 1, "x", 1)))
    [old] = table.file_slices("x")
    assert old.base_file is not None
    table.insert_overwrite(rows(("b", 1, "x", 1)))
    (tmp_path / "t" / "x" / str(old.base_file.name)).unlink()
    assert tables.content(table) == [("b", 1, "x", 1)]
