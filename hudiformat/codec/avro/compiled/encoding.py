"""Encode Arrow arrays as Avro records, row by row in compiled code.  Layout: spec/avro-records.md.

:func:`prepare` writes the addresses of an array's buffers into a table of nodes (``node_table``), as Arrow's C data
interface has them, and :func:`write` walks through the table for each row.  If a value cannot be encoded, such as a
null that the schema does not allow, ``write`` gives up, and the numpy path raises the error.
"""

from __future__ import annotations

import numpy as np

from hudiformat.codec.avro.arrays import Bytes, Longs
from hudiformat.codec.avro.compiled.memory import copy16, load8, load32, load64, store8, store32, store64

# The constants are in this file, because numba compiles anew when it changes: compiled code contains their values.

RECORD, UNION, LIST, TEXT, LONG, INT, DOUBLE, FLOAT, BOOLEAN, FIXED, DECIMAL, SHARED, DECIMAL_BYTES = range(13)
"""The kinds of nodes, those with inner nodes first; SHARED is one text for all rows.

Compiled code compares them by their order: ``in`` a tuple or set would make one for each value.
"""

KIND, BRANCH, VALIDITY, DATA, TEXTS, OFFSET, FIRST, COUNT, END, ARRAY, LOW, HIGH = range(12)
"""The columns of the table of nodes, each of eight bytes.

BRANCH is the number of null in a union, or -1.  VALIDITY, DATA and TEXTS are addresses of buffers, OFFSET is the
array's own.  FIRST and COUNT are the inner nodes; of others COUNT is the width of a value, or the length of the shared
text.  Texts can be read up to the address END.  ARRAY is the address of the ``ArrowArray``, and LOW and HIGH say which
of its entries the rows use.
"""
COLUMNS = 16
WIDTH = 8 * COLUMNS

NONE = -1
"""The value of BRANCH without a null branch."""

REFUSED = -1

FRAMES = 7 * 256
"""Numbers that are kept of the lists and records around a value: a schema has a hundred levels, maps count twice."""

PREPARE = "int64(int64[:,::1], int64)"
WRITE = "int64(int64[:,::1], int64[::1], uint8[::1], int64, int64[::1], int64[::1], int64[::1])"

_LENGTH, _NULLS, _OFFSET, _BUFFERS, _CHILDREN, _DICTIONARY = 0, 8, 16, 40, 48, 56  # in an ArrowArray
_DECIMAL_SIZE = 16
_SPARE = 32  # bytes behind the records that may be overwritten


def prepare(nodes: Longs, array: int) -> int:
    """Let *nodes* refer to the struct array at *array*, an ``ArrowArray``; return how many bytes its rows may take.

    Parents come before their children, so that each finds its array, and which entries of it are used.
    """
    nodes[0, ARRAY], nodes[0, LOW], nodes[0, HIGH] = array, 0, load64(array + _LENGTH)
    size = _SPARE
    for node in nodes:
        at, kind = int(node[ARRAY]), node[KIND]
        buffers, children = load64(at + _BUFFERS), load64(at + _CHILDREN)
        node[OFFSET] = load64(at + _OFFSET)
        node[VALIDITY] = load64(buffers) if load64(at + _NULLS) != 0 else 0
        low, high = int(node[LOW] + node[OFFSET]), int(node[HIGH] + node[OFFSET])
        rows = high - low
        data = load64(buffers + 8) if kind > UNION else 0
        if kind == SHARED:
            _find_shared(node, load64(at + _DICTIONARY))
        elif kind == TEXT:
            node[TEXTS] = load64(buffers + 16)
            node[END] = node[TEXTS] + (load32(data + 4 * high) if rows else 0)
            size += load32(data + 4 * high) - load32(data + 4 * low) if rows else 0
        elif kind == LIST:
            low, high = (load32(data + 4 * low), load32(data + 4 * high)) if rows else (0, 0)
        node[DATA] = data
        size += rows * _most_bytes(kind, node[COUNT])
        if kind <= LIST:
            for child in range(node[COUNT]):
                inner = nodes[node[FIRST] + child]
                inner[ARRAY], inner[LOW], inner[HIGH] = load64(children + 8 * child), low, high
    return size


def _find_shared(node: Longs, dictionary: int) -> None:
    """Let *node* refer to the only text of a dictionary."""
    buffers = load64(dictionary + _BUFFERS)
    offsets = load64(buffers + 8) + 4 * load64(dictionary + _OFFSET)
    start, end = load32(offsets), load32(offsets + 4)
    node[TEXTS], node[COUNT] = load64(buffers + 16) + start, end - start
    node[END] = node[TEXTS] + end - start


def _most_bytes(kind: int, count: int) -> int:
    """Return how many bytes a value may have, with its branch and the length or the end of what follows."""
    if FIXED <= kind <= SHARED:
        return count + 6
    if kind == DECIMAL_BYTES:
        return _DECIMAL_SIZE + 2
    return 2 if kind <= UNION else 12


def write(  # noqa: PLR0917 - compiled functions take plain numbers and arrays
    nodes: Longs, frames: Longs, out: Bytes, length_size: int, firsts: Longs, heads: Longs, starts: Longs
) -> int:
    """Write all rows to *out*, each behind its length of *length_size* bytes, 4 or 0; return the bytes, or REFUSED.

    Part ``i`` begins with the row ``firsts[i]``: before it are the eight bytes of ``heads[i]``, if there are any heads,
    and ``starts[i]`` becomes its offset.  *frames* are FRAMES numbers to work with.
    """
    begin, base = int(np.int64(out.ctypes.data)), int(np.int64(nodes.ctypes.data))  # both signed
    at, part = begin, 0
    for row in range(nodes[0, HIGH]):
        if part < len(firsts) and firsts[part] == row:
            starts[part] = at - begin
            if len(heads):
                store64(at, int(heads[part]))
                at += 8
            part += 1
        record = at + length_size
        at = _write_record(base, row, record, frames)
        if at == REFUSED:
            return REFUSED
        if length_size:
            length = at - record
            swapped = length >> 24 | (length >> 8 & 0xFF00) | (length & 0xFF00) << 8 | (length & 0xFF) << 24
            store32(record - length_size, swapped)
    return at - begin


def _write_record(  # noqa: C901, PLR0912, PLR0915 - one loop, whose variables stay in registers
    nodes: int, row: int, at: int, frames: Longs
) -> int:
    """Write one row at the address *at*; return the address behind it, or REFUSED.

    A group is the fields of a record, or the items of a list: the nodes from *first* on, for the entries from *entry*
    to *end*.  Inside a record or list the group around it waits in *frames*.
    """
    first, count = nodes + WIDTH * load64(nodes + 8 * FIRST), load64(nodes + 8 * COUNT)
    entry = row + load64(nodes + 8 * OFFSET)
    end, ends_with_zero, top = entry + 1, False, 0
    node, left = first, count
    while True:
        while left == 0:  # all nodes of the group are written for this entry
            entry += 1
            if entry < end:
                node, left = first, count
                continue
            if top == 0:  # the group of the top record: the row is complete
                return at
            if ends_with_zero:  # a list ends with a block of no items
                store8(at, 0)
                at += 1
            top -= 7
            node, left, first, count = int(frames[top]), frames[top + 1], int(frames[top + 2]), frames[top + 3]
            entry, end, ends_with_zero = int(frames[top + 4]), frames[top + 5], frames[top + 6] != 0
        this = node
        left -= 1
        node += WIDTH
        kind, branch = load64(this + 8 * KIND), load64(this + 8 * BRANCH)
        validity, index = load64(this + 8 * VALIDITY), entry + load64(this + 8 * OFFSET)
        if validity != 0 and not _bit(validity, index):
            if branch == NONE:
                return REFUSED
            store8(at, 2 * branch)
            at += 1
            continue
        if branch != NONE and kind != UNION:
            store8(at, 2 - 2 * branch)
            at += 1
        if kind > LIST:  # a value without inner nodes
            at = _write_value(this, kind, index, at)
            if at == REFUSED:
                return REFUSED
            continue
        inner, inner_count = nodes + WIDTH * load64(this + 8 * FIRST), load64(this + 8 * COUNT)
        low, high = index, index + 1
        if kind == LIST:
            data = load64(this + 8 * DATA) + 4 * index
            low, high = load32(data), load32(data + 4)
            if low == high:
                store8(at, 0)
                at += 1
                continue
            at = _put_varint(at, 2 * (high - low))
        elif kind == UNION:
            member = _member(inner, inner_count, index)
            if member == REFUSED:
                return REFUSED
            store8(at, 2 * (member + 1 if branch != NONE and member >= branch else member))
            at += 1
            inner, inner_count = inner + WIDTH * member, 1
        # The group around the value waits in the frames, until the group of the inner nodes is written.
        frames[top], frames[top + 1], frames[top + 2], frames[top + 3] = node, left, first, count
        frames[top + 4], frames[top + 5], frames[top + 6] = entry, end, ends_with_zero
        top += 7
        node, left, first, count = inner, inner_count, inner, inner_count
        entry, end, ends_with_zero = low, high, kind == LIST


def _member(node: int, count: int, entry: int) -> int:
    """Return which one of the members of a union is set; REFUSED if not exactly one is."""
    found = REFUSED
    for member in range(count):
        validity, offset = load64(node + 8 * VALIDITY), load64(node + 8 * OFFSET)
        if validity == 0 or _bit(validity, entry + offset):
            if found != REFUSED:
                return REFUSED
            found = member
        node += WIDTH
    return found


def _write_value(node: int, kind: int, index: int, at: int) -> int:
    """Write a value that is no record, list or union; return the address behind it, or REFUSED."""
    data = load64(node + 8 * DATA)
    if kind == TEXT:
        start, end = load32(data + 4 * index), load32(data + 4 * index + 4)
        at = _put_varint(at, 2 * (end - start))
        return _copy(at, load64(node + 8 * TEXTS) + start, end - start, load64(node + 8 * END))
    if kind <= BOOLEAN:
        return _write_number(kind, data, index, at)
    width = load64(node + 8 * COUNT)
    if kind == SHARED:
        at = _put_varint(at, 2 * width)
        return _copy(at, load64(node + 8 * TEXTS), width, load64(node + 8 * END))
    if kind == FIXED:
        return _copy(at, data + width * index, width, 0)
    value = data + _DECIMAL_SIZE * index
    if kind == DECIMAL_BYTES:
        width = _DECIMAL_SIZE
        while width > 1 and _fits(value, width - 1):
            width -= 1
        store8(at, 2 * width)
        at += 1
    return _put_big_endian(at, value, width)


def _write_number(kind: int, data: int, index: int, at: int) -> int:
    """Write the number *index* of the numbers at *data*; return the address behind it."""
    if kind == LONG:
        number = load64(data + 8 * index)
        return _put_varint(at, number << 1 ^ number >> 63)
    if kind == INT:
        number = load32(data + 4 * index)
        number -= number >> 31 << 32
        return _put_varint(at, number << 1 ^ number >> 63)
    if kind == DOUBLE:
        store64(at, load64(data + 8 * index))
        return at + 8
    if kind == FLOAT:
        store32(at, load32(data + 4 * index))
        return at + 4
    store8(at, 1 if _bit(data, index) else 0)
    return at + 1


def _put_big_endian(at: int, value: int, width: int) -> int:
    """Write the decimal at *value* in *width* bytes; return the address behind it, or REFUSED if it needs more."""
    if not _fits(value, width):
        return REFUSED
    sign = load8(value + _DECIMAL_SIZE - 1) >> 7
    for place in range(width):
        store8(at + width - 1 - place, load8(value + place) if place < _DECIMAL_SIZE else -sign)
    return at + width


def _fits(value: int, width: int) -> bool:
    """Return whether the decimal at *value*, 16 bytes with the lowest first, needs no more than *width* bytes."""
    sign = load8(value + _DECIMAL_SIZE - 1) >> 7
    for place in range(width, _DECIMAL_SIZE):
        if load8(value + place) != 0xFF * sign:
            return False
    return width >= _DECIMAL_SIZE or load8(value + width - 1) >> 7 == sign


def _bit(bits: int, index: int) -> bool:
    """Return the bit *index* of the bitmap at *bits*."""
    return load8(bits + (index >> 3)) >> (index & 7) & 1 != 0


def _put_varint(at: int, value: int) -> int:
    """Write an unsigned number in groups of seven bits, the lowest first; return the address behind it."""
    while value & -128:
        store8(at, value & 0x7F | 0x80)
        value = value >> 7 & 0x01FF_FFFF_FFFF_FFFF
        at += 1
    store8(at, value)
    return at + 1


def _copy(at: int, source: int, length: int, end: int) -> int:
    """Copy *length* bytes, and up to 15 more if they can be read before the address *end*."""
    done = 0
    if source + length + 15 <= end:
        while done < length:
            copy16(at + done, source + done)
            done += 16
        return at + length
    while done + 8 <= length:
        store64(at + done, load64(source + done))
        done += 8
    while done < length:
        store8(at + done, load8(source + done))
        done += 1
    return at + length
