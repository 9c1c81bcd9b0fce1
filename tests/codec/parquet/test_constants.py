"""Chunks that no rows are encoded for: of one value, and of the values of another column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.codec.parquet.constants import CODECS, constant_chunk, same_chunk
from hudiformat.codec.parquet.source import Chunk, ColumnField, ParquetSource, number_field, struct_field
from hudiformat.errors import SchemaError
from tests.codec.parquet.support import assembled


def of(rows: pa.Table) -> ParquetSource:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, store_schema=False)
    return ParquetSource.open(pa.BufferReader(sink.getvalue()), "rows")


def text(name: str, *, nullable: bool = True) -> pa.Field:
    return pa.field(name, pa.string(), nullable=nullable)


def put(folder: Path, schema: ParquetSource, rows: int, chunks: list[Chunk]) -> Path:
    path = folder / "all.parquet"
    path.write_bytes(assembled(schema, rows, chunks))
    return path


def test_a_constant_takes_a_few_bytes_for_any_number_of_rows() -> None:
    source = of(pa.table({"a": [1], "b": ["x"]}))
    made = constant_chunk(source, "b", "name", 1_000_000, codec=CODECS["gzip"])
    column = struct_field(made.struct, 3)
    start, stop = made.source.chunk_range(made.struct)
    assert stop - start < 150
    assert number_field(column, 5) == 1_000_000
    assert number_field(column, ColumnField.CODEC) == 2


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("rows", [1, 63, 64, 100_000])
@pytest.mark.parametrize("nullable", [True, False])
def test_others_read_constants(codec: str, rows: int, nullable: bool, tmp_path: Path) -> None:
    source = of(pa.schema([text("a", nullable=nullable), text("b")]).empty_table())
    made = [
        constant_chunk(source, name, value, rows, codec=CODECS[codec]) for name, value in (("a", "ä" * 40), ("b", ""))
    ]
    path = put(tmp_path, source, rows, made)
    expected = pa.table([["ä" * 40] * rows, [""] * rows], schema=pa.schema([text("a", nullable=nullable), text("b")]))
    assert pq.read_table(path).equals(expected)
    assert pl.read_parquet(path).equals(pl.DataFrame(expected))
    assert duckdb.sql(f"SELECT count(*), min(a), max(a), count(b) FROM '{path}' WHERE b = ''").fetchall() == [
        (rows, "ä" * 40, "ä" * 40, rows)
    ]
    chunk: Any = pq.read_metadata(path).row_group(0).column(0)
    assert chunk.compression == ("UNCOMPRESSED" if codec == "none" else codec.upper())
    assert (chunk.statistics.min, chunk.statistics.max, chunk.statistics.null_count) == ("ä" * 40, "ä" * 40, 0)
    assert chunk.total_uncompressed_size >= 80
    assert chunk.has_column_index
    assert chunk.has_offset_index


def test_a_codec_that_arrow_does_not_write_is_none() -> None:
    made = constant_chunk(of(pa.table({"b": ["x"]})), "b", "y", 3, codec=3)
    assert number_field(struct_field(made.struct, 3), ColumnField.CODEC) == 0


@pytest.mark.parametrize("name", ["n", "l", "absent"])
def test_only_a_column_of_texts_can_be_constant(name: str) -> None:
    source = of(pa.table({"n": [1], "l": [["x"]]}))
    with pytest.raises(SchemaError, match=f"expected a column {name} of texts"):
        constant_chunk(source, name, "y", 3, codec=0)


def test_the_pages_are_those_of_the_specification() -> None:
    made = constant_chunk(of(pa.table({"b": ["x"]})), "b", "ab", 300, codec=0)
    start, stop = made.source.chunk_range(made.struct)
    assert made.source.read("pages", start, stop - start) == bytes.fromhex(
        "15 04 15 0c 15 0c 4c 15 02 15 00 00 00 02 00 00 00 61 62"
        "15 00 15 16 15 16 2c 15 d8 04 15 10 15 06 15 06 00 00 03 00 00 00 d8 04 01 01 d8 04 00"
    )


def test_a_chunk_is_that_of_another_column_of_the_same_type(tmp_path: Path) -> None:
    rows = pa.table({"a": ["x", "y", "y"], "b": ["x", "y", "y"]})
    source = of(rows)
    first = source.chunks_of(0, {"a"})["a"]
    second = same_chunk(first, "b", schema=source)
    assert second is not None
    assert pq.read_table(put(tmp_path, source, 3, [first, second])).equals(rows)


def test_a_column_that_has_no_nulls_by_its_type_has_other_pages() -> None:
    schema = pa.schema([text("a"), text("b", nullable=False), pa.field("c", pa.binary())])
    source = of(pa.table([["x"], ["x"], [b"x"]], schema=schema))
    first = source.chunks_of(0, ["a"])["a"]
    assert same_chunk(first, "b", schema=source) is None
    assert same_chunk(first, "c", schema=source) is None
