"""The record index as the index of writes finds what reading the whole table finds."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudiformat import DataError, HudiFormatWarning, Table
from hudiformat.file_group.reader import SliceReader
from hudiformat.file_group.slices import FileSlice
from hudiformat.metadata_table.record_lookup import RecordIndex
from hudiformat.storage.protocol import Storage
from tests.effort import BUSY, examples
from tests.metadata_statistics import check_record_index
from tests.tables import FLAGGED, content, new_table, rows
from tests.write.commit.support import abandoned

MOVES = "hoodie.record.index.update.partition.path"
INDEX = {
    "hoodie.index.type": "RECORD_INDEX",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "2",
    "hoodie.metadata.index.column.stats.enable": "false",
}
POLICY = "hoodie.datasource.insert.dup.policy"


def indexed(path: Path, table_type: str = "MERGE_ON_READ", **more: str) -> Table:
    return new_table(path / "indexed", table_type=table_type, schema=FLAGGED, options={**INDEX, **more})


def read_whole(path: Path, table_type: str, *, moves: bool, **more: str) -> Table:
    options = {
        "hoodie.index.type": "GLOBAL_SIMPLE",
        "hoodie.simple.index.update.partition.path": str(moves).lower(),
        **more,
    }
    return new_table(path / "whole", table_type=table_type, schema=FLAGGED, options=options)


def found(table: Table) -> list[tuple[object, ...]]:
    """Each row with the partition that it lies in."""
    return content(table, ("_hoodie_partition_path", "k", "ts", "v"))


both_types = pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])


class Steps:
    """The same steps on two tables."""

    def __init__(self, tables: list[Table], random: Random) -> None:
        self.tables, self._random, self._value = tables, random, 0

    def some(self) -> list[tuple[Any, ...]]:
        """Rows of a few keys, each in any partition, some older than what is there, some deletes."""
        self._value += 1
        random = self._random
        keys = random.sample(range(12), random.randrange(1, 6))
        return [
            (f"k{key}", self.ordering(key), random.choice("xyz"), self._value, random.random() < 0.2) for key in keys
        ]

    def ordering(self, _key: int) -> int:
        """The ordering value of a row, which may be older than what is there."""
        return self._random.choice((1, 2, 3, 4))

    def run(self, step: str) -> None:
        data, partition = rows(*self.some(), schema=FLAGGED), self._random.choice("xyz")
        for table in self.tables:
            if step == "roll back":
                table.rollback(table.upsert(data).instant)
            elif step == "leave":
                abandoned(table, data)
            elif step == "delete partition":
                table.delete_partitions([partition])
            elif step == "compact":
                if table.config.table_type.value == "MERGE_ON_READ":
                    table.compact()
            else:
                getattr(table, step)(data)


STEPS = ("upsert", "upsert", "upsert", "delete", "insert", "compact", "roll back", "leave", "delete partition")


@pytest.mark.slow
@settings(max_examples=examples(20), deadline=None, suppress_health_check=[*BUSY, HealthCheck.function_scoped_fixture])
@given(
    random=st.randoms(use_true_random=False),
    steps=st.lists(st.sampled_from(STEPS), min_size=2, max_size=7),
    kind=st.tuples(st.sampled_from(["MERGE_ON_READ", "COPY_ON_WRITE"]), st.booleans()),
    often=st.booleans(),
)
def test_the_index_finds_what_reading_the_table_finds(
    tmp_path_factory: pytest.TempPathFactory, random: Random, steps: list[str], kind: tuple[str, bool], often: bool
) -> None:
    path, (table_type, moves) = tmp_path_factory.mktemp("t"), kind
    dropping = {POLICY: "drop"}
    own = indexed(
        path,
        table_type,
        **dropping,
        **{MOVES: str(moves).lower(), "hoodie.metadata.compact.max.delta.commits": "2" if often else "100"},
    )
    both = Steps([own, read_whole(path, table_type, moves=moves, **dropping)], random)
    for step in steps:
        if step == "roll back" and often:
            continue  # a base file of the index may have it already: then the index is dropped
        both.run(step)
        one, other = (found(table) for table in both.tables)
        assert one == other, step
        check_record_index(Path(own.path))


@both_types
def test_rows_stay_unless_they_may_move(tmp_path: Path, table_type: str) -> None:
    for name, moves in (("stay", {}), ("move", {MOVES: "true"})):
        table = indexed(tmp_path / name, table_type, **moves)
        table.upsert(rows(("a", 1, "x", 1), ("b", 5, "x", 1), schema=FLAGGED))
        table.upsert(rows(("a", 2, "y", 2), ("b", 3, "y", 2), ("c", 1, "y", 2), schema=FLAGGED))
        home = "y" if moves else "x"
        assert found(table) == sorted([(home, "a", 2, 2), ("x", "b", 5, 1), ("y", "c", 1, 2)])


def test_an_insert_of_a_key_that_is_there_is_dropped_or_refused(tmp_path: Path) -> None:
    dropping = indexed(tmp_path, **{POLICY: "drop"})
    dropping.upsert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), schema=FLAGGED))
    dropping.upsert(rows(("b", 1, "x", 1, True), schema=FLAGGED))  # a delete that may lose: the index keeps b
    dropping.insert(rows(("a", 9, "y", 2), ("b", 9, "y", 2), ("n", 1, "y", 2), schema=FLAGGED))
    assert found(dropping) == [("x", "a", 1, 1), ("y", "b", 9, 2), ("y", "n", 1, 2)]
    failing = indexed(tmp_path / "fail", **{POLICY: "fail"})
    failing.upsert(rows(("a", 1, "x", 1), schema=FLAGGED))
    with pytest.raises(DataError, match="the record key 'a' is in the table already"):
        failing.insert(rows(("n", 1, "y", 2), ("a", 1, "y", 2), schema=FLAGGED))


@pytest.fixture
def slices_read(monkeypatch: pytest.MonkeyPatch) -> list[FileSlice]:
    """The file slices whose rows were read."""
    seen: list[FileSlice] = []
    scan = SliceReader.scan

    def note(self: SliceReader, storage: Storage, one: FileSlice, **rest: Any) -> Any:
        seen.append(one)
        return scan(self, storage, one, **rest)

    monkeypatch.setattr(SliceReader, "scan", note)
    return seen


def test_no_row_is_read_where_the_index_says_enough(tmp_path: Path, slices_read: list[FileSlice]) -> None:
    table = indexed(tmp_path, **{MOVES: "true"})
    table.upsert(rows(*((f"k{number}", 1, "xyz"[number % 3], 1) for number in range(30)), schema=FLAGGED))
    table.upsert(rows(*((f"k{number}", 2, "xyz"[number % 3], 2) for number in range(9)), schema=FLAGGED))
    table.delete(rows(("k0", 0, "q"), schema=FLAGGED))
    assert slices_read == []
    table.upsert(rows(("k1", 3, "z", 3), ("k2", 3, "z", 3), schema=FLAGGED))
    assert [one.partition_path for one in slices_read] == ["y"]
    assert [row for row in found(table) if row[1] in ("k0", "k1", "k2")] == [("z", "k1", 3, 3), ("z", "k2", 3, 3)]


def test_a_key_that_a_log_file_has_deleted_is_new(tmp_path: Path, slices_read: list[FileSlice]) -> None:
    table = indexed(tmp_path)
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), schema=FLAGGED))
    table.upsert(rows(("a", 5, "x", 1, True), schema=FLAGGED))
    table.upsert(rows(("a", 2, "y", 2), ("b", 2, "x", 2), schema=FLAGGED))  # older than the delete, which has won
    assert len(slices_read) == 1
    assert found(table) == [("x", "b", 2, 2), ("y", "a", 2, 2)]


@pytest.mark.parametrize("index", ["RECORD_INDEX", "GLOBAL_RECORD_LEVEL_INDEX"])
def test_a_table_without_the_index_is_read_whole_with_a_warning(tmp_path: Path, index: str) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": index, MOVES: "false"})
    with pytest.warns(HudiFormatWarning, match=f"hoodie.index.type is {index}, but the table has no record index"):
        table.upsert(rows(("a", 1, "x", 1)))
    with pytest.warns(HudiFormatWarning, match="as with GLOBAL_SIMPLE"):
        table.upsert(rows(("a", 2, "y", 2)))
    assert content(table) == [("a", 2, "y", 2)]  # it moves, as in Hudi: GLOBAL_SIMPLE says whether
    table.insert(rows(("n", 1, "y", 1)))  # nothing is looked up, so nothing is missing


def test_what_a_later_commit_has_put_into_the_index_is_not_there_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = indexed(tmp_path)
    table.upsert(rows(("a", 1, "x", 1), schema=FLAGGED))
    find = RecordIndex.find

    def elsewhere(self: RecordIndex, storage: Storage, keys: Any) -> Any:
        result = find(self, storage, keys)
        return result._replace(places=tuple(place._replace(file_id="another") for place in result.places))

    monkeypatch.setattr(RecordIndex, "find", elsewhere)
    plans = table.plan_inserts(rows(("a", 2, "x", 2), schema=FLAGGED))
    assert [plan.inserts for plan in plans] == [1]
