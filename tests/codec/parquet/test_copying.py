"""Row groups are copied byte for byte, and the file that has them is read by others."""

from __future__ import annotations

import io
from typing import Any, cast

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.codec.parquet.copying import RowGroupCopier, copy_row_groups
from hudiformat.codec.parquet.source import ColumnField, ParquetSource, number_field, struct_list_field
from hudiformat.codec.parquet.thrift import Field, Items, Kind, decode_struct, encode_struct
from hudiformat.errors import DataError, DecodeError, SchemaError, UnsupportedFeatureError
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import Storage
from tests.effort import examples
from tests.memory_files import memory_files

STRUCT = pa.struct([("a", pa.float64()), ("b", pa.string())])


def table(rows: int, start: int = 0) -> pa.Table:
    ids = range(start, start + rows)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "text": pa.array([f"text {i % 97}" for i in ids], pa.string()),
            "list": pa.array([[i, None] if i % 3 else None for i in ids], pa.list_(pa.int64())),
            "struct": pa.array([{"a": i / 2, "b": None if i % 2 else "x"} for i in ids], STRUCT),
        }
    )


def put(storage: Storage, path: str, rows: pa.Table, **more: Any) -> str:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, **{"row_group_size": 700, "write_page_index": True, "data_page_size": 500, **more})
    storage.create(path, sink.getvalue().to_pybytes())
    return path


def opened(storage: Storage, path: str) -> ParquetSource:
    return ParquetSource.open(pa.BufferReader(storage.read(path)), path)


def parquet_file(storage: Storage, path: str) -> pq.ParquetFile:
    return pq.ParquetFile(io.BytesIO(storage.read(path)))


def pages(storage: Storage, path: str) -> list[bytes]:
    """The bytes of each chunk."""
    data, metadata, found = storage.read(path), parquet_file(storage, path).metadata, []
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(column)
            start = min(filter(None, (chunk.dictionary_page_offset, chunk.data_page_offset)))
            found.append(data[start : start + chunk.total_compressed_size])
    return found


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_all_pages_are_those_of_the_sources(compression: str) -> None:
    storage = memory_files()
    sources = [put(storage, f"{i}.parquet", table(1000, 1000 * i), compression=compression) for i in range(3)]
    size = copy_row_groups(storage, sources, "all.parquet")
    assert size == len(storage.read("all.parquet"))
    assert pages(storage, "all.parquet") == [page for path in sources for page in pages(storage, path)]
    found = parquet_file(storage, "all.parquet")
    assert found.read().equals(table(3000))
    assert found.metadata.num_rows == 3000
    assert [found.metadata.row_group(i).num_rows for i in range(found.metadata.num_row_groups)] == [700, 300] * 3


def test_other_readers_read_it(tmp_path: Any) -> None:
    storage = LocalStorage(tmp_path)
    sources = [put(storage, f"{i}.parquet", table(1000, 1000 * i)) for i in range(2)]
    copy_row_groups(storage, sources, "all.parquet")
    place = str(tmp_path / "all.parquet")
    assert pl.scan_parquet(place).filter(pl.col("id") == 1234).collect()["text"].to_list() == ["text 70"]
    assert duckdb.sql(f"SELECT sum(id), count(list) FROM '{place}' WHERE id >= 1500").fetchall() == [(874750, 333)]


def test_indexes_say_where_the_pages_are() -> None:
    storage = memory_files()
    sources = [put(storage, f"{i}.parquet", table(1000, 1000 * i)) for i in range(2)]
    copy_row_groups(storage, sources, "all.parquet")
    data, source = storage.read("all.parquet"), opened(storage, "all.parquet")
    ordinals = [number_field(group, 7) for group in source.groups]
    assert ordinals == [0, 1, 2, 3]
    for group in source.groups:
        assert number_field(group, 5) == source.chunk_range(struct_list_field(group, 1)[0])[0]
        for chunk in struct_list_field(group, 1):
            start, stop = source.chunk_range(chunk)
            places = struct_list_field(decode_struct(data, number_field(chunk, 4))[0], 1)
            assert places
            for page in places:
                assert start <= number_field(page, 1) < number_field(page, 1) + number_field(page, 2) <= stop
                header, _ = decode_struct(data, number_field(page, 1))
                assert number_field(header, 1) in (0, 3)  # a data page
            assert decode_struct(data, number_field(chunk, 6))[1] == number_field(chunk, 6) + number_field(chunk, 7)


@settings(max_examples=examples(25), deadline=None)
@given(
    parts=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 25)), min_size=1, max_size=5),
    more=st.sampled_from([{}, {"write_page_index": False}, {"use_dictionary": False}, {"data_page_version": "2.0"}]),
)
def test_any_files_are_copied(parts: list[tuple[int, int]], more: dict[str, Any]) -> None:
    storage, start = memory_files(), 0
    sources: list[str] = []
    for rows, group in parts:
        sources.append(put(storage, f"{len(sources)}", table(rows, start), row_group_size=group, **more))
        start += rows
    copy_row_groups(storage, sources, "all")
    found = parquet_file(storage, "all")
    assert found.read().to_pydict() == table(start).to_pydict()
    assert found.metadata.num_row_groups == sum(-(-rows // group) for rows, group in parts)


def test_some_row_groups_in_another_order_with_other_texts_in_the_footer() -> None:
    storage = memory_files()
    put(storage, "a", table(2000))
    with storage.open_new("b") as file:
        copier = RowGroupCopier(file)
        copier.append(opened(storage, "a"), [2, 0])
        assert copier.rows == 1300
        copier.close({b"key": b"value"})
    found = parquet_file(storage, "b")
    assert found.metadata.metadata == {b"key": b"value"}
    assert found.read()["id"].to_pylist() == [*range(1400, 2000), *range(700)]


@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_a_column_gets_one_value(compression: str, *, nullable: bool) -> None:
    storage = memory_files()
    rows = table(1000)
    schema = pa.schema([pa.field("inside", pa.struct([("text", pa.int8())])), *rows.schema])
    schema = schema.set(2, pa.field("text", pa.string(), nullable=nullable))
    rows = pa.Table.from_arrays([pa.nulls(1000, schema.field(0).type), *rows.columns], schema=schema)
    put(storage, "a", rows, compression=compression)
    with storage.open_new("b") as file:
        copier = RowGroupCopier(file)
        copier.append(opened(storage, "a"), constants={"text": "é"})
        copier.close()
    found = parquet_file(storage, "b")
    assert found.read().to_pydict() == {**rows.to_pydict(), "text": ["é"] * 1000}
    assert found.metadata.row_group(1).column(2).statistics.min == "é"
    assert found.read().schema.equals(schema)


@pytest.mark.parametrize("name", ["id", "struct", "struct.b", "missing"])
def test_only_columns_of_texts_get_one_value(name: str) -> None:
    storage = memory_files()
    put(storage, "a", table(10))
    with storage.open_new("b") as file, pytest.raises(SchemaError, match=r"expected .*columns? .* of texts"):
        RowGroupCopier(file).append(opened(storage, "a"), constants={name: "x"})


def with_footer(data: bytes, *changes: tuple[int, Field]) -> bytes:
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    changed = encode_struct(dict(sorted({**decode_struct(footer)[0], **dict(changes)}.items())))
    return data[: -8 - len(footer)] + changed + len(changed).to_bytes(4, "little") + b"PAR1"


def with_bloom(data: bytes, *, length: bool) -> bytes:
    """The file with a bloom filter of 32 bytes for the first column of its first row group."""
    header = {
        1: Field(Kind.I32, 32),
        **{field: Field(Kind.STRUCT, {1: Field(Kind.STRUCT, {})}) for field in (2, 3, 4)},
    }
    bloom = encode_struct(header) + bytes(range(32))
    size = 8 + int.from_bytes(data[-8:-4], "little")
    footer = decode_struct(data[-size:-8])[0]
    group = cast("Any", footer[4].value).values[0]
    column = group[1].value.values[0][3].value
    column[ColumnField.BLOOM] = Field(Kind.I64, len(data) - size)
    if length:
        column[ColumnField.BLOOM_LENGTH] = Field(Kind.I32, len(bloom))
    encoded = encode_struct(footer)
    return data[:-size] + bloom + encoded + len(encoded).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize("length", [True, False])
def test_bloom_filters_are_copied(*, length: bool) -> None:
    storage = memory_files()
    put(storage, "a", table(10))
    storage.create("b", with_bloom(storage.read("a"), length=length))
    copy_row_groups(storage, ["a", "b"], "c")
    source = opened(storage, "c")
    columns = [cast("Any", struct_list_field(group, 1)[0][3].value) for group in source.groups]
    assert ColumnField.BLOOM not in columns[0]
    place = number_field(columns[1], ColumnField.BLOOM)
    assert number_field(columns[1], ColumnField.BLOOM_LENGTH) == 32 + 15
    assert storage.read("c")[place + 15 : place + 47] == bytes(range(32))
    assert parquet_file(storage, "c").read().num_rows == 20


def test_the_name_of_the_writer_is_kept_only_if_it_is_that_of_all() -> None:
    storage = memory_files()
    put(storage, "a", table(10))
    storage.create("b", with_footer(storage.read("a"), (6, Field(Kind.BINARY, b"parquet-mr version 1.13.1 (build x)"))))
    copy_row_groups(storage, ["a", "b"], "c")
    assert parquet_file(storage, "c").metadata.created_by == "hudiformat version 1"
    assert parquet_file(storage, "c").read().num_rows == 20


@pytest.mark.parametrize(
    "other",
    [
        table(5).drop_columns(["list"]),
        table(5).rename_columns(["id", "name", "list", "struct"]),
        table(5).set_column(0, "id", pa.array(range(5), pa.int32())),
        table(5).set_column(1, "text", pa.array(["a"] * 5).dictionary_encode()),
        table(5).set_column(0, pa.field("id", pa.int64(), nullable=False), pa.array(range(5))),
    ],
)
def test_files_of_two_schemas_are_refused_and_nothing_is_left(other: pa.Table) -> None:
    storage = memory_files()
    sources = [put(storage, "a", table(5)), put(storage, "b", other)]
    with pytest.raises(SchemaError, match="b: expected the .* of a, found another one; decode the rows"):
        copy_row_groups(storage, sources, "c")
    assert not storage.exists("c")


def test_arrow_schemas_that_differ_in_bytes_only_are_the_same() -> None:
    storage = memory_files()
    put(storage, "a", table(5))
    with storage.open_input("a") as file:
        put(storage, "b", pq.ParquetFile(file).read())  # items of lists are called element now
    schemas = [opened(storage, path).metadata[b"ARROW:schema"] for path in ("a", "b")]
    assert schemas[0] != schemas[1]
    copy_row_groups(storage, ["a", "b"], "c")
    for index, damaged in enumerate([b"", b"AAAA", b"xyz"]):
        pair = {1: Field(Kind.BINARY, b"ARROW:schema"), 2: Field(Kind.BINARY, damaged)}
        changed = with_footer(storage.read("a"), (5, Field(Kind.LIST, Items(Kind.STRUCT, (pair,)))))
        storage.create(f"{index}", changed)
        with pytest.raises(SchemaError, match="expected the ARROW:schema of a"):
            copy_row_groups(storage, ["a", f"{index}"], "d")


def test_files_whose_dates_are_in_two_calendars_are_refused() -> None:
    storage = memory_files()
    put(storage, "a", table(5))
    pair = {1: Field(Kind.BINARY, b"org.apache.spark.legacyDateTime"), 2: Field(Kind.BINARY, b"")}
    changed = with_footer(storage.read("a"), (5, Field(Kind.LIST, Items(Kind.STRUCT, (pair,)))))
    storage.create("b", changed)
    with pytest.raises(SchemaError, match=r"expected the org\.apache\.spark\.legacyDateTime"):
        copy_row_groups(storage, ["a", "b"], "c")


def test_statistics_of_a_writer_that_is_not_trusted_are_not_mixed_with_others() -> None:
    storage = memory_files()
    put(storage, "a", table(5))
    old = Field(Kind.BINARY, b"parquet-mr version 1.6.0 (build x)")
    storage.create("b", with_footer(storage.read("a"), (6, old)))
    copy_row_groups(storage, ["b", "b"], "c")
    assert parquet_file(storage, "c").metadata.created_by == "parquet-mr version 1.6.0 (build x)"
    with pytest.raises(SchemaError, match="expected the writer of a, whose statistics differ"):
        copy_row_groups(storage, ["a", "b"], "d")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ((8, Field(Kind.STRUCT, {})), "it is encrypted"),
        ((6, Field(Kind.BINARY, b"parquet-cpp version 1.2.1-SNAPSHOT")), "sizes of chunks .* are too small"),
        *[
            ((4, Field(Kind.LIST, Items(Kind.STRUCT, ({1: Field(Kind.LIST, Items(Kind.STRUCT, (chunk,)))},)))), reason)
            for chunk, reason in [
                ({1: Field(Kind.BINARY, b"x")}, "its columns are in the file b'x'"),
                ({8: Field(Kind.STRUCT, {})}, "a column is encrypted"),
            ]
        ],
    ],
)
def test_files_that_cannot_be_copied_are_refused_by_name(change: tuple[int, Field], reason: str) -> None:
    storage = memory_files()
    put(storage, "a", table(5))
    storage.create("b", with_footer(storage.read("a"), change))
    with pytest.raises(
        UnsupportedFeatureError, match=f"b: expected row groups that can be copied undecoded, found that {reason}"
    ):
        copy_row_groups(storage, ["b"], "c")


def test_an_encrypted_footer_is_refused_by_name() -> None:
    storage = memory_files()
    storage.create("a", b"PARE1234\0\0\0\0PARE")
    with pytest.raises(UnsupportedFeatureError, match="its footer is encrypted"):
        copy_row_groups(storage, ["a"], "b")


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1\xff\xff\xff\x7fPAR1", b"no parquet file"])
def test_a_file_that_is_no_parquet_file_is_refused(data: bytes) -> None:
    storage = memory_files()
    storage.create("a", data)
    with pytest.raises(DecodeError, match="a: expected a Parquet file"):
        copy_row_groups(storage, ["a"], "b")


@pytest.mark.parametrize("field", [ColumnField.DATA, ColumnField.COMPRESSED])
def test_pages_beyond_the_file_are_an_error(field: int) -> None:
    storage = memory_files()
    put(storage, "a", table(5), use_dictionary=False)
    footer = opened(storage, "a").footer
    cast("Any", struct_list_field(struct_list_field(footer, 4)[0], 1)[0][3].value)[field] = Field(Kind.I64, 1 << 40)
    storage.create("b", with_footer(storage.read("a"), (4, footer[4])))
    with pytest.raises(DecodeError, match="b: expected a column chunk in bytes 4 to"):
        copy_row_groups(storage, ["b"], "c")


def test_a_footer_with_other_types_is_an_error() -> None:
    storage = memory_files()
    put(storage, "a", table(5))
    for change, found in [((4, Field(Kind.I32, 1)), "a list of structs"), ((6, Field(Kind.I32, 1)), "a text")]:
        storage.create("b", with_footer(storage.read("a"), change), overwrite=True)
        with pytest.raises(DecodeError, match=f"expected {found}"):
            copy_row_groups(storage, ["b"], "c")


def test_without_files_there_is_no_schema() -> None:
    with pytest.raises(DataError, match="found no file"):
        copy_row_groups(memory_files(), [], "a")


def test_a_few_mebibytes_are_in_memory_at_most(tmp_path: Any) -> None:
    storage = LocalStorage(tmp_path)
    noise = pa.table({"a": np.random.default_rng(1).integers(0, 1 << 62, 1 << 20)})
    put(storage, "a", noise, row_group_size=1 << 20, compression="none", use_dictionary=False)
    sizes: list[int] = []

    class Counting:
        def __init__(self, file: Any) -> None:
            self._file = file

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

        def write(self, *parts: bytes) -> None:
            sizes.extend(map(len, parts))
            self._file.write(*parts)

    with storage.open_new("b") as file:
        copier = RowGroupCopier(cast("Any", Counting(file)))
        copier.append(opened(storage, "a"))
        copier.close()
    assert max(sizes) == 4 << 20
    assert parquet_file(storage, "b").read().equals(noise)
