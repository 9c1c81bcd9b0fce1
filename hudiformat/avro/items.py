"""Passing over values without making them, and finding where the items of arrays and maps stand.

Items have no lengths, so each has to be passed over to find the next.  That is done for all rows at once, item by item;
once few rows have items left, a plain loop per row is faster.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from hudiformat.avro.buffers import Longs, Mask
from hudiformat.avro.cursors import Cursors
from hudiformat.avro.nodes import Array, Enum, Fixed, Map, Node, Nullable, Primitive, Record, Union
from hudiformat.errors import CorruptBlockError

_WIDTHS = {"boolean": 1, "float": 4, "double": 8}
_FEW_ROWS = 32


def skip(node: Node, cursors: Cursors, present: Mask | None) -> None:
    """Move all cursors behind the value; checks lengths and branches, not what values mean."""
    if present is None or present.any():
        _SKIPPERS[type(node)](node, cursors, present)


def branch_of_two(null_branch: int, cursors: Cursors, present: Mask | None) -> Mask | None:
    """Where a union with null holds a value, after reading which."""
    branch = cursors.next_byte()
    full, empty = (2, 0) if null_branch == 0 else (0, 2)
    there: Mask = branch == full
    if there.all():
        cursors.advance(1, present)
        return present
    cursors.refuse(~there & (branch != empty), present, "a union has 2 branches")
    cursors.advance(1, present)
    return there if present is None else there & present


def _nullable(node: Nullable, cursors: Cursors, present: Mask | None) -> None:
    skip(node.inner, cursors, branch_of_two(node.null_branch, cursors, present))


def _record(node: Record, cursors: Cursors, present: Mask | None) -> None:
    for _, child in node.fields:
        skip(child, cursors, present)


def _primitive(node: Primitive, cursors: Cursors, present: Mask | None) -> None:
    if node.kind in ("string", "bytes"):
        cursors.advance(cursors.length(present), present)
    elif node.kind in _WIDTHS:
        cursors.advance(_WIDTHS[node.kind], present)
    else:
        cursors.skip_varint(present)


def _fixed(node: Fixed, cursors: Cursors, present: Mask | None) -> None:
    cursors.advance(node.size, present)


def _enum(_node: Enum, cursors: Cursors, present: Mask | None) -> None:
    cursors.skip_varint(present)


def _list(node: Array | Map, cursors: Cursors, present: Mask | None) -> None:
    locate(_inner(node), cursors, present)


def _union(node: Union, cursors: Cursors, present: Mask | None) -> None:
    before = cursors.pos
    branch = cursors.varint(present)
    bad = (branch < 0) | (branch >= len(node.branches))
    cursors.refuse(bad, present, f"a union has {len(node.branches)} branches", at=before)
    for index, inner in enumerate(node.branches):
        if inner is not None:
            skip(inner, cursors, (branch == index) if present is None else (branch == index) & present)


def _inner(node: Array | Map) -> Node:
    return node.items if isinstance(node, Array) else node.entries


_SKIPPERS: dict[type[Node], Callable[[Any, Cursors, Mask | None], None]] = {
    Nullable: _nullable,
    Record: _record,
    Primitive: _primitive,
    Fixed: _fixed,
    Enum: _enum,
    Array: _list,
    Map: _list,
    Union: _union,
}


def locate(node: Node, cursors: Cursors, present: Mask | None) -> tuple[Longs, Longs]:
    """The row and the position of every item, rows in order; the cursors move behind the arrays."""
    rows = np.arange(len(cursors)) if present is None else np.flatnonzero(present)
    found = [(rows[:0], cursors.pos[:0])]
    pos = cursors.pos.copy()
    while len(rows):
        block = cursors.at(pos[rows], cursors.end[rows])
        counts, ends = _block_header(block)
        pos[rows] = block.pos
        more = counts > 0
        rows, counts, ends = rows[more], counts[more], ends[more]
        if len(rows):
            block = cursors.at(pos[rows], cursors.end[rows])
            found += _items(node, block, rows, counts)
            bad = (ends >= 0) & (block.pos != ends)
            block.refuse(bad, None, "a block of items does not have the size that it declares")
            pos[rows] = block.pos
    cursors.move(pos)
    all_rows, starts = np.concatenate([row for row, _ in found]), np.concatenate([start for _, start in found])
    if len(found) > 2:  # noqa: PLR2004 - the first is empty, and one alone is in order
        order = np.argsort(all_rows, kind="stable")  # within a row they were found in order
        all_rows, starts = all_rows[order], starts[order]
    return all_rows, starts


def _block_header(block: Cursors) -> tuple[Longs, Longs]:
    """How many items follow, and where they end if that is said, else -1."""
    before = block.pos
    counts = block.varint(None)
    sized = counts < 0
    ends = np.full(len(block), -1, np.int64)
    if sized.any():
        counts = np.abs(counts)  # the least of all integers stays negative, and is refused below
        sizes = block.varint(sized)
        bad = (sizes < 0) | (sizes > block.end - block.pos)
        block.refuse(bad, None, "a block of items of impossible size", at=before)
        ends[sized] = (block.pos + sizes)[sized]
    # An item takes a byte at least; the few schemas whose items take none are held to that too.
    bad = (counts < 0) | (counts > block.end - block.pos)
    block.refuse(bad, None, "more items than bytes are left", at=before)
    return counts, ends


def _items(node: Node, block: Cursors, rows: Longs, counts: Longs) -> list[tuple[Longs, Longs]]:
    """Row and position of the items of one block per row; moves the block's cursors behind them."""
    found = []
    done = 0
    active = np.arange(len(rows))
    pos = block.pos.copy()
    while len(active) >= _FEW_ROWS:
        found.append((rows[active], pos[active]))
        step = block.at(pos[active], block.end[active])
        skip(node, step, None)
        pos[active] = step.pos
        done += 1
        active = active[counts[active] > done]
    if len(active):
        passer = _passer(node)
        for index in active.tolist():
            starts = _run(passer, block.at(pos[index : index + 1], block.end[index:]), int(counts[index]) - done)
            found.append((np.full(len(starts) - 1, rows[index]), starts[:-1]))
            pos[index] = starts[-1]
    block.move(pos)
    return found


_Passer: TypeAlias = Callable[[memoryview, int, int], int]


def _run(passer: _Passer, first: Cursors, count: int) -> Longs:
    """The positions of the next *count* items of one row, and where the last one ends."""
    data, pos, end = first.data.data, int(first.pos[0]), int(first.end[0])
    places = [pos]
    try:
        for _ in range(count):
            pos = passer(data, pos, end)
            places.append(pos)
            if pos > end:
                break
    except IndexError:  # past the end of the whole buffer, or no integer
        places.append(end + 1)
    if places[-1] > end:
        offset = first.base + places[-2]
        raise CorruptBlockError("an item is damaged, or runs past the end of its record", offset=offset)
    return np.array(places, np.int64)


@lru_cache(maxsize=64)
def _passer(node: Node) -> _Passer:
    """A function that passes over one value; it may go past the end, which the caller checks."""
    return _PASSERS[type(node)](node)


def _pass_width(width: int) -> _Passer:
    return lambda _data, pos, _end: pos + width


def _pass_primitive(node: Primitive) -> _Passer:
    if node.kind in ("string", "bytes"):
        return _pass_text
    return _pass_width(_WIDTHS[node.kind]) if node.kind in _WIDTHS else _pass_varint


def _pass_varint(data: memoryview, pos: int, _end: int) -> int:
    last = pos + 9
    while data[pos] > 127:  # noqa: PLR2004 - the high bit: more follows
        if pos == last:
            raise IndexError
        pos += 1
    return pos + 1


def _varint(data: memoryview, pos: int) -> tuple[int, int]:
    """One integer and the position behind it."""
    value = shift = 0
    while (byte := data[pos]) > 127:  # noqa: PLR2004
        value |= (byte & 127) << shift
        shift += 7
        pos += 1
        if shift > 63:  # noqa: PLR2004
            raise IndexError
    value |= byte << shift
    return (value >> 1) ^ -(value & 1), pos + 1


def _pass_text(data: memoryview, pos: int, end: int) -> int:
    byte = data[pos]
    if not byte & 129:  # one byte, not negative
        return pos + 1 + (byte >> 1)
    length, pos = _varint(data, pos)
    return pos + length if length >= 0 else end + 1


def _pass_nullable(node: Nullable) -> _Passer:
    inner = _passer(node.inner)
    full, empty = (2, 0) if node.null_branch == 0 else (0, 2)

    def passer(data: memoryview, pos: int, end: int) -> int:
        branch = data[pos]
        if branch == full:
            return inner(data, pos + 1, end)
        return pos + 1 if branch == empty else end + 1

    def text(data: memoryview, pos: int, end: int) -> int:
        # The keys of a delete list: one call less where a byte tells the length.
        if data[pos] == full and not data[pos + 1] & 129:
            return pos + 2 + (data[pos + 1] >> 1)
        return passer(data, pos, end)

    return text if inner is _pass_text else passer


def _pass_record(node: Record) -> _Passer:
    inner = [_passer(child) for _, child in node.fields]

    def passer(data: memoryview, pos: int, end: int) -> int:
        for step in inner:
            pos = step(data, pos, end)
        return pos

    return passer


def _pass_union(node: Union) -> _Passer:
    inner = [None if branch is None else _passer(branch) for branch in node.branches]

    def passer(data: memoryview, pos: int, end: int) -> int:
        branch, pos = _varint(data, pos) if data[pos] & 129 else (data[pos] >> 1, pos + 1)
        if not 0 <= branch < len(inner):
            return end + 1
        step = inner[branch]
        return pos if step is None else step(data, pos, end)

    return passer


def _pass_list(node: Array | Map) -> _Passer:
    inner = _passer(_inner(node))

    def passer(data: memoryview, pos: int, end: int) -> int:
        while True:
            count, pos = _varint(data, pos)
            if count == 0:
                return pos
            if count < 0:
                count = -count
                size, pos = _varint(data, pos)
                if size < 0:
                    return end + 1
            if count > end - pos:
                return end + 1
            for _ in range(count):
                pos = inner(data, pos, end)
                if pos > end:
                    return pos

    return passer


_PASSERS: dict[type[Node], Callable[[Any], _Passer]] = {
    Nullable: _pass_nullable,
    Record: _pass_record,
    Primitive: _pass_primitive,
    Fixed: lambda node: _pass_width(node.size),
    Enum: lambda _node: _pass_varint,
    Array: _pass_list,
    Map: _pass_list,
    Union: _pass_union,
}
