"""Every case of spec/vectors, decoded, and encoded again where there is one encoding."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat import BlockHeader, BlockType, HeaderKey, LogBlock
from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.hfile.vlong import decode_vlong, encode_vlong
from hudiformat.codec.hfile.writer import encode_hfile
from hudiformat.codec.log.block import decode_block, decode_positions, encode_positions
from hudiformat.codec.protobuf import decode_varint, encode_varint
from hudiformat.errors import CorruptTableError, DataError, HudiFormatError
from hudiformat.file_group.base_file.bloom import BloomFilter
from hudiformat.naming.bucket_hash import record_key_buckets
from hudiformat.naming.file_names import WriteToken
from hudiformat.naming.instants import format_instant, parse_instant
from hudiformat.naming.keys import format_partition_path, parse_partition_path, record_keys
from hudiformat.wire import Cursor, int32, int64
from tests.vectors.deletes import delete_columns, expected_ordering
from tests.vectors.plain import arrow_rows, plain_rows, plain_values

pytestmark = pytest.mark.unmeasured

FOLDER = Path(__file__).parents[2] / "spec" / "vectors"
FILES = sorted(FOLDER.glob("*.json"))
Vector = dict[str, Any]
VECTORS = [vector for path in FILES for vector in json.loads(path.read_text())["vectors"]]

ERRORS: dict[str, tuple[type[HudiFormatError], ...]] = {
    "truncated": (hf.TruncatedBlockError,),
    "corrupt": (hf.CorruptBlockError, CorruptTableError),
    "unsupported version": (hf.UnsupportedVersionError,),
    "name": (hf.NameFormatError,),
    "data": (DataError,),
}
ENVELOPE_HEAD = 22
"""Bytes of a block in front of its header."""


def block_of(data: bytes) -> LogBlock:
    return decode_block(data)[0]


def pairs(block: LogBlock) -> list[list[str]]:
    return [[key.name, value.decode("utf-8", "replace")] for key, value in block.header.entries]


def header_of(entries: list[list[str]]) -> BlockHeader:
    return BlockHeader([(HeaderKey[key], value.encode()) for key, value in entries])


def described(block: LogBlock) -> Vector:
    """A block of a log file as the vectors have it; of the reason, the offset is told."""
    facts: Vector = {"type": block.type.name, "offset": block.offset, "size": block.size}
    if block.type is not BlockType.CORRUPT:
        return {**facts, "header": pairs(block), "content": block.content.hex()}
    offset = re.match("at byte ([0-9]+): ", block.reason or "")
    return {**facts, "offset of error": int(offset[1]) if offset else None}


def read_log_file(given: Vector) -> list[Vector]:
    blocks = list(hf.LogReader(bytes.fromhex(given["hex"])))
    assert list(reversed(hf.LogReader(bytes.fromhex(given["hex"])))) == blocks[::-1]
    return [described(block) for block in blocks]


def decode_one_block(given: Vector) -> Vector:
    block = block_of(bytes.fromhex(given["hex"]))
    return {"type": block.type.name, "size": block.size, "header": pairs(block), "content": block.content.hex()}


def encode_one_block(_: Vector, expected: Vector) -> str:
    content = bytes.fromhex(expected["content"])
    block = LogBlock(BlockType[expected["type"]], header_of(expected["header"]), content)
    return hf.encode_block(block).hex()


def in_block(header: bytes) -> bytes:
    """A block without content around a header."""
    body = int32(1) + int32(0) + header + int64(0) + int32(0)
    return b"#HUDI#" + int64(len(body) + 8) + body + int64(len(body) + 14)


def decode_header(given: Vector) -> Vector:
    try:
        block = block_of(in_block(bytes.fromhex(given["hex"])))
    except hf.DecodeError as error:
        raise error.shifted(-ENVELOPE_HEAD) from None
    positions = block.positions() if block.base_instant_of_positions == "001" else None
    meaning = {
        "instant": block.instant,
        "target_instant": block.target_instant,
        "compacted_instants": list(block.compacted_instants),
        "is_partial": block.is_partial,
        "identifier": block.identifier,
        "positions": None if positions is None else positions.tolist(),
        "base_instant_of_positions": block.base_instant_of_positions,
    }
    return {"entries": pairs(block), "meaning": meaning}


def encode_header(_: Vector, expected: Vector) -> str:
    block = LogBlock(BlockType.COMMAND, header_of(expected["entries"]), b"")
    return hf.encode_block(block)[ENVELOPE_HEAD:-20].hex()


def decode_data(kind: BlockType) -> Callable[[Vector], list[Vector]]:
    def decode(given: Vector) -> list[Vector]:
        header = BlockHeader({HeaderKey.SCHEMA: given["schema"]})
        return plain_rows(LogBlock(kind, header, bytes.fromhex(given["hex"])).to_arrow())

    return decode


def encode_data(name: str) -> Callable[[Vector, list[Vector]], str]:
    def encode(given: Vector, expected: list[Vector]) -> str:
        rows = arrow_rows(expected, avro_to_arrow(given["schema"]))
        return bytes(hf.data_block(rows, instant="001", schema=given["schema"], format=name).content).hex()

    return encode


def decode_deletes(given: Vector) -> list[Vector]:
    deletes = LogBlock(BlockType.DELETE, BlockHeader(), bytes.fromhex(given["hex"])).deletes()
    keys, partitions = deletes["record_key"].to_pylist(), deletes["partition_path"].to_pylist()
    ordering = deletes["ordering"]
    values = ordering.to_pylist() if pa.types.is_union(ordering.type) else plain_values(ordering)
    return [
        {"key": key, "partition": partition, "ordering": list(value.values()) if isinstance(value, dict) else value}
        for key, partition, value in zip(keys, partitions, values, strict=True)
    ]


def encode_deletes(_: Vector, expected: list[Vector]) -> str:
    keys, partitions, ordering = delete_columns(expected)
    return bytes(hf.delete_block(keys, instant="001", partition_path=partitions, ordering=ordering).content).hex()


def read_hfile(given: Vector) -> Vector:
    reader = HFileReader(bytes.fromhex(given["hex"]))
    entries = [[key.hex(), value.hex()] for key, value in reader]
    asked = [key for key, _ in entries] + ["00", "7a"]
    found = {key: reader.get(bytes.fromhex(key)) for key in asked}
    own = ("hfile.", "KEY_VALUE_VERSION", "MAX_MEMSTORE_TS_KEY")
    return {
        "entries": entries,
        "file_info": {name: value.hex() for name, value in reader.file_info.items() if not name.startswith(own)},
        "meta_blocks": {name: (reader.meta_block(name) or b"").hex() for name in reader.meta_block_names},
        "get": {key: None if value is None else value.hex() for key, value in found.items()},
    }


def write_hfile(options: Vector, expected: Vector) -> str:
    keys, values = (pa.array([bytes.fromhex(entry[at]) for entry in expected["entries"]], pa.binary()) for at in (0, 1))
    extras: dict[str, Any] = {
        name: {key: bytes.fromhex(value) for key, value in expected[name].items()}
        for name in ("file_info", "meta_blocks")
    }
    return encode_hfile(keys, values, **options, **extras).hex()


def attributes(parse: Callable[[str], Any]) -> Callable[[Vector], Vector]:
    def decode(given: Vector) -> Vector:
        name = parse(given["text"])
        assert str(name) == given["text"]
        return {field: getattr(name, field) for field in type(name).__slots__ if field != "zeros"}

    return decode


def partition_path(given: Vector) -> str:
    return format_partition_path(
        given["values"], given["fields"], hive_style=given["hive_style"], url_encode=given["url_encode"]
    )


def partition_values(given: Vector, expected: str) -> list[str | None]:
    return parse_partition_path(
        expected, given["fields"], hive_style=given["hive_style"], url_encode=given["url_encode"]
    )


def record_key(given: Vector) -> str:
    columns = [pa.array([value], pa.string() if value is None else None) for value in given["values"]]
    key: str = record_keys(columns, given["fields"], complex_form=given["complex"])[0].as_py()
    return key


def bloom_filter(given: Vector) -> Vector:
    bloom = BloomFilter.parse(given["text"])
    keys = [*given["keys"], "nope-1", "b", "a"]
    flags = bloom.might_contain(pa.array(keys)).tolist()
    facts = {"num_hashes": bloom.num_hashes, "num_bits": bloom.num_bits, "bits": bloom.bits.hex()}
    return {**facts, "contains": dict(zip(keys, flags, strict=True))}


def long_of(given: Vector) -> int:
    """An Avro varint, as the only field of a record: the offset of an error is left out, for it is the content's."""
    data = bytes.fromhex(given["hex"])
    content = (int32(3) + int32(1) + int32(len(data)) + data).hex()
    number: int = decode_data(BlockType.AVRO_DATA)({"schema": LONG, "hex": content})[0]["n"]
    return number


LONG = '{"type":"record","name":"r","fields":[{"name":"n","type":"long"}]}'

DECODERS: dict[str, Callable[[Vector], Any]] = {
    "read log file": read_log_file,
    "decode block": decode_one_block,
    "decode header": decode_header,
    "decode avro data": decode_data(BlockType.AVRO_DATA),
    "decode cdc data": decode_data(BlockType.CDC_DATA),
    "decode parquet data": decode_data(BlockType.PARQUET_DATA),
    "decode hfile data": decode_data(BlockType.HFILE_DATA),
    "decode deletes": decode_deletes,
    "read hfile": read_hfile,
    "decode avro varint": long_of,
    "decode hadoop vlong": lambda given: decode_vlong(Cursor(memoryview(bytes.fromhex(given["hex"])))),
    "decode protobuf varint": lambda given: decode_varint(Cursor(memoryview(bytes.fromhex(given["hex"])))),
    "decode positions": lambda given: decode_positions(given["text"]).tolist(),
    "parse bloom filter": bloom_filter,
    "bucket": lambda given: int(
        record_key_buckets(pa.array([given["record_key"]]), given["hash_fields"], given["buckets"])[0]
    ),
    "record key": record_key,
    "parse log file name": attributes(hf.LogFileName.parse),
    "parse base file name": attributes(hf.BaseFileName.parse),
    "parse write token": attributes(WriteToken.parse),
    "parse instant": lambda given: milliseconds(parse_instant(given["text"])),
    "format partition path": partition_path,
}


def milliseconds(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1)
    return round(since.total_seconds() * 1000)


ENCODERS: dict[str, Callable[[Vector, Any], Any]] = {
    "decode block": encode_one_block,
    "decode header": encode_header,
    "decode avro data": encode_data("avro"),
    "decode cdc data": encode_data("cdc"),
    "decode deletes": encode_deletes,
    "decode hadoop vlong": lambda _, expected: encode_vlong(expected).hex(),
    "decode protobuf varint": lambda _, expected: encode_varint(expected).hex(),
    "decode avro varint": lambda _, expected: encode_data("avro")({"schema": LONG}, [{"n": expected}])[24:],
    "decode positions": lambda _, expected: encode_positions(expected),
    "parse bloom filter": lambda given, expected: (
        BloomFilter(expected["num_hashes"], expected["num_bits"], bytes(len(expected["bits"]) // 2))
        .with_keys(pa.array(given["keys"], pa.string()))
        .serialize()
    ),
    "parse log file name": lambda _, expected: str(hf.LogFileName(**expected)),
    "parse base file name": lambda _, expected: str(hf.BaseFileName(**expected)),
    "parse write token": lambda _, expected: str(WriteToken(**expected)),
    "parse instant": lambda given, _: format_instant(parse_instant(given["text"])),
    "format partition path": partition_values,
}


def is_sound(vector: Vector) -> bool:
    return "expected" in vector


def ids(vectors: list[Vector]) -> list[str]:
    return [f"{vector['operation']}: {vector['name']!a}" for vector in vectors]


SOUND = [vector for vector in VECTORS if is_sound(vector)]
BROKEN = [vector for vector in VECTORS if not is_sound(vector)]
ENCODED = [vector for vector in SOUND if vector.get("encodes")]
LOG_FILES = [vector for vector in VECTORS if vector["operation"] == "read log file"]


def same(found: Any, expected: Any) -> bool:
    """Equal, and 0.0 is not -0.0."""
    return bool(found == expected) and json.dumps(found) == json.dumps(expected)


def comparable(vector: Vector) -> Any:
    """The expectation in the form that our decoders give it."""
    expected = vector["expected"]
    if vector["operation"] == "decode deletes":
        return expected_ordering(expected)
    if vector["operation"] == "read log file":
        return [corrupt_as_described(block) for block in expected]
    return expected


def corrupt_as_described(block: Vector) -> Vector:
    if block["type"] != "CORRUPT":
        return block
    return {key: block[key] for key in ("type", "offset", "size")} | {"offset of error": block["error"]["offset"]}


@pytest.mark.parametrize("vector", SOUND, ids=ids(SOUND))
def test_what_is_sound_decodes_to_what_is_expected(vector: Vector) -> None:
    found, expected = DECODERS[vector["operation"]](vector["input"]), comparable(vector)
    if vector["operation"] == "decode header":
        found["meaning"] = {name: found["meaning"][name] for name in expected.get("meaning", {})}
        expected = {"meaning": {}, **expected}
    elif vector["operation"] == "parse bloom filter":
        found["contains"] = {key: found["contains"][key] for key in expected["contains"]}
    assert found == expected
    if isinstance(found, list):
        assert all(same(left, right) for left, right in zip(found, expected, strict=True))


@pytest.mark.parametrize("vector", BROKEN, ids=ids(BROKEN))
def test_what_is_broken_is_refused_with_the_kind_of_error_and_its_place(vector: Vector) -> None:
    error = vector["error"]
    with pytest.raises(ERRORS[error["kind"]]) as caught:
        DECODERS[vector["operation"]](vector["input"])
    if "offset" in error:
        assert getattr(caught.value, "offset", None) == error["offset"], str(caught.value)


@pytest.mark.parametrize("vector", ENCODED, ids=ids(ENCODED))
def test_what_has_one_encoding_encodes_to_its_input(vector: Vector) -> None:
    given = vector["input"]
    if vector["operation"] == "read hfile":
        assert write_hfile(vector["options"], vector["expected"]) == given["hex"]
        return
    encoded = ENCODERS[vector["operation"]](given, vector["expected"])
    assert encoded == next(given[name] for name in ("hex", "text", "values") if name in given)


@pytest.mark.parametrize("vector", LOG_FILES, ids=ids(LOG_FILES))
def test_blocks_of_a_log_file_encode_to_its_bytes(vector: Vector) -> None:
    data = bytes.fromhex(vector["input"]["hex"])
    encoded = b"".join(map(hf.encode_block, hf.LogReader(data)))
    assert data.startswith(encoded)
    assert len(data) - len(encoded) < 6


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_keeps_the_documented_shape(path: Path) -> None:
    document = json.loads(path.read_text(), parse_constant=pytest.fail)  # what is not finite is text
    assert set(document) == {"part", "page", "vectors"}
    assert (FOLDER.parent / document["page"]).is_file()
    names = [vector["name"] for vector in document["vectors"]]
    assert len(set(names)) == len(names)
    readme = (FOLDER / "README.md").read_text()
    assert f"({path.name})" in readme
    for vector in document["vectors"]:
        assert set(vector) <= {"name", "shows", "source", "operation", "input", "expected", "error", "encodes"} | {
            "options",
            "hudi",
        }
        assert ("expected" in vector) != ("error" in vector)
        assert vector["shows"]
        assert f"`{vector['operation']}`" in readme
        if "error" in vector:
            assert f"`{vector['error']['kind']}`" in readme


def test_the_worked_example_of_record_positions_is_the_vector() -> None:
    page = (FOLDER.parent / "record-positions.md").read_text()
    (example,) = re.findall(r"```\n(\S+=)\n\n(.*?)```", page, re.DOTALL)
    lines = re.findall(r"^((?:[0-9a-f]{2} )+)", example[1], re.MULTILINE)
    assert base64.b64decode(example[0]).hex(" ") == " ".join("".join(lines).split())
    assert decode_positions(example[0]).tolist() == [3, 70000, 2**33]
