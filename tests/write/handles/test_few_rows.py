"""New files of few rows are encoded together, and have the rows and footers that they would have one by one."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hudiformat as hf
from hudiformat.file_group.base_file.parquet_writer import encode_few_rows
from hudiformat.storage.local import LocalOutputFile
from hudiformat.write.handles import base_files
from tests.effort import examples
from tests.tables import Clock, base_files_of, data_files

SCHEMA = pa.schema(
    [("k", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("x", pa.float64()), ("t", pa.string())]
)


@pytest.fixture(autouse=True)
def together(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The numbers of rows of the files that are encoded together from now on."""
    found: list[list[int]] = []

    def noting(new: Any, rows: Any, counts: list[int], keys: Any) -> Any:
        found.append(counts)
        return encode_few_rows(new, rows, counts, keys)

    monkeypatch.setattr(base_files, "encode_few_rows", noting)
    monkeypatch.setattr(base_files, "_LEAST_FILES", 8)
    return found


def rows(counts: Sequence[int], **columns: Any) -> pa.Table:
    """So many rows in each of as many partitions."""
    places = [place for place, count in enumerate(counts) for _ in range(count)]
    keys = [f"k{number:04}" for number in range(len(places))]
    made = {"k": keys, "ts": [1] * len(keys), "p": [f"p{place:02}" for place in places], "x": [1.5] * len(keys)}
    made |= {"t": [f"text {place}" for place in places]} | columns
    return pa.table(made, schema=SCHEMA) if not columns.keys() - {*SCHEMA.names} else pa.table(made)


def table_of(path: Path, schema: pa.Schema = SCHEMA, options: dict[str, str] | None = None) -> hf.Table:
    options = {"hudiformat.sync": "false"} | (options or {})
    hf.create_table(
        path,
        name="t",
        schema=schema,
        record_key=["k"],
        ordering=["ts"],
        partition_by=["p"],
        table_type="COPY_ON_WRITE",
        options=options,
    )
    kept = {key: value for key, value in options.items() if "hoodie.table." not in key and "populate" not in key}
    return hf.open_table(path, options=kept, clock=Clock())


@given(
    counts=st.lists(st.integers(1, 60), min_size=1, max_size=12),
    nulls=st.integers(1, 5),
    length=st.sampled_from([0, 10, 300]),
)
@settings(deadline=None, max_examples=examples(15))
def test_they_have_the_rows_and_footers_of_files_that_are_written_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, counts: list[int], nulls: int, length: int
) -> None:
    folder = tmp_path_factory.mktemp("few")
    total = sum(counts)
    some = [None if number % nulls == 0 else "x" * length for number in range(total)]
    given = rows(counts, x=[None if number % nulls else float(number) for number in range(total)], t=some)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for name, least in (("together", 1), ("apart", 1000)):
            patch.setattr(base_files, "_LEAST_FILES", least)
            table = table_of(folder / name)
            stats = table.insert(given).stats
            found.append((base_files_of(folder / name), [(one.path, one.num_writes, one.num_inserts) for one in stats]))
            assert not table.verify()
    assert found[0] == found[1]


def test_files_of_few_rows_are_encoded_beside_those_of_many(tmp_path: Path, together: list[list[int]]) -> None:
    table = table_of(tmp_path)
    table.insert(rows([3, 90, *[2] * 7]))
    assert together == [[3, *[2] * 7]]
    kinds = [pq.read_metadata(tmp_path / name).created_by.startswith("hudiformat") for name in data_files(tmp_path)]
    assert kinds == [True, False, *[True] * 7]
    assert table.count() == 107


def test_a_long_text_among_many_short_ones_is_compressed(tmp_path: Path, together: list[list[int]]) -> None:
    table_of(tmp_path).insert(rows([1] * 40, t=["x" * 100_000, *["y"] * 39]))
    assert together == [[1] * 39]
    assert sum((tmp_path / name).stat().st_size > 50_000 for name in data_files(tmp_path)) == 0


def test_few_files_are_left_to_arrow(tmp_path: Path, together: list[list[int]]) -> None:
    table_of(tmp_path).insert(rows([2] * 7))
    assert together == []


@pytest.mark.parametrize(
    "options",
    [
        {"hoodie.table.cdc.enabled": "true"},
        {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"},
        {"hoodie.populate.meta.fields": "false"},
        {"hoodie.table.base.file.format": "ORC"},
    ],
    ids=["change data", "indexes of the rows", "no meta fields", "another format"],
)
def test_files_whose_rows_are_needed_one_by_one_are_left_to_arrow(
    tmp_path: Path, together: list[list[int]], options: dict[str, str]
) -> None:
    table = table_of(tmp_path, options=options)
    table.insert(rows([2] * 10))
    assert together == []
    assert table.count() == 20


@pytest.mark.parametrize(
    "column", [[math.nan] * 20, [[1]] * 20, pa.array([[1.0, 2.0]] * 20, pa.list_(pa.float32(), 2))], ids=str
)
def test_rare_columns_are_left_to_arrow(tmp_path: Path, together: list[list[int]], column: Any) -> None:
    given = rows([2] * 10, y=column)
    table = table_of(tmp_path, given.schema)
    table.insert(given)
    assert together == [[2] * 10]
    kinds = {pq.read_metadata(tmp_path / name).created_by.partition(" ")[0] for name in data_files(tmp_path)}
    assert kinds == {"parquet-cpp-arrow"}
    assert table.snapshot(columns=["y"]).num_rows == 20


def test_a_full_disk_ends_the_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(tmp_path)
    write = LocalOutputFile.write

    def fail(self: LocalOutputFile, *parts: bytes | memoryview) -> None:
        if bytes(parts[0][:4]) == b"PAR1":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(self, *parts)

    with monkeypatch.context() as patch:
        patch.setattr(LocalOutputFile, "write", fail)
        with pytest.raises(OSError, match="No space"):
            table.insert(rows([2] * 10))
    table.insert(rows([1] * 8))  # rolls back what failed
    assert table.count() == 8
    assert len(data_files(tmp_path)) == 8
