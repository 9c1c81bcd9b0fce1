"""Avro files whose records, schemas, blocks or codecs are hostile."""

from __future__ import annotations

import bz2
import io
import json
import zlib
from functools import lru_cache
from random import Random
from typing import Any

import fastavro

from hudiformat.codec.avro.container import decode_avro_file
from tests.hostile.values import changed, damage

_MAGIC = b"Obj\x01"
_SYNC = bytes(range(16))


def varint(value: int) -> bytes:
    """The Avro long of *value*."""
    rest = (value << 1 ^ value >> 63) & (1 << 64) - 1
    result = bytearray()
    while rest > 0x7F:
        result.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*result, rest])


def container(schema: str, block: bytes, *, records: int = 1, codec: bytes = b"null", size: int | None = None) -> bytes:
    """An Avro file of one block; *size* is what it says that the block has."""
    header = varint(2)
    for key, value in ((b"avro.schema", schema.encode(errors="surrogatepass")), (b"avro.codec", codec)):
        header += varint(len(key)) + key + varint(len(value)) + value
    return _MAGIC + header + b"\0" + _SYNC + varint(records) + varint(size or len(block)) + block + _SYNC


@lru_cache(maxsize=512)
def _parts(data: bytes) -> tuple[str, Any, bytes]:
    """The schema of an Avro file, its first record and the bytes of that."""
    decode_avro_file(data, path="f")  # else fastavro may exhaust the stack
    reader = fastavro.reader(io.BytesIO(data))
    schema = reader.metadata["avro.schema"]
    record = next(iter(reader))
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(json.loads(schema)), record)
    return schema, record, buffer.getvalue()


def mutant(data: bytes, random: Random, other: bytes) -> bytes:  # noqa: PLR0911 - one for each way
    """A hostile file made of the sound file *data*."""
    try:
        schema, record, block = _parts(data)
    except Exception:  # noqa: BLE001 - a damaged file of a golden table, or none of Avro
        return damage(data, random, other)
    what = random.randrange(10)
    if what <= 3:
        return _with_record(schema, record, random) or damage(data, random, other)
    if what == 4:
        return container(json.dumps(changed(json.loads(schema), random, typed=False)), block)
    if what == 5:
        return container(*hostile_schema(random))
    if what == 6:
        return _bomb(schema, block, random)
    if what == 7:
        return container(schema, damage(block, random, other), records=random.choice((1, 0, -1, 2**62)))
    if what == 8:
        return container(schema, block, size=random.choice((-1, 2**31, 2**62, -(2**63))))
    return damage(data, random, other)


def _with_record(schema: str, record: Any, random: Random) -> bytes | None:
    parsed = fastavro.parse_schema(json.loads(schema))
    for _ in range(10):
        buffer, other = io.BytesIO(), changed(record, random, typed=True)
        try:
            fastavro.schemaless_writer(buffer, parsed, other)
        except Exception:  # noqa: BLE001, S112 - the record does not fit the schema: another one
            continue
        return container(schema, buffer.getvalue())
    return None


def _bomb(schema: str, block: bytes, random: Random) -> bytes:
    size = random.choice((1 << 20, 1 << 24, 1 << 26))
    content = block + bytes(size)
    codec = random.choice(("deflate", "bzip2", "snappy", "zstandard", "xz", "nothing"))
    if codec == "bzip2":
        return container(schema, bz2.compress(content), codec=b"bzip2")
    deflate = zlib.compressobj(9, wbits=-15)
    return container(schema, deflate.compress(content) + deflate.flush(), codec=codec.encode())


_HUGE = varint(2**62)
_RECORD = '{"type":"record","name":"%s","fields":[{"name":"f","type":%s}]}'


def hostile_schema(random: Random) -> tuple[str, bytes]:  # noqa: PLR0911 - one for each way
    """A schema, and the bytes of a value of it, that takes more than its bytes, or contains itself."""
    what = random.randrange(9)
    if what == 0:
        return _RECORD % ("R", '["null","R"]'), b"\x02" * random.choice((100, 5000, 100_000)) + b"\0"
    if what == 1:
        return _RECORD % ("R", '{"type":"array","items":"R"}'), b"\x02" * random.choice((100, 5000))
    if what == 2:
        return _RECORD % ("R", '{"type":"array","items":"null"}'), _HUGE + b"\0"
    if what == 3:
        empty = '{"type":"record","name":"E","fields":[]}'
        return _RECORD % ("R", f'{{"type":"array","items":{empty}}}'), _HUGE + b"\0"
    if what == 4:
        return _RECORD % ("R", random.choice(('"string"', '"bytes"'))), varint(random.choice((2**62, -5, 2**31))) + b"a"
    if what == 5:
        depth = random.choice((30, 200, 3000))
        return _RECORD % ("R", '{"type":"array","items":' * depth + '"int"' + "}" * depth), b"\x02" * depth
    if what == 6:
        kind = '"int"'
        for level in range(random.choice((5, 25))):
            kind = f'{{"type":"record","name":"R{level}","fields":[{{"name":"a","type":{kind}}},'
            kind += f'{{"name":"b","type":{"int" if level == 0 else f"R{level - 1}"!r}}}]}}'.replace("'", '"')
        return kind, b"\x02" * 1000
    if what == 7:
        size = random.choice((0, 2**31, 2**62, -1))
        return _RECORD % ("R", f'{{"type":"fixed","name":"F","size":{size}}}'), b"abc"
    logical = random.choice(("decimal", "date", "timestamp-millis", "uuid", "duration", "time-micros"))
    kind = random.choice(("int", "long", "bytes", "string"))
    given = f'{{"type":"{kind}","logicalType":"{logical}","precision":{random.choice((0, 10**9))},"scale":-3}}'
    return _RECORD % ("R", given), _HUGE
