"""Base files made of whole others without decoding their rows."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hudiformat.codec.parquet.source import ParquetSource
from hudiformat.codec.statistics import column_statistics
from hudiformat.errors import CorruptTableError
from hudiformat.file_group.base_file.copying import CopiedBaseFile, can_be_copied, can_be_mixed
from hudiformat.file_group.base_file.parquet_writer import ParquetBaseFileWriter
from hudiformat.file_group.base_file.read import read_file_keys
from hudiformat.file_group.base_file.row_groups import NewFile
from hudiformat.schema.meta_fields import FILE_NAME, META_FIELDS, RECORD_KEY
from hudiformat.storage.local import LocalStorage

SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in META_FIELDS),
        pa.field("d", pa.float64()),
        pa.field("s", pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.float32())])),
    ]
)
COLUMNS = (RECORD_KEY, "d", "s.x", "s.y")
PATHS = [*META_FIELDS, "d", "s.x", "s.y"]
AVRO = '{"type":"record","name":"r","fields":[]}'


def rows(start: int, stop: int, name: str) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                **dict.fromkeys(META_FIELDS, "m"),
                RECORD_KEY: f"k{number:03d}",
                FILE_NAME: name,
                "d": math.nan if number == 7 else float(number),
                "s": {"x": number % 5, "y": None},
            }
            for number in range(start, stop)
        ],
        schema=SCHEMA,
    )


def written(storage: LocalStorage, name: str, found: pa.Table, compression: str = "gzip") -> str:
    with storage.open_new(name) as file:
        writer = ParquetBaseFileWriter(file, NewFile(schema=found.schema, avro_schema=AVRO, compression=compression))
        writer.write(found)
        writer.close()
    return name


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(tmp_path)


def test_a_copy_has_the_rows_the_keys_and_the_statistics_of_all(storage: LocalStorage, tmp_path: Path) -> None:
    parts = [rows(0, 10, "a"), rows(10, 12, "b"), rows(12, 30, "c")]
    names = [written(storage, f"{number}.parquet", part) for number, part in enumerate(parts)]
    assert can_be_copied(storage, names, SCHEMA, compression="GZIP", least_group=1)
    with storage.open_new("new") as file:
        copied = CopiedBaseFile(file, "new", schema=SCHEMA, columns=COLUMNS)
        for name in names:
            copied.add(storage, name)
        size = copied.close(AVRO, bloom_filter=True)
    found, expected = pq.read_table(tmp_path / "new"), rows(0, 30, "new")
    assert str(found.to_pylist()) == str(expected.to_pylist())  # NaN is not itself
    assert size == (tmp_path / "new").stat().st_size
    assert copied.rows == 30
    written(storage, "whole", expected)
    assert read_file_keys(storage, "new") == read_file_keys(storage, "whole")
    assert (pq.read_metadata(tmp_path / "new").metadata or {})[b"parquet.avro.schema"] == AVRO.encode()
    assert copied.keys.to_pylist() == expected[RECORD_KEY].to_pylist()
    for name in COLUMNS:
        values = pc.struct_field(expected["s"], name[2:]) if "." in name else expected[name]
        wanted, known = column_statistics(values), copied.columns[name]
        assert (known.values, known.nulls, known.kind) == (wanted.values, wanted.nulls, wanted.kind)
        assert str((known.lower, known.upper)) == str((wanted.lower, wanted.upper)), name
        assert known.size > 0


@pytest.mark.parametrize("others", ["columns", "codec", "required"])
def test_files_that_are_not_alike_are_not_copied(storage: LocalStorage, others: str) -> None:
    first, part = written(storage, "a.parquet", rows(0, 5, "a")), rows(5, 9, "b")
    if others == "columns":
        part = part.drop_columns(["d"])
    if others == "required":
        part = part.cast(SCHEMA.set(5, SCHEMA.field(5).with_nullable(False)))
    second = written(storage, "b.parquet", part, "zstd" if others == "codec" else "gzip")
    assert can_be_copied(storage, [first], SCHEMA, compression="gzip", least_group=1)
    assert not can_be_copied(storage, [first, second], SCHEMA, compression="gzip", least_group=1)


@pytest.mark.parametrize(
    ("codecs", "compression", "alike"),
    [
        ({"d": "none"}, "gzip", True),  # a column that gzip makes hardly smaller
        (dict.fromkeys(PATHS, "none"), "gzip", False),  # nobody asked for gzip then; a copy would stay as it is
        (dict.fromkeys(PATHS, "none"), "none", True),
        ({"d": "none"}, "none", False),
        ({"d": "snappy"}, "gzip", False),
        ({}, "gzip", True),
        ({}, "zstd", False),
    ],
)
def test_columns_without_a_codec_are_in_files_of_any(
    storage: LocalStorage, tmp_path: Path, codecs: dict[str, str], compression: str, alike: bool
) -> None:
    name = written(storage, "a.parquet", rows(0, 5, "a"))
    again = pq.read_table(tmp_path / name)
    codecs = dict.fromkeys(PATHS, "gzip") | codecs
    pq.write_table(again.cast(SCHEMA), tmp_path / name, compression=codecs, store_schema=False)
    assert can_be_copied(storage, [name], SCHEMA, compression=compression, least_group=1) == alike
    source = ParquetSource.open(pa.BufferReader((tmp_path / name).read_bytes()), name)
    assert can_be_mixed(source, SCHEMA, compression=compression) == alike


def test_small_row_groups_are_not_worth_it(storage: LocalStorage) -> None:
    name = written(storage, "a.parquet", rows(0, 5, "a"))
    assert not can_be_copied(storage, [name], SCHEMA, compression="gzip")


def test_files_of_other_writers_may_be_refused(storage: LocalStorage, tmp_path: Path) -> None:
    name = written(storage, "a.parquet", rows(0, 5, "a"))
    file = tmp_path / name
    writer = f"parquet-cpp-arrow version {pa.__version__}".encode()
    content = file.read_bytes()
    assert content.count(writer) == 1
    file.write_bytes(content.replace(writer, b"parquet-cpp version 1.2.0".ljust(len(writer))))
    assert not can_be_copied(storage, [name], SCHEMA, compression="gzip", least_group=1)


def test_a_damaged_file_is_named(storage: LocalStorage, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"no Parquet file at all")
    with pytest.raises(CorruptTableError, match="a.parquet"):
        can_be_copied(storage, ["a.parquet"], SCHEMA, compression="gzip", least_group=1)
    with pytest.raises(CorruptTableError, match="a.parquet"), storage.open_new("new") as file:
        CopiedBaseFile(file, "new", schema=SCHEMA).add(storage, "a.parquet")
