"""Conditions on rows: of the others nothing is decoded but what the condition looks at."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat.codec.log.batches import record_batches
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.build import data_block
from hudiformat.codec.log.frame import BlockHeader, HeaderKey
from hudiformat.codec.log.selection import find_matching_rows
from hudiformat.errors import CorruptBlockError, SchemaError

ROWS = pa.RecordBatch.from_pydict(
    {
        "_hoodie_record_key": ["a", "b", "c", "d"],
        "n": pa.array([1, None, 3, 4], pa.int32()),
        "t": ["one", "two", "three", "four"],
        "s": [{"x": 1}, {"x": 2}, None, {"x": 4}],
    }
)
FORMATS = ("avro", "parquet", "hfile", "cdc")
KEY = pc.field("_hoodie_record_key")


def _block(format_: str) -> LogBlock:
    return data_block(ROWS, instant="001", format=format_)


@pytest.mark.parametrize("format_", FORMATS)
def test_rows_are_chosen_by_their_key(format_: str) -> None:
    found = _block(format_).to_arrow(filter=KEY.isin(["d", "b", "x"]))
    assert found == ROWS.take(pa.array([1, 3]))


@pytest.mark.parametrize("format_", FORMATS)
def test_the_columns_of_the_condition_need_not_be_asked_for(format_: str) -> None:
    found = _block(format_).to_arrow(columns=["t"], filter=(KEY > "a") & (pc.field("n") > 3))
    assert found.to_pydict() == {"t": ["four"]}


@pytest.mark.parametrize("format_", FORMATS)
def test_the_condition_is_about_the_schema_that_rows_are_brought_to(format_: str) -> None:
    schema = pa.schema([("n", pa.float64()), ("new", pa.string()), ("t", pa.string())])
    found = _block(format_).to_arrow(schema, filter=pc.field("new").is_null() & (pc.field("n") > 2.5))
    assert found == pa.RecordBatch.from_pydict(
        {"n": [3.0, 4.0], "new": [None, None], "t": ["three", "four"]}, schema=schema
    )


@pytest.mark.parametrize("format_", FORMATS)
def test_no_row_may_be_left(format_: str) -> None:
    assert _block(format_).to_arrow(filter=KEY == "x") == ROWS.slice(0, 0)


def test_null_is_not_true() -> None:
    assert find_matching_rows(pc.field("n") > 0, ROWS).tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    ("condition", "message"),
    [(pc.field("m") > 1, "No match for FieldRef"), (pc.field("t") > 1, "no kernel|must be the same|cannot|parse")],
)
def test_a_condition_on_other_columns_is_refused(condition: pc.Expression, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        _block("avro").to_arrow(filter=condition)


def test_the_other_columns_of_rows_that_are_left_out_are_not_looked_at() -> None:
    schema = pa.schema([pa.field("k", pa.string(), nullable=False), pa.field("t", pa.string(), nullable=False)])
    rows = pa.RecordBatch.from_pydict({"k": ["a", "b"], "t": ["good", "bad!"]}, schema=schema)
    block = data_block(rows, instant="001")
    damaged = block._replace(content=bytes(block.content).replace(b"bad!", b"\xff\xff\xff\xff"))
    assert damaged.to_arrow(filter=pc.field("k") == "a") == rows.slice(0, 1)
    with pytest.raises(CorruptBlockError, match="UTF-8"):
        damaged.to_arrow(filter=pc.field("k") == "b")


def test_small_blocks_are_filtered_together() -> None:
    [found] = record_batches([_block("avro"), _block("avro")], columns=["n"], filter=KEY == "c")
    assert found.to_pydict() == {"n": [3, 3]}


def test_a_block_without_a_schema_says_so() -> None:
    block = _block("avro")._replace(header=BlockHeader({HeaderKey.INSTANT_TIME: "001"}))
    with pytest.raises(CorruptBlockError, match="without a SCHEMA header"):
        block.to_arrow(filter=KEY == "a")
