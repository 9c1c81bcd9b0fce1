"""Random blocks and log files can be read, and are of every kind."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.types as pat
import pytest
from hypothesis import given

import hudiformat as hf
from hudiformat import BlockType, LogBlock, testing
from hudiformat.codec.log.frame import MAGIC
from tests.effort import LONG
from tests.testing.support import SLOW, reaches


@SLOW
@given(block=testing.data_blocks())
def test_data_blocks_can_be_read(block: LogBlock) -> None:
    rows = block.to_arrow()
    assert rows.schema.names == ["_hoodie_record_key", "a", "b"]
    assert rows.num_rows == block.num_records()
    positions = block.positions()
    assert positions is None or len(positions) == rows.num_rows
    if block.type is BlockType.HFILE_DATA:
        assert rows[0].to_pylist() == sorted(rows[0].to_pylist(), key=str.encode)


@given(block=testing.data_blocks(testing.batches(pa.schema([("x", pa.int8())])), formats=("cdc",)))
def test_data_blocks_have_the_requested_rows(block: LogBlock) -> None:
    assert block.type is BlockType.CDC_DATA
    assert block.to_arrow().schema.names == ["x"]


@SLOW
@given(block=testing.delete_blocks())
def test_delete_blocks_can_be_read(block: LogBlock) -> None:
    deletes = block.deletes()
    assert deletes.num_rows == block.num_records()
    assert set(deletes["partition_path"].to_pylist()) <= {"", "p", "year=2024/ü"}


ORDERING_KINDS = (
    pat.is_boolean, pat.is_int32, pat.is_int64, pat.is_float32, pat.is_float64, pat.is_string, pat.is_binary,
    pat.is_date32, pat.is_timestamp, pat.is_decimal, pat.is_struct,
)  # fmt: skip


@pytest.mark.slow
def test_delete_blocks_have_ordering_values_of_every_type() -> None:
    missing: set[Callable[[pa.DataType], bool]] = set(ORDERING_KINDS)
    enough = 0 if LONG else len(ORDERING_KINDS) // 2  # the last of them take hundreds of examples

    def few_missing(block: LogBlock) -> bool:
        missing.difference_update([is_kind for is_kind in missing if is_kind(block.deletes()["ordering"].type)])
        return len(missing) <= enough

    assert reaches(testing.delete_blocks(), few_missing)


@given(block=testing.rollback_blocks())
def test_rollback_blocks_name_their_target(block: LogBlock) -> None:
    assert block.type is BlockType.COMMAND
    assert len(block.target_instant or "") == len(block.instant or "") == 3


@SLOW
@given(file=testing.log_files())
def test_log_files_contain_their_blocks(file: testing.LogFile) -> None:
    assert tuple(hf.LogReader(file.data)) == file.blocks


@given(file=testing.log_files(testing.rollback_blocks(), max_blocks=2))
def test_log_files_have_only_the_requested_blocks(file: testing.LogFile) -> None:
    assert {block.type for block in file.blocks} <= {BlockType.COMMAND}
    assert len(file.blocks) <= 2


@SLOW
@given(block=testing.blocks(magic_inside=False))
def test_blocks_without_a_magic_inside_have_one_at_the_start(block: LogBlock) -> None:
    assert hf.encode_block(block).count(MAGIC) == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in BlockType if kind is not BlockType.CORRUPT])
def test_blocks_are_of_every_type(kind: BlockType) -> None:
    assert reaches(testing.blocks(), lambda block: block.type is kind)


@pytest.mark.slow
def test_blocks_may_contain_magics() -> None:
    assert reaches(testing.blocks(), lambda block: bytes(block.content).count(MAGIC) > 1)
