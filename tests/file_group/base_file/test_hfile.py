"""Tables with base files in HFile, which Hudi writes on Spark and cannot read there, are read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat import CorruptTableError, OptionError, Table, UnsupportedFeatureError
from hudiformat.codec.avro.encode import encode_datums
from hudiformat.codec.avro.schema import arrow_to_avro
from hudiformat.codec.hfile.writer import encode_hfile
from hudiformat.file_group.base_file.format import format_of
from hudiformat.file_group.base_file.read import read_base_file, read_file_keys
from hudiformat.storage.opening import open_storage
from tests.foreign.foreign_tables import names, unpack
from tests.foreign.make_hfile import expected
from tests.foreign.make_orc import SCHEMA
from tests.tables import tree

TABLES = names("hfile-")
NAME = "f-0_0-0-0_20240101000000000.hfile"
ROWS = pa.schema([("key", pa.string()), ("v", pa.int64())])


def read(table: Table, **chosen: object) -> list[dict[str, object]]:
    found: list[dict[str, object]] = table.snapshot(**chosen).sort_by("k").to_pylist()  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_those_that_hudi_was_given(name: str, tmp_path: Path) -> None:
    foreign = unpack(name, tmp_path)
    assert "HFILE" in str(foreign.answers["snapshot"])  # Hudi refuses to read it
    table = hf.open_table(foreign.path)
    assert read(table, columns=SCHEMA.names) == expected(name)
    assert read(table, columns=["k", "amount"], filter="i >= 104") == [
        {"k": row["k"], "amount": row["amount"]}
        for row in expected(name)
        if (row["i"] or 0) >= 104  # type: ignore[operator]
    ]
    assert table.count() == len(expected(name))
    assert table.verify() == []


@pytest.mark.parametrize("name", TABLES)
def test_nothing_is_written_to_such_a_table(name: str, tmp_path: Path) -> None:
    foreign = unpack(name, tmp_path)
    table = hf.open_table(foreign.path)
    before = tree(foreign.path)
    with pytest.raises(UnsupportedFeatureError, match="found base files of format HFILE"):
        table.upsert(table.snapshot())
    assert tree(foreign.path) == before


def test_no_such_table_is_made(tmp_path: Path) -> None:
    options = {"hoodie.table.base.file.format": "HFILE"}
    with pytest.raises((UnsupportedFeatureError, OptionError), match="expected one of PARQUET, ORC, found HFILE"):
        hf.create_table(tmp_path / "t", name="t", schema=ROWS, record_key="key", options=options)


def write(folder: Path, keys: list[str], *, schema: bool = True) -> None:
    avro = arrow_to_avro(ROWS, name="t", namespace="hoodie")
    batch = pa.record_batch({"key": keys, "v": range(len(keys))}, schema=ROWS)
    info = {"schema": avro.encode()} if schema else {}
    entries = pa.array([f"{number:05d}".encode() for number in range(len(keys))], pa.binary())
    folder.joinpath(NAME).write_bytes(encode_hfile(entries, encode_datums(batch, avro), file_info=info))


def test_a_file_is_read_batch_by_batch(tmp_path: Path) -> None:
    write(tmp_path, [f"k{number}" for number in range(5000)])
    storage = open_storage(str(tmp_path))
    with format_of(NAME).open(storage, NAME) as file:
        batches = list(file.batches(["v"], batch_rows=1000))
        assert max(batch.num_rows for batch in batches) <= 1000
        assert [value for batch in batches for value in batch["v"].to_pylist()] == list(range(5000))
        assert sum(batch.num_rows for batch in file.batches([], batch_rows=4096)) == 5000
        assert list(file.batches(["v"], groups=[], batch_rows=1000)) == []
        assert file.group_rows == [5000]
        assert file.column_sizes == {}
        assert file.groups_that_match(None) is None  # type: ignore[arg-type]
        assert file.statistics(ROWS, ["v"]) == ({}, ("v",))
        assert file.size == tmp_path.joinpath(NAME).stat().st_size


def test_texts_that_hudi_has_left_out_are_not_shown(tmp_path: Path) -> None:
    write(tmp_path, ["a", "", "b"])
    storage = open_storage(str(tmp_path))
    assert read_base_file(storage, NAME, ROWS, columns=["v"])["v"].to_pylist() == [0, 1, 2]
    with pytest.raises(UnsupportedFeatureError, match="expected the values of the column key, found empty texts"):
        read_base_file(storage, NAME, ROWS)


def test_the_footer_tells_the_range_of_the_keys_and_their_filter(tmp_path: Path) -> None:
    table = unpack("hfile-cow9-h120", tmp_path).path
    path = max(table.glob("x/*.hfile"), key=lambda one: one.name.rpartition("_")[2])
    keys = read_file_keys(open_storage(str(path.parent)), path.name)
    assert keys.key_range == ("k00", "k06")
    assert keys.might_contain(pa.array(["k00"]))
    assert not keys.might_contain(pa.array(["unknown"]))


@pytest.mark.parametrize("damage", ["cut", "no schema", "no records", "other"])
def test_damage_is_named(damage: str, tmp_path: Path) -> None:
    write(tmp_path, ["a", "b"], schema=damage != "no schema")
    path = tmp_path / NAME
    content = path.read_bytes()
    if damage == "cut":
        path.write_bytes(content[:-10])
    elif damage == "other":
        path.write_bytes(b"PAR1" * 100)
    elif damage == "no records":
        avro = arrow_to_avro(ROWS, name="t", namespace="hoodie").encode()
        entry = pa.array([b"a"], pa.binary())
        path.write_bytes(encode_hfile(entry, pa.array([b"\xff\xff"], pa.binary()), file_info={"schema": avro}))
    with pytest.raises(CorruptTableError, match=f"{NAME}: not a readable base file"):
        read_base_file(open_storage(str(tmp_path)), NAME, ROWS)
