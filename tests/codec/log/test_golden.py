"""Every log file of every golden table: byte for byte, in both directions, and down to the records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hudiformat.codec.avro.delete_list import decode_delete_list
from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.log.block import LogBlock, decode_block, encode_block, encode_positions
from hudiformat.codec.log.frame import BlockType, HeaderKey
from hudiformat.codec.log.reader import LogReader
from tests.codec.log.golden import ARCHIVES, log_files

pytestmark = [pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.stem), pytest.mark.unmeasured]


def deletes_declared(block: LogBlock) -> int:
    """The count in front of an Avro array, behind the content's version and length."""
    shift = number = 0
    for byte in bytes(block.content[8:18]):
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return number >> 1


def test_log_files_are_encoded_again_byte_for_byte(archive: Path) -> None:
    for name, data in log_files(archive).items():
        blocks = list(LogReader(data))
        encoded = b"".join(map(encode_block, blocks))
        assert encoded == data[: len(encoded)], name
        assert len(data) - len(encoded) < 6, name
        assert list(reversed(LogReader(data))) == blocks[::-1], name


def test_a_header_is_made_again_from_its_entries(archive: Path) -> None:
    for data in log_files(archive).values():
        for block in LogReader(data):
            if block.type is not BlockType.CORRUPT:
                copy, _ = decode_block(encode_block(block))
                assert copy.header.entries == block.header.entries
                assert copy == block


@pytest.mark.slow
def test_avro_and_delete_blocks_hold_the_number_of_records_declared(archive: Path) -> None:
    for name, data in log_files(archive).items():
        for block in LogReader(data):
            if block.type in (BlockType.AVRO_DATA, BlockType.CDC_DATA):
                declared = int.from_bytes(block.content[4:8], "big")
                assert block.to_arrow().num_rows == block.num_records() == declared, name
            elif block.type is BlockType.DELETE:
                assert block.deletes().num_rows == block.num_records() == deletes_declared(block), name
                assert decode_delete_list(block.content[8:]) == block.deletes()


def test_parquet_and_hfile_blocks_hold_as_many_rows_as_they_say_and_the_columns_of_their_schema(archive: Path) -> None:
    for name, data in log_files(archive).items():
        for block in (
            block for block in LogReader(data) if block.type in (BlockType.PARQUET_DATA, BlockType.HFILE_DATA)
        ):
            batch = block.to_arrow()
            assert 0 < batch.num_rows == block.num_records(), name
            assert batch.schema == avro_to_arrow(block.schema)
            key = "_hoodie_record_key"
            assert block.to_arrow(columns=[key])[key] == batch[key]


def test_record_positions_are_encoded_again_as_they_were(archive: Path) -> None:
    for name, data in log_files(archive).items():
        for block in LogReader(data):
            if (positions := block.positions()) is None:
                assert block.base_instant_of_positions is None or HeaderKey.RECORD_POSITIONS not in block.header
                continue
            assert len(positions) == block.num_records(), name
            assert encode_positions(positions.tolist()) == block.header[HeaderKey.RECORD_POSITIONS]
            assert block.base_instant_of_positions is not None


def test_only_damaged_tables_have_corrupt_blocks(archive: Path) -> None:
    kinds = Counter(block.type for data in log_files(archive).values() for block in LogReader(data))
    damage = archive.stem.partition("-damaged-")[2].partition("-")[2]  # what follows the version of Hudi
    assert kinds[BlockType.CORRUPT] == (0 if damage in ("", "empty-file") else 1)
