"""Parquet files of few rows, encoded together: each step is done for all of them at once.

Arrow's writer takes half a millisecond for a file of ten rows and ten columns, most of it for what does not depend on
the rows.  Here a file takes a tenth of that in a write of 64, and less in one of more.  A file has one row group with
one page a column, without compression; a column with one value in each file has a dictionary.
Layout: spec/parquet-copy.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.codec.parquet.source import (
    MAGIC,
    OWN_WRITER,
    ElementField,
    FileField,
    ParquetSource,
    number_field,
    struct_list_field,
    text_field,
)
from hudiformat.codec.parquet.thrift import Field, Kind, Struct, encode_struct
from hudiformat.codec.protobuf import encode_varint

Integers: TypeAlias = npt.NDArray[np.int64]
Booleans: TypeAlias = npt.NDArray[np.bool_]
Piece: TypeAlias = "bytes | pa.Array"
"""Bytes that all files have, or those of each."""

_REQUIRED = 0
_LONGEST = 1024
"""A longer text is no bound."""


def encode_files(
    rows: pa.RecordBatch, counts: Sequence[int], schema: ParquetSource, texts: Mapping[str, str | Sequence[str]]
) -> list[pa.Buffer] | None:
    """Return the bytes of a file with the first ``counts[0]`` of *rows*, of one with the next ``counts[1]``, ...

    *schema* is a file with their schema.  *texts* are those of the footers by their keys, one for all files, or one for
    each.  Returns None if Arrow has to write them: for nested columns, decimals and other rare types, and for NaN.
    """
    elements = struct_list_field(schema.footer, FileField.SCHEMA)[1:]
    if len(elements) != rows.num_columns or any(ElementField.CHILDREN in one for one in elements):
        return None
    lengths = np.asarray(counts, np.int64)
    columns = []
    for element, values in zip(elements, rows.columns, strict=True):
        column = _encode_column(element, values, lengths)
        if column is None:
            return None
        columns.append(column)
    ends = np.cumsum([np.full(len(lengths), len(MAGIC)), *(column.size for column in columns)], axis=0)
    chunks = [column.chunk(start) for column, start in zip(columns, ends, strict=False)]
    footer = _join(_footer(schema.footer, lengths, ends[-1] - len(MAGIC), chunks, texts))
    pages = chain.from_iterable((*column.dictionary, *column.page) for column in columns)
    whole = _join([MAGIC, *pages, footer, _fixed(_lengths(footer).astype("<u4")), MAGIC])
    sizes = _lengths(whole)
    data = whole.buffers()[2]
    return [data.slice(end - size, size) for end, size in zip(np.cumsum(sizes).tolist(), sizes.tolist(), strict=True)]


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of a column in each file.

    ``data`` are those that are not null, as Parquet has them, and ``bounds`` the fields of its statistics with the
    highest and the lowest one.  ``only`` is the value that all rows of a file have, if it is so in each file.
    """

    data: pa.Array
    bounds: Piece
    only: pa.Array | None = None


@dataclass(frozen=True, slots=True)
class _Column:
    """A column in each file: its dictionary, if it has one, its page, and what its chunk says of it."""

    element: Struct
    counts: Integers
    nulls: Integers
    bounds: Piece
    dictionary: Sequence[Piece]
    page: Sequence[Piece]

    @property
    def size(self) -> Integers:
        """The bytes of its pages."""
        return _sizes([*self.dictionary, *self.page]) + np.zeros_like(self.counts)

    def chunk(self, start: Integers) -> list[Piece]:
        """Return the struct ColumnChunk of the column, whose pages begin at byte *start* of each file."""
        name = text_field(self.element, ElementField.NAME)
        kind = encode_varint(number_field(self.element, ElementField.TYPE) << 1)
        size, first = _numbers(self.size), _numbers(start)
        encodings = b"\x25\x00\x06"  # PLAIN and RLE
        offsets: list[Piece] = [first, b"\x3c"]
        if self.dictionary:
            encodings = b"\x35\x00\x06\x10"  # and RLE_DICTIONARY
            offsets = [_numbers(start + _sizes(self.dictionary)), b"\x26", first, b"\x1c"]  # 11, dictionary_page_offset
        return [
            b"\x26\x00\x1c",  # field 2, file_offset: 0; 3, meta_data:
            b"\x15" + kind + b"\x19" + encodings,  # 1, type; 2, encodings
            b"\x19\x18" + encode_varint(len(name)) + name,  # 3, path_in_schema
            b"\x15\x00\x16",  # 4, codec: none; 5, num_values
            _numbers(self.counts),
            b"\x16",  # 6, total_uncompressed_size
            size,
            b"\x16",  # 7, total_compressed_size
            size,
            b"\x26",  # 9, data_page_offset
            *offsets,
            b"\x36",  # 12, statistics: 3, null_count
            _numbers(self.nulls),
            self.bounds,  # 5, max_value; 6, min_value
            b"\x00\x00\x00",
        ]


def _encode_column(element: Struct, values: pa.Array, counts: Integers) -> _Column | None:
    is_required, with_nulls = number_field(element, ElementField.REPETITION) == _REQUIRED, values.null_count > 0
    valid = np.asarray(values.is_valid())
    present = np.add.reduceat(valid, np.cumsum(counts) - counts, dtype=np.int64) if with_nulls else counts
    found = None if is_required and with_nulls else _encode_values(values.drop_null(), present)
    if found is None:
        return None
    data: list[Piece] = [found.data]
    dictionary: list[Piece] = []
    encoding = b"\x00"  # PLAIN
    if found.only is not None and not with_nulls:
        size = _numbers(_lengths(found.only))
        # field 1, type: DICTIONARY_PAGE; 2 and 3, sizes; 7, dictionary_page_header: 1, num_values; 2, encoding: PLAIN
        dictionary = [b"\x15\x04\x15", size, b"\x15", size, b"\x4c\x15\x02\x15\x00\x00\x00", found.only]
        data, encoding = [b"\x01", _varints(counts << 1), b"\x00"], b"\x10"  # one bit a value: a run of the first value
    content = data if is_required else [*_levels(valid, counts), *data]
    size = _numbers(_sizes(content) + np.zeros_like(counts))
    header: list[Piece] = [
        b"\x15\x00\x15",  # field 1, type: DATA_PAGE; 2, uncompressed_page_size
        size,
        b"\x15",  # 3, compressed_page_size
        size,
        b"\x2c\x15",  # 5, data_page_header: 1, num_values
        _numbers(counts),
        b"\x15" + encoding + b"\x15\x06\x15\x06\x00\x00",  # 2, encoding; 3 and 4, those of the levels: RLE
    ]
    return _Column(element, counts, counts - present, found.bounds, dictionary, [*header, *content])


def _levels(valid: Booleans, counts: Integers) -> list[Piece]:
    """Return the definition levels of a column, one bit a value, behind the number of bytes that they take.

    Of ten values, of which the second is a null::

        03 00 00 00    three bytes
        05             two times eight values of one bit
        fd 03          1 0 1 1 1 1 1 1 | 1 1
    """
    bits = _pack(valid, counts)
    run = _varints(_lengths(bits) << 1 | 1)
    return [_fixed((_lengths(run) + _lengths(bits)).astype("<u4")), run, bits]


def _encode_values(values: pa.Array, counts: Integers) -> _Values | None:
    """Encode values without nulls; return None if they are not handled here."""
    kind = values.type
    if pat.is_boolean(kind):
        bits = np.asarray(values)
        lowest, highest = (_reduce(which, bits, counts) for which in (np.logical_and, np.logical_or))
        return _Values(_pack(bits, counts), _bounds(_fixed(lowest), _fixed(highest), counts))
    if pat.is_string(kind) or pat.is_large_string(kind) or pat.is_binary(kind) or pat.is_large_binary(kind):
        return _encode_texts(values.cast(pa.binary()), counts)
    storage = _storage_of(kind)
    return None if storage is None else _encode_numbers(values, storage, counts)


def _storage_of(kind: pa.DataType) -> pa.DataType | None:
    """Return the type of the numbers that Parquet has for the values of a type; None for types without such numbers."""
    if pat.is_signed_integer(kind) or pat.is_date32(kind):
        return pa.int64() if kind.bit_width == 64 else pa.int32()  # noqa: PLR2004 - bits
    if pat.is_time64(kind) or (pat.is_timestamp(kind) and kind.unit != "s"):
        return pa.int64()
    return kind if pat.is_float32(kind) or pat.is_float64(kind) else None


def _encode_numbers(values: pa.Array, storage: pa.DataType, counts: Integers) -> _Values | None:
    is_narrow = values.type.bit_width < storage.bit_width
    numbers = np.asarray(values.cast(storage) if is_narrow else values.view(storage))
    lowest, highest = _reduce(np.minimum, numbers, counts), _reduce(np.maximum, numbers, counts)
    if pat.is_floating(storage):
        if np.isnan(numbers).any():
            return None
        # Which of the zeros comes first is not told.
        lowest, highest = np.where(lowest == 0, -0.0, lowest), np.where(highest == 0, 0.0, highest)
    little = numbers.dtype.newbyteorder("<")
    bounds = _bounds(_fixed(lowest.astype(little)), _fixed(highest.astype(little)), counts)
    return _Values(_split(numbers.astype(little), counts * numbers.itemsize), bounds)


def _encode_texts(texts: pa.Array, counts: Integers) -> _Values:
    lengths = _lengths(texts)
    each = _join([_fixed(lengths.astype("<u4")), texts])
    before = np.append(0, np.cumsum(lengths + 4))
    ends = np.cumsum(counts)
    files = pa.array(np.repeat(np.arange(len(counts)), counts))
    order = pc.sort_indices(pa.table([files, texts], ["file", "text"]), [("file", "ascending"), ("text", "ascending")])
    lowest, highest = (texts.take(order.take(pa.array(at[counts > 0]))) for at in (ends - counts, ends - 1))
    data = _split(each.buffers()[2], before[ends] - before[ends - counts])
    is_worth_it = len(texts) >= 2 * len(counts) and len(lowest) == len(counts)
    only = each.take(pa.array(ends - counts)) if is_worth_it and lowest.equals(highest) else None
    return _Values(data, _bounds(lowest, highest, counts), only)


def _reduce(which: np.ufunc, values: npt.NDArray[Any], counts: Integers) -> npt.NDArray[Any]:
    """Return one value for each file that has values."""
    starts = (np.cumsum(counts) - counts)[counts > 0]
    return which.reduceat(values, starts) if len(starts) else values[:0]


def _bounds(lowest: pa.Array, highest: pa.Array, counts: Integers) -> Piece:
    """Return the fields 5, max_value, and 6, min_value, of statistics; nothing for files without values.

    *lowest* and *highest* are those of the other files.
    """
    lengths = [_lengths(one) for one in (highest, lowest)]
    fields = _join([b"\x28", _varints(lengths[0]), highest, b"\x18", _varints(lengths[1]), lowest])
    is_short = np.maximum(*lengths) <= _LONGEST
    if is_short.all() and len(fields) == len(counts):
        return fields
    place = np.cumsum(counts > 0) - 1
    is_there = counts > 0
    is_there[is_there] = is_short
    return fields.take(pa.array(place, mask=~is_there)).fill_null(b"")


def _footer(
    template: Struct,
    counts: Integers,
    size: Integers,
    chunks: Sequence[Sequence[Piece]],
    texts: Mapping[str, str | Sequence[str]],
) -> list[Piece]:
    """Return the struct FileMetaData: *template* with one row group of *chunks*, and with *texts*."""
    head = {number: value for number, value in template.items() if number < FileField.ROWS}
    tail = {
        FileField.CREATED_BY: Field(Kind.BINARY, OWN_WRITER),
        FileField.COLUMN_ORDERS: template[FileField.COLUMN_ORDERS],
    }
    pieces: list[Piece] = [encode_struct(head)[:-1]]
    pieces += [b"\x16", _numbers(counts), b"\x19\x1c"]  # 3, num_rows; 4, row_groups
    pieces += [b"\x19", _list_of_structs(len(chunks)), *chain.from_iterable(chunks)]  # 1, columns
    pieces += [b"\x16", _numbers(size), b"\x16", _numbers(counts)]  # 2, total_byte_size; 3, num_rows
    pieces += [b"\x26\x08\x16", _numbers(size), b"\x14\x00\x00"]  # 5, file_offset: 4; 6, compressed size; 7, ordinal
    pieces += [b"\x19", _list_of_structs(len(texts))]  # 5, key_value_metadata
    for key, text in texts.items():
        of_all = text.encode() if isinstance(text, str) else pa.array(text, pa.string()).cast(pa.binary())
        length = encode_varint(len(of_all)) if isinstance(of_all, bytes) else _varints(_lengths(of_all))
        pieces += [b"\x18" + encode_varint(len(key.encode())) + key.encode() + b"\x18", length, of_all, b"\x00"]
    pieces += [b"\x18", encode_struct(tail)[1:]]  # 6, created_by, one behind the last field; 7, column_orders
    return pieces


def _list_of_structs(count: int) -> bytes:
    return bytes([count << 4 | Kind.STRUCT]) if count < 15 else b"\xfc" + encode_varint(count)  # noqa: PLR2004 - a nibble


def _numbers(values: Integers) -> pa.Array:
    """Return numbers from 0 on as Thrift writes them: zigzag varints."""
    return _varints(values << 1)


def _varints(values: Integers) -> pa.Array:
    most = max(-(-int(values.max(initial=0)).bit_length() // 7), 1)
    lengths = np.ones(len(values), np.int64)
    for size in range(1, most):
        lengths += values >= 1 << 7 * size
    places = np.arange(most)
    digits = values[:, None] >> 7 * places & 127
    digits |= (places < lengths[:, None] - 1) << np.int64(7)
    return _split(digits[places < lengths[:, None]].astype(np.uint8), lengths)


def _pack(bits: Booleans, counts: Integers) -> pa.Array:
    """Return eight bits a byte, the first one in the lowest bit; each file begins with a byte of its own."""
    sizes = (counts + 7) // 8
    padded = np.zeros(8 * sizes.sum(), np.bool_)
    skipped = (np.cumsum(sizes) - sizes) * 8 - (np.cumsum(counts) - counts)
    padded[np.arange(len(bits)) + np.repeat(skipped, counts)] = bits
    return _split(np.packbits(padded, bitorder="little"), sizes)


def _fixed(values: npt.NDArray[Any]) -> pa.Array:
    """Return the bytes of each of *values*."""
    return _split(np.ascontiguousarray(values), np.full(len(values), values.itemsize))


def _split(data: Any, sizes: Integers) -> pa.Array:
    """Return the first ``sizes[0]`` bytes of *data*, the next ``sizes[1]``, ..."""
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(sizes), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _join(pieces: Sequence[Piece]) -> pa.Array:
    """Return the pieces of each file behind each other."""
    return pc.binary_join_element_wise(*_merge_constants(pieces), pa.scalar(b"", pa.binary()))


def _merge_constants(pieces: Sequence[Piece]) -> Iterator[pa.Scalar | pa.Array]:
    constant = b""
    for piece in pieces:
        if isinstance(piece, bytes):
            constant += piece
            continue
        if constant:
            yield pa.scalar(constant, pa.binary())
        constant = b""
        yield piece
    yield pa.scalar(constant, pa.binary())


def _lengths(piece: pa.Array) -> Integers:
    return np.asarray(pc.binary_length(piece)).astype(np.int64)


def _sizes(pieces: Sequence[Piece]) -> Integers:
    """Return the bytes of all pieces of each file."""
    total = sum(_lengths(piece) for piece in pieces if not isinstance(piece, bytes))
    return np.asarray(total + sum(len(piece) for piece in pieces if isinstance(piece, bytes)))
