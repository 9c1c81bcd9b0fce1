"""Rows taken by their numbers, in no order, from where what makes that cheap has been prepared once.  Pure.

Arrow takes a text in ten times the time of a number, and a number that may be null in three times that of one that may
not.  So texts of one length are taken as numbers of that width, other texts as views of 16 bytes, which Arrow's cast
then copies one after the other, and nulls apart from values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.merge.rule import Integers

Take: TypeAlias = Callable[[pa.Array], pa.Array | pa.ChunkedArray]
"""The values at some places, which have to be inside."""

_VIEW_SIZE = 16


class RowSource:
    """Rows that others are taken from; columns of one chunk are taken the fast way."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows
        self._takes = [
            taking_from(column.chunk(0)) if column.num_chunks == 1 else column.take for column in rows.columns
        ]

    def at(self, places: Integers, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows at *places*, in that order, or some of their columns; not copied where they follow each other.

        Raises:
            IndexError: one of *places* is outside.
        """
        rows = self.rows if columns is None else self.rows.select(list(columns))
        if not len(places) or (np.diff(places) == 1).all():
            return rows.slice(int(places[0]) if len(places) else 0, len(places))
        if int(places.min()) < 0 or int(places.max()) >= rows.num_rows:
            raise IndexError(f"places from {places.min()} to {places.max()}, of {rows.num_rows} rows")
        chosen = pa.array(places)
        takes = [self._takes[self.rows.schema.get_field_index(name)] for name in rows.column_names]
        return pa.Table.from_arrays([take(chosen) for take in takes], schema=rows.schema)


def taking_from(array: pa.Array) -> Take:
    """What takes values out of *array*."""
    kind = array.type
    is_text = pat.is_string(kind) or pat.is_binary(kind)
    if array.null_count and (is_text or pat.is_primitive(kind)) and not pat.is_boolean(kind):
        return _taking_nulls(array)
    if is_text and len(array):
        return _taking_texts(array)
    return partial(pc.take, array, boundscheck=False)


def _taking_nulls(array: pa.Array) -> Take:
    buffers = array.buffers()
    values = taking_from(pa.Array.from_buffers(array.type, len(array), [None, *buffers[1:]], offset=array.offset))
    valid = array.is_valid()

    def take(places: pa.Array) -> pa.Array:
        some = values(places)
        bits = pc.take(valid, places, boundscheck=False).buffers()[1]
        return pa.Array.from_buffers(array.type, len(places), [bits, *some.buffers()[1:]])

    return take


def _taking_texts(array: pa.Array) -> Take:
    _, places, data = array.buffers()
    offsets = np.frombuffer(places, np.int32)[array.offset : array.offset + len(array) + 1]
    lengths = np.diff(offsets)
    width = int(lengths[0])
    if width and (lengths == width).all():
        return _taking_alike(array.type, data.slice(int(offsets[0])), len(array), width)
    binary = pa.Array.from_buffers(pa.binary(), len(array), [None, places, data], offset=array.offset)
    return _taking_views(array.type, binary.cast(pa.binary_view()))


def _taking_alike(kind: pa.DataType, data: pa.Buffer, rows: int, width: int) -> Take:
    """Texts that all have *width* bytes."""
    values = pa.Array.from_buffers(pa.binary(width), rows, [None, data])

    def take(places: pa.Array) -> pa.Array:
        taken = pc.take(values, places, boundscheck=False).buffers()[1]
        offsets = np.arange(0, (len(places) + 1) * width, width, dtype=np.int32)
        return pa.Array.from_buffers(kind, len(places), [None, pa.py_buffer(offsets), taken])

    return take


def _taking_views(kind: pa.DataType, views: pa.Array) -> Take:
    _, table, *contents = views.buffers()
    heads = pa.Array.from_buffers(pa.binary(_VIEW_SIZE), len(views), [None, table], offset=views.offset)

    def take(places: pa.Array) -> pa.Array:
        taken = pc.take(heads, places, boundscheck=False).buffers()[1]
        texts = pa.Array.from_buffers(pa.binary_view(), len(places), [None, taken, *contents]).cast(pa.binary())
        return pa.Array.from_buffers(kind, len(places), texts.buffers())

    return take
