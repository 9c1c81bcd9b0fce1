"""The kernels that decode records.  Their tables are described in the module layout; the module decoded calls them.

They check each position against the end of its record before they use more than ``PADDING`` bytes behind
that.  Anything damaged or unusual ends in ``BAD``: numpy then decodes the same records, and raises the error.
"""

from __future__ import annotations

from hudiformat.codec.avro.compiled import layout
from hudiformat.codec.avro.compiled.texts import copy_text, is_utf8, view_text
from hudiformat.kernels.memory import load8, load32, load64, low_zeros, prefetch, store8, store32, store64

_LENGTH_SIZE = 4
_INT32 = 1 << 31
_MORE = -2
_AHEAD = 1024  # bytes: the lengths of records follow from one another, so the processor waits for each
_DECIMAL_SIZE = 16
_HIGH_BITS = -0x7F7F7F7F7F7F7F80  # of each of eight bytes
_LONG_OR_NEGATIVE = 0x81  # bits that a length of a single byte does not have


def chain(data: int, size: int, offsets: int, count: int) -> int:
    """Follow the lengths of *count* records in *size* bytes at *data*; store where each begins, and at last the end.

    *offsets* is the address of room for one position more than there are records.
    """
    pos = 0
    for index in range(count):
        store64(offsets + 8 * index, pos)
        if pos + _LENGTH_SIZE > size:
            return layout.BAD
        pos += _LENGTH_SIZE + _big_endian(data + pos)  # what would be negative runs past the end here
    store64(offsets + 8 * count, pos)
    return layout.DONE if pos == size else layout.BAD


def walk(
    data: int,
    room: int,
    filled: int,
    origin: int,
    starts: int,
    ends: int,
    last: int,
    whole: int,
    program: int,
    stop: int,
    frames: int,
    heads: int,
) -> int:
    """Decode the records from number ``COUNT`` of the first frame up to *last*.

    *data* is the address of position 0, *room* the position up to which bytes can be read, and *origin* the position at
    which the buffer of views begins.  *program* and *frames* are the addresses of the tables, *stop* is the number of
    operations.  With *whole* they read records to the end.

    If *filled* is 0, *starts* and *ends* hold where each record begins and ends.  Otherwise the records fill the bytes
    up to position *filled*, each behind its length.  Then only the first item of *starts* is set: the position of a
    length.  This function stores the end of each record in *ends*, and *starts* and *ends* are parts of one array,
    shifted by one item, so that the end of a record is the start of the next one.

    If the program begins with values that are skipped, that is done for four records at a time; *heads* is the address
    of room for four positions.
    """
    behind, body, located = program + stop * layout.SIZE, program, 0
    head = _LENGTH_SIZE if filled else 0
    skips = load64(program + layout.KIND) == layout.SKIP_RUN
    if skips:
        body += layout.SIZE * load64(program + layout.NEXT)
    for index in range(load64(frames + layout.COUNT), last):
        if index == located or not located:
            located = min(index + 4, last) if skips else index + 1
            located = _locate(data, room, filled, starts, ends, index, located)
            if located < 0:
                return located
            group = (starts, ends, index, located - 1)
            if skips and not _skip_ahead(data, program + layout.SIZE, body, head, heads, *group):
                return layout.BAD
        pos = load64(heads + 8 * (index & 3)) if skips else load64(starts + 8 * index) + head
        end, op = load64(ends + 8 * index), body
        while op < behind:
            kind, null = load64(op + layout.KIND), load64(op + layout.NULL)
            if kind == layout.END:  # an item is complete: count it, then read the next item, or the next block
                counter = frames + layout.FRAME_SIZE * load64(op + layout.FRAME)
                store64(counter, load64(counter) + 1)
                op = program + layout.SIZE * load64(op + layout.ARGUMENT)
                kind = layout.LIST
                left = load64(op + layout.LEFT) - 1
                store64(op + layout.LEFT, left)
                if left > 0:
                    op += layout.SIZE
                    continue
            elif null >= 0:
                branch = load8(data + pos)
                pos += 1
                if branch != 2 - null:  # not the branch of the value: null, or damage
                    if branch != null or pos > end:
                        return layout.BAD
                    after = program + layout.SIZE * load64(op + layout.NEXT)
                    if kind < layout.SKIP_RUN:  # skipped values have no column to put a null into
                        _put_nulls(op, after, program, frames)
                    op = after
                    continue
            if kind == layout.SKIP_RUN:
                after = program + layout.SIZE * load64(op + layout.NEXT)
                pos = _skip_run(op + layout.SIZE, after, data, pos, end)
                op = after - layout.SIZE
            elif kind == layout.LIST:
                count, pos = _read_varint(data, pos)
                if count < 0 or pos < 0 or count > end - pos:
                    return layout.BAD
                child = frames + layout.FRAME_SIZE * load64(op + layout.ARGUMENT)
                items = load64(child + layout.COUNT)
                if not count:  # the block of no items ends the list: its end offset is known now
                    target = load64(op + layout.VALUES)
                    if target:
                        row = load64(frames + layout.FRAME_SIZE * load64(op + layout.FRAME))
                        store32(target + 4 * row + 4, items)
                    op = program + layout.SIZE * load64(op + layout.NEXT)
                    continue
                if items + count > load64(child + layout.CAPACITY):
                    pos = _MORE  # the caller makes room, and the record is read again
                store64(op + layout.LEFT, count)
            else:
                row = load64(frames + layout.FRAME_SIZE * load64(op + layout.FRAME))
                pos = _read(op, kind, row, data, pos, end, origin)
            if pos < 0 or pos > end:
                if pos != _MORE:
                    return layout.BAD
                _roll_back(program, behind, frames)
                return (op - program) // layout.SIZE + 1
            op += layout.SIZE
        if whole and pos != end:
            return layout.BAD
        store64(frames + layout.COUNT, index + 1)
    return layout.DONE


def _big_endian(at: int) -> int:
    return load8(at) << 24 | load8(at + 1) << 16 | load8(at + 2) << 8 | load8(at + 3)


def _locate(data: int, room: int, filled: int, starts: int, ends: int, first: int, behind: int) -> int:
    """Store in *ends*, if *filled* is not 0, the ends of the records from number *first* up to *behind*.

    The result is the number behind the last record that can be read, or ``BAD`` or ``NEAR_END``.
    """
    end = load64(starts + 8 * first)
    for index in range(first, behind):
        if filled:
            if end + _LENGTH_SIZE > filled:
                return layout.BAD
            prefetch(data + end + _AHEAD)
            end += _LENGTH_SIZE + _big_endian(data + end)
            if end > filled:
                return layout.BAD
            store64(ends + 8 * index, end)
        else:
            end = load64(ends + 8 * index)
        if end + layout.PADDING > room:
            return index if index > first else layout.NEAR_END
    return behind


def _skip_ahead(
    data: int, op: int, after: int, head: int, heads: int, starts: int, ends: int, first: int, last: int
) -> bool:
    """Skip the values of the operations from *op* up to *after* in at most four records, numbers *first* to *last*.

    The positions behind them are stored in *heads*, that of a record at its number modulo four.  Values begin *head*
    bytes behind the start of a record.  The records are read side by side: the position of a value follows from the
    value in front, and while the processor waits for one record it works on the others.
    """
    one, two, three = min(first + 1, last), min(first + 2, last), min(first + 3, last)
    a, b = load64(starts + 8 * first) + head, load64(starts + 8 * one) + head
    c, d = load64(starts + 8 * two) + head, load64(starts + 8 * three) + head
    end_a, end_b = load64(ends + 8 * first), load64(ends + 8 * one)
    end_c, end_d = load64(ends + 8 * two), load64(ends + 8 * three)
    at = op
    while at < after:
        kind, null, width = load64(at + layout.KIND), load64(at + layout.NULL), load64(at + layout.ARGUMENT)
        if kind == layout.SKIP_TEXT:
            a, b = _skip_text(null, data, a, end_a), _skip_text(null, data, b, end_b)
            c, d = _skip_text(null, data, c, end_c), _skip_text(null, data, d, end_d)
        elif kind == layout.SKIP_VARINT:
            a, b = _skip_varint(null, data, a, end_a), _skip_varint(null, data, b, end_b)
            c, d = _skip_varint(null, data, c, end_c), _skip_varint(null, data, d, end_d)
        else:
            a, b = _skip_fixed(null, width, data, a, end_a), _skip_fixed(null, width, data, b, end_b)
            c, d = _skip_fixed(null, width, data, c, end_c), _skip_fixed(null, width, data, d, end_d)
        if (a | b | c | d) < 0:
            return False
        at += layout.SIZE
    store64(heads + 8 * (first & 3), a)
    store64(heads + 8 * (one & 3), b)
    store64(heads + 8 * (two & 3), c)
    store64(heads + 8 * (three & 3), d)
    return True


def _skip_run(op: int, after: int, data: int, pos: int, end: int) -> int:
    """Return the position behind the values of the operations from *op* up to *after*; -1 if one is bad."""
    while op < after and pos >= 0:
        kind, null = load64(op + layout.KIND), load64(op + layout.NULL)
        if kind == layout.SKIP_TEXT:
            pos = _skip_text(null, data, pos, end)
        elif kind == layout.SKIP_VARINT:
            pos = _skip_varint(null, data, pos, end)
        else:
            pos = _skip_fixed(null, load64(op + layout.ARGUMENT), data, pos, end)
        op += layout.SIZE
    return pos


def _skip_fixed(null: int, width: int, data: int, pos: int, end: int) -> int:
    """Return the position behind a value of *width* bytes; -1 if it is bad."""
    if null >= 0:
        branch = load8(data + pos)
        if branch & ~2:
            return -1
        pos += 1
        if branch == null:
            width = 0
    return pos + width if width <= end - pos else -1


def _skip_varint(null: int, data: int, pos: int, end: int) -> int:
    """Return the position behind a variable-length integer; -1 if it is bad.

    The last byte of an integer, and a branch in front of it, have no high bit.  Behind a branch of null the lowest such
    byte is the last one, behind the other branch it is the second lowest; that is no branch of the code, because the
    processor could not predict it.
    """
    word = load64(data + pos)
    stops = ~word & _HIGH_BITS
    if null >= 0:
        if word & 0xFD:
            return -1
        if word & 2 != null:
            stops &= stops - 1
    if stops:
        pos += 1 + (low_zeros(stops) >> 3)
    else:
        _, pos = _read_varint(data, pos + (1 if null >= 0 else 0))
        if pos < 0:
            return -1
    return pos if pos <= end else -1


def _skip_text(null: int, data: int, pos: int, end: int) -> int:
    """Return the position behind a text; -1 if it is bad."""
    if null >= 0:
        branch = load8(data + pos)
        pos += 1
        if branch == null:
            return pos if pos <= end else -1
        if branch != 2 - null:
            return -1
    length = load8(data + pos)
    if length & _LONG_OR_NEGATIVE == 0:
        pos += 1 + (length >> 1)
        return pos if pos <= end else -1
    length, pos = _read_varint(data, pos)
    return pos + length if pos >= 0 and 0 <= length <= end - pos else -1


def _read(op: int, kind: int, row: int, data: int, pos: int, end: int, origin: int) -> int:
    """Read the value of one operation; return the position behind it, -1 if it is bad, or ``_MORE``."""
    if kind == layout.TEXT or kind == layout.VIEW:
        return _read_text(op, kind, row, data, pos, end, origin)
    target, argument = load64(op + layout.VALUES), load64(op + layout.ARGUMENT)
    if kind == layout.LONG or kind == layout.INT:
        return _read_integer(target, argument, kind, row, data, pos)
    if kind == layout.EIGHT:
        store64(target + 8 * row, load64(data + pos))
        return pos + 8
    if kind == layout.FOUR:
        store32(target + 4 * row, load32(data + pos))
        return pos + 4
    if kind == layout.BOOLEAN:
        value = load8(data + pos)
        store8(target + row, value)
        return pos + 1 if value < 2 else -1
    if kind == layout.RECORD:
        return pos
    if kind == layout.ENUM:
        value, pos = _read_varint(data, pos)
        store32(target + 4 * row, value)
        return pos if 0 <= value < argument else -1
    if kind == layout.FIXED:
        if argument > end - pos:
            return -1
        for byte in range(argument):
            store8(target + row * argument + byte, load8(data + pos + byte))
        return pos + argument
    if not argument:
        argument, pos = _read_varint(data, pos)
        if pos < 0 or argument < 1 or argument > _DECIMAL_SIZE:
            return -1
    _put_decimal(target + _DECIMAL_SIZE * row, data + pos, argument)
    return pos + argument


def _read_integer(target: int, limit: int, kind: int, row: int, data: int, pos: int) -> int:
    value, pos = _read_varint(data, pos)
    if limit and (value < 0 or value >= limit):
        return -1
    if kind == layout.LONG:
        store64(target + 8 * row, value)
        return pos
    store32(target + 4 * row, value)
    return pos if -_INT32 <= value < _INT32 else -1


def _read_text(op: int, kind: int, row: int, data: int, pos: int, end: int, origin: int) -> int:
    length, pos = _read_varint(data, pos)
    if length < 0 or pos < 0 or length > end - pos:
        return -1
    source, target = data + pos, load64(op + layout.VALUES)
    if kind == layout.VIEW:
        high = view_text(target + 16 * row, source, length, pos - origin)
    else:
        used = load64(op + layout.USED)
        if used + length + layout.SPARE > load64(op + layout.ROOM):
            return _MORE
        high = copy_text(load64(op + layout.BYTES) + used, source, length)
        store64(op + layout.USED, used + length)
        store32(target + 4 * row + 4, used + length)
    if high and load64(op + layout.ARGUMENT) and not is_utf8(source, length):
        return -1
    return pos + length


def _read_varint(data: int, pos: int) -> tuple[int, int]:
    """Return the number at *pos* and the position behind it, which is -1 if the number has over 64 bits."""
    value = load8(data + pos)
    if value < 128:
        return (value >> 1) ^ -(value & 1), pos + 1
    word = load64(data + pos)
    stops = ~word & _HIGH_BITS
    if stops:  # the high bit of the last byte
        size = low_zeros(stops)
        value = _join_groups(word & ((1 << size) - 1))
        return (value >> 1) ^ -(value & 1), pos + 1 + (size >> 3)
    value = _join_groups(word)
    byte = load8(data + pos + 8)
    value |= (byte & 127) << 56
    if byte < 128:
        return (value >> 1) ^ -(value & 1), pos + 9
    byte = load8(data + pos + 9)
    return (value >> 1 | (byte & 1) << 62) ^ -(value & 1), (pos + 10 if byte < 2 else -1)


def _join_groups(word: int) -> int:
    """Join the lower seven bits of each of eight bytes: 0x02ac, the varint ac 02, becomes 0x2c | 0x02 << 7 = 300."""
    word = (word & 0x007F007F007F007F) | (word >> 1 & 0x3F803F803F803F80)
    word = (word & 0x00003FFF00003FFF) | (word >> 2 & 0x0FFFC0000FFFC000)
    return (word & 0x000000000FFFFFFF) | (word >> 4 & 0x00FFFFFFF0000000)


def _put_decimal(target: int, source: int, length: int) -> None:
    """Store a big-endian number of at most sixteen bytes as a little-endian one of sixteen."""
    sign = -(load8(source) >> 7)
    store64(target, sign)
    store64(target + 8, sign)
    for byte in range(length):
        store8(target + length - 1 - byte, load8(source + byte))


def _put_nulls(op: int, after: int, program: int, frames: int) -> None:
    """Store nulls in the columns of the operations from *op* up to *after*; the items of lists have no such row."""
    while op < after:
        row = load64(frames + layout.FRAME_SIZE * load64(op + layout.FRAME))
        kind, target, valid = load64(op), load64(op + layout.VALUES), load64(op + layout.VALID)
        if valid:
            store8(valid + row, 0)
            store64(op + layout.HAS_NULLS, 1)
        if kind == layout.TEXT:
            store32(target + 4 * row + 4, load64(op + layout.USED))
        elif kind == layout.LONG or kind == layout.EIGHT:
            store64(target + 8 * row, 0)
        elif kind == layout.INT or kind == layout.FOUR or kind == layout.ENUM:
            store32(target + 4 * row, 0)
        elif kind == layout.BOOLEAN:
            store8(target + row, 0)
        elif kind == layout.VIEW or kind == layout.DECIMAL:
            store64(target + 16 * row, 0)
            store64(target + 16 * row + 8, 0)
        elif kind == layout.FIXED:
            width = load64(op + layout.ARGUMENT)
            for byte in range(width):
                store8(target + row * width + byte, 0)
        elif kind == layout.LIST:
            if target:
                child = frames + layout.FRAME_SIZE * load64(op + layout.ARGUMENT)
                store32(target + 4 * row + 4, load64(child + layout.COUNT))
            op = program + layout.SIZE * load64(op + layout.NEXT)
            continue
        op += layout.SIZE


def _roll_back(program: int, behind: int, frames: int) -> None:
    """Undo the counts of the record that is being read: of a list's items, and of the bytes of texts."""
    op = program
    while op < behind:
        kind, target = load64(op + layout.KIND), load64(op + layout.VALUES)
        if target and (kind == layout.TEXT or kind == layout.LIST):
            row = load64(frames + layout.FRAME_SIZE * load64(op + layout.FRAME))
            before = load32(target + 4 * row)
            if kind == layout.TEXT:
                store64(op + layout.USED, before)
            else:
                store64(frames + layout.FRAME_SIZE * load64(op + layout.ARGUMENT), before)
        op += layout.SIZE
