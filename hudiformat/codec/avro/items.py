"""Skip values without decoding them, and find where the items of arrays and maps begin.

Items have no lengths, so each item has to be skipped to find the next one.  That is done for all rows at once, item by
item; once few rows have items left, a plain loop per row is faster.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from hudiformat.codec.avro.arrays import Longs, Mask
from hudiformat.codec.avro.cursors import Cursors
from hudiformat.codec.avro.nodes import Array, Enum, Fixed, Map, Node, Nullable, Primitive, Record, Union
from hudiformat.errors import CorruptBlockError

_WIDTHS = {"boolean": 1, "float": 4, "double": 8}
_FEW_ROWS = 32


def skip_values(node: Node, cursors: Cursors, present: Mask | None) -> None:
    """Move all cursors behind the value; lengths and branches are checked, values are not."""
    if isinstance(node, Nullable):
        present = cursors.branch_of_two(node.null_branch, present)
        node = node.inner
    if present is not None and not present.any():
        return
    width = _width(node)
    if width is not None:
        cursors.advance(width, present)
    elif isinstance(node, Record):
        for _, child in node.fields:
            skip_values(child, cursors, present)
    elif isinstance(node, Primitive) and node.kind in ("string", "bytes"):
        cursors.advance(cursors.length(present), present)
    elif isinstance(node, (Array, Map)):
        locate_items(item_node(node), cursors, present)
    elif isinstance(node, Union):
        _skip_union(node, cursors, present)
    else:
        cursors.skip_varint(present)


def _skip_union(node: Union, cursors: Cursors, present: Mask | None) -> None:
    for inner, chosen in read_branches(node, cursors, present):
        if inner is not None:
            skip_values(inner, cursors, chosen)


def _width(node: Node) -> int | None:
    """Return how many bytes each value takes; None if that differs between values."""
    if isinstance(node, Primitive):
        return _WIDTHS.get(node.kind)
    return node.size if isinstance(node, Fixed) else None


def read_branches(node: Union, cursors: Cursors, present: Mask | None) -> list[tuple[Node | None, Mask]]:
    """Read the branch of a union that is not nullable; return for each branch of the schema where it was chosen."""
    before = cursors.pos
    branch = cursors.varint(present)
    bad = (branch < 0) | (branch >= len(node.branches))
    cursors.raise_if(bad, present, f"a union has {len(node.branches)} branches", at=before)
    return [
        (inner, (branch == index) if present is None else (branch == index) & present)
        for index, inner in enumerate(node.branches)
    ]


def item_node(node: Array | Map) -> Node:
    """Return the node of the items of an array, or of the entries of a map."""
    return node.items if isinstance(node, Array) else node.entries


def locate_items(node: Node, cursors: Cursors, present: Mask | None) -> tuple[Longs, Longs]:
    """Return the row and the position of every item, rows in order; the cursors move behind the arrays.

    An array is blocks of items up to a block of 0 items.  Each turn of the loop reads one block of every row that has
    not ended.  For three arrays of ints, [1, 2], [] and [3, 4], the last one written as two blocks:

        bytes      04 02 04 00 | 00 | 02 06 02 08 00      at the positions 0, 4 and 5
        turn 1     rows [0, 1, 2]   counts [2, 0, 1]      row 1 has ended
                   rows [0, 2]      items (0, 1), (2, 6), (0, 2)
        turn 2     rows [0, 2]      counts [0, 1]         row 0 has ended
                   rows [2]         items (2, 8)
        turn 3     rows [2]         counts [0]            all have ended
        result     all_rows = [0, 0, 2, 2]   starts = [1, 2, 6, 8]
    """
    rows = np.arange(len(cursors)) if present is None else np.flatnonzero(present)
    blocks = [(rows[:0], cursors.pos[:0])]
    pos = cursors.pos.copy()
    while len(rows):
        block = cursors.at(pos[rows], cursors.end[rows])
        counts, ends = _block_header(block)
        pos[rows] = block.pos
        more = counts > 0
        rows, counts, ends = rows[more], counts[more], ends[more]
        if len(rows):
            block = cursors.at(pos[rows], cursors.end[rows])
            blocks += _walk_items(node, block, rows, counts)
            bad = (ends >= 0) & (block.pos != ends)
            block.raise_if(bad, None, "a block of items does not have the size that it declares")
            pos[rows] = block.pos
    cursors.move(pos)
    all_rows, starts = np.concatenate([row for row, _ in blocks]), np.concatenate([start for _, start in blocks])
    if len(blocks) > 2:  # noqa: PLR2004 - the first is empty, and a single one is in order
        order = np.argsort(all_rows, kind="stable")  # the items of one row stay in order
        all_rows, starts = all_rows[order], starts[order]
    return all_rows, starts


def _block_header(block: Cursors) -> tuple[Longs, Longs]:
    """Read how many items follow, and where they end; -1 if the block does not declare its size.

    A negative count declares a size: ``03 04`` are 2 items in 2 bytes, since 03 is -2 in zigzag.
    """
    before = block.pos
    counts = block.varint(None)
    sized = counts < 0
    ends = np.full(len(block), -1, np.int64)
    if sized.any():
        counts = np.abs(counts)  # the smallest 64-bit integer stays negative, and is refused below
        sizes = block.varint(sized)
        bad = (sizes < 0) | (sizes > block.end - block.pos)
        block.raise_if(bad, None, "a block of items of impossible size", at=before)
        ends[sized] = (block.pos + sizes)[sized]
    # An item takes at least one byte.  Schemas whose items take none are rare, and refused here too.
    bad = (counts < 0) | (counts > block.end - block.pos)
    block.raise_if(bad, None, "more items than bytes are left", at=before)
    return counts, ends


def _walk_items(node: Node, block: Cursors, rows: Longs, counts: Longs) -> list[tuple[Longs, Longs]]:
    """Return the row and the position of the items of one block per row; the cursors of *block* move behind them.

    The loop reads one item of every row that has items left; the last few rows are read one by one.
    """
    items = []
    done = 0
    active = np.arange(len(rows))
    pos = block.pos.copy()
    while len(active) >= _FEW_ROWS:
        items.append((rows[active], pos[active]))
        step = block.at(pos[active], block.end[active])
        skip_values(node, step, None)
        pos[active] = step.pos
        done += 1
        active = active[counts[active] > done]
    if len(active):
        skip_one = _skipper(node)
        for index in active.tolist():
            row = block.at(pos[index : index + 1], block.end[index:])
            starts = _item_positions(skip_one, row, int(counts[index]) - done)
            items.append((np.full(len(starts) - 1, rows[index]), starts[:-1]))
            pos[index] = starts[-1]
    block.move(pos)
    return items


_Skipper: TypeAlias = Callable[[memoryview, int, int], int]
"""From the data, the position of a value and the end of its record to the position behind the value.

It does not check the end of the record, nor of the data (IndexError): the caller does.
"""


def _item_positions(skip_one: _Skipper, row: Cursors, count: int) -> Longs:
    """Return the positions of the next *count* items of one row, and where the last item ends."""
    data, pos, end = row.data.data, int(row.pos[0]), int(row.end[0])
    positions = [pos]
    try:
        for _ in range(count):
            pos = skip_one(data, pos, end)
            positions.append(pos)
            if pos > end:
                break
    except IndexError:  # past the end of the whole buffer, or no integer
        positions.append(end + 1)
    if positions[-1] > end:
        offset = row.base + positions[-2]
        raise CorruptBlockError("an item is damaged, or runs past the end of its record", offset=offset)
    return np.array(positions, np.int64)


@lru_cache(maxsize=64)
def _skipper(node: Node) -> _Skipper:
    """Return the function that skips one value of *node*."""
    return _SKIPPERS[type(node)](node)


def _width_skipper(width: int) -> _Skipper:
    return lambda _data, pos, _end: pos + width


def _primitive_skipper(node: Primitive) -> _Skipper:
    if node.kind in ("string", "bytes"):
        return _skip_text
    return _width_skipper(_WIDTHS[node.kind]) if node.kind in _WIDTHS else _skip_varint


def _skip_varint(data: memoryview, pos: int, _end: int) -> int:
    last = pos + 9
    while data[pos] > 127:  # noqa: PLR2004 - the high bit: more follows
        if pos == last:
            raise IndexError
        pos += 1
    return pos + 1


def _read_varint(data: memoryview, pos: int) -> tuple[int, int]:
    """Read one integer; return it and the position behind it."""
    value = shift = 0
    while (byte := data[pos]) > 127:  # noqa: PLR2004 - bits of a varint
        value |= (byte & 127) << shift
        shift += 7
        pos += 1
        if shift > 63:  # noqa: PLR2004 - bits of a varint
            raise IndexError
    value |= byte << shift
    return (value >> 1) ^ -(value & 1), pos + 1


def _skip_text(data: memoryview, pos: int, end: int) -> int:
    byte = data[pos]
    if not byte & 129:  # one byte, not negative
        return pos + 1 + (byte >> 1)
    length, pos = _read_varint(data, pos)
    return pos + length if length >= 0 else end + 1


def _nullable_skipper(node: Nullable) -> _Skipper:
    inner = _skipper(node.inner)
    full, empty = (2, 0) if node.null_branch == 0 else (0, 2)

    def skip_value(data: memoryview, pos: int, end: int) -> int:
        branch = data[pos]
        if branch == full:
            return inner(data, pos + 1, end)
        return pos + 1 if branch == empty else end + 1

    def text(data: memoryview, pos: int, end: int) -> int:
        # Made for the keys of a delete list: one call less if the length is a single byte.
        if data[pos] == full and not data[pos + 1] & 129:
            return pos + 2 + (data[pos + 1] >> 1)
        return skip_value(data, pos, end)

    return text if inner is _skip_text else skip_value


def _record_skipper(node: Record) -> _Skipper:
    inner = [_skipper(child) for _, child in node.fields]

    def skip_value(data: memoryview, pos: int, end: int) -> int:
        for step in inner:
            pos = step(data, pos, end)
        return pos

    return skip_value


def _union_skipper(node: Union) -> _Skipper:
    inner = [None if branch is None else _skipper(branch) for branch in node.branches]

    def skip_value(data: memoryview, pos: int, end: int) -> int:
        branch, pos = _read_varint(data, pos) if data[pos] & 129 else (data[pos] >> 1, pos + 1)
        if not 0 <= branch < len(inner):
            return end + 1
        step = inner[branch]
        return pos if step is None else step(data, pos, end)

    return skip_value


def _list_skipper(node: Array | Map) -> _Skipper:
    inner = _skipper(item_node(node))

    def skip_value(data: memoryview, pos: int, end: int) -> int:
        while True:
            count, pos = _read_varint(data, pos)
            if count == 0:
                return pos
            if count < 0:
                count = -count
                size, pos = _read_varint(data, pos)
                if size < 0:
                    return end + 1
            if count > end - pos:
                return end + 1
            for _ in range(count):
                pos = inner(data, pos, end)
                if pos > end:
                    return pos

    return skip_value


_SKIPPERS: dict[type[Node], Callable[[Any], _Skipper]] = {
    Nullable: _nullable_skipper,
    Record: _record_skipper,
    Primitive: _primitive_skipper,
    Fixed: lambda node: _width_skipper(node.size),
    Enum: lambda _node: _skip_varint,
    Array: _list_skipper,
    Map: _list_skipper,
    Union: _union_skipper,
}
