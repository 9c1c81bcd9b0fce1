"""Tables with base files in Lance, which Hudi 1.2 writes on Spark, are read."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs

import hudiformat as hf
from hudiformat import CorruptTableError, OptionError, UnsupportedFeatureError
from hudiformat.file_group.base_file.format import format_of
from hudiformat.file_group.base_file.read import read_base_file, read_file_keys
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.opening import open_storage
from tests.foreign.foreign_tables import names, unpack
from tests.foreign.make_lance import COLUMNS
from tests.rows import assert_same_rows
from tests.tables import tree

TABLES = names("lance-")


def newest(table: Path) -> Path:
    return max(table.glob("x/*.lance"), key=lambda path: path.name.rpartition("_")[2])


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_those_that_hudi_shows(name: str, tmp_path: Path) -> None:
    foreign = unpack(name, tmp_path)
    table, rows = hf.open_table(foreign.path), foreign.rows("snapshot")
    assert_same_rows(table.snapshot(columns=COLUMNS), rows.select(COLUMNS), key=("k",))
    found = table.snapshot(columns=["k", "amount"], filter="i >= 104")
    chosen = rows.filter(pa.compute.greater_equal(rows["i"], 104)).select(["k", "amount"])
    assert_same_rows(found, chosen, key=("k",))
    assert table.count() == rows.num_rows == 8
    assert table.verify() == []


def test_a_file_of_another_storage_is_read_from_a_copy(tmp_path: Path) -> None:
    foreign = unpack("lance-mor9-h120", tmp_path)
    other = open_storage(str(foreign.path), filesystem=fs.LocalFileSystem())
    assert not isinstance(other, LocalStorage)
    rows = hf.open_table(other).snapshot(columns=COLUMNS)
    assert_same_rows(rows, foreign.rows("snapshot").select(COLUMNS), key=("k",))


def test_nothing_is_written_and_no_such_table_is_made(tmp_path: Path) -> None:
    foreign = unpack("lance-cow9-h120", tmp_path)
    table = hf.open_table(foreign.path)
    before = tree(foreign.path)
    with pytest.raises(UnsupportedFeatureError, match="found base files of format LANCE"):
        table.upsert(table.snapshot())
    assert tree(foreign.path) == before
    options = {"hoodie.table.base.file.format": "LANCE"}
    with pytest.raises((UnsupportedFeatureError, OptionError), match="expected one of PARQUET, ORC, found LANCE"):
        hf.create_table(tmp_path / "t", name="t", schema=table.schema, record_key="k", options=options)


def test_a_file_is_read_batch_by_batch(tmp_path: Path) -> None:
    path = newest(unpack("lance-cow9-h120", tmp_path).path)
    storage = open_storage(str(path.parent))
    with format_of(path.name).open(storage, path.name) as file:
        assert file.group_rows == [4]
        assert [batch.num_rows for batch in file.batches(["k", "s"], batch_rows=3)] == [3, 1]
        assert [batch.num_rows for batch in file.batches([], batch_rows=3)] == [3, 1]
        assert list(file.batches(["k"], groups=[], batch_rows=3)) == []
        assert (file.size, file.column_sizes) == (path.stat().st_size, {})
        assert file.groups_that_match(None) is None  # type: ignore[arg-type]
        assert file.statistics(file.schema, ["i"]) == ({}, ("i",))
    keys = read_file_keys(storage, path.name)
    assert keys.key_range == ("k00", "k06")
    assert keys.might_contain(pa.array(["k00"]))


def test_damage_is_named(tmp_path: Path) -> None:
    path = newest(unpack("lance-cow9-h120", tmp_path).path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(CorruptTableError, match=f"{path.name}: not a readable base file"):
        read_base_file(open_storage(str(path.parent)), path.name, pa.schema([("k", pa.string())]))


def test_without_pylance_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = hf.open_table(unpack("lance-cow9-h120", tmp_path).path)
    monkeypatch.setitem(sys.modules, "lance", None)
    with pytest.raises(UnsupportedFeatureError, match=r"expected pylance.*pip install 'hudiformat\[lance\]'"):
        table.snapshot()
