"""Random blocks, log files and damage."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st

from hudiformat.blocks import (
    MAGIC,
    BlockHeader,
    BlockType,
    HeaderKey,
    LogBlock,
    data_block,
    delete_block,
    encode_block,
    rollback_block,
)

_INSTANTS = st.integers(1, 999).map("{:03d}".format)
_TYPES = st.sampled_from([kind for kind in BlockType if kind is not BlockType.CORRUPT])
_HEADERS = st.dictionaries(st.sampled_from(HeaderKey), st.text(max_size=12), max_size=4).map(BlockHeader)
_ROWS = st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.none() | st.text(max_size=6)), max_size=5)
_KEYS = st.lists(st.text(max_size=6), max_size=4)


def _data_block(instant: str, rows: list[tuple[int, str | None]]) -> LogBlock:
    numbers = pa.array([number for number, _ in rows], pa.int32())
    return data_block(
        pa.record_batch({"a": numbers, "b": pa.array([text for _, text in rows], pa.string())}), instant=instant
    )


REAL_BLOCKS = (
    st.builds(_data_block, _INSTANTS, _ROWS)
    | st.builds(lambda keys, instant: delete_block(keys, instant=instant, partition_path="p"), _KEYS, _INSTANTS)
    | st.builds(lambda instant, target: rollback_block(instant=instant, target=target), _INSTANTS, _INSTANTS)
)
"""Blocks whose content is what their type says."""

BLOCKS = (st.tuples(_TYPES, _HEADERS, st.binary(max_size=80)).map(lambda parts: LogBlock(*parts)) | REAL_BLOCKS).filter(
    lambda block: MAGIC not in encode_block(block)[1:]
)
"""Sound blocks without a magic inside."""

_INNER = st.lists(BLOCKS, max_size=2).map(lambda blocks: b"".join(map(encode_block, blocks)))
_WITH_MAGIC = st.tuples(st.binary(max_size=10), st.just(MAGIC) | _INNER, st.binary(max_size=10)).map(b"".join)
BLOCKS_WITH_MAGIC = BLOCKS | st.tuples(_TYPES, _HEADERS, _WITH_MAGIC).map(lambda parts: LogBlock(*parts))
"""Sound blocks, some of them with a magic or whole blocks inside."""


@st.composite
def damaged_files(draw: st.DrawFn) -> bytes:
    """A log file that one to four things happened to."""
    data = b"".join(map(encode_block, draw(st.lists(BLOCKS_WITH_MAGIC, max_size=5))))
    for _ in range(draw(st.integers(1, 4))):
        data = draw(st.sampled_from([_flip, _insert, _delete, _duplicate, _splice]))(draw, data)
    return data


def _span(draw: st.DrawFn, data: bytes) -> tuple[int, int]:
    start = draw(st.integers(0, len(data)))
    return start, draw(st.integers(start, min(len(data), start + draw(st.sampled_from([1, 8, 200])))))


def _flip(draw: st.DrawFn, data: bytes) -> bytes:
    if not data:
        return data
    at = draw(st.integers(0, len(data) - 1))
    return data[:at] + bytes([data[at] ^ draw(st.sampled_from([1, 2, 8, 128, 255]))]) + data[at + 1 :]


def _insert(draw: st.DrawFn, data: bytes) -> bytes:
    at = draw(st.integers(0, len(data)))
    return data[:at] + draw(st.binary(max_size=8) | st.just(MAGIC) | st.just(bytes(12))) + data[at:]


def _delete(draw: st.DrawFn, data: bytes) -> bytes:
    start, end = _span(draw, data)
    return data[:start] + data[end:]


def _duplicate(draw: st.DrawFn, data: bytes) -> bytes:
    start, end = _span(draw, data)
    return data[:end] + data[start:]


def _splice(draw: st.DrawFn, data: bytes) -> bytes:
    other = b"".join(map(encode_block, draw(st.lists(BLOCKS, min_size=1, max_size=3))))
    return data[: draw(st.integers(0, len(data)))] + other[draw(st.integers(0, len(other))) :]
