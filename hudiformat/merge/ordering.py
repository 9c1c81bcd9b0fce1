"""Ordering values as integers that compare alike.  Pure.

Two values of one ordering column compare like their integers.  Several ordering columns compare in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


OrderingKeys = tuple[pa.ChunkedArray, ...]
"""One array per ordering column, in the order of the columns, all of one length."""


def comparable(columns: OrderingKeys, length: int) -> Integers:
    """An integer per row that compares like the row's ordering values; all zero where there are no columns.

    Null counts as Hudi's default, the int 0: as zero among numbers, and below everything else.
    """
    result: Integers = np.zeros(length, dtype=np.int64)
    for position, column in enumerate(columns):
        values = _as_integers(column)
        if position == 0 and len(columns) == 1:
            return values
        ranks = np.unique(values, return_inverse=True)[1].astype(np.int64)
        result = np.unique(result * (int(ranks.max(initial=0)) + 1) + ranks, return_inverse=True)[1].astype(np.int64)
    return result


def _as_integers(column: pa.ChunkedArray) -> Integers:
    kind = column.type
    if not len(column):
        return np.zeros(0, np.int64)  # older pyarrow cannot rank no decimals
    if pa.types.is_integer(kind):
        return np.asarray(pc.fill_null(column.cast(pa.int64()), 0))
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return np.asarray(pc.fill_null(column.cast(pa.int32()).cast(pa.int64()), np.iinfo(np.int64).min))
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return np.asarray(pc.fill_null(column.cast(pa.int64()), np.iinfo(np.int64).min))
    if pa.types.is_floating(kind):
        return _float_bits(pc.fill_null(column.cast(pa.float64()), 0.0))
    if pa.types.is_decimal(kind):
        column = pc.fill_null(column, pa.scalar(Decimal(0), kind))
    ranks = np.asarray(pc.rank(column, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
    return np.where(np.asarray(pc.is_null(column)), 0, ranks)


def _float_bits(column: pa.ChunkedArray) -> Integers:
    """As Java compares: -0.0 below 0.0, and NaN, whatever its bits, above all.  Source: java.lang.Double.compare."""
    values = np.asarray(column).copy()
    values[np.isnan(values)] = np.nan
    bits: Integers = values.view(np.int64)
    return np.asarray(np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits))


def without_ordering(ordering: Sequence[pa.ChunkedArray], length: int) -> Booleans:
    """Which deletes carry no ordering value: null, or the 32-bit 0 that Hudi writes for none."""
    if len(ordering) != 1:  # several ordering values are never Hudi's placeholder
        return np.full(length, not ordering, dtype=np.bool_)
    (column,) = ordering
    missing = pc.is_null(column)
    if pa.types.is_int32(column.type):
        missing = pc.or_(missing, pc.equal(pc.fill_null(column, 0), 0))
    return np.asarray(missing)
