"""Parquet and change-data contents, record positions, and what else a header says."""

from __future__ import annotations

import contextlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat import (
    BlockHeader,
    BlockType,
    CorruptBlockError,
    DecodeError,
    EncodeError,
    HeaderKey,
    HudiFormatError,
    LogBlock,
    SchemaError,
    data_block,
    delete_block,
    rollback_block,
)
from hudiformat.blocks.block import decode_positions, encode_positions

BATCH = pa.record_batch({"k": ["a", "b", None], "n": pa.array([1, None, 3], pa.int32())})


@pytest.mark.parametrize(("name", "kind"), [("parquet", BlockType.PARQUET_DATA), ("cdc", BlockType.CDC_DATA)])
def test_rows_come_back_from_every_format(name: str, kind: BlockType) -> None:
    block = data_block(BATCH, instant="001", format=name)
    assert (block.type, block.num_records()) == (kind, 3)
    assert block.to_arrow() == BATCH
    assert block.to_arrow(columns=["n"]).to_pydict() == {"n": [1, None, 3]}
    assert bytes(data_block(BATCH, instant="001", format=name).content) == bytes(block.content)


def test_an_hfile_block_holds_the_rows_in_the_order_of_their_keys() -> None:
    batch = pa.record_batch({"_hoodie_record_key": ["b", "ü", "a"], "n": pa.array([1, None, 3], pa.int32())})
    block = data_block(batch, instant="001", format="hfile")
    assert (block.type, block.num_records()) == (BlockType.HFILE_DATA, 3)
    assert block.to_arrow() == batch.take(pa.array([2, 0, 1]))
    assert block.to_arrow(columns=["n"])["n"].to_pylist() == [3, 1, None]
    assert bytes(data_block(batch, instant="001", format="hfile").content) == bytes(block.content)
    empty = data_block(batch.slice(0, 0), instant="001", format="hfile")
    assert (empty.num_records(), empty.to_arrow().num_rows) == (0, 0)


def test_an_hfile_block_needs_record_keys() -> None:
    with pytest.raises(SchemaError, match="needs the column _hoodie_record_key"):
        data_block(BATCH, instant="001", format="hfile")


def test_a_content_that_is_no_hfile_is_an_error_of_ours() -> None:
    block = LogBlock(BlockType.HFILE_DATA, data_block(BATCH, instant="001").header, b"no HFile")
    for read in (block.num_records, block.to_arrow):
        with pytest.raises(DecodeError):
            read()


def test_a_parquet_block_can_be_brought_to_another_schema() -> None:
    wider = pa.schema([("n", pa.int64()), ("more", pa.string())])
    block = data_block(BATCH, instant="001", format="parquet")
    assert block.to_arrow(wider).to_pydict() == {"n": [1, None, 3], "more": [None] * 3}
    assert block.to_arrow(wider, columns=["more"]).to_pydict() == {"more": [None] * 3}
    empty = data_block(BATCH.slice(0, 0), instant="001", format="parquet")
    assert empty.to_arrow(wider).num_rows == 0


def test_a_column_that_a_parquet_block_does_not_have_is_named() -> None:
    with pytest.raises(SchemaError, match=r"column x is not in the schema, which has \['k', 'n'\]"):
        data_block(BATCH, instant="001", format="parquet").to_arrow(columns=["x"])


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no Parquet file, whatever its length may be"])
def test_a_content_that_is_no_parquet_file_is_corrupt(content: bytes) -> None:
    header = data_block(BATCH, instant="001").header
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
    sound = data_block(BATCH, instant="001", format="parquet")
    content = bytearray(sound.content)
    content[place % len(content)] = value
    with contextlib.suppress(HudiFormatError):
        LogBlock(sound.type, sound.header, bytes(content)).to_arrow()


@given(positions=st.sets(st.integers(0, 2**64 - 1), max_size=50))
def test_positions_come_back_in_ascending_order(positions: set[int]) -> None:
    text = encode_positions(positions)
    assert decode_positions(text).tolist() == sorted(positions)
    assert encode_positions(sorted(positions, reverse=True)) == text


def test_positions_have_the_text_that_hudi_gives_them() -> None:
    # of the golden table v9-mor-avro-h120, base64 of: one map entry, high half 0, one container of eight values
    text = "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAcAEAAAAAAAAwAGAAcACwANABEAEgA="
    assert decode_positions(text).tolist() == [0, 3, 6, 7, 11, 13, 17, 18]
    assert encode_positions([0, 3, 6, 7, 11, 13, 17, 18]) == text


@pytest.mark.parametrize("text", ["", "!", "AAAA", "AQAAAAAAAAAAAAAAOjA="])
def test_positions_that_are_no_bitmap_are_corrupt(text: str) -> None:
    block = LogBlock(BlockType.DELETE, BlockHeader({HeaderKey.RECORD_POSITIONS: text}), b"")
    with pytest.raises(CorruptBlockError, match="no roaring bitmap"):
        block.positions()


def test_positions_stand_in_the_header_of_data_and_delete_blocks() -> None:
    for block in (
        data_block(BATCH, instant="002", positions=[4, 5, 9], base_instant="001"),
        delete_block(["a"], instant="002", positions=[7], base_instant="001"),
    ):
        found = block.positions()
        assert found is not None
        assert found.tolist() in ([4, 5, 9], [7])
        assert block.base_instant_of_positions == "001"


def test_positions_need_their_base_file() -> None:
    with pytest.raises(EncodeError, match="go together: pass both"):
        data_block(BATCH, instant="002", positions=[1])
    with pytest.raises(EncodeError, match="go together: pass both"):
        delete_block(["a"], instant="002", base_instant="001")


def test_what_a_header_says_can_be_asked_for_by_name() -> None:
    plain = data_block(BATCH, instant="001")
    assert (plain.positions(), plain.base_instant_of_positions, plain.identifier, plain.target_instant) == (None,) * 4
    assert (plain.is_partial, plain.compacted_instants) == (False, ())
    assert data_block(BATCH, instant="001", is_partial=True).is_partial
    entries = {HeaderKey.COMPACTED_BLOCK_TIMES: "001,002", HeaderKey.BLOCK_IDENTIFIER: "7"}
    compacted = LogBlock(BlockType.AVRO_DATA, BlockHeader(entries), b"")
    assert (compacted.compacted_instants, compacted.identifier) == (("001", "002"), "7")
    assert rollback_block(instant="002", target="001").target_instant == "001"
