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


def groups_of_codes(codes: Integers) -> Iterator[tuple[int, Integers]]:
    """Each distinct code and the rows that have it, in order."""
    if len(codes) and (codes == codes[0]).all():  # as with one partition, or one file group
        yield int(codes[0]), np.arange(len(codes))
        return
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=np.iinfo(np.int64).min))
    for group in np.split(order, starts[1:]) if len(order) else ():
        yield int(codes[group[0]]), group
