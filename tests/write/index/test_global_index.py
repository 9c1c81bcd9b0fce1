"""Record keys that are looked for in all partitions, or only in files that may hold them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import DataError, Table
from hudiformat.file_group.base_file.read import scan_base_file
from hudiformat.storage.protocol import Storage
from tests.tables import FLAGGED, content, new_table, rows

pytestmark = pytest.mark.unmeasured


def made(path: Path, table_type: str, index: str = "GLOBAL_SIMPLE", **more: str) -> Table:
    options = {"hoodie.index.type": index, **more}
    table = new_table(path / "t", table_type=table_type, schema=FLAGGED, options=options)
    first = (("a", 1, "x", 1), ("b", 5, "x", 1), ("c", 1, "y", 1), ("d", 1, "y", 1), ("e", 9, "z", 1))
    table.upsert(rows(*first, schema=FLAGGED))
    return table


def found(table: Table) -> list[tuple[object, ...]]:
    """Each row with the partition that it lies in."""
    return content(table, ("_hoodie_partition_path", "k", "ts", "v"))


both_types = pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])


@pytest.mark.slow
@both_types
@pytest.mark.parametrize("index", ["GLOBAL_SIMPLE", "GLOBAL_BLOOM"])
def test_a_row_moves_to_its_partition_unless_the_old_one_is_newer(tmp_path: Path, table_type: str, index: str) -> None:
    table = made(tmp_path, table_type, index)
    second = (("a", 2, "y", 2), ("b", 3, "y", 2), ("c", 2, "y", 2), ("f", 1, "z", 2), ("e", 9, "x", 2))
    table.upsert(rows(*second, schema=FLAGGED))
    assert found(table) == [
        ("x", "b", 5, 1), ("x", "e", 9, 2), ("y", "a", 2, 2), ("y", "c", 2, 2), ("y", "d", 1, 1), ("z", "f", 1, 2),
    ]  # fmt: skip
    back = (("a", 3, "x", 3), ("f", 0, "x", 3), ("d", 5, "x", 3), ("g", 1, "x", 3))
    table.upsert(rows(*back, schema=FLAGGED))
    assert found(table) == [
        ("x", "a", 3, 3), ("x", "b", 5, 1), ("x", "d", 5, 3), ("x", "e", 9, 2), ("x", "g", 1, 3),
        ("y", "c", 2, 2), ("z", "f", 1, 2),
    ]  # fmt: skip
    table.delete(rows(("c", 0, "q"), ("a", 0, "y"), ("none", 0, "y"), schema=FLAGGED))
    assert [row[1] for row in found(table)] == ["b", "d", "e", "g", "f"]


@both_types
@pytest.mark.parametrize("index", ["simple", "bloom"])
def test_a_row_stays_where_it_may_not_move(tmp_path: Path, table_type: str, index: str) -> None:
    stays = {f"hoodie.{index}.index.update.partition.path": "false"}
    table = made(tmp_path, table_type, f"GLOBAL_{index.upper()}", **stays)
    table.upsert(rows(("a", 2, "y", 2), ("g", 1, "y", 2), schema=FLAGGED))
    assert found(table)[:2] == [("x", "a", 2, 2), ("x", "b", 5, 1)]
    assert found(table)[-2:] == [("y", "g", 1, 2), ("z", "e", 9, 1)]


@both_types
def test_a_delete_by_column_is_one_where_the_row_is(tmp_path: Path, table_type: str) -> None:
    table = made(tmp_path, table_type)
    table.upsert(rows(("a", 2, "y", 2, True), ("b", 1, "y", 2, True), ("g", 1, "x", 1, True), schema=FLAGGED))
    assert [row[1] for row in found(table)] == ["b", "c", "d", "e"]  # b's delete is older than b


@both_types
def test_a_key_that_is_twice_in_the_rows_counts_once_whatever_its_partitions(tmp_path: Path, table_type: str) -> None:
    table = made(tmp_path, table_type)
    table.upsert(rows(("n", 2, "x", 1), ("n", 3, "y", 2), schema=FLAGGED))
    assert [row for row in found(table) if row[1] == "n"] == [("y", "n", 3, 2)]


def test_a_row_leaves_every_file_that_has_it(tmp_path: Path) -> None:
    table = made(tmp_path, "COPY_ON_WRITE")
    table.insert(rows(("a", 1, "y", 7), schema=FLAGGED))
    table.upsert(rows(("a", 4, "z", 8), schema=FLAGGED))
    assert [row for row in found(table) if row[1] == "a"] == [("z", "a", 4, 8)]


@both_types
def test_a_key_that_is_twice_in_one_file_is_not_there_a_third_time(tmp_path: Path, table_type: str) -> None:
    table = made(tmp_path, table_type)
    table.insert(rows(("i", 1, "w", 1), ("i", 1, "w", 2), schema=FLAGGED))
    table.upsert(rows(("i", 2, "w", 3), schema=FLAGGED))
    assert [row for row in found(table) if row[1] == "i"] == [("w", "i", 1, 2), ("w", "i", 2, 3)]  # as Hudi's reader


def test_inserts_look_in_all_partitions_only_where_they_have_to(tmp_path: Path) -> None:
    policy = "hoodie.datasource.insert.dup.policy"
    made(tmp_path, "COPY_ON_WRITE").insert(rows(("a", 1, "y", 2), schema=FLAGGED))
    dropping = made(tmp_path / "drop", "COPY_ON_WRITE", **{policy: "drop"})
    dropping.insert(rows(("a", 1, "y", 2), ("n", 1, "y", 2), schema=FLAGGED))
    assert [row[1] for row in found(dropping)] == ["a", "b", "c", "d", "n", "e"]
    failing = made(tmp_path / "fail", "COPY_ON_WRITE", **{policy: "fail"})
    with pytest.raises(DataError, match="the record key 'a' is in the table already"):
        failing.insert(rows(("n", 1, "y", 2), ("a", 1, "y", 2), schema=FLAGGED))
    failing.insert(rows(("n", 1, "y", 2), schema=FLAGGED))


def test_a_first_upsert_has_nothing_to_look_at(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "GLOBAL_SIMPLE"})
    assert [plan.inserts for plan in table.plan_inserts(rows(("a", 1, "x"), ("b", 1, "x"), ("c", 1, "y")))] == [2, 1]
    table.upsert(rows(("a", 1, "x", 1)))
    assert [plan.inserts for plan in table.plan_inserts(rows(("a", 2, "y"), ("b", 1, "x")))] == [1, 1]


@pytest.fixture
def files_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The base files whose keys were read."""
    seen: list[str] = []

    def note(storage: Storage, path: str, schema: pa.Schema, *, batch_rows: int) -> Iterator[pa.RecordBatch]:
        seen.append(path)
        return scan_base_file(storage, path, schema, batch_rows=batch_rows)

    monkeypatch.setattr("hudiformat.write.index.tagging.scan_base_file", note)
    return seen


@pytest.mark.parametrize(("index", "wanted", "count"), [("SIMPLE", "k5", 1), ("SIMPLE", "k4x", 1), ("BLOOM", "k4x", 0)])
def test_files_that_cannot_hold_a_key_are_not_read(
    tmp_path: Path, files_read: list[str], index: str, wanted: str, count: int
) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options={"hoodie.index.type": index})
    for start in (0, 3, 6):
        table.bulk_insert(rows(*((f"k{start + i}", 1, "x", 1) for i in range(3))))
    table.upsert(rows((wanted, 2, "x", 2), ("zzz", 1, "x", 1)))
    assert len(files_read) == count
    assert (wanted, 2, "x", 2) in content(table)
    assert len(content(table)) == 10 + (wanted == "k4x")
