"""Java's own block classes read what we encode, and we read what they write."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.codec.avro.schema import arrow_to_avro
from hudiformat.codec.log.block import decode_positions, encode_positions
from tests.conformance.hudi import RealHudi
from tests.conformance.java import JavaClass

BATCH = pa.record_batch(
    {
        "_hoodie_record_key": ["k1", "k2", "k3"],
        "n": pa.array([1, None, 2**40]),
        "text": ["a", "ü", None],
        "price": pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(9, 2)),
    }
)
SCHEMA = arrow_to_avro(BATCH.schema, name="t_record", namespace="hoodie.t")

# As HoodieCDCUtils.schemaBySupplementalLoggingMode makes it for data_before_after.
ROW = {"type": "record", "name": "t_record", "namespace": "hoodie.t", "fields": [
    {"name": "_hoodie_record_key", "type": ["null", "string"], "default": None},
    {"name": "n", "type": ["null", "long"], "default": None},
]}  # fmt: skip
CDC_SCHEMA = json.dumps({"type": "record", "name": "t", "namespace": "cdc", "fields": [
    {"name": "op", "type": ["null", "string"], "default": None},
    {"name": "ts_ms", "type": ["null", "string"], "default": None},
    {"name": "before", "type": ["null", ROW], "default": None},
    {"name": "after", "type": ["null", "hoodie.t.t_record"], "default": None},
]})  # fmt: skip
K1, K2, K2_NEW, U = (
    {"_hoodie_record_key": key, "n": n} for key, n in (("k1", 1), ("k2", 2**40), ("k2", None), ("ü", -1))
)
CHANGES: list[dict[str, Any]] = [
    {"op": "i", "ts_ms": "001", "before": None, "after": K1},
    {"op": "u", "ts_ms": "001", "before": K2, "after": K2_NEW},
    {"op": "d", "ts_ms": "001", "before": U, "after": None},
]
CDC = pa.RecordBatch.from_pylist(CHANGES)

EVERY_KEY = {
    hf.HeaderKey.INSTANT_TIME: "20240229120000123",
    hf.HeaderKey.TARGET_INSTANT_TIME: "20240229110000000",
    hf.HeaderKey.SCHEMA: SCHEMA,
    hf.HeaderKey.COMMAND_BLOCK_TYPE: "0",
    hf.HeaderKey.COMPACTED_BLOCK_TIMES: "20240229100000000,20240229090000000",
    hf.HeaderKey.RECORD_POSITIONS: encode_positions([3, 70_000, 2**33]),
    hf.HeaderKey.BLOCK_IDENTIFIER: "7,12 ü",
    hf.HeaderKey.IS_PARTIAL: "true",
    hf.HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS: "20240229080000000",
}


@dataclass(slots=True)
class JavaBlock:
    """What Hudi's reader says of a block."""

    type: str
    header: dict[str, str] = field(default_factory=dict)
    positions: str = ""
    records: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def java(hudi: RealHudi) -> JavaClass:
    return JavaClass(hudi, "LogBlocks", Path(__file__).with_name("log_blocks.java"))


def write(folder: Path, *blocks: hf.LogBlock) -> str:
    """The path of a log file of *blocks*."""
    with hf.LogWriter(folder, ".f-0_001.log.1_0-0-0") as writer:
        return writer.append(*blocks).path


def read_by_hudi(java: JavaClass, path: str, schema: str = SCHEMA) -> list[JavaBlock]:
    def blocks() -> Iterator[JavaBlock]:
        block = None
        for line in java.call("read", path, schema).splitlines():
            word, _, rest = line.partition(" ")
            if word == "block":
                if block:
                    yield block
                block = JavaBlock(rest)
            elif block and word == "header":
                block.header.update([rest.split(" ", 1)])
            elif block and word == "positions":
                block.positions = rest
            elif block:
                block.records.append(rest)
        if block:
            yield block

    return list(blocks())


def copied_by_hudi(java: JavaClass, path: str, folder: Path, schema: str = SCHEMA) -> list[hf.LogBlock]:
    """Our reading of the blocks that Hudi wrote, when it had read those of the log file *path*."""
    folder.mkdir()
    java.call("copy", path, schema, str(folder))
    (copy,) = folder.glob(".f-0_*")
    with hf.LogReader(copy.read_bytes()) as reader:
        return list(reader)


@pytest.mark.parametrize("name", ["avro", "parquet", "hfile"])
def test_rows_are_the_same_for_both(java: JavaClass, tmp_path: Path, name: str) -> None:
    block = hf.data_block(
        BATCH, instant="002", schema=SCHEMA, format=name, positions=[3, 70_000, 2**33], base_instant="001"
    )
    path = write(tmp_path, block)
    (theirs,) = read_by_hudi(java, path)
    assert theirs.type == f"{name.upper()}_DATA_BLOCK"
    assert theirs.positions == "{3,70000,8589934592}"
    rows = [json.loads(record) for record in theirs.records]
    assert [(row["n"], row["text"]) for row in rows] == [(1, "a"), (None, "ü"), (2**40, None)]
    (again,) = copied_by_hudi(java, path, tmp_path / "copy")
    assert again.type is block.type
    assert again.to_arrow().equals(block.to_arrow())
    assert again.to_arrow().to_pylist() == BATCH.to_pylist()


def test_changes_are_the_same_for_both(java: JavaClass, tmp_path: Path) -> None:
    block = hf.data_block(CDC, instant="001", schema=CDC_SCHEMA, format="cdc")
    path = write(tmp_path, block)
    (theirs,) = read_by_hudi(java, path, CDC_SCHEMA)
    assert theirs.type == "CDC_DATA_BLOCK"
    assert [json.loads(record) for record in theirs.records] == CHANGES
    (again,) = copied_by_hudi(java, path, tmp_path / "copy", CDC_SCHEMA)
    assert again.type is hf.BlockType.CDC_DATA
    assert again.to_arrow().to_pylist() == CHANGES
    assert bytes(again.content) == bytes(block.content)


def test_commands_and_deletes_are_the_same_for_both(java: JavaClass, tmp_path: Path) -> None:
    delete = hf.delete_block(["k1", "k2"], instant="003", partition_path="p", ordering=pa.array([7, 2**40]))
    rollback = hf.rollback_block(instant="004", target="003")
    path = write(tmp_path, delete, rollback)
    first, second = read_by_hudi(java, path)
    assert (first.type, first.records) == ("DELETE_BLOCK", ["k1 p long 7", f"k2 p long {2**40}"])
    assert (second.type, second.header["COMMAND_BLOCK_TYPE"]) == ("COMMAND_BLOCK", "0")
    assert copied_by_hudi(java, path, tmp_path / "copy") == [delete, rollback]


@pytest.mark.all_sets
@pytest.mark.parametrize("kind", [hf.BlockType.AVRO_DATA, hf.BlockType.DELETE, hf.BlockType.COMMAND])
def test_every_header_key_is_the_same_for_both(java: JavaClass, tmp_path: Path, kind: hf.BlockType) -> None:
    contents = {
        hf.BlockType.AVRO_DATA: hf.data_block(BATCH, instant="001", schema=SCHEMA).content,
        hf.BlockType.DELETE: hf.delete_block(["k1"], instant="001").content,
        hf.BlockType.COMMAND: b"",
    }
    assert set(EVERY_KEY) == set(hf.HeaderKey)
    block = hf.LogBlock(kind, hf.BlockHeader(EVERY_KEY), contents[kind])
    path = write(tmp_path, block)
    (theirs,) = read_by_hudi(java, path)
    assert theirs.header == {key.name: value for key, value in EVERY_KEY.items()}
    assert theirs.positions == "{3,70000,8589934592}"
    (again,) = copied_by_hudi(java, path, tmp_path / "copy")
    assert again == block
    assert (again.instant, again.target_instant, again.identifier) == (
        "20240229120000123",
        "20240229110000000",
        "7,12 ü",
    )
    assert (again.is_partial, again.schema) == (True, SCHEMA)
    assert again.compacted_instants == ("20240229100000000", "20240229090000000")
    assert again.base_instant_of_positions == "20240229080000000"
    positions = again.positions()
    assert positions is not None
    assert positions.tolist() == [3, 70_000, 2**33]


def test_record_positions_have_the_bytes_that_hudi_gives_them(java: JavaClass) -> None:
    rng = random.Random(7)
    sets = [{0}, {2**63 - 1}, set(range(100_000)), {2**16 - 1, 2**16, 2**32 - 1, 2**32}]
    for highest in (100, 70_000, 2**20, 2**34, 2**62):
        sets += [{rng.randrange(highest) for _ in range(rng.choice([1, 50, 3000]))} for _ in range(12)]
        start = rng.randrange(highest)
        sets.append({*range(start, start + 5000), rng.randrange(highest)})
    for numbers in sets:
        theirs = java.call("positions", " ".join(map(str, numbers)))
        assert encode_positions(numbers) == theirs
        assert decode_positions(theirs).tolist() == sorted(numbers)
