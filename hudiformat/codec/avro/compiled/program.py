"""Compile a schema into the program of the kernel that decodes its records: see the module layout.

A record of a nullable string and a list of nullable ints, if both columns are wanted:

    number  kind   null  next  frame  argument
    0       TEXT   0     1     0      1            a string, or null if its first byte is 0
    1       LIST   -1    4     0      1            items are rows of frame 1
    2       INT    0     3     1      0
    3       END    -1    4     1      1            once more from 2, or on to the next block of items
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.avro.compiled import layout
from hudiformat.codec.avro.nodes import Array, Enum, Fixed, Map, Node, Nullable, Primitive, Record, parse_schema

_NO_UNION = -1
_KINDS = {
    "boolean": layout.BOOLEAN,
    "int": layout.INT,
    "long": layout.LONG,
    "float": layout.FOUR,
    "double": layout.EIGHT,
}
_SKIPPED = {"boolean": 1, "float": 4, "double": 8}
_DECIMAL_SIZE = 16
DAY: dict[pa.DataType, int] = {pa.time32("ms"): 86_400_000, pa.time64("us"): 86_400_000_000}
"""The exclusive upper limit of a time of day, by type."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Which operation decodes a node, and the slots of the nodes inside it.

    A record that is never null has no operation.
    """

    node: Node
    frame: int
    operation: int | None
    inside: tuple[Slot, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """The operations, the slots of the wanted columns, and the number of frames.

    ``whole`` says whether records are read to the end; ``least`` is the fewest bytes that a record has.
    """

    table: npt.NDArray[np.int64]
    slots: dict[str, Slot]
    frames: int
    whole: bool
    least: int


@lru_cache(maxsize=256)
def program_for(schema: str, wanted: frozenset[str], *, views: bool) -> Program | None:
    """Return the program that decodes the *wanted* columns of a schema; None if kernels do not know a type.

    With *views* the texts that are columns are views.  Fields behind the last wanted column are not read.
    """
    fields = parse_schema(schema).fields
    last = max((index for index, (name, _) in enumerate(fields) if name in wanted), default=-1)
    builder, slots = _Builder(views=views), {}
    try:
        for name, node in fields[: last + 1]:
            if name in wanted:
                slots[name] = builder.add(node, 0, masked=False, top=True)
            else:
                builder.skip(node)
    except _UnknownError:
        return None
    least = sum(_min_size(node) for _, node in fields[: last + 1])
    return Program(builder.table(), slots, builder.frames, last == len(fields) - 1, least)


class _UnknownError(Exception):
    """Kernels do not know a type."""


class _Builder:
    """Collects operations."""

    def __init__(self, *, views: bool) -> None:
        self.frames = 1
        self._views = views
        self._rows: list[dict[int, int]] = []
        self._run: int | None = None  # the number of the SKIP_RUN that may be continued

    def table(self) -> npt.NDArray[np.int64]:
        """Return the operations as a table; addresses are still 0."""
        table = np.zeros((len(self._rows), layout.SIZE // 8), np.int64)
        for row, values in zip(table, self._rows, strict=True):
            for offset, value in values.items():
                row[offset // 8] = value
        return table

    def add(self, node: Node, frame: int, *, masked: bool, top: bool = False) -> Slot:
        """Add operations that decode *node*; *masked* if a record around it can be null, *top* if it is a column."""
        null, inner = _null_of(node)
        can_be_null = masked or null != _NO_UNION
        if isinstance(inner, Record):
            return self._record(inner, frame, null, can_be_null=can_be_null)
        if isinstance(inner, (Array, Map)):
            return self._list(inner, frame, null, can_be_null=can_be_null)
        kind, argument = _leaf(inner)
        if kind == layout.TEXT and top and self._views:
            kind = layout.VIEW
        at = self._append(kind, null, frame, argument, valid=can_be_null)
        return Slot(inner, frame, at)

    def skip(self, node: Node, frame: int = 0) -> None:
        """Add operations that skip *node*."""
        null, inner = _null_of(node)
        width = _width(inner)
        if isinstance(inner, Record):
            self._skip_record(inner, frame, null)
        elif isinstance(inner, (Array, Map)):
            at, items = self._open_list(null, frame)
            self.skip(_items(inner), items)
            self._close_list(at, items)
        elif width is not None:
            self._append_skipped(layout.SKIP_FIXED, null, frame, width)
        elif isinstance(inner, Primitive) and inner.kind in ("string", "bytes"):
            self._append_skipped(layout.SKIP_TEXT, null, frame, 0)
        elif isinstance(inner, (Primitive, Enum)):
            self._append_skipped(layout.SKIP_VARINT, null, frame, 0)
        else:
            raise _UnknownError

    def _skip_record(self, node: Record, frame: int, null: int) -> None:
        at = None if null == _NO_UNION else self._append(layout.RECORD, null, frame, 0)
        for _, child in node.fields:
            self.skip(child, frame)
        if at is not None:
            self._close(at)

    def _append(self, kind: int, null: int, frame: int, argument: int, *, valid: bool = False) -> int:
        """Append an operation and return its number; with *valid* it has validity bits."""
        at = len(self._rows)
        self._rows.append(
            {
                layout.KIND: kind,
                layout.NULL: null,
                layout.NEXT: at + 1,
                layout.FRAME: frame,
                layout.ARGUMENT: argument,
                layout.VALID: int(valid),
            }
        )
        return at

    def _append_skipped(self, kind: int, null: int, frame: int, argument: int) -> None:
        """Append an operation that skips a value to the run of such operations at the end, or to a new one."""
        behind = len(self._rows)
        if self._run is None or self._rows[self._run][layout.NEXT] != behind:
            self._run = self._append(layout.SKIP_RUN, _NO_UNION, frame, 0)
        last = self._rows[-1]
        if last[layout.KIND] == kind == layout.SKIP_FIXED and null == last[layout.NULL] == _NO_UNION:
            last[layout.ARGUMENT] += argument  # widths are one width together
        else:
            self._append(kind, null, frame, argument)
        self._rows[self._run][layout.NEXT] = len(self._rows)

    def _close(self, at: int) -> None:
        self._run = None  # the operation behind is where others go on
        self._rows[at][layout.NEXT] = len(self._rows)

    def _record(self, node: Record, frame: int, null: int, *, can_be_null: bool) -> Slot:
        at = self._append(layout.RECORD, null, frame, 0, valid=True) if can_be_null else None
        inside = tuple(self.add(child, frame, masked=can_be_null) for _, child in node.fields)
        if at is not None:
            self._close(at)
        return Slot(node, frame, at, inside)

    def _list(self, node: Array | Map, frame: int, null: int, *, can_be_null: bool) -> Slot:
        at, child = self._open_list(null, frame, valid=can_be_null, values=1)
        inside = self.add(_items(node), child, masked=False)
        self._close_list(at, child)
        return Slot(node, frame, at, (inside,))

    def _open_list(self, null: int, frame: int, *, valid: bool = False, values: int = 0) -> tuple[int, int]:
        child = self.frames
        self.frames += 1
        at = self._append(layout.LIST, null, frame, child, valid=valid)
        self._rows[at][layout.VALUES] = values  # there are to be offsets
        return at, child

    def _close_list(self, at: int, child: int) -> None:
        self._append(layout.END, _NO_UNION, child, at)
        self._close(at)


def _null_of(node: Node) -> tuple[int, Node]:
    """Return the byte that means null, or -1, and the node that is not null."""
    return (2 * node.null_branch, node.inner) if isinstance(node, Nullable) else (_NO_UNION, node)


def _items(node: Array | Map) -> Node:
    return node.items if isinstance(node, Array) else node.entries


def _width(node: Node) -> int | None:
    if isinstance(node, Primitive):
        return _SKIPPED.get(node.kind)
    return node.size if isinstance(node, Fixed) else None


def _min_size(node: Node) -> int:
    """Return the fewest bytes that a value takes."""
    if isinstance(node, Record):
        return sum(_min_size(child) for _, child in node.fields)
    return _width(node) or 1


def _leaf(node: Node) -> tuple[int, int]:
    """Return the kind of a node without inner nodes, and its argument."""
    if isinstance(node, Enum):
        return layout.ENUM, len(node.symbols)
    if isinstance(node, Fixed):
        if not pat.is_decimal(node.arrow):
            return layout.FIXED, node.size
        if node.size <= _DECIMAL_SIZE:
            return layout.DECIMAL, node.size
    elif isinstance(node, Primitive):
        if node.kind in _KINDS:
            return _KINDS[node.kind], DAY.get(node.arrow, 0)
        return (layout.DECIMAL, 0) if pat.is_decimal(node.arrow) else (layout.TEXT, int(pat.is_string(node.arrow)))
    raise _UnknownError
