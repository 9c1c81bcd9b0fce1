from __future__ import annotations

import pyarrow as pa
import pytest

from hudiformat import (
    BlockType,
    DecodeError,
    LogBlock,
    SchemaError,
    data_block,
)

ROWS = pa.record_batch({"k": ["a", "b", None], "n": pa.array([1, None, 3], pa.int32())})


def test_an_hfile_block_holds_the_rows_in_the_order_of_their_keys() -> None:
    batch = pa.record_batch({"_hoodie_record_key": ["b", "ü", "a"], "n": pa.array([1, None, 3], pa.int32())})
    block = data_block(batch, instant="001", format="hfile")
    assert (block.type, block.num_records()) == (BlockType.HFILE_DATA, 3)
    assert block.to_arrow() == batch.take(pa.array([2, 0, 1]))
    assert block.to_arrow(columns=["n"])["n"].to_pylist() == [3, 1, None]
    assert bytes(data_block(batch, instant="001", format="hfile").content) == bytes(block.content)
    empty = data_block(batch.slice(0, 0), instant="001", format="hfile")
    assert (empty.num_records(), empty.to_arrow().num_rows) == (0, 0)


def test_an_hfile_block_takes_texts_in_views_also_in_nested_columns() -> None:
    schema = pa.schema(
        [("_hoodie_record_key", pa.string_view()), ("t", pa.string_view()), ("l", pa.list_(pa.string_view()))]
    )
    values = [{"_hoodie_record_key": key, "t": key * 20, "l": [key, None]} for key in ("b", "a", "c")]
    block = data_block(pa.RecordBatch.from_pylist(values, schema=schema), instant="1", format="hfile")
    assert block.to_arrow().to_pylist() == [values[1], values[0], values[2]]


def test_an_hfile_block_needs_record_keys() -> None:
    with pytest.raises(SchemaError, match="needs the column _hoodie_record_key"):
        data_block(ROWS, instant="001", format="hfile")


def test_a_content_that_is_no_hfile_is_an_error_of_ours() -> None:
    block = LogBlock(BlockType.HFILE_DATA, data_block(ROWS, instant="001").header, b"no HFile")
    for read in (block.num_records, block.to_arrow):
        with pytest.raises(DecodeError):
            read()
