"""Encode Arrow arrays as Avro records, row by row in compiled code.  Layout: spec/avro-records.md.

:func:`write` puts the addresses of an array's buffers, as Arrow's C data interface has them, into a table of nodes
(``node_table``), and walks through the table for each row.  If a value cannot be encoded, such as a null that the
schema does not allow, it gives up, and the numpy path raises the error.
"""

from __future__ import annotations

from hudiformat.kernels.memory import copy16, load8, load32, load64, store8, store32, store64

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
NODES, NODE_COUNT, WORK, OUT, ROOM, PARTS, FIRSTS, HEADS, STARTS = range(9)
"""The numbers of a job, each of eight bytes: what to write with, and where to.

NODES is the address of the table of nodes, NODE_COUNT its length; WORK is that of FRAMES numbers to work with.  At the
address OUT there is room for ROOM bytes.  PARTS is the number of parts: part ``i`` begins with the row ``FIRSTS[i]``,
before it are the eight bytes of ``HEADS[i]``, unless HEADS is 0, and ``STARTS[i]`` becomes its offset.
"""

COLUMNS = 16
WIDTH = 8 * COLUMNS

NONE = -1
"""The value of BRANCH without a null branch."""

REFUSED = -1

_FRAME = 7 * 8
FRAMES = 7 * 256
"""Numbers that are kept of the lists and records around a value: a schema has a hundred levels, maps count twice."""

_LENGTH, _NULLS, _OFFSET, _BUFFERS, _CHILDREN, _DICTIONARY = 0, 8, 16, 40, 48, 56  # in an ArrowArray
_DECIMAL_SIZE = 16
_SPARE = 32  # bytes behind the records that may be overwritten


def _prepare(nodes: int, count: int, array: int) -> int:
    """Let the *count* nodes at the address *nodes* refer to the struct array at *array*, an ``ArrowArray``.

    The result is how many bytes its rows may take.  Parents come before their children, so that each finds its array,
    and which entries of it are used.
    """
    store64(nodes + 8 * ARRAY, array)
    store64(nodes + 8 * LOW, 0)
    store64(nodes + 8 * HIGH, load64(array + _LENGTH))
    size = _SPARE
    for node in range(nodes, nodes + count * WIDTH, WIDTH):
        at, kind, width = load64(node + 8 * ARRAY), load64(node + 8 * KIND), load64(node + 8 * COUNT)
        buffers, children, offset = load64(at + _BUFFERS), load64(at + _CHILDREN), load64(at + _OFFSET)
        store64(node + 8 * OFFSET, offset)
        store64(node + 8 * VALIDITY, load64(buffers) if load64(at + _NULLS) != 0 else 0)
        low, high = load64(node + 8 * LOW) + offset, load64(node + 8 * HIGH) + offset
        rows = high - low
        data = load64(buffers + 8) if kind > UNION else 0
        if kind == SHARED:
            width = _find_shared(node, load64(at + _DICTIONARY))
        elif kind == TEXT:
            texts, used = load64(buffers + 16), load32(data + 4 * high) if rows else 0
            store64(node + 8 * TEXTS, texts)
            store64(node + 8 * END, texts + used)
            size += used - load32(data + 4 * low) if rows else 0
        elif kind == LIST:
            low, high = (load32(data + 4 * low), load32(data + 4 * high)) if rows else (0, 0)
        store64(node + 8 * DATA, data)
        size += rows * _most_bytes(kind, width)
        if kind <= LIST:
            inner = nodes + WIDTH * load64(node + 8 * FIRST)
            for child in range(width):
                store64(inner + 8 * ARRAY, load64(children + 8 * child))
                store64(inner + 8 * LOW, low)
                store64(inner + 8 * HIGH, high)
                inner += WIDTH
    return size


def _find_shared(node: int, dictionary: int) -> int:
    """Let *node* refer to the only text of a dictionary; return the length of the text."""
    buffers = load64(dictionary + _BUFFERS)
    offsets = load64(buffers + 8) + 4 * load64(dictionary + _OFFSET)
    start, end = load32(offsets), load32(offsets + 4)
    texts = load64(buffers + 16)
    store64(node + 8 * TEXTS, texts + start)
    store64(node + 8 * COUNT, end - start)
    store64(node + 8 * END, texts + end)
    return end - start


def _most_bytes(kind: int, count: int) -> int:
    """Return how many bytes a value may have, with its branch and the length or the end of what follows."""
    if FIXED <= kind <= SHARED:
        return count + 6
    if kind == DECIMAL_BYTES:
        return _DECIMAL_SIZE + 2
    return 2 if kind <= UNION else 12


def write(job: int, array: int, length_size: int) -> int:
    """Write all rows of *array*, an ``ArrowArray``, each behind its length of *length_size* bytes, 4 or 0.

    *job* is the address of the numbers that are described at NODES.  The result is the number of bytes that were
    written, or REFUSED.  If the rows might need more than the room that there is, nothing is written, and the result is
    the negative of what they might need.
    """
    nodes, out, parts = load64(job + 8 * NODES), load64(job + 8 * OUT), load64(job + 8 * PARTS)
    firsts, heads, starts = load64(job + 8 * FIRSTS), load64(job + 8 * HEADS), load64(job + 8 * STARTS)
    frames, rows = load64(job + 8 * WORK), load64(array + _LENGTH)
    size = _prepare(nodes, load64(job + 8 * NODE_COUNT), array) + length_size * rows + (8 * parts if heads != 0 else 0)
    if size > load64(job + 8 * ROOM):
        return -size
    at, part = out, 0
    for row in range(rows):
        if part < parts and load64(firsts + 8 * part) == row:
            store64(starts + 8 * part, at - out)
            if heads != 0:
                store64(at, load64(heads + 8 * part))
                at += 8
            part += 1
        record = at + length_size
        at = _write_record(nodes, row, record, frames)
        if at == REFUSED:
            return REFUSED
        if length_size:
            length = at - record
            swapped = length >> 24 | (length >> 8 & 0xFF00) | (length & 0xFF00) << 8 | (length & 0xFF) << 24
            store32(record - length_size, swapped)
    return at - out


def _write_record(  # noqa: C901, PLR0912, PLR0915 - one loop, whose variables stay in registers
    nodes: int, row: int, at: int, frames: int
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
            top -= 1
            frame = frames + _FRAME * top
            node, left, first, count = load64(frame), load64(frame + 8), load64(frame + 16), load64(frame + 24)
            entry, end, ends_with_zero = load64(frame + 32), load64(frame + 40), load64(frame + 48) != 0
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
        frame = frames + _FRAME * top
        store64(frame, node)
        store64(frame + 8, left)
        store64(frame + 16, first)
        store64(frame + 24, count)
        store64(frame + 32, entry)
        store64(frame + 40, end)
        store64(frame + 48, 1 if ends_with_zero else 0)
        top += 1
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
