from __future__ import annotations

import io
import zlib

import fastavro
import pyarrow as pa
import pytest

from hudiformat.codec.avro.container import (
    CODEC_KEY,
    SCHEMA_KEY,
    ContainerReader,
    decode_avro_file,
    encode_block_head,
    encode_header,
    sync_marker,
)
from hudiformat.codec.avro.encode import encode_records
from hudiformat.errors import CorruptBlockError, CorruptTableError, TruncatedBlockError

SCHEMA = '{"type":"record","name":"r","fields":[{"name":"a","type":"long"}]}'
HEADER = encode_header({SCHEMA_KEY: SCHEMA.encode(), CODEC_KEY: b"null"})
SYNC = sync_marker(HEADER, b"0")
BLOCK = bytes.fromhex(
    "06"  # three records
    "08"  # in four bytes
    "02 03 80 01"  # 1, -2, 64
)
FILE = HEADER + SYNC + BLOCK + SYNC


def read(data: bytes) -> list[tuple[int, bytes]]:
    return list(ContainerReader(pa.BufferReader(data), "f").blocks())


def test_a_header_is_a_magic_and_a_map() -> None:
    assert (
        encode_header({"k": b"v" * 64})
        == bytes.fromhex(
            "4f 62 6a 01"  # magic
            "02"  # one entry
            "02 6b"  # its key
            "80 01"  # 64 bytes follow
        )
        + b"v" * 64
        + b"\0"
    )


def test_a_block_is_a_count_a_size_and_its_bytes() -> None:
    rows = pa.RecordBatch.from_pydict({"a": pa.array([1, -2, 64])})
    schema = SCHEMA.replace('"long"', '["null","long"]')
    assert encode_block_head(3, 4) + bytes([2, 3, 128, 1]) == BLOCK
    assert bytes(encode_records(rows, schema, framed=False)) == bytes([2, 2, 2, 3, 2, 128, 1])


def test_fastavro_reads_the_file() -> None:
    assert list(fastavro.reader(io.BytesIO(FILE))) == [{"a": 1}, {"a": -2}, {"a": 64}]


def test_a_file_of_fastavro_is_read() -> None:
    buffer = io.BytesIO()
    fastavro.writer(buffer, fastavro.parse_schema({"type": "record", "name": "r", "fields": []}), [{}, {}])
    reader = ContainerReader(pa.BufferReader(buffer.getvalue()), "f")
    assert reader.metadata[CODEC_KEY] == b"null"
    assert list(reader.blocks()) == [(2, b"")]


def test_metadata_marker_and_blocks_come_back() -> None:
    reader = ContainerReader(pa.BufferReader(FILE + BLOCK + SYNC), "f")
    assert reader.metadata == {SCHEMA_KEY: SCHEMA.encode(), CODEC_KEY: b"null"}
    assert reader.sync == SYNC
    assert list(reader.blocks()) == [(3, BLOCK[2:])] * 2


def test_the_sync_marker_depends_on_every_part_of_its_seed() -> None:
    assert len({sync_marker(b"a", b"b"), sync_marker(b"a", b"c"), sync_marker(b"d", b"b")}) == 3
    assert len(SYNC) == 16


@pytest.mark.parametrize("size", [*range(len(FILE))])
def test_every_cut_is_reported(size: int) -> None:
    if size == len(HEADER + SYNC):
        assert read(FILE[:size]) == []
        return
    with pytest.raises(TruncatedBlockError, match="f: expected"):
        read(FILE[:size])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"Obj\2" + FILE[4:], "f: expected an Avro file"),
        (HEADER + SYNC + BLOCK + b"x" * 16, "expected the sync marker"),
        (HEADER + SYNC + b"\5" + BLOCK[1:] + SYNC, "expected a length or count from 0 on"),
        (HEADER + SYNC + b"\xff" * 20, "expected a length or count from 0 on"),
    ],
)
def test_damage_is_named(data: bytes, message: str) -> None:
    with pytest.raises(CorruptBlockError, match=message):
        read(data)


def container(schema: str, block: bytes, *, records: int = 1, codec: bytes = b"null") -> bytes:
    header = encode_header({SCHEMA_KEY: schema.encode(), CODEC_KEY: codec})
    return header + SYNC + encode_block_head(records, len(block)) + block + SYNC


def test_the_first_record_is_decoded_also_out_of_a_deflated_block() -> None:
    deflate = zlib.compressobj(wbits=-15)
    deflated = deflate.compress(b"\x02") + deflate.flush()
    for data in (container(SCHEMA, b"\x02\x04", records=2), container(SCHEMA, deflated, codec=b"deflate")):
        assert decode_avro_file(data, path="f") == {"a": 1}


def bomb() -> bytes:
    deflate = zlib.compressobj(9, wbits=-15)
    return b"".join([*(deflate.compress(bytes(1 << 20)) for _ in range(64)), deflate.flush()])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "4 bytes, 0 are left"),
        (b"PAR1", "expected an Avro file, b.Obj"),
        (b"Obj\x01", "bytes, 0 are left"),
        (b"Obj\x01" + b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", "entries in the header"),
        (b"Obj\x01" + b"\x02\x00\x00" * 100, "entries in the header"),
        (container(SCHEMA, b"\x02", records=0), "found NoneType"),
        (container(SCHEMA, b"\x02")[:-1], "bytes, 15 are left"),
        (container(SCHEMA, b"\x02")[:-1] + b"x", "sync marker"),
        (container(SCHEMA, b"\x02", codec=b"bzip2"), "the codec b'bzip2'"),
        (container(SCHEMA, b"\x02", codec=b"deflate"), "deflate: "),
        (container(SCHEMA, bomb(), codec=b"deflate"), "inflates to more than"),
        (container('"long"', b"\x02"), "found int"),
        (encode_header({}) + SYNC, "not JSON"),
        (container('{"type":"array","items":"null"}', b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f"), "in unions only"),
    ],
)
def test_a_file_that_is_no_container_or_beyond_the_limits_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(CorruptTableError, match=message) as caught:
        decode_avro_file(data, path="f")
    assert caught.value.path == "f"


def test_a_schema_that_contains_itself_does_not_exhaust_the_stack() -> None:
    schema = '{"type":"record","name":"R","fields":[{"name":"a","type":["null","R"]}]}'
    with pytest.raises(CorruptTableError, match="contains itself"):
        decode_avro_file(container(schema, b"\x02" * 5000), path="f")
