"""What is found wrong with a table."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from hudiformat import StorageError, Table, TableFindingKind, open_storage, open_table
from hudiformat.naming.file_names import WriteToken
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.write import WriteTask
from tests.effort import sample
from tests.requests import RecordingStorage, nothing
from tests.tables import NAMES, content, new_table, rows, unpack

pytestmark = pytest.mark.unmeasured


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    return table


def found(table: Table, *, contents: bool = True) -> list[tuple[str, str]]:
    return [(finding.kind.name, finding.path) for finding in table.verify(contents=contents)]


def files(table: Table, pattern: str) -> list[Path]:
    return sorted(Path(table.path).glob(pattern))


def test_nothing_is_wrong_with_a_sound_table(table: Table) -> None:
    assert table.verify() == []


@pytest.mark.parametrize("name", sample([name for name in NAMES if "damaged" not in name], of=15))
def test_hudis_tables_are_sound_but_for_what_is_pending(name: str, tmp_path: Path) -> None:
    table = open_at(tmp_path, name)
    kinds = {finding.kind for finding in table.verify(contents=False)}
    assert kinds <= {TableFindingKind.UNCOMMITTED}
    assert bool(kinds) == bool(table.timeline.pending)


def open_at(folder: Path, name: str) -> Table:
    return open_table(unpack(name, folder).table)


def test_damaged_logs_of_hudis_are_found(tmp_path: Path) -> None:
    kinds = [finding.kind for finding in open_at(tmp_path, "v9-mor-damaged-h120-flip-size").verify()]
    assert TableFindingKind.DAMAGED in kinds


@pytest.mark.parametrize("kind", [".parquet", ".log."])
def test_a_file_that_others_delete_meanwhile_is_no_finding(tmp_path: Path, kind: str) -> None:
    """In table version 6 the log file of a write that is given up looks like one of the newest slice."""
    table = new_table(tmp_path / "t", version=6)
    table.insert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    storage = RecordingStorage(open_storage(tmp_path / "t"))
    deleted: list[str] = []

    def delete(number: int) -> None:
        asked = storage.requests[number]
        if asked.kind in ("map", "open_input") and asked.is_of_data and kind in asked.path:
            (tmp_path / "t" / asked.path).unlink()
            deleted.append(asked.path)
            storage.before = nothing

    storage.before = delete
    assert open_table(storage).verify() == []
    assert len(deleted) == 1
    assert bool(open_table(tmp_path / "t").verify()), "it is missing now"


def test_a_missing_file(table: Table) -> None:
    (base,) = files(table, "y/*.parquet")
    base.unlink()
    assert found(table) == [("MISSING", f"y/{base.name}")]
    for left in files(table, "y/*") + files(table, "y/.hoodie*"):
        left.unlink(missing_ok=True)
    assert found(table) == [("MISSING", f"y/{base.name}")]
    assert table.verify()[0].message == "its partition is not there"


def test_files_of_old_slices_may_be_gone(table: Table) -> None:
    table.compact()
    for old in files(table, "x/.*log*"):
        old.unlink()
    assert found(table) == []


def test_a_damaged_base_file_and_a_damaged_log(table: Table) -> None:
    (base,), (log,) = files(table, "x/*.parquet"), files(table, "x/.*log*")
    base.write_bytes(b"PAR1 no longer")
    log.write_bytes(log.read_bytes()[:-9])
    assert found(table) == [("DAMAGED", f"x/{base.name}"), ("DAMAGED", f"x/{log.name}")]
    assert "torn tail" in table.verify()[1].message
    assert found(table, contents=False) == []


def test_a_damaged_commit(table: Table) -> None:
    (commit,) = files(table, f".hoodie/timeline/{table.timeline.completed_writes[0].time}_*")
    commit.write_bytes(b"Obj\x01 no longer")
    assert [kind for kind, _ in found(table, contents=False)] == ["DAMAGED"]


def test_what_never_completed_and_what_is_nobodys(table: Table) -> None:
    write = begin_write(table._context, Operation.UPSERT)
    with WriteTask(write.plan, WriteToken(0, 0, 0)) as task:
        task.write_batch(rows(("a", 3, "x", 3)).to_batches()[0])
        task.finish()
    assert [kind for kind, _ in found(table)] == ["UNCOMMITTED"]
    for path in files(table, f".hoodie/timeline/{write.plan.instant}*"):
        path.unlink()
    ((kind, orphan),) = found(table)
    assert kind == "ORPHAN"
    assert write.plan.instant in orphan


@pytest.mark.parametrize("newest", [False, True])
def test_a_missing_change_log(tmp_path: Path, newest: bool) -> None:
    options = {"hoodie.index.type": "SIMPLE", "hoodie.table.cdc.enabled": "true", "hoodie.metadata.enable": "false"}
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=options)
    for moment in range(1, 4):
        table.upsert(rows(("a", moment, "x", moment)))
    log = files(table, "x/.*.cdc")[newest]
    log.unlink()
    assert found(table) == found(table, contents=False) == [("MISSING", f"x/{log.name}")]
    with pytest.raises(StorageError, match="No such file"):
        table.cdc("0")
    assert hf.repair_table(table.path, apply=True, dead_after=0).steps == ()
    assert content(table) == [("a", 3, "x", 3)]
    for base in files(table, f"x/*{log.name.split('_')[1].split('.')[0]}.parquet"):
        base.unlink()  # as a clean does, for one that is not the newest
    assert found(table) == ([("MISSING", f"x/{base.name}")] if newest else [])


def test_a_whole_file_of_another_type_is_not_damaged_and_left_by_a_repair(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE")
    table.insert(rows(("a", 1, "x", 1)))
    [path] = files(table, "**/*.parquet")
    stored = pq.read_table(path)
    number = stored.schema.get_field_index("v")
    pq.write_table(stored.set_column(number, "v", pa.array(["one"])), path)
    content_of_file = path.read_bytes()
    table = open_table(table.path)
    assert found(table) == [("SCHEMA", str(path.relative_to(table.path)))]
    with pytest.raises(hf.SchemaError, match="column v"):
        table.snapshot()
    assert table.snapshot(columns=["k"]).to_pylist() == [{"k": "a"}]
    assert table.repair(apply=True).steps == ()
    assert path.read_bytes() == content_of_file
