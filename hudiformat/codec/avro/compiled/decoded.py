"""Decode records by a kernel into the memory of Arrow arrays, which grows as it is needed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from hudiformat import kernels
from hudiformat.codec.avro.arrays import Bytes, Longs
from hudiformat.codec.avro.compiled import decoding, layout
from hudiformat.codec.avro.compiled.program import Program, Slot, program_for
from hudiformat.codec.avro.nodes import Enum

_FIRST_ROWS = 512
"""The number of records that are decoded first: the size of texts and lists in the others is estimated from them."""
_ITEMS = 4  # items per list for which there is memory at first
_MARGIN = 1.1
_WORD = 8
_WIDTHS = {  # of values, in bits
    layout.BOOLEAN: 8,
    layout.INT: 32,
    layout.LONG: 64,
    layout.FOUR: 32,
    layout.EIGHT: 64,
    layout.TEXT: 32,
    layout.VIEW: 128,
    layout.DECIMAL: 128,
    layout.ENUM: 32,
    layout.LIST: 32,
}


class RecordRanges(NamedTuple):
    """Where records are in their buffer, in ascending order: see the kernel ``walk``."""

    starts: Longs
    ends: Longs
    filled: int = 0

    @property
    def first(self) -> int:
        """The first byte."""
        return int(self.starts[0])

    @property
    def last(self) -> int:
        """The position behind the last byte."""
        return self.filled or int(self.ends[-1])


def decode_columns(
    data: Bytes, places: RecordRanges, schema: str, wanted: frozenset[str], *, views: bool = False
) -> dict[str, pa.Array] | None:
    """Decode the *wanted* columns of the records in *data*; None if numpy has to decode them.

    That is so if there is too little work, numba is not installed, kernels do not know a type, or something is damaged.
    With *views* the texts that are columns are views of *data*.
    """
    size, rows = places.last - places.first, len(places.ends)
    walk = kernels.kernel(decoding.walk, size)
    program = None if walk is None else program_for(schema, wanted, views=views)
    if walk is None or program is None or rows * program.least > size:
        return None  # more rows than the bytes can hold are damage: no memory is allocated for them
    memory = _Memory(program, rows)
    if not memory.fill(walk, data, places):
        return None
    buffer = pa.py_buffer(data[places.first : places.last])
    try:
        return {name: memory.array(slot, buffer) for name, slot in program.slots.items()}
    except pa.ArrowInvalid:
        return None


def find_offsets(data: Bytes, count: int) -> Longs | None:
    """Return where each of *count* records that fill *data* begins, and the end; None if numpy has to find them."""
    chain = kernels.kernel(decoding.chain, 0)
    if chain is None:
        return None
    offsets = np.empty(count + 1, np.int64)
    return offsets if chain(data.ctypes.data, len(data), offsets.ctypes.data, count) == layout.DONE else None


def _with_padding(data: Bytes) -> Bytes:
    padded = np.zeros(len(data) + layout.PADDING, np.uint8)
    padded[: len(data)] = data
    return padded


class _Memory:
    """The tables of a program while it runs, and the memory of its columns."""

    def __init__(self, program: Program, rows: int) -> None:
        self._program = program
        self._rows = rows
        self._table: Longs = program.table.copy()
        self._frames: Longs = np.zeros((program.frames, layout.FRAME_SIZE // _WORD), np.int64)
        self._texts: Longs = np.flatnonzero(self._table[:, layout.KIND // _WORD] == layout.TEXT)
        self._buffers: dict[tuple[int, int], pa.ResizableBuffer] = {}
        for frame in range(program.frames):
            self._make_room(frame, min(rows, _FIRST_ROWS) * (_ITEMS if frame else 1))

    def fill(self, walk: kernels.Function, data: Bytes, places: RecordRanges) -> bool:
        """Decode all records; return False if numpy has to decode them."""
        starts, ends, filled = (np.ascontiguousarray(places.starts), np.ascontiguousarray(places.ends), places.filled)
        base, room, last = data.ctypes.data, len(data), min(_FIRST_ROWS, self._rows)
        heads = np.empty(4, np.int64)
        tables = (self._table.ctypes.data, len(self._table), self._frames.ctypes.data, heads.ctypes.data)
        whole, first = int(self._program.whole), places.first
        while True:
            found = walk(base, room, filled, first, starts.ctypes.data, ends.ctypes.data, last, whole, *tables)
            row = int(self._frames[0, 0])
            if found == layout.NEAR_END:
                tail = _with_padding(data[int(starts[row]) : places.last])
                base, room = tail.ctypes.data - int(starts[row]), places.last + layout.PADDING
            elif found > layout.DONE:
                self._grow(found - 1, int(ends[row] - starts[row]))
                # Other columns will soon be full too, and after each return a row is decoded again.
                self._make_texts(min(_MARGIN * last / max(row, 1), 2))
            elif found == layout.DONE and last < self._rows:
                self._make_room_for_all()
                last = self._rows
            else:
                return bool(found == layout.DONE and ends[-1] == places.last)

    def _grow(self, operation: int, more: int) -> None:
        """Make half as much room again, and at least *more*, for the texts or the list items of an operation."""
        row = self._table[operation]
        if row[layout.KIND // _WORD] == layout.TEXT:
            used = int(row[layout.USED // _WORD])
            self._make_bytes(operation, max(used * 3 // 2, used + more + layout.SPARE))
        else:
            frame = int(row[layout.ARGUMENT // _WORD])
            count = int(self._frames[frame, layout.COUNT])
            self._make_room(frame, max(count * 3 // 2, count + more))

    def _make_room_for_all(self) -> None:
        """Make room for all rows, and for as many bytes and items per record as there were so far."""
        done = max(int(self._frames[0, 0]), 1)
        share = _MARGIN * self._rows / done
        self._make_room(0, self._rows)
        for frame in range(1, len(self._frames)):
            self._make_room(frame, int(self._frames[frame, 0] * share) + _ITEMS)
        self._make_texts(share)

    def _make_texts(self, share: float) -> None:
        """Make room in all columns of texts for *share* times as many bytes as they have."""
        sizes = (self._table[self._texts, layout.USED // _WORD] * share).astype(np.int64) + layout.SPARE
        is_short = sizes > self._table[self._texts, layout.ROOM // _WORD]
        for operation, size in zip(self._texts[is_short].tolist(), sizes[is_short].tolist(), strict=True):
            self._make_bytes(operation, size)

    def _make_room(self, frame: int, rows: int) -> None:
        """Make memory for *rows* rows of a frame."""
        capacity = layout.CAPACITY // _WORD
        if rows <= self._frames[frame, capacity]:
            return
        self._frames[frame, capacity] = rows
        # The unchanged table of the program: an operation that keeps no values or validity has 0 there.
        for operation, row in enumerate(self._program.table.tolist()):
            if row[layout.FRAME // _WORD] != frame:
                continue
            if row[layout.VALID // _WORD]:
                self._resize(operation, layout.VALID, rows)
                self._bytes(operation, layout.VALID)[int(self._frames[frame, layout.COUNT]) :] = 1
            kind = row[layout.KIND // _WORD]
            if kind == layout.LIST and not row[layout.VALUES // _WORD]:
                continue
            if width := self._width(operation):
                fresh = (operation, layout.VALUES) not in self._buffers
                self._resize(operation, layout.VALUES, -(-(rows + 1) * width // 8))
                if fresh and kind in (layout.TEXT, layout.LIST):
                    self._bytes(operation, layout.VALUES)[:4] = 0
            if kind == layout.TEXT and (operation, layout.BYTES) not in self._buffers:
                self._make_bytes(operation, 2 * _WORD * min(rows, _FIRST_ROWS) + layout.SPARE)

    def _make_bytes(self, operation: int, size: int) -> None:
        if size > self._table[operation, layout.ROOM // _WORD]:
            self._resize(operation, layout.BYTES, size)
            self._table[operation, layout.ROOM // _WORD] = size

    def _resize(self, operation: int, what: int, size: int) -> None:
        buffer = self._buffers.get((operation, what))
        if buffer is None:
            buffer = self._buffers[operation, what] = pa.allocate_buffer(size, resizable=True)
        else:
            buffer.resize(size)
        self._table[operation, what // _WORD] = buffer.address

    def _bytes(self, operation: int, what: int) -> Bytes:
        memory: Any = self._buffers[operation, what]  # NumPy's types take Arrow's buffers from Python 3.12 on
        return np.frombuffer(memory, np.uint8)

    def array(self, slot: Slot, data: pa.Buffer) -> pa.Array:
        """Return the array of a slot, once all rows are decoded.

        Raises:
            pyarrow.ArrowInvalid: a decimal has more digits than its type.
        """
        rows, at, node = int(self._frames[slot.frame, layout.COUNT]), slot.operation, slot.node
        children = [self.array(inside, data) for inside in slot.inside]
        if at is None:
            return pa.StructArray.from_buffers(node.arrow, rows, [None], children=children)
        kind = int(self._table[at, layout.KIND // _WORD])
        valid = self._bits(at, layout.VALID, rows) if self._table[at, layout.HAS_NULLS // _WORD] else None
        if kind == layout.RECORD:
            return pa.StructArray.from_buffers(node.arrow, rows, [valid], children=children)
        if isinstance(node, Enum):
            indices = pa.Array.from_buffers(pa.int32(), rows, [valid, self._values(at, rows)])
            return pa.array(node.symbols, node.arrow).take(indices)
        values = [self._bits(at, layout.VALUES, rows)] if kind == layout.BOOLEAN else [self._values(at, rows)]
        arrow = node.arrow
        if kind == layout.TEXT:
            values.append(self._used_bytes(at))
        elif kind == layout.VIEW:
            values.append(data)
            arrow = pa.string_view() if pat.is_string(arrow) else pa.binary_view()
        array = pa.Array.from_buffers(arrow, rows, [valid, *values], children=children or None)
        if kind == layout.DECIMAL:
            array.validate(full=True)
        return array

    def _values(self, operation: int, rows: int) -> pa.Buffer:
        """Return the values without the memory behind them, which IPC would write too."""
        kind = int(self._table[operation, layout.KIND // _WORD])
        buffer = self._buffers[operation, layout.VALUES]
        buffer.resize((rows + (kind in (layout.TEXT, layout.LIST))) * self._width(operation) // 8)
        return buffer

    def _width(self, operation: int) -> int:
        """Return the bits of a value of an operation; 0 if it keeps none."""
        row = self._table[operation]
        kind = int(row[layout.KIND // _WORD])
        return 8 * int(row[layout.ARGUMENT // _WORD]) if kind == layout.FIXED else _WIDTHS.get(kind, 0)

    def _used_bytes(self, operation: int) -> pa.Buffer:
        row = self._table[operation]
        used, room = int(row[layout.USED // _WORD]), int(row[layout.ROOM // _WORD])
        buffer = self._buffers[operation, layout.BYTES]
        buffer.resize(used, shrink_to_fit=used < room // 2)
        return buffer

    def _bits(self, operation: int, what: int, rows: int) -> pa.Buffer:
        return pa.py_buffer(np.packbits(self._bytes(operation, what)[:rows], bitorder="little"))
