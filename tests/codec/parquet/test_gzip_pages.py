"""Pages that Arrow wrote without compression, compressed by gzip: others read them, and nothing else has changed."""

from __future__ import annotations

import io
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.codec.parquet.constants import CODECS
from hudiformat.codec.parquet.gzip_pages import gzip_chunk, isal
from hudiformat.codec.parquet.source import (
    Chunk,
    ChunkField,
    ColumnField,
    ParquetSource,
    column_name,
    number_field,
    struct_field,
)
from hudiformat.codec.parquet.source import chunks as chunks_of
from hudiformat.codec.parquet.thrift import Field, Kind
from hudiformat.errors import DecodeError
from tests.codec.parquet.support import assembled

VALUES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "texts": (pa.string(), st.text(max_size=20)),
    "few": (pa.string(), st.sampled_from(["a", "b", "ä" * 50])),
    "numbers": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "floats": (pa.float64(), st.floats()),
    "flags": (pa.bool_(), st.booleans()),
    "bytes": (pa.binary(), st.binary(max_size=20)),
    "lists": (pa.list_(pa.int32()), st.lists(st.integers(0, 9), max_size=3)),
}


def uncompressed(rows: pa.Table, *, page: int = 1 << 20) -> ParquetSource:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="none", store_schema=False, data_page_size=page, write_batch_size=16)
    return ParquetSource.open(pa.BufferReader(sink.getvalue()), "rows")


def compressed(rows: pa.Table, *, page: int = 1 << 20) -> bytes:
    source = uncompressed(rows, page=page)
    packed = [gzip_chunk(Chunk(source, one)) for one in chunks_of(source.groups)]
    return assembled(source, rows.num_rows, packed)


def column_of(rows: int, name: str) -> st.SearchStrategy[pa.Array]:
    kind, values = VALUES[name]
    return st.lists(st.none() | values, min_size=rows, max_size=rows).map(lambda found: pa.array(found, kind))


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(1, 200))
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4, unique=True))
    return pa.table({name: draw(column_of(rows, name)) for name in names})


@given(tables(), st.sampled_from([64, 1 << 20]))
def test_others_read_them_whatever_is_in_them(rows: pa.Table, page: int) -> None:
    data = compressed(rows, page=page)
    # As Python's values: Arrow's equality takes a NaN for another one, as it does not in a list.
    assert str(pq.read_table(io.BytesIO(data)).to_pydict()) == str(rows.to_pydict())
    assert str(pl.read_parquet(io.BytesIO(data)).to_dict(as_series=False)) == str(rows.to_pydict())


def test_duckdb_reads_them_and_their_footer_tells_their_sizes(tmp_path: Any) -> None:
    rows = pa.table({"n": range(50_000), "t": [f"text {number % 500}" for number in range(50_000)]})
    path = tmp_path / "rows.parquet"
    path.write_bytes(compressed(rows, page=1 << 12))
    assert duckdb.sql(f"SELECT sum(n), count(DISTINCT t), min(t) FROM '{path}'").fetchall() == [
        (sum(range(50_000)), 500, "text 0")
    ]
    sink = io.BytesIO()
    pq.write_table(rows, sink, compression="gzip", store_schema=False, data_page_size=1 << 12, write_batch_size=16)
    own, arrows = (pq.read_metadata(one).row_group(0) for one in (path, sink))
    for number in range(2):
        mine, other = own.column(number), arrows.column(number)
        assert mine.compression == other.compression == "GZIP"
        assert mine.encodings == other.encodings
        assert mine.statistics.equals(other.statistics)
        assert mine.has_dictionary_page == other.has_dictionary_page
        assert abs(mine.total_uncompressed_size - other.total_uncompressed_size) < other.total_uncompressed_size / 1_000
        assert mine.total_compressed_size < other.total_compressed_size * 1.25


def test_a_chunk_that_points_out_of_its_file_is_an_error() -> None:
    source = uncompressed(pa.table({"n": [1, 2, 3]}))
    (chunk,) = chunks_of(source.groups)
    column = struct_field(chunk, ChunkField.METADATA)
    longer = {**column, ColumnField.COMPRESSED: Field(Kind.I64, 10**6)}
    with pytest.raises(DecodeError, match="expected a column chunk in bytes 4 to"):
        gzip_chunk(Chunk(source, {**chunk, ChunkField.METADATA: Field(Kind.STRUCT, longer)}))


def test_the_chunk_is_of_the_same_column_and_says_its_codec() -> None:
    source = uncompressed(pa.table({"n": [1, 2, 3] * 100}))
    made = gzip_chunk(Chunk(source, chunks_of(source.groups)[0]))
    assert column_name(made.struct) == "n"
    assert number_field(struct_field(made.struct, ChunkField.METADATA), ColumnField.CODEC) == CODECS["gzip"]
    start, stop = made.source.chunk_range(made.struct)
    assert (start, stop) == (4, made.source.end)


def test_the_package_is_installed_where_tests_run() -> None:
    assert isal() is not None
