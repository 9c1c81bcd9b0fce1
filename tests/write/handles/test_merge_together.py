"""Several small base files are merged together, and are the files that they would be one by one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hudiformat as hf
from hudiformat.file_group.base_file import read
from hudiformat.write.handles import merge, merge_together
from hudiformat.write.handles.merge import MergeHandle
from tests.effort import examples
from tests.tables import Clock, base_files_of, data_files

SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("ts", pa.int64()),
        ("p", pa.string()),
        ("x", pa.float64()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
)
PATHS = 4


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files are merged at a time, from now on."""
    found: list[int] = []
    merged = merge_together._merge

    def noting(files: Sequence[Any]) -> Any:
        found.append(len(files))
        return merged(files)

    monkeypatch.setattr(merge_together, "_merge", noting)
    monkeypatch.setattr(merge, "_SMALL_FILE", 1 << 18)
    return found


def rows(keys: Sequence[int], ts: int, *, deleted: Sequence[int] = ()) -> pa.Table:
    """Rows of the keys, which are spread over the partitions; those of *deleted* say that they are."""
    return pa.table(
        [
            [f"k{key:03}" for key in keys],
            [ts] * len(keys),
            [f"p{key % PATHS}" for key in keys],
            [None if key % 5 == 0 else key / 4 for key in keys],
            [key in deleted for key in keys],
        ],
        schema=SCHEMA,
    )


def create(path: Path, options: dict[str, str]) -> None:
    hf.create_table(
        path,
        name="t",
        schema=SCHEMA,
        record_key=["k"],
        ordering=["ts"],
        partition_by=["p"],
        table_type="COPY_ON_WRITE",
        options=options,
    )


def table_of(path: Path) -> hf.Table:
    options = {"hudiformat.sync": "false"}
    create(path, options)
    table = hf.open_table(path, options=options, clock=Clock())
    table.insert(rows(range(40), 5))
    return table


def test_each_file_gets_its_own_changes(tmp_path: Path, together: list[int]) -> None:
    table = table_of(tmp_path)
    # p0 has an update, a late row and a new row; p1 a delete; p2 nothing but a new row; p3 is left alone.
    changed = pa.concat_tables([rows([0, 100, 5, 102], 6, deleted=[5]), rows([4], 4)])
    commit = table.upsert(changed)
    assert together == [3]
    counts = {
        one.partition_path: (one.num_writes, one.num_update_writes, one.num_inserts, one.num_deletes)
        for one in commit.stats
    }
    assert counts == {"p0": (11, 1, 1, 0), "p1": (9, 0, 0, 1), "p2": (11, 0, 1, 0)}
    found = {one["k"]: (one["ts"], one["p"], one["x"]) for one in table.snapshot().to_pylist()}
    assert len(found) == 41
    assert (found["k000"], found["k004"], found["k100"]) == ((6, "p0", None), (5, "p0", 1.0), (6, "p0", None))
    assert "k005" not in found
    names = table.snapshot(columns=["_hoodie_partition_path", "_hoodie_file_name", "_hoodie_commit_seqno"])
    files = {one.partition_path: Path(one.path or "").name for one in commit.stats}
    for one in names.to_pylist():
        assert one["_hoodie_file_name"] == files.get(one["_hoodie_partition_path"], one["_hoodie_file_name"])
    assert len(names["_hoodie_commit_seqno"].unique()) == 41
    assert not table.verify()


def test_files_are_merged_as_far_as_memory_goes(
    tmp_path: Path, together: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_together, "_MOST_BYTES", 2_000)
    table = table_of(tmp_path)
    table.upsert(rows(range(8), 6))
    assert together == [3, 1]
    assert sorted(table.snapshot(columns=["ts"])["ts"].to_pylist()) == [5] * 32 + [6] * 8


def test_a_file_of_very_many_rows_is_merged_alone(
    tmp_path: Path, together: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = table_of(tmp_path)
    table.insert(rows([61], 5))
    monkeypatch.setattr(read, "_MERGED_ROWS", 10)  # p1 has eleven
    commit = table.upsert(rows(range(8), 6))
    assert together == [1, 1, 2]
    assert [one.partition_path for one in commit.stats] == ["p0", "p1", "p2", "p3"]
    assert sorted(table.snapshot(columns=["ts"])["ts"].to_pylist()) == [5] * 33 + [6] * 8
    assert not table.verify()


def test_a_file_without_rows_takes_new_ones(tmp_path: Path, together: list[int]) -> None:
    table = table_of(tmp_path)
    table.delete(rows(range(40), 6))
    assert table.count() == 0
    table.insert(rows([3, 7, 2], 7))
    assert together[0] == PATHS
    assert sorted(table.snapshot(columns=["k"])["k"].to_pylist()) == ["k002", "k003", "k007"]
    assert not table.verify()


@pytest.mark.parametrize(
    "options",
    [
        {"hoodie.table.cdc.enabled": "true"},
        {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"},
        {"hoodie.populate.meta.fields": "false"},
        {"hoodie.table.base.file.format": "ORC"},
        {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"},
    ],
    ids=["change data", "indexes of the rows", "no meta fields", "another format", "keys that are not looked up"],
)
def test_files_whose_rows_are_needed_one_by_one_are_merged_alone(
    tmp_path: Path, together: list[int], options: dict[str, str]
) -> None:
    made = {key: value for key, value in options.items() if "index.type" not in key or "bucket" not in key}
    create(tmp_path, made)
    table = hf.open_table(
        tmp_path, options={key: value for key, value in options.items() if "table" not in key and "populate" not in key}
    )
    table.insert(rows(range(40), 5))
    table.upsert(rows(range(8), 6))
    assert together == []
    assert sorted(table.snapshot(columns=["ts"])["ts"].to_pylist()) == [5] * 32 + [6] * 8


def test_a_large_file_is_merged_alone(tmp_path: Path, together: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(tmp_path)
    sizes = [(tmp_path / name).stat().st_size for name in data_files(tmp_path)]
    monkeypatch.setattr(merge, "_SMALL_FILE", min(sizes) - 1)
    table.upsert(rows(range(8), 6))
    assert together == []


def test_a_damaged_file_among_several_fails_the_write_by_its_name(tmp_path: Path, together: list[int]) -> None:
    table = table_of(tmp_path)
    damaged = next(name for name in data_files(tmp_path) if name.startswith("p2/"))
    whole = (tmp_path / damaged).read_bytes()
    whole_read = MergeHandle.read

    def damaging(handle: MergeHandle) -> Any:
        (tmp_path / damaged).write_bytes(whole[: len(whole) // 2])
        return whole_read(handle)

    before = data_files(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MergeHandle, "read", damaging)
        with pytest.raises(hf.CorruptTableError, match="p2/.*not a readable base file"):
            table.upsert(rows(range(8), 6))
    assert together == []
    (tmp_path / damaged).write_bytes(whole)
    assert data_files(tmp_path) == before
    assert table.count() == 40


_KEYS = st.lists(st.integers(0, 60), min_size=1, max_size=12)
_STEPS = st.lists(
    st.tuples(st.sampled_from(["upsert", "delete", "insert"]), _KEYS, _KEYS, st.integers(4, 7)), min_size=1, max_size=4
)


@settings(max_examples=examples(150), deadline=None)
@given(steps=_STEPS, most_bytes=st.sampled_from([1, 2_000, 1 << 20]))
def test_files_that_are_merged_together_are_those_that_are_merged_one_by_one(
    steps: list[tuple[str, list[int], list[int], int]], most_bytes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("together")
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge_together, "_MOST_BYTES", most_bytes)
        for name, small in (("together", 1 << 20), ("apart", 0)):
            patch.setattr(merge, "_SMALL_FILE", small)
            table = table_of(folder / name)
            stats = []
            for operation, keys, deleted, ts in steps:
                commit = getattr(table, operation)(rows(keys, ts, deleted=deleted if operation == "upsert" else ()))
                stats.append(
                    [
                        (one.path, one.num_writes, one.num_update_writes, one.num_inserts, one.num_deletes)
                        for one in commit.stats
                    ]
                )
            found.append((base_files_of(folder / name), stats))
            assert not table.verify()
    assert found[0] == found[1]
