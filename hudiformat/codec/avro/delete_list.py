"""Encode and decode the list of deletes in delete blocks of version 3.  Layout: spec/avro-records.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import pyarrow as pa

from hudiformat.codec.avro.arrays import Bytes, Longs, encode_varints, zigzag
from hudiformat.codec.avro.cursors import PADDING, Cursors, SpeculativeCursors
from hudiformat.codec.avro.decode import read_values
from hudiformat.codec.avro.encode import encode_records
from hudiformat.codec.avro.items import locate_items, skip_values
from hudiformat.codec.avro.nodes import parse_schema
from hudiformat.codec.avro.wrappers import (
    RECORD,
    SINGLE_ORDERING_RECORD,
    WRAPPED_VALUES,
    ordering_columns,
    ordering_values,
)
from hudiformat.errors import DataError, DecodeError

_NAMES = ("record_key", "partition_path", "ordering")
_KEY, _PATH, _ORDERING = (node for _, node in SINGLE_ORDERING_RECORD.fields)
_CHUNK = 16384
GUESS_FROM = 128
"""From this many deletes on, a list is decoded by guessing where each begins; with fewer, a plain loop is as fast."""
_LOOP_BYTES = 1 << 16
"""A longer list is not read byte by byte: its texts are long, or its deletes are many."""
_TEXT = 2
"""The byte of the branch of a text, in a union whose first branch is null."""
_MORE = 0x80
"""The bit of a byte of an integer that another byte follows."""
_MORE_OR_NEGATIVE = _MORE | 1
_BITS = 64


def encode_delete_list(
    record_keys: pa.Array, partition_paths: pa.Array | str, ordering: pa.Array | None = None
) -> memoryview:
    """Encode a list of deletes as Hudi does.

    Without *ordering*, and for a null in it, int 0 is stored, which Hudi reads as "by commit time".  A struct holds the
    values of several ordering fields.  Decimals are stored with 15 digits after the point.

    Raises:
        SchemaError: Hudi has no wrapper for the type of *ordering*.
        DataError: a key is null, the lengths differ, or a decimal has more digits than fit.
    """
    rows = len(record_keys)
    if isinstance(partition_paths, str):
        partition_paths = pa.repeat(partition_paths, rows)
    ordering = pa.nulls(rows, pa.int32()) if ordering is None else ordering
    if not len(partition_paths) == len(ordering) == rows:
        raise DataError(f"{rows} keys, {len(partition_paths)} partition paths and {len(ordering)} ordering values")
    if record_keys.null_count:
        raise DataError("a delete without a record key", column="record_key")
    schema, columns = ordering_columns(ordering)
    if not rows:
        return memoryview(b"\x00")
    names = [name for name, _ in parse_schema(schema).fields]
    batch = pa.RecordBatch.from_arrays([record_keys, partition_paths, *columns], names=names)
    [(count, size, _)] = encode_varints(zigzag(np.array([rows])))
    return encode_records(batch, schema, framed=False, head=count.tobytes()[:size], tail=b"\x00")


def decode_delete_list(data: memoryview | bytes, *, guess_from: int = GUESS_FROM) -> pa.RecordBatch:
    """Decode the deletes of a list, in order: ``record_key``, ``partition_path`` and ``ordering``.

    The type of ``ordering`` is the type of the values; several ordering fields make a struct (``field0`` and on).  If
    the types are mixed, int 0 becomes null, and ints among longs become longs; types that are still mixed make a dense
    union.  Where the deletes of a list of at least *guess_from* begin is guessed first, which is faster; a shorter list
    is read byte by byte.

    Raises:
        DecodeError: the bytes are no list of deletes.
    """
    columns = _read_few(bytes(data), guess_from) if len(data) <= _LOOP_BYTES else None
    if columns is None:
        window = np.zeros(len(data) + PADDING, np.uint8)
        window[: len(data)] = np.frombuffer(data, np.uint8)
        array = Cursors(window, np.zeros(1, np.int64), np.full(1, len(data), np.int64))
        columns = _read_long(array.copy(), guess_from) or _read_any(array)
    return pa.RecordBatch.from_arrays(columns, names=_NAMES)


def _read_few(data: bytes, guess_from: int) -> list[pa.Array] | None:
    """Decode a list of less than *guess_from* deletes byte by byte: numpy takes longer for one call than for a delete.

    Return None if there are more deletes, if their ordering values are not all ints, longs or strings, or if a byte is
    wrong: who decodes the list in another way says which.
    """
    keys: list[bytes] = []
    paths: list[bytes] = []
    values: list[int | bytes] = []
    rest, kind = b"", pa.null()
    try:
        count, at = _integer(data, 0)
        for _ in range(count if count < guess_from else 0):
            key, at = _branch_of_text(data, at)
            keys.append(key)
            if rest and data.startswith(rest, at):
                at += len(rest)
            else:  # it is the same for all deletes of one partition with one ordering value
                path, start = _branch_of_text(data, at)
                known, kind = kind, _LOOPED[data[start]][0]
                if rest and known != kind:
                    return None
                value, end = _LOOPED[data[start]][1](data, start + 1)
                rest, at = data[at:end], end
            paths.append(path)
            values.append(value)
        if not keys or data[at:] != b"\x00":
            return None
        return [pa.array(keys, pa.string()), pa.array(paths, pa.string()), pa.array(values, kind)]
    except (IndexError, KeyError, ValueError, OverflowError, pa.ArrowInvalid):
        return None  # past the end, no integer, no UTF-8, no int; a branch that is not read here


def _branch_of_text(data: bytes, at: int) -> tuple[bytes, int]:
    """Return the text in a union with null at a position, and where it ends; raise a ValueError for a null."""
    if data[at] != _TEXT:
        raise ValueError(at)
    size, start = data[at + 1], at + 2
    if size & _MORE_OR_NEGATIVE:
        return _text(data, at + 1)
    end = start + (size >> 1)
    return data[start:end], end  # past the end of *data*, as the next byte, which does not exist, will show


def _text(data: bytes, at: int) -> tuple[bytes, int]:
    """Return the text at a position, and where it ends; raise an IndexError if it is longer than *data*."""
    size, start = _integer(data, at)
    if not 0 <= size <= len(data) - start:
        raise IndexError(at)
    return data[start : start + size], start + size


def _integer(data: bytes, at: int) -> tuple[int, int]:
    """Return the integer of variable length at a position, and where it ends; raise a ValueError for one too long."""
    value, shift = data[at], 0
    while value >> shift >= _MORE:
        value -= _MORE << shift
        at, shift = at + 1, shift + 7
        value |= data[at] << shift
    if value >> _BITS:
        raise ValueError(at)
    return (value >> 1) ^ -(value & 1), at + 1


_LOOPED: dict[int, tuple[pa.DataType, Callable[[bytes, int], tuple[int | bytes, int]]]] = {
    2 * branch: (node.arrow, _text if node.arrow == pa.string() else _integer)
    for branch, node in WRAPPED_VALUES.items()
    if branch is not None and node.arrow in (pa.int32(), pa.int64(), pa.string())
}
"""The ordering values that are read byte by byte, by the byte of their branch: their type, and what reads one."""


def _read_any(array: Cursors) -> list[pa.Array]:
    """Decode the deletes of the list, which is one Avro array at one cursor."""
    rows, starts = locate_items(RECORD, array, None)
    array.raise_if(array.pos != array.end, None, "bytes follow the list of deletes")
    if not len(rows):
        return [pa.array([], pa.string()), pa.array([], pa.string()), pa.array([], pa.int32())]
    return _read(array.at(starts, array.end[rows]), exact=False)


def _read_long(array: Cursors, guess_from: int) -> list[pa.Array] | None:
    """Decode the deletes of a long list, each between two guessed offsets.

    Return None if a guess is wrong, or if the list has less than *guess_from* deletes.
    """
    try:
        count = int(array.varint(None)[0])
        start, end = int(array.pos[0]), int(array.end[0]) - 1
        if not guess_from <= count <= end - start or array.data[end]:
            return None
        if (end - start) % count == 0 and (columns := _read_even(array, count, (end - start) // count)) is not None:
            return columns
        offsets = _guess_offsets(array.at(array.pos, array.end - 1))
        if offsets is None or len(offsets) != count + 1 or offsets[-1] != end:  # another block of deletes may follow
            return None
        return _read(array.at(offsets[:-1], offsets[1:]), exact=True)
    except DecodeError:
        return None


def _read_even(array: Cursors, count: int, size: int) -> list[pa.Array] | None:
    """Decode *count* deletes of *size* bytes each, as they are if all keys have one length; None if they are not."""
    starts = array.pos[0] + np.arange(count) * size
    try:
        return _read(array.at(starts, starts + size), exact=True)
    except DecodeError:
        return None


def _guess_offsets(first: Cursors) -> Longs | None:
    """Return where each delete begins, and the last one ends, if all have the first one's partition path.

    Return None if that is null: it is one byte, which occurs everywhere.

    In Hudi's blocks they have.  A delete is a key, the partition path and an ordering value, so the path's bytes are
    searched in the whole list.  If they occur by chance, inside a key or value, no other delete leads to them.  Three
    deletes with the path "p", the keys "a", "p" and "b" and no ordering values, from position 1 on:

        bytes        02 02 61 02 02 70 04 00 | 02 02 70 02 02 70 04 00 | 02 02 62 02 02 70 04 00
        matches      [ 4,  9, 12, 20]    of 02 02 70; at 9 it is the key "p"
        ends         [ 9, 14, 17, 25]    behind the ordering value that follows the match, if it is a path
        next_paths   [12, 25, 20, 25]    behind the key that follows: where the path of the next delete begins
        is_delete    [True, False, True, True]      the first one, and all that are among next_paths
        result       [ 1,  9, 17, 25]
    """
    start, end = int(first.pos[0]), int(first.end[0])
    skip_values(_KEY, first, None)
    key_end = int(first.pos[0])
    skip_values(_PATH, first, None)
    path = first.data[key_end : int(first.pos[0])]
    if len(path) == 1:
        return None
    matches = _find_all(first.data, path, key_end, end)
    ends, next_paths = _find_ends_and_next_paths(first.data, matches + len(path), end)
    is_delete = np.ones(len(matches), np.bool_)
    if (next_paths[:-1] != matches[1:]).any():
        indices = np.minimum(np.searchsorted(matches, next_paths), len(matches) - 1)
        is_delete[1:] = False
        is_delete[indices[matches[indices] == next_paths]] = True
    return np.append(start, ends[is_delete])


def _find_ends_and_next_paths(data: Bytes, starts: Longs, end: int) -> tuple[Longs, Longs]:
    """Return where the ordering values that begin at *starts* end, and where the keys behind them end."""
    ends, next_paths = np.empty((2, len(starts)), np.int64)
    for first in range(0, len(starts), _CHUNK):
        part = slice(first, first + _CHUNK)
        guesses = SpeculativeCursors(data, starts[part], np.full(len(starts[part]), end))
        skip_values(_ORDERING, guesses, None)
        ends[part] = guesses.pos
        skip_values(_KEY, guesses, None)
        next_paths[part] = guesses.pos
    return ends, next_paths


def _find_all(data: Bytes, pattern: Bytes, start: int, end: int) -> Longs:
    """Return every position from *start* to *end* at which *pattern* occurs; it occurs at *start*."""
    last = end - len(pattern) + 1
    candidates = np.flatnonzero((data[start:last] == pattern[0]) & (data[start + 1 : last + 1] == pattern[1])) + start
    every = np.ndarray(len(data) - len(pattern) + 1, f"V{len(pattern)}", data, strides=(1,))
    matches: Longs = candidates[every[candidates] == every[start]]
    return matches


def _read(cursors: Cursors, *, exact: bool) -> list[pa.Array]:
    """Decode the deletes at the cursors; if *exact*, each of them has to end where the cursor's record ends."""
    chunks: list[list[pa.Array]] = []
    kinds = set()
    for first in range(0, len(cursors), _CHUNK):
        part = cursors.at(cursors.pos[first : first + _CHUNK], cursors.end[first : first + _CHUNK])
        keys = [read_values(_KEY, part, None), read_values(_PATH, part, None)]
        kinds.add(kind := part.read_if_equal())
        if kind not in WRAPPED_VALUES or len(kinds) > 1:
            return _read_mixed(cursors, exact=exact)
        chunks.append([*keys, read_values(WRAPPED_VALUES[kind], part, None)])
        _check_end(part, exact=exact)
    return [pa.concat_arrays(column) for column in zip(*chunks, strict=True)]


def _read_mixed(cursors: Cursors, *, exact: bool) -> list[pa.Array]:
    cursors = cursors.copy()
    deletes = cast("pa.StructArray", read_values(RECORD, cursors, None))
    _check_end(cursors, exact=exact)
    return [deletes.field(0), deletes.field(1), ordering_values(cast("pa.StructArray", deletes.field(2)))]


def _check_end(cursors: Cursors, *, exact: bool) -> None:
    if exact:
        cursors.raise_if(cursors.pos != cursors.end, None, "a delete does not end at its guessed end")
