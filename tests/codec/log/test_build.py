from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.codec.log.block import LogBlock, encode_block
from hudiformat.codec.log.build import data_block, data_blocks, delete_block, rollback_block
from hudiformat.codec.log.frame import BlockHeader, BlockType, HeaderKey
from hudiformat.errors import DataError, EncodeError, SchemaError, UnsupportedFeatureError
from hudiformat.testing import batches
from tests.codec.log.vectors import AVRO, DELETE, ROLLBACK, SCHEMA

BATCH = pa.record_batch({"a": pa.array([1, -2], pa.int32())})


ORDERING = pa.array([1700000000000, None], pa.int64())


def test_a_data_block_is_what_the_vector_says() -> None:
    assert encode_block(data_block(BATCH, instant="001", schema=SCHEMA)) == AVRO


def test_a_schema_is_made_from_the_batch_or_from_an_arrow_schema() -> None:
    block = data_block(BATCH, instant="001")
    fields = json.loads(block.schema)["fields"]
    assert fields == [{"name": "a", "type": ["null", "int"], "default": None}]
    wider = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    block = data_block(BATCH.cast(wider), instant="001", schema=wider)
    assert json.loads(block.schema)["fields"] == [{"name": "a", "type": "long"}]
    assert block.to_arrow().to_pydict() == {"a": [1, -2]}


def test_a_data_block_without_rows_holds_none() -> None:
    block = data_block(BATCH.slice(0, 0), instant="001")
    assert (block.num_records(), block.to_arrow().num_rows) == (0, 0)


def test_a_block_that_was_made_here_stands_nowhere_yet() -> None:
    block = data_block(BATCH, instant="001")
    assert (block.type, block.version, block.instant) == (BlockType.AVRO_DATA, 1, "001")
    assert (block.offset, block.size, block.reason) == (None, None, None)


@pytest.mark.parametrize("name", ["orc", "AVRO", ""])
def test_a_format_that_is_not_supported_is_named(name: str) -> None:
    with pytest.raises(
        UnsupportedFeatureError, match=f"format: expected one of avro, hfile.*, found '{name}'; pass"
    ) as caught:
        data_block(BATCH, instant="001", format=name)
    assert caught.value.feature == f"{name} data block"


@pytest.mark.parametrize(("codec", "name"), [("zstd", "ZSTD"), ("none", "UNCOMPRESSED"), (None, "GZIP")])
def test_a_parquet_block_is_compressed_as_one_asks(codec: str | None, name: str) -> None:
    block = data_block(BATCH, instant="001", format="parquet", compression=codec)
    with pq.ParquetFile(pa.BufferReader(block.content)) as file:
        assert file.metadata.row_group(0).column(0).compression == name
    assert block.to_arrow() == BATCH


def test_an_hfile_block_is_compressed_as_one_asks() -> None:
    batch = pa.record_batch({"_hoodie_record_key": ["a" * 1000]})
    plain, packed = (data_block(batch, instant="001", format="hfile", compression=codec) for codec in ("none", None))
    assert len(packed.content) + 900 < len(plain.content)
    assert plain.to_arrow() == packed.to_arrow() == batch


@pytest.mark.parametrize("name", ["avro", "cdc"])
def test_compression_of_what_is_never_compressed_is_refused(name: str) -> None:
    with pytest.raises(EncodeError, match=f"compression gzip: {name} blocks have none, hfile and parquet blocks do"):
        data_block(BATCH, instant="001", format=name, compression="gzip")


def test_rows_that_do_not_fit_the_schema_are_refused() -> None:
    with pytest.raises(SchemaError):
        data_block(pa.record_batch({"b": [1]}), instant="001", schema=SCHEMA)
    with pytest.raises(SchemaError, match="uint64"):
        data_block(pa.record_batch({"a": pa.array([1], pa.uint64())}), instant="001")
    with pytest.raises(SchemaError):
        data_block(BATCH, instant="001", schema="{")


def test_an_instant_without_utf8_is_refused() -> None:
    with pytest.raises(EncodeError, match="INSTANT_TIME"):
        data_block(BATCH, instant="\udcff")


def test_a_delete_block_is_what_the_vector_says() -> None:
    block = delete_block(["k1", "k2"], instant="001", partition_path=pa.array(["p", ""]), ordering=ORDERING)
    assert encode_block(block) == DELETE


@pytest.mark.parametrize(
    "keys",
    [
        ["k1", "k2"],
        ("k1", "k2"),
        pa.array(["k1", "k2"]),
        pa.chunked_array([["k1"], ["k2"]]),
        pa.chunked_array([["k1", "k2"]]),
    ],
    ids=["list", "tuple", "array", "chunks", "chunk"],
)
def test_keys_come_in_any_form(keys: Any) -> None:
    block = delete_block(keys, instant="001", partition_path="p")
    assert block.num_records() == 2
    assert [tuple(row.values()) for row in block.deletes().to_pylist()] == [("k1", "p", 0), ("k2", "p", 0)]


def test_a_schema_goes_into_the_header_of_a_delete_block_only_when_given() -> None:
    assert HeaderKey.SCHEMA not in delete_block(["k"], instant="001").header
    assert delete_block(["k"], instant="001", schema=SCHEMA).schema == SCHEMA


@pytest.mark.parametrize("keys", [[1], [["k"]], ["k1", 3.5]], ids=str)
def test_keys_that_are_no_text_are_refused(keys: Any) -> None:
    with pytest.raises(DataError, match="record keys have to be text") as caught:
        delete_block(keys, instant="001")
    assert caught.value.column == "record_key"


def test_an_array_of_keys_that_are_no_text_is_refused() -> None:
    with pytest.raises(SchemaError, match="recordKey"):
        delete_block(pa.array([1, 2]), instant="001")


def test_a_key_that_is_null_is_refused() -> None:
    with pytest.raises(DataError, match="without a record key"):
        delete_block(pa.array(["k", None]), instant="001")


def test_columns_of_unlike_length_are_refused() -> None:
    with pytest.raises(DataError, match="2 keys, 2 partition paths and 1 ordering values"):
        delete_block(["k", "l"], instant="001", ordering=pa.array([1]))


def test_ordering_values_without_wrapper_are_refused() -> None:
    with pytest.raises(SchemaError, match="Hudi expects"):
        delete_block(["k"], instant="001", ordering=pa.array([1], pa.uint64()))


def test_a_rollback_block_is_what_the_vector_says() -> None:
    assert encode_block(rollback_block(instant="002", target="001")) == ROLLBACK


def test_the_same_input_gives_the_same_bytes() -> None:
    for _ in range(3):
        assert encode_block(data_block(BATCH, instant="001", schema=SCHEMA)) == AVRO
        assert encode_block(data_block(BATCH, instant="001")) == encode_block(data_block(BATCH, instant="001"))
        assert encode_block(rollback_block(instant="002", target="001")) == ROLLBACK


def test_blocks_that_say_the_same_are_equal() -> None:
    assert rollback_block(instant="002", target="001") == rollback_block(instant="002", target="001")
    assert rollback_block(instant="002", target="001") != rollback_block(instant="003", target="001")
    header = BlockHeader({HeaderKey.INSTANT_TIME: "1"})
    assert LogBlock(BlockType.DELETE, header, b"x") == LogBlock(BlockType.DELETE, header, memoryview(b"x"), offset=9)


def test_a_table_of_several_chunks_is_taken_as_well() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, 2, 3], "b": ["x", None, "z"]})
    table = pa.Table.from_batches([batch.slice(0, 1), batch.slice(1)])
    assert encode_block(data_block(table, instant="001")) == encode_block(data_block(batch, instant="001"))
    assert data_block(table.slice(3), instant="001").num_records() == 0
    assert data_block(batch.schema.empty_table(), instant="001").to_arrow() == batch.slice(3)


ROWS = pa.record_batch({"k": ["a", "b", None], "n": pa.array([1, None, 3], pa.int32())})


@pytest.mark.parametrize(("name", "kind"), [("parquet", BlockType.PARQUET_DATA), ("cdc", BlockType.CDC_DATA)])
def test_rows_come_back_from_every_format(name: str, kind: BlockType) -> None:
    block = data_block(ROWS, instant="001", format=name)
    assert (block.type, block.num_records()) == (kind, 3)
    assert block.to_arrow() == ROWS
    assert block.to_arrow(columns=["n"]).to_pydict() == {"n": [1, None, 3]}
    assert bytes(data_block(ROWS, instant="001", format=name).content) == bytes(block.content)


def test_positions_need_their_base_file() -> None:
    with pytest.raises(EncodeError, match="go together: pass both"):
        data_block(ROWS, instant="002", positions=[1])
    with pytest.raises(EncodeError, match="go together: pass both"):
        delete_block(["a"], instant="002", base_instant="001")


NINE = pa.record_batch({"k": [f"key {number}" for number in range(9)], "n": [*range(8), None]})


@pytest.mark.parametrize("name", ["avro", "cdc", "hfile", "parquet"])
@pytest.mark.parametrize("cuts", [[], [4], [1, 2, 5], [0, 3, 3, 3, 9]], ids=str)
@pytest.mark.parametrize("positioned", [False, True])
def test_blocks_cut_from_rows_are_those_of_each_slice(name: str, cuts: list[int], positioned: bool) -> None:
    rows = pa.record_batch({"_hoodie_record_key": NINE["k"], "n": NINE["n"]})
    places = list(range(10, 28, 2))
    more: dict[str, Any] = {"instant": "001", "format": name, "is_partial": True}
    place: dict[str, Any] = {"positions": places, "base_instant": "000"} if positioned else {}
    blocks = list(data_blocks(rows, cuts, **more, **place))
    bounds = [0, *cuts, 9]
    for block, first, last in zip(blocks, bounds[:-1], bounds[1:], strict=True):
        alone = place and {**place, "positions": places[first:last]}
        assert block == data_block(rows.slice(first, last - first), **more, **alone)
        assert encode_block(block) == encode_block(data_block(rows.slice(first, last - first), **more, **alone))


def test_blocks_that_are_cut_share_one_buffer_and_one_header() -> None:
    first, second = data_blocks(pa.table(NINE), np.array([4]), instant="001")
    assert first.header is second.header
    assert isinstance(first.content, memoryview)
    assert isinstance(second.content, memoryview)
    assert first.content.obj is second.content.obj


@pytest.mark.slow
@given(batch=batches(), data=st.data())
def test_blocks_of_any_rows_cut_anywhere_are_those_of_each_slice(batch: pa.RecordBatch, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, batch.num_rows), max_size=5)))
    bounds = [0, *cuts, batch.num_rows]
    expected = [data_block(batch.slice(a, b - a), instant="001") for a, b in pairwise(bounds)]
    assert list(data_blocks(batch, cuts, instant="001")) == expected


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        ([5, 3], "found 3 after 5"),
        ([10], "from 0 to 9, the number of rows; found 9 after 10"),
        ([-1], "found -1 after 0"),
        ([1.5], "cuts are row numbers; found float64 1.5"),
    ],
)
def test_cuts_that_cut_no_rows_are_refused(cuts: list[int], message: str) -> None:
    with pytest.raises(EncodeError, match=message):
        data_blocks(NINE, cuts, instant="001")


def test_cut_blocks_need_a_position_for_each_row() -> None:
    with pytest.raises(EncodeError, match="2 positions were given for 9 rows"):
        data_blocks(NINE, [3], instant="001", positions=[1, 2], base_instant="000")
    with pytest.raises(EncodeError, match="go together"):
        data_blocks(NINE, [3], instant="001", base_instant="000")
