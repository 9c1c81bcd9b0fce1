from __future__ import annotations

import contextlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat import (
    BlockHeader,
    BlockType,
    CorruptBlockError,
    HeaderKey,
    HudiFormatError,
    LogBlock,
    SchemaError,
    UnsupportedFeatureError,
    data_block,
)

ROWS = pa.record_batch({"k": ["a", "b", None], "n": pa.array([1, None, 3], pa.int32())})


@pytest.mark.parametrize("compression", ["uncompressed", "NONE", "Snappy", "zstd"])
def test_a_parquet_block_in_other_compressions(compression: str) -> None:
    block = data_block(ROWS, instant="001", format="parquet", compression=compression)
    assert block.to_arrow().equals(ROWS)


@pytest.mark.parametrize("compression", ["lzo", "bz2", ""])
def test_a_compression_that_parquet_lacks_is_refused(compression: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match="compression: expected one of none, gzip, snappy"):
        data_block(ROWS, instant="001", format="parquet", compression=compression)


def test_a_parquet_block_can_be_brought_to_another_schema() -> None:
    wider = pa.schema([("n", pa.int64()), ("more", pa.string())])
    block = data_block(ROWS, instant="001", format="parquet")
    assert block.to_arrow(wider).to_pydict() == {"n": [1, None, 3], "more": [None] * 3}
    assert block.to_arrow(wider, columns=["more"]).to_pydict() == {"more": [None] * 3}
    empty = data_block(ROWS.slice(0, 0), instant="001", format="parquet")
    assert empty.to_arrow(wider).num_rows == 0


def test_a_column_that_a_parquet_block_does_not_have_is_named() -> None:
    with pytest.raises(SchemaError, match="no column 'x'; the columns are k, n"):
        data_block(ROWS, instant="001", format="parquet").to_arrow(columns=["x"])


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no Parquet file, whatever its length may be"])
def test_a_content_that_is_no_parquet_file_is_corrupt(content: bytes) -> None:
    header = data_block(ROWS, instant="001").header
    block = LogBlock(BlockType.PARQUET_DATA, header, content)
    for read in (block.num_records, block.to_arrow):
        with pytest.raises(CorruptBlockError, match="expected a Parquet file"):
            read()


def test_a_string_in_a_parquet_content_that_is_no_utf8_is_corrupt() -> None:
    offsets, data = pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")
    broken = pa.record_batch({"s": pa.Array.from_buffers(pa.string(), 1, [None, offsets, data])})
    block = data_block(broken, instant="001", format="parquet")
    with pytest.raises(CorruptBlockError, match="UTF"):
        block.to_arrow()


@given(place=st.integers(0, 10_000), value=st.integers(0, 255))
def test_damage_in_a_parquet_content_raises_only_our_errors(place: int, value: int) -> None:
    sound = data_block(ROWS, instant="001", format="parquet")
    content = bytearray(sound.content)
    content[place % len(content)] = value
    with contextlib.suppress(HudiFormatError):
        decoded = LogBlock(sound.type, sound.header, bytes(content)).to_arrow()
        decoded.validate(full=True)
        assert decoded.num_rows == ROWS.num_rows


LONG_TEXTS = pa.table({"k": pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int32()), ["x" * 50_000])})


def parquet_block(table: pa.Table, schema: str) -> LogBlock:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return LogBlock(BlockType.PARQUET_DATA, BlockHeader({HeaderKey.SCHEMA: schema}), sink.getvalue().to_pybytes())


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"k": pa.nulls(10**6, pa.string()), "n": pa.nulls(10**6, pa.int32())}),
        LONG_TEXTS,
        pa.table({"k": LONG_TEXTS["k"].cast(pa.string())}),
        pa.table({"other": pa.nulls(10**6, pa.int8())}),
    ],
    ids=["rows", "one long text as a dictionary", "one long text", "no column of the schema"],
)
def test_one_value_in_very_many_rows_is_refused(table: pa.Table) -> None:
    schema = data_block(ROWS, instant="001", format="parquet").schema
    with pytest.raises(CorruptBlockError, match="expected a Parquet file: .*(rows in|columns take over)"):
        parquet_block(table, schema).to_arrow()
