"""A hostile file in place of a sound one, made with its format in mind where that is known."""

from __future__ import annotations

import base64
import io
import json
import struct
from collections.abc import Callable
from functools import lru_cache
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

import hudiformat as hf
from hudiformat.codec.log.frame import BlockHeader
from hudiformat.errors import HudiFormatError
from hudiformat.timeline.table_config import parse_properties
from tests.hostile.avro import hostile_schema
from tests.hostile.avro import mutant as avro_mutant
from tests.hostile.corpus import Source
from tests.hostile.values import TEXTS, anything, changed, damage, text

Mutator = Callable[[bytes, Random, bytes], bytes]


def mutant(source: Source, random: Random, other: bytes) -> bytes:
    """A hostile file made of *source*; *other* is another sound file."""
    if random.random() < 0.02:
        return random.choice((b"", b"\0" * 1000, other, b"[" * 100_000, b"Obj\x01", b"#HUDI#", b"PAR1PAR1"))
    make = next((make for beginning, make in _MUTATORS.items() if source.kind.startswith(beginning)), damage)
    if source.kind.endswith(" avro") or (source.kind.endswith(" empty") and random.random() < 0.5):
        make = avro_mutant
    elif source.kind.endswith(" json"):
        make = json_mutant
    return make(source.data, random, other)


def json_mutant(data: bytes, random: Random, other: bytes) -> bytes:
    """JSON with another value somewhere, or a key twice, or damaged."""
    if random.random() < 0.3:
        return damage(data, random, other)
    try:
        value = json.loads(data)
    except ValueError:
        return damage(data, random, other)
    for _ in range(random.choice((1, 1, 3))):
        value = changed(value, random, typed=random.random() < 0.5)
    return json.dumps(value, ensure_ascii=random.random() < 0.5).encode(errors="surrogatepass")


def properties_mutant(data: bytes, random: Random, other: bytes) -> bytes:
    """Properties, one of which has another value, key or form; the checksum does not cover them."""
    if random.random() < 0.3:
        return damage(data, random, other)
    entries = parse_properties(data)
    for key in random.sample([*entries, *_MORE_KEYS], random.choice((1, 2))):
        if random.random() < 0.1:
            entries.pop(key, None)
        else:
            entries[key] = random.choice(
                (text(random), str(anything(random))[:5000], random.choice(("true", "7", "9", "2", "{")))
            )
    lines = [f"{key}={_escaped(value)}" for key, value in entries.items()]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


_MORE_KEYS = (
    "hoodie.timeline.path",
    "hoodie.timeline.history.path",
    "hoodie.archivelog.folder",
    "hoodie.table.metadata.partitions",
    "hoodie.table.create.schema",
    "hoodie.index.type",
    "hoodie.bucket.index.num.buckets",
    "hoodie.bucket.index.hash.field",
    "hoodie.record.merge.property.x",
    "hoodie.bootstrap.base.path",
    "hoodie.table.partition.fields",
)


def _escaped(value: str) -> str:
    return "".join(one if " " <= one < "\x7f" and one != "\\" else f"\\u{ord(one) & 0xFFFF:04x}" for one in value)


def log_mutant(data: bytes, random: Random, other: bytes) -> bytes:
    """A log file one of whose blocks has a hostile header or content, in a sound frame or not."""
    if random.random() < 0.4:
        return damage(data, random, other)
    try:
        blocks = list(hf.LogReader(io.BytesIO(data).getbuffer()))
    except HudiFormatError:
        blocks = []
    blocks = [block for block in blocks if block.type is not hf.BlockType.CORRUPT]
    if not blocks:
        return damage(data, random, other)
    at = random.randrange(len(blocks))
    blocks[at] = _hostile_block(blocks[at], random, other)
    return b"".join(map(hf.encode_block, blocks))


def _hostile_block(block: hf.LogBlock, random: Random, other: bytes) -> hf.LogBlock:
    header = dict(block.header.items())
    content, kind = bytes(block.content), block.type
    what = random.randrange(6)
    if what <= 1:
        key = random.choice(list(hf.HeaderKey))
        header[key] = text(random).encode("utf-8", "replace").decode()
    elif what == 2:
        header[hf.HeaderKey.SCHEMA], _ = hostile_schema(random)
    elif what == 3:
        header[hf.HeaderKey.RECORD_POSITIONS] = positions(random)
        header[hf.HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS] = block.instant or ""
    elif what == 4:
        kind = random.choice([one for one in hf.BlockType if one is not hf.BlockType.CORRUPT])
    if what >= 4 or not content:
        content = parquet_mutant(content, random, other) if content[:4] == b"PAR1" else damage(content, random, other)
    return hf.LogBlock(kind, BlockHeader(header), content)


def positions(random: Random) -> str:
    """The header value for record positions: more than there are rows, or no bitmap."""
    what = random.randrange(5)
    if what == 0:
        return text(random).encode("utf-8", "replace").decode()
    if what == 1:
        return base64.b64encode(random.randbytes(random.choice((0, 1, 8, 200)))).decode()
    if what == 2:
        return _full(random.choice((1, 5, 3000)))
    bitmap = BitMap64([random.randrange(2**62) for _ in range(5)])
    data = bitmap.serialize()
    return base64.b64encode(damage(data, random, b"") if what == 3 else data).decode()


@lru_cache(maxsize=8)
def _full(containers: int) -> str:
    """A bitmap of so many containers, each of 65,536 positions in a run."""
    bitmap = BitMap64()
    for number in range(containers):
        bitmap.add_range(number << 16, (number + 1) << 16)
    bitmap.run_optimize()
    return base64.b64encode(bitmap.serialize()).decode()


def parquet_mutant(data: bytes, random: Random, other: bytes) -> bytes:
    """A Parquet file that is damaged, or sound and of other columns, or of more rows than its bytes can have."""
    what = random.random()
    if what < 0.5 or data[:4] != b"PAR1":
        if what < 0.2 and len(data) > 12:  # the footer
            size = min(struct.unpack("<i", data[-8:-4])[0] + 8, len(data))
            return data[:-size] + damage(data[-size:-8], random, other) + data[-8:] if size > 8 else data
        return damage(data, random, other)
    try:
        table = pq.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError, ValueError):
        return damage(data, random, other)
    return _rewritten(table, random)


def _rewritten(table: pa.Table, random: Random) -> bytes:
    what = random.randrange(6)
    if what == 0 and table.num_rows:  # one value for very many rows
        number = random.choice((10**6, 10**8))
        table = (
            pa.table({"a": pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), ["x"])[:0]})
            if not number
            else pa.table({table.column_names[0]: pa.nulls(min(number, 10**7), pa.int8())})
        )
    elif what == 1 and table.num_columns:
        at = random.randrange(table.num_columns)
        table = table.set_column(
            at, text(random).encode("utf-8", "replace").decode(), pa.nulls(len(table), random.choice(_TYPES))
        )
    elif what == 2 and table.num_columns:
        table = table.drop_columns([random.choice(table.column_names)])
    elif what == 3:
        table = table.slice(0, 0)
    elif what == 4 and table.num_rows and table.num_columns:
        at = random.randrange(table.num_columns)
        if pa.types.is_string(table.schema.field(at).type):
            values = [text(random).encode("utf-8", "replace").decode() for _ in range(len(table))]
            table = table.set_column(at, table.schema.field(at), pa.array(values, pa.string()))
    metadata = dict(table.schema.metadata or {})
    for key in random.sample(sorted(metadata), min(len(metadata), 1)) if what == 5 else []:
        metadata[key] = text(random).encode("utf-8", "replace")
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(metadata), sink, store_schema=random.random() < 0.1)
    return bytes(sink.getvalue().to_pybytes())


_TYPES = (pa.int8(), pa.string(), pa.list_(pa.int32()), pa.struct([("a", pa.int32())]), pa.timestamp("ns"), pa.binary())


def line_mutant(data: bytes, random: Random, other: bytes) -> bytes:
    """Text with another value behind an equals sign, or another text altogether."""
    lines = data.decode("utf-8", "replace").split("\n")
    if random.random() < 0.5:
        return damage(data, random, other)
    at = random.randrange(len(lines))
    key = lines[at].partition("=")[0]
    lines[at] = f"{key}={random.choice(TEXTS)}" if "=" in lines[at] else random.choice(TEXTS)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


_MUTATORS: dict[str, Mutator] = {
    "properties": properties_mutant,
    "log file": log_mutant,
    "metadata table log": log_mutant,
    "archive log": log_mutant,
    "archive parquet": parquet_mutant,
    "archive manifest": json_mutant,
    "archive version": line_mutant,
    "base file": parquet_mutant,
    "partition metadata": line_mutant,
    "sink journal": json_mutant,
    "sink avro file": avro_mutant,
}
