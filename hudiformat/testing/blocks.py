"""Random blocks and log files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from hudiformat.codec.log.block import LogBlock, encode_block
from hudiformat.codec.log.build import data_block, delete_block, rollback_block
from hudiformat.codec.log.frame import MAGIC, BlockHeader, BlockType, HeaderKey
from hudiformat.testing.batches import batches
from hudiformat.testing.values import VALUES, decimals

_INSTANTS = st.integers(1, 999).map("{:03d}".format)
_TYPES = st.sampled_from([kind for kind in BlockType if kind is not BlockType.CORRUPT])
_HEADERS = st.dictionaries(st.sampled_from(HeaderKey), st.text(max_size=12), max_size=4).map(BlockHeader)
_KEY = "_hoodie_record_key"
_SMALL = pa.schema([pa.field(_KEY, pa.string(), nullable=False), ("a", pa.int32()), ("b", pa.string())])

_ORDERING: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    *((kind, VALUES[kind]) for kind in (pa.bool_(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string())),
    *((kind, VALUES[kind]) for kind in (pa.binary(), pa.date32(), pa.timestamp("us", tz="UTC"))),
    (pa.decimal128(30, 15), decimals(30, 15)),
    (
        pa.struct([("a", pa.int64()), ("b", pa.string())]),
        st.fixed_dictionaries({"a": VALUES[pa.int64()], "b": st.text()}),
    ),
]


@dataclass(frozen=True, slots=True)
class LogFile:
    """The bytes of an intact log file, and the blocks in it.

    Source: spec/log-file.md.
    """

    data: bytes
    blocks: tuple[LogBlock, ...]


@st.composite
def data_blocks(
    draw: st.DrawFn,
    rows: st.SearchStrategy[pa.RecordBatch] | None = None,
    *,
    formats: tuple[str, ...] = ("avro", "parquet", "hfile", "cdc"),
) -> LogBlock:
    """Generate data blocks of *rows*, in one of *formats*, some with record positions, some with partial records.

    Without *rows*, they have a record key and two columns; "hfile" requires the column ``_hoodie_record_key``.

    Source: spec/log-block.md, "Contents".
    """
    batch = draw(batches(_SMALL, max_rows=5) if rows is None else rows)
    positions = draw(_positions(batch.num_rows))
    return data_block(
        batch,
        instant=draw(_INSTANTS),
        format=draw(st.sampled_from(formats)),
        positions=positions,
        base_instant=None if positions is None else draw(_INSTANTS),
        is_partial=draw(st.booleans()),
    )


def _positions(count: int) -> st.SearchStrategy[list[int] | None]:
    """Generate either *count* ascending row numbers, or None."""
    rows = st.lists(st.integers(0, 2**40), min_size=count, max_size=count, unique=True).map(sorted)
    return st.none() | rows


@st.composite
def delete_blocks(draw: st.DrawFn) -> LogBlock:
    """Generate delete blocks with ordering values of every type that Hudi supports, or of several or no fields.

    Source: spec/avro-records.md, "Delete list".
    """
    keys = draw(st.lists(st.text(max_size=6), max_size=4))
    split = draw(st.integers(0, len(keys)))
    paths = draw(st.lists(st.sampled_from(["", "p", "year=2024/ü"]), min_size=len(keys), max_size=len(keys)))
    positions = draw(_positions(len(keys)))
    return delete_block(
        pa.chunked_array([keys[:split], keys[split:]], pa.string()),
        instant=draw(_INSTANTS),
        partition_path=pa.array(paths, pa.string()),
        ordering=draw(_ordering(len(keys))),
        positions=positions,
        base_instant=None if positions is None else draw(_INSTANTS),
    )


@st.composite
def _ordering(draw: st.DrawFn, count: int) -> pa.Array | None:
    kind, values = draw(st.sampled_from(_ORDERING))
    if draw(st.booleans()):
        return None
    each = values if pa.types.is_struct(kind) else st.none() | values
    return pa.array(draw(st.lists(each, min_size=count, max_size=count)), kind)


def rollback_blocks() -> st.SearchStrategy[LogBlock]:
    """Generate command blocks that roll back an instant.

    Source: spec/log-block.md, "Header".
    """
    return st.builds(lambda instant, target: rollback_block(instant=instant, target=target), _INSTANTS, _INSTANTS)


def blocks(*, magic_inside: bool = True) -> st.SearchStrategy[LogBlock]:
    """Generate blocks of every type: those of the other strategies, and blocks with any bytes as content.

    With *magic_inside*, the content may contain the magic, or whole blocks; otherwise the magic is only at the start.

    Source: spec/log-block.md.
    """
    opaque = st.tuples(_TYPES, _HEADERS, st.binary(max_size=80)).map(lambda parts: LogBlock(*parts))
    real = data_blocks(formats=("avro", "cdc")) | delete_blocks() | rollback_blocks()
    plain = (opaque | real).filter(lambda block: MAGIC not in encode_block(block)[1:])
    if not magic_inside:
        return plain
    inner = st.just(MAGIC) | st.lists(plain, max_size=2).map(lambda items: b"".join(map(encode_block, items)))
    content = st.tuples(st.binary(max_size=10), inner, st.binary(max_size=10)).map(b"".join)
    return plain | st.tuples(_TYPES, _HEADERS, content).map(lambda parts: LogBlock(*parts))


def log_files(content: st.SearchStrategy[LogBlock] | None = None, *, max_blocks: int = 5) -> st.SearchStrategy[LogFile]:
    """Generate intact log files of up to *max_blocks* blocks from *content*, by default from :func:`blocks`.

    Source: spec/log-file.md.
    """
    runs = st.lists(blocks() if content is None else content, max_size=max_blocks)
    return runs.map(lambda items: LogFile(b"".join(map(encode_block, items)), tuple(items)))
