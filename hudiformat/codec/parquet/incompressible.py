"""Tell the columns that a codec would make hardly smaller, which are stored as they are.

Each column chunk of a Parquet file names its own codec.  Numbers with random digits, hashes, vectors and pictures stay
nearly as large by any of them; but to decompress them takes a reader several times as long as all else that it does
with them.  What saves less than an eighth is not compressed: the rule of RocksDB for its blocks.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

_WORTH = 7 / 8
"""A column is compressed if its sample has at most this share of its bytes then."""
LEAST_BYTES = 1 << 17
"""Columns of fewer bytes are compressed in the time that it takes to look at a sample, a tenth of a millisecond."""
_PIECES, _PIECE_BYTES = 4, 1 << 12
"""A sample has so many pieces, spread over the column, of about so many bytes each."""
_LENGTH = 4
"""The bytes before each text in a page, of which a codec leaves as good as none."""
_SMALLEST_BITS = 32
"""Smaller numbers are stored in four bytes, or bit by bit."""


def incompressible(rows: pa.Table, compression: str) -> frozenset[str]:
    """Return the paths of the columns of *rows* that *compression* makes hardly smaller, as a sample of them shows.

    They are columns of numbers of four bytes and more, times, texts, bytes, and lists of such numbers.  For gzip, which
    is slow, zstd tells.  Of a column of 100,000 random numbers between 0 and 1::

        sample       four pieces of 512 numbers: 16,384 bytes
        compressed   15,427 bytes, 94 %    it is stored as it is
    """
    if compression == "none":
        return frozenset()
    codec = pa.Codec("zstd" if compression == "gzip" and pa.Codec.is_available("zstd") else compression)
    return frozenset(
        f"{name}.list.element" if column.type.num_fields else name
        for name, column in zip(rows.column_names, rows.columns, strict=True)
        if _may_be(column.type) and column.nbytes >= LEAST_BYTES and _stays_large(column, codec)
    )


def _may_be(kind: pa.DataType) -> bool:
    if isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType):
        return _is_number(kind.value_type)
    return _is_number(kind) or _is_text(kind) or bool(pat.is_fixed_size_binary(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pat.is_primitive(kind) and kind.bit_width >= _SMALLEST_BITS)


def _is_text(kind: pa.DataType) -> bool:
    is_large = pat.is_large_string(kind) or pat.is_large_binary(kind)
    return bool(is_large or pat.is_string(kind) or pat.is_binary(kind))


def _stays_large(column: pa.ChunkedArray, codec: pa.Codec) -> bool:
    count = max(min(_PIECE_BYTES * len(column) // column.nbytes, len(column) // _PIECES), 1)
    starts = np.unique(np.linspace(0, len(column) - count, _PIECES, dtype=np.int64))  # no row twice: it would be saved
    parts = [part for start in starts.tolist() for part in column.slice(start, count).chunks]
    found = [_content(part) for part in parts]
    sample = b"".join(content for content, _ in found)
    size = len(sample) + sum(lengths for _, lengths in found)
    return bool(sample and codec.compress(sample).size > _WORTH * size)


def _content(values: pa.Array) -> tuple[memoryview, float]:
    """Return the first bytes that *values* have in a page, and the bytes of their lengths among them."""
    if isinstance(values, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
        values = values.flatten()
    values = values.drop_null() if values.null_count else values
    buffers, start, count = values.buffers(), values.offset, len(values)
    if not _is_text(values.type):
        width = values.type.bit_width // 8
        return memoryview(buffers[1] or b"")[start * width : (start + count) * width][:_PIECE_BYTES], 0
    if not count or buffers[2] is None:
        return memoryview(b""), 0
    is_large = pat.is_large_string(values.type) or pat.is_large_binary(values.type)
    first, end = np.frombuffer(buffers[1], np.int64 if is_large else np.int32)[[start, start + count]].tolist()
    content = memoryview(buffers[2])[first:end][:_PIECE_BYTES]
    return content, _LENGTH * count * len(content) / max(end - first, 1)
