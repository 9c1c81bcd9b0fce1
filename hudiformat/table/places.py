"""Rows by their places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Integers = npt.NDArray[np.int64]
Rows = TypeVar("Rows", pa.RecordBatch, pa.Table, pa.Array, pa.ChunkedArray)


def taken(rows: Rows, places: Integers) -> Rows:
    """Those of *rows* that are at *places*, in that order; not copied where they follow each other."""
    if len(places) and (np.diff(places) == 1).all():
        return rows.slice(int(places[0]), len(places))
    return rows.take(pa.array(places))


def joined(rows: pa.Table) -> pa.Table:
    """*rows* in one piece; columns whose pieces are neighbours in memory are not copied."""
    return pa.Table.from_arrays([_uncut(column) for column in rows.columns], schema=rows.schema).combine_chunks()


def _uncut(column: pa.ChunkedArray) -> pa.ChunkedArray:
    pieces = [piece for piece in column.chunks if len(piece)]
    is_flat = not (column.type.num_fields or pa.types.is_dictionary(column.type))
    if not (pieces and is_flat and all(map(_touch, pieces, pieces[1:]))):
        return column
    whole = pa.Array.from_buffers(column.type, len(column), pieces[0].buffers(), offset=pieces[0].offset)
    return pa.chunked_array([whole])


def _touch(array: pa.Array, other: pa.Array) -> bool:
    """Whether *other* goes on in the same memory where *array* ends."""
    places, others = ([buffer and buffer.address for buffer in one.buffers()] for one in (array, other))
    return places == others and array.offset + len(array) == other.offset


def groups_of_codes(codes: Integers) -> Iterator[tuple[int, Integers]]:
    """Each distinct code and the rows that have it, in order."""
    if len(codes) and (codes == codes[0]).all():  # as with one partition, or one file group
        yield int(codes[0]), np.arange(len(codes))
        return
    is_short = len(codes) and np.abs(codes).max() <= np.iinfo(np.int16).max
    order = np.argsort(codes.astype(np.int16) if is_short else codes, kind="stable")  # short ones by radix
    starts = np.flatnonzero(np.diff(codes[order], prepend=np.iinfo(np.int64).min))
    for group in np.split(order, starts[1:]) if len(order) else ():
        yield int(codes[group[0]]), group
