"""Encode the entries of a data block from Arrow, decode them, or find a few of them.  Layout: spec/hfile.md.

The entries k1 = "v", k2 = "" and k3 = "xyz" have 24, 23 and 26 bytes; the first one is

    00 00 00 0e                    the key has 14 bytes: row length, row and tail
    00 00 00 01                    the value has 1 byte
    00 02 6b 31                    the row has 2 bytes: "k1"
    00 7fffffffffffffff 04         the tail of every key: no column family, the largest timestamp, type Put
    76                             the value, "v"
    00                             the memstore timestamp

A few keys are found without decoding the other entries: the bytes of a block are searched for the bytes of the key in
an entry, between the key's length and ``KEY_TAIL``.  They are not part of a value if another entry, or the end of the
block, follows where the entry ends.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.hfile.block import Block
from hudiformat.codec.hfile.chain import KEY_TAIL, LENGTHS_SIZE, ROW_LENGTH_SIZE, Longs, locate_entries
from hudiformat.errors import CorruptBlockError

SCHEMA = pa.schema([pa.field("key", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=False)])

_MEMSTORE_TIMESTAMP = b"\0"
_OVERHEAD = LENGTHS_SIZE + ROW_LENGTH_SIZE + len(KEY_TAIL) + len(_MEMSTORE_TIMESTAMP)


def entry_sizes(keys: pa.Array, values: pa.Array) -> Longs:
    """Return the bytes of each entry in a data block."""
    sizes: Longs = pc.add(pc.binary_length(keys), pc.binary_length(values)).to_numpy() + _OVERHEAD
    return sizes


def encode_entries(keys: pa.Array, values: pa.Array) -> memoryview:
    """Return the content of a data block with these entries; both arrays are large_binary without nulls.

    Source: HFileDataBlock.getUncompressedBlockDataToWrite.
    """
    parts = (_encode_heads(keys, values), keys, KEY_TAIL, values, _MEMSTORE_TIMESTAMP, b"")
    joined = pc.binary_join_element_wise(
        *(pa.scalar(p, pa.large_binary()) if isinstance(p, bytes) else p for p in parts)
    )
    _, offsets, data = joined.buffers()
    return memoryview(data)[: np.frombuffer(offsets, np.int64)[len(keys)]]


def _encode_heads(keys: pa.Array, values: pa.Array) -> pa.Array:
    """Return the lengths in front of each row."""
    heads = np.empty(len(keys), [("key", ">i4"), ("value", ">i4"), ("row", ">i2")])
    lengths = pc.binary_length(keys).to_numpy()
    heads["row"] = lengths
    heads["key"] = lengths + (ROW_LENGTH_SIZE + len(KEY_TAIL))  # numpy 1 would add to heads["row"] in 16 bits
    heads["value"] = pc.binary_length(values).to_numpy()
    offsets = np.arange(len(keys) + 1, dtype=np.int64) * heads.dtype.itemsize
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(keys), [None, pa.py_buffer(offsets), pa.py_buffer(heads)]
    )


def decode_entries(block: Block, *, suffix: int | None) -> pa.RecordBatch:
    """Return the rows and values of a data block, in file order.

    *suffix* is the number of bytes behind each value, which are skipped; None if a vlong follows each value.

    Raises:
        DecodeError: the entries do not fill the block, or their lengths contradict each other.

    Source: HFileDataBlock.readKeyValue and next, KeyValue, Key.
    """
    content = block.content
    if not content:
        return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in SCHEMA], schema=SCHEMA)
    offsets = locate_entries(content, suffix=suffix, base=block.base)
    # The content is cut at every begin and end of a row or value: of each four pieces, the first is a row, the third
    # a value.  For the slices [[10, 13, 23, 28], [39, 42, 52, 57]] these are the pieces 0 and 4, 2 and 6.
    slices = _slices(np.frombuffer(content, np.uint8), offsets, block.base)
    bounds = np.append(slices.ravel(), np.int32(len(content)))
    pieces = pa.BinaryArray.from_buffers(pa.binary(), slices.size, [None, pa.py_buffer(bounds), pa.py_buffer(content)])
    rows = np.arange(len(slices)) * slices.shape[1]
    return pa.RecordBatch.from_arrays([pieces.take(pa.array(rows + piece)) for piece in (0, 2)], schema=SCHEMA)


def _slices(data: npt.NDArray[np.uint8], offsets: Longs, base: int) -> npt.NDArray[np.int32]:
    """Return for each entry where its row begins and ends, and where its value begins and ends.

    For the three entries above that is [[10, 12, 22, 23], [34, 36, 46, 46], [57, 59, 69, 72]].

    Raises:
        CorruptBlockError: the lengths of an entry contradict each other.
    """
    starts, ends = offsets[:-1], offsets[1:]
    size = len(data) - LENGTHS_SIZE - ROW_LENGTH_SIZE + 1
    at = np.minimum(starts, size - 1)  # the check below refuses an entry that is too short
    # A number at every byte of the data, with a stride of one byte: entries are not aligned.
    key, value, row = (
        np.ndarray((size,), kind, data, byte, strides=(1,))[at].astype(np.int64)
        for kind, byte in ((">i4", 0), (">i4", 4), (">i2", LENGTHS_SIZE))
    )
    rows = starts + (LENGTHS_SIZE + ROW_LENGTH_SIZE)
    values = starts + LENGTHS_SIZE + key
    slices = np.stack((rows, rows + row, values, values + value), axis=1)
    wrong = (np.diff(slices, axis=1) < 0).any(axis=1) | (slices[:, -1] > ends)
    if wrong.any():
        first = int(starts[wrong.argmax()])
        raise CorruptBlockError("the lengths of an entry contradict each other", offset=base + first)
    return slices.astype(np.int32)


MAX_SEARCHED_KEYS = 24
"""Up to this many keys are searched in a block; searching more takes longer than decoding all of its entries."""

_LENGTHS = struct.Struct(">ii")
_HEAD = struct.Struct(">iih")


def find_values(content: memoryview, keys: Sequence[bytes], *, suffix: int | None) -> list[bytes | None] | None:
    """Return the value of each of *keys*, None for keys that the block does not have.

    *suffix* is the number of bytes behind each value.  The result is None instead of a list if the entries do not have
    Hudi's form, or the bytes of a key were found but are no entry: then all entries have to be decoded.
    """
    data = bytes(content)
    if suffix is None or not _begins_entry(data, 0):
        return None
    values: list[bytes | None] = []
    for key in keys:
        start = data.find(len(key).to_bytes(ROW_LENGTH_SIZE, "big") + key + KEY_TAIL)
        if start < 0:
            values.append(None)
            continue
        value = _value_at(data, start - LENGTHS_SIZE, len(key), suffix)
        if value is None:
            return None
        values.append(value)
    return values


def _value_at(data: bytes, start: int, row: int, suffix: int) -> bytes | None:
    """Return the value of the entry at *start* with a key of *row* bytes; None if there is no such entry."""
    if start < 0:
        return None
    key, value = _LENGTHS.unpack_from(data, start)
    begin = start + LENGTHS_SIZE + key
    end = begin + value
    is_entry = key == ROW_LENGTH_SIZE + row + len(KEY_TAIL) and value >= 0 and _begins_entry(data, end + suffix)
    return data[begin:end] if is_entry else None


def _begins_entry(data: bytes, start: int) -> bool:
    """Return whether an entry of Hudi's begins at *start*, or the block ends there."""
    if start + _HEAD.size > len(data):
        return start == len(data)
    key, _, row = _HEAD.unpack_from(data, start)
    tail = start + _HEAD.size + row
    return key == ROW_LENGTH_SIZE + row + len(KEY_TAIL) and data[tail : tail + len(KEY_TAIL)] == KEY_TAIL
