"""Arrow arrays of single values -> cells.  Layout: spec/avro-records.md.

``present`` says which rows there are at all: below a null struct or in another branch of a union a value takes no
bytes.  None stands for all.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.avro import varint
from hudiformat.avro.buffers import Bytes, Longs, Mask, content, numbers, offsets, validity
from hudiformat.avro.cells import WORD_SIZE, Cell, Constant, Fixed, Reference, Word
from hudiformat.avro.nodes import Enum, Primitive
from hudiformat.avro.nodes import Fixed as FixedNode
from hudiformat.avro.varint import U64, Words
from hudiformat.errors import DataError

_TRUE_LENGTH = {"boolean": 1, "float": 4, "double": 8}
_DTYPES = {"int": np.int32, "long": np.int64, "float": np.uint32, "double": np.uint64}
_DECIMAL_SIZE = 16


def primitive(node: Primitive, array: pa.Array, present: Mask | None, _path: str) -> list[Cell]:
    """The cells of numbers, booleans, strings and bytes; of a dictionary the one text that all rows share."""
    if pat.is_decimal(node.arrow):
        return _decimal_bytes(array, present)
    if isinstance(array, pa.DictionaryArray):
        shared = content(array.dictionary[0].as_buffer())
        return _alike(shared, len(shared))
    if node.kind in ("string", "bytes"):
        return _text(array, present)
    if node.kind in ("int", "long"):
        return integers(numbers(array, _DTYPES[node.kind]).astype(np.int64), present)
    if node.kind == "boolean":
        values = array.cast(pa.uint8()).fill_null(0) if array.null_count else array.cast(pa.uint8())
        return [small(numbers(values, np.uint8).astype(np.uint64), 1, present)]
    return [small(numbers(array, _DTYPES[node.kind]).astype(np.uint64), _TRUE_LENGTH[node.kind], present)]


def integers(values: Longs, present: Mask | None) -> list[Cell]:
    """Variable-length integers."""
    unsigned = varint.zigzag(values)
    if present is None:
        return [Word(*part) for part in varint.encode(unsigned)]
    unsigned *= present
    return [Word(words, lengths * present, longest) for words, lengths, longest in varint.encode(unsigned)]


def small(values: Words, length: int, present: Mask | None) -> Word:
    """A cell of the same length wherever there is one."""
    if present is None:
        return Word(values, length, length)
    return Word(values * present, present * np.int64(length), length)


def byte(value: int, present: Mask | None) -> Cell:
    """The same byte wherever there is one."""
    if present is None:
        return Constant(bytes([value]))
    return Word(present * U64(value), present.astype(np.int64), 1)


def _text(array: pa.Array, present: Mask | None) -> list[Cell]:
    places = offsets(array)
    data = content(array.buffers()[2])
    lengths = np.diff(places)
    if present is not None:
        lengths *= present
    longest = int(lengths.max(initial=0))
    if present is None and int(lengths.min(initial=longest)) == longest:
        return _alike(data[places[0] : places[-1]], longest)
    cells = integers(lengths, present)
    if longest <= WORD_SIZE:
        return [*cells, Word(_words(data, places[:-1], lengths), lengths, longest)]
    return [*cells, Reference(data, places[:-1], lengths)]


def _alike(data: Bytes, length: int) -> list[Cell]:
    """Strings of one length, which may even be all the same, as Hudi's own columns often are."""
    [(words, size, _)] = varint.encode(varint.zigzag(np.array([length])))
    prefix = words.tobytes()[:size]
    if (data[:length] == data[len(data) - length :]).all() and (data[length:] == data[: len(data) - length]).all():
        return [Constant(prefix + data[:length].tobytes())]
    return [Constant(prefix), Fixed(data, length)]


def _words(data: Bytes, starts: Longs, lengths: Longs) -> Words:
    """Strings of at most eight bytes as numbers."""
    if len(data) < int(starts[-1]) + WORD_SIZE:
        first = int(starts[0])
        data, starts = np.concatenate([data[first:], np.zeros(WORD_SIZE, np.uint8)]), starts - first
    every = np.ndarray(len(data) - WORD_SIZE + 1, f"V{WORD_SIZE}", data, strides=(1,))
    # A shift by 64 gives 0, and 0 - 1 all ones.
    used = (U64(1) << (lengths << 3).view(np.uint64)) - U64(1)
    words: Words = every[starts].view(np.uint64) & used
    return words


def fixed(node: FixedNode, array: pa.Array, present: Mask | None, path: str) -> list[Cell]:
    """The cells of a fixed number of bytes, or of a decimal in such."""
    if pat.is_decimal(node.arrow):
        return _decimal_fixed(node.size, array, present, path)
    first = array.offset * node.size
    return [_rows(content(array.buffers()[1])[first : first + len(array) * node.size], node.size, len(array), present)]


def _rows(data: Bytes, width: int, rows: int, present: Mask | None) -> Cell:
    if present is None:
        return Fixed(data, width)
    return Reference(data, np.arange(0, rows * width, width), present * np.int64(width))


def _decimal_fixed(width: int, array: pa.Array, present: Mask | None, path: str) -> list[Cell]:
    low, high = _halves(array)
    top, spare = (low.view(np.int64), 8 - width) if width <= WORD_SIZE else (high, max(_DECIMAL_SIZE - width, 0))
    bad = (top << (8 * spare)) >> (8 * spare) != top
    if width <= WORD_SIZE:
        bad |= top >> 63 != high
    refuse(bad, there(array, present), f"a decimal that needs more than {width} bytes", path)
    if width <= WORD_SIZE:
        return [small((low << U64(8 * spare)).byteswap(), width, present)]
    signs = np.repeat((high >> 63).astype(np.uint8)[:, None], max(width - _DECIMAL_SIZE, 0), axis=1)
    data = np.hstack([signs, _big_endian(array)[:, spare:]]).ravel()
    return [_rows(data, width, len(array), present)]


def _decimal_bytes(array: pa.Array, present: Mask | None) -> list[Cell]:
    """As few bytes as two's complement needs, like Java's ``BigInteger.toByteArray``."""
    data = _big_endian(array)
    sign = (data[:, :1] >> 7) * np.uint8(0xFF)
    spare = (data[:, :-1] == sign) & (data[:, 1:] >> 7 == sign >> 7)
    lengths = _DECIMAL_SIZE - np.logical_and.accumulate(spare, axis=1).sum(axis=1)
    if present is not None:
        lengths *= present
    ends = np.arange(1, len(array) + 1, dtype=np.int64) * _DECIMAL_SIZE
    return [*integers(lengths, present), Reference(data.ravel(), ends - lengths, lengths)]


def _halves(array: pa.Array) -> tuple[Words, Longs]:
    """The low and high 64 bits of decimals."""
    both = numbers(array, np.dtype([("low", np.uint64), ("high", np.int64)]))
    return np.ascontiguousarray(both["low"]), np.ascontiguousarray(both["high"])


def _big_endian(array: pa.Array) -> Bytes:
    """Decimals as rows of 16 bytes, the most significant first."""
    return np.ascontiguousarray(numbers(array, "V16").view(np.uint8).reshape(-1, _DECIMAL_SIZE)[:, ::-1])


def enum(node: Enum, array: pa.Array, present: Mask | None, path: str) -> list[Cell]:
    """The cells of an enum: the index of each symbol."""
    found = pc.index_in(array, pa.array(node.symbols, array.type))
    unknown = ~found.is_valid().to_numpy(zero_copy_only=False)
    refuse(unknown, there(array, present), "a symbol that the enum lacks", path)
    return integers(numbers(found.fill_null(0), np.int32).astype(np.int64), present)


def there(array: pa.Array, present: Mask | None) -> Mask | None:
    """The rows with a value."""
    valid = validity(array)
    if valid is None or present is None:
        return present if valid is None else valid
    return valid & present


def refuse(bad: Mask, there: Mask | None, what: str, path: str) -> None:
    """Raise for the first bad row with a value."""
    if there is not None:
        bad = bad & there
    if bad.any():
        raise DataError(f"column {path}, row {int(bad.argmax())} of its batch: {what}", column=path)
