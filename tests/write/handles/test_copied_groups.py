"""Row groups that no change touches are in the next base file as they were, byte for byte."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hudiformat as hf
from hudiformat.codec.parquet.source import ParquetSource
from hudiformat.file_group.base_file import assembled_groups
from hudiformat.file_group.base_file.read import read_file_keys
from hudiformat.storage.local import LocalStorage
from hudiformat.write.handles import copied_groups, merge
from hudiformat.write.handles.base_files import OpenBaseFile
from tests.effort import examples
from tests.tables import Clock

SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("x", pa.float64()), ("t", pa.string())])
COUNT = 4000
SMALL = {
    "hoodie.parquet.max.file.size": "150000",
    "hoodie.copyonwrite.record.size.estimate": "30",
    "hudiformat.sync": "false",
}


@pytest.fixture(autouse=True)
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The row groups that are copied from now on; those of any size may be."""
    found: list[int] = []
    copy = OpenBaseFile.copy

    def noting(file: OpenBaseFile, group: int) -> None:
        found.append(group)
        copy(file, group)

    monkeypatch.setattr(OpenBaseFile, "copy", noting)
    monkeypatch.setattr(copied_groups, "LEAST_GROUP", 0)
    monkeypatch.setattr(merge, "_SMALL_FILE", 0)  # small files are merged together, and nothing is copied
    monkeypatch.setattr(assembled_groups, "_ROWS_FOR_A_COLUMN", 0)
    return found


def rows(keys: Any, ts: int, x: float = 0.0) -> pa.Table:
    numbers = np.asarray(keys)
    texts = [f"text {number * 7919 % 100_003} of {number}" for number in numbers]
    names = [f"k{number:06}" for number in numbers]
    return pa.table([names, np.full(len(numbers), ts), np.full(len(numbers), x), texts], schema=SCHEMA)


def table_of(path: Path, **options: str) -> hf.Table:
    hf.create_table(
        path,
        name="t",
        schema=SCHEMA,
        record_key=["id"],
        ordering=["ts"],
        table_type="COPY_ON_WRITE",
        options=SMALL | options,
    )
    chosen = {key: value for key, value in options.items() if "cdc" not in key}
    table = hf.open_table(path, options=SMALL | chosen, clock=Clock())
    table.insert(rows(range(COUNT), 1))
    return table


def newest(table: hf.Table) -> Path:
    (one,) = table.file_slices()
    assert one.base_file is not None
    return Path(table._context.storage.root) / str(one.base_file.name)


def chunks(path: Path) -> list[dict[str, bytes]]:
    """The bytes of each column of each row group."""
    data, footer = path.read_bytes(), pq.read_metadata(path)
    found = []
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        columns = [group.column(place) for place in range(group.num_columns)]
        starts = [min(filter(None, (one.dictionary_page_offset, one.data_page_offset))) for one in columns]
        found.append(
            {
                one.path_in_schema: data[start : start + one.total_compressed_size]
                for one, start in zip(columns, starts, strict=True)
            }
        )
    return found


def copied(before: Path, after: Path) -> list[bool]:
    """For each row group of the newer file, whether all of its columns but the file's name are as they were."""
    old = [{name: data for name, data in one.items() if name != "_hoodie_file_name"} for one in chunks(before)]
    new = [{name: data for name, data in one.items() if name != "_hoodie_file_name"} for one in chunks(after)]
    return [one in old for one in new]


def content(table: hf.Table) -> dict[str, tuple[int, float, str]]:
    found = table.snapshot(columns=SCHEMA.names)
    assert len(set(found["id"].to_pylist())) == len(found)
    return {one["id"]: (one["ts"], one["x"], one["t"]) for one in found.to_pylist()}


def check(table: hf.Table) -> None:
    """The file is whole: its name in all rows, its footer with all keys, statistics that hold."""
    path = newest(table)
    found = pq.read_table(path)
    assert found["_hoodie_file_name"].unique().to_pylist() == [path.name]
    keys = read_file_keys(LocalStorage(path.parent), path.name)
    assert keys.filters is not None
    assert keys.filters[0].might_contain(found["id"].combine_chunks()).all()
    assert keys.key_range is not None
    assert keys.key_range[0] <= min(found["id"].to_pylist())
    assert keys.key_range[1] >= max(found["id"].to_pylist())
    assert not table.verify()


def test_only_the_row_group_of_a_changed_row_is_encoded_anew(tmp_path: Path, taken: list[int]) -> None:
    table = table_of(tmp_path / "t")
    before = newest(table)
    groups = pq.read_metadata(before).num_row_groups
    assert groups > 2
    commit = table.upsert(rows([3, 5], 2, math.nan))
    assert copied(before, newest(table)) == [False, *[True] * (groups - 1)]
    assert taken == [*range(1, groups)]
    assert [(stat.num_writes, stat.num_update_writes, stat.num_inserts) for stat in commit.stats] == [(COUNT, 2, 0)]
    check(table)
    expected = {
        key: value
        for key, value in content(hf.open_table(tmp_path / "t")).items()
        if key[1:] not in ("000003", "000005")
    }
    assert len(expected) == COUNT - 2
    assert all(ts == 1 for ts, _, _ in expected.values())
    assert table.snapshot(columns=["id"], filter="x > 5").num_rows == 2  # NaN, which is in the bounds of its row group


def test_new_rows_join_the_last_row_group_and_deleted_ones_leave_theirs(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    before = newest(table)
    groups = pq.read_metadata(before).num_row_groups
    commit = table.upsert(rows([COUNT, COUNT + 1], 2))
    taken = copied(before, newest(table))
    assert taken[:groups] == [*[True] * (groups - 1), False]
    assert not any(taken[groups:])  # the rows of the last row group may become several
    assert [(stat.num_writes, stat.num_inserts) for stat in commit.stats] == [(COUNT + 2, 2)]
    before, groups = newest(table), len(taken)
    commit = table.delete(rows([0, 7], 3))
    assert copied(before, newest(table)) == [False, *[True] * (groups - 1)]
    assert [(stat.num_writes, stat.num_deletes) for stat in commit.stats] == [(COUNT, 2)]
    check(table)
    assert content(table).keys() == {f"k{number:06}" for number in range(COUNT + 2)} - {"k000000", "k000007"}


def test_rows_that_are_inserted_without_a_look_join_the_last_row_group(tmp_path: Path, taken: list[int]) -> None:
    table = table_of(tmp_path / "t")
    groups = pq.read_metadata(newest(table)).num_row_groups
    table.insert(rows([COUNT, COUNT + 1], 2))
    assert taken == [*range(groups - 1)]
    check(table)
    assert table.count() == COUNT + 2


def test_rows_that_are_only_updated_keep_the_pages_of_their_keys(tmp_path: Path, taken: list[int]) -> None:
    table = table_of(tmp_path / "t")
    before = newest(table)
    old = chunks(before)
    footer = pq.read_metadata(before)
    ends = np.cumsum([footer.row_group(place).num_rows for place in range(footer.num_row_groups)])
    changed = [int(end) - 1 for end in ends]  # a row of each row group
    commit = table.upsert(rows(changed, 2, math.nan))
    new = chunks(newest(table))
    assert taken == []
    kept = ("_hoodie_record_key", "_hoodie_partition_path", "id")
    assert [{name: one[name] for name in kept} for one in new] == [{name: one[name] for name in kept} for one in old]
    assert all(one["x"] != other["x"] for one, other in zip(new, old, strict=True))
    assert [(stat.num_writes, stat.num_update_writes, stat.num_inserts) for stat in commit.stats] == [
        (COUNT, len(changed), 0)
    ]
    check(table)
    assert [key for key, (ts, _, _) in content(table).items() if ts == 2] == [f"k{one:06}" for one in changed]


@pytest.mark.parametrize("operation", ["a delete", "a delete by a column", "a new row", "an insert of a key again"])
def test_keys_are_not_kept_where_a_row_comes_or_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    replaced: list[int] = []
    monkeypatch.setattr(OpenBaseFile, "replace", lambda _, group: replaced.append(group))
    table = table_of(tmp_path / "t")
    every = [place * 10 for place in range(COUNT // 10)]
    if operation == "a delete":
        table.delete(rows(every, 2))
    elif operation == "a delete by a column":
        flags = pa.array([key == 0 for key in every])
        table.upsert(rows(every, 2).append_column("_hoodie_is_deleted", flags))
    elif operation == "a new row":
        table.upsert(rows([*every, COUNT], 2))
    else:
        table.insert(rows(every, 2))
    assert replaced == []
    counts = {"a delete": COUNT - len(every), "a delete by a column": COUNT - 1, "a new row": COUNT + 1}
    assert table.count() == counts.get(operation, COUNT + len(every))


@pytest.mark.parametrize(
    "options",
    [
        {"hoodie.parquet.compression.codec": "snappy"},
        {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"},
        {"hoodie.table.cdc.enabled": "true"},
    ],
    ids=["another codec", "indexes of the rows", "change data"],
)
def test_a_file_whose_rows_are_needed_or_change_is_encoded_anew(
    tmp_path: Path, taken: list[int], options: dict[str, str]
) -> None:
    made = {} if "hoodie.parquet.compression.codec" in options else options
    table_of(tmp_path / "t", **made)
    table = hf.open_table(tmp_path / "t", options=SMALL | {key: options[key] for key in options if "cdc" not in key})
    table.upsert(rows([3], 2))
    check(table)
    assert taken == []


def test_a_file_of_other_columns_is_encoded_anew(tmp_path: Path, taken: list[int]) -> None:
    table = table_of(tmp_path / "t")
    table.upsert(rows([3], 2).append_column("y", pa.array([1])))
    check(table)
    assert table.snapshot(columns=["y"])["y"].null_count == COUNT - 1
    assert taken == []
    table.upsert(rows([3], 3).append_column("y", pa.array([2])))
    assert taken != []


@pytest.mark.parametrize("changed", [range(3, 4), range(0, COUNT, 100)], ids=["row groups", "their keys"])
def test_a_file_that_cannot_be_read_while_it_is_copied_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: range
) -> None:
    table = table_of(tmp_path / "t")
    before, read = table.snapshot(), ParquetSource.read

    def fail(source: ParquetSource, what: str, start: int, length: int) -> bytes:
        if source.path.endswith(".parquet"):
            raise OSError("the disk is gone")
        return read(source, what, start, length)

    monkeypatch.setattr(ParquetSource, "read", fail)
    with pytest.raises(hf.CorruptTableError, match="parquet: not a readable base file: the disk is gone"):
        table.upsert(rows(changed, 2))
    monkeypatch.undo()
    table.upsert(rows([COUNT], 2))
    assert table.count() == len(before) + 1


_KEYS = st.lists(st.integers(0, COUNT + 50), min_size=1, max_size=5, unique=True)


@settings(max_examples=examples(8), deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from(["upsert", "delete", "insert"]), _KEYS), min_size=1, max_size=4))
def test_tables_with_copied_row_groups_are_those_without(
    steps: list[tuple[str, list[int]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    @contextmanager
    def nothing(*_: object, **_more: object) -> Iterator[None]:
        yield None

    folder = tmp_path_factory.mktemp("copied")
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("with", "without"):
            patch.setattr(copied_groups, "LEAST_GROUP", 0)
            if name == "without":
                patch.setattr(merge, "open_copied_groups", nothing)
            table = table_of(folder / name)
            for ts, (operation, keys) in enumerate(steps, 2):
                beyond = 10 * COUNT + ts * 100 if operation == "insert" else 0
                commit = getattr(table, operation)(rows([key + beyond for key in keys], ts))
                counts = [
                    (one.num_writes, one.num_update_writes, one.num_inserts, one.num_deletes) for one in commit.stats
                ]
                found.append((content(table), counts))
            check(table)
    assert found[: len(steps)] == found[len(steps) :]
