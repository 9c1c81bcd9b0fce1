"""Arrow arrays as numpy arrays and back, without copying values.  Slices are respected everywhere."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pat

Bytes: TypeAlias = npt.NDArray[np.uint8]
Mask: TypeAlias = npt.NDArray[np.bool_]
Longs: TypeAlias = npt.NDArray[np.int64]


def validity(array: pa.Array) -> Mask | None:
    """Which entries are not null; None when all are."""
    if not array.null_count:
        return None
    valid: Mask = array.is_valid().to_numpy(zero_copy_only=False)
    return valid


def bitmap(valid: Mask | None) -> pa.Buffer | None:
    """The buffer that Arrow keeps for :func:`validity`."""
    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))


def one_batch(rows: pa.RecordBatch | pa.Table) -> pa.RecordBatch:
    """*rows* in one piece; a table is copied if it has several chunks."""
    if isinstance(rows, pa.RecordBatch):
        return rows
    columns = [_one_array(column) for column in rows.columns]
    return pa.RecordBatch.from_struct_array(pa.StructArray.from_arrays(columns, fields=list(rows.schema)))


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.chunks else pa.array([], column.type)


def numbers(array: pa.Array, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The values of a fixed-width array; what stands under nulls is arbitrary."""
    return _window(array.buffers()[1], dtype, array.offset, len(array))


def offsets(array: pa.Array) -> Longs:
    """Where each entry of a string, binary, list or map array begins, and where the last one ends."""
    if pat.is_fixed_size_list(array.type):
        width = array.type.list_size
        counted: Longs = np.arange(array.offset, array.offset + len(array) + 1, dtype=np.int64) * width
        return counted
    wide = pat.is_large_string(array.type) or pat.is_large_binary(array.type) or pat.is_large_list(array.type)
    place = array.buffers()[1]
    if place is None or not place.size:  # an empty array may come without its one offset
        return np.zeros(1, np.int64)
    return _window(place, np.int64 if wide else np.int32, array.offset, len(array) + 1).astype(np.int64)


def content(buffer: pa.Buffer | bytes | None) -> Bytes:
    """A buffer's bytes."""
    return np.zeros(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)


def _window(buffer: pa.Buffer | None, dtype: npt.DTypeLike, start: int, count: int) -> npt.NDArray[Any]:
    kind = np.dtype(dtype)
    if buffer is None or not count:
        return np.zeros(count, kind)
    return np.frombuffer(buffer, kind, count, start * kind.itemsize)
