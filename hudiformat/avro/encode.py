"""Arrow arrays of single values -> cells.  Layout: spec/avro-records.md.

``present`` says which rows there are at all: below a null struct or in another branch of a union a value takes no
bytes.  None stands for all.

RecordBatch -> Avro records, column by column.  Layout: spec/avro-records.md.

Each node of the schema turns an Arrow array into cells (see ``cells``).  ``present`` says which rows there are at all:
below a null struct or in another branch of a union a value takes no bytes.  None stands for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.avro import varint
from hudiformat.avro.buffers import Bytes, Longs, Mask, content, numbers, offsets, one_batch, validity
from hudiformat.avro.cells import WORD_SIZE, Cell, Constant, FixedCell, Reference, Word, join, size
from hudiformat.avro.nodes import Array, Enum, Fixed, Map, Node, Nullable, Primitive, Record, Union, parse_schema
from hudiformat.avro.schema import avro_to_arrow, resolve
from hudiformat.avro.varint import U64, Words
from hudiformat.errors import DataError, EncodeError, SchemaError
from hudiformat.wire import INT32_MAX

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
    return [Constant(prefix), FixedCell(data, length)]


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


def fixed(node: Fixed, array: pa.Array, present: Mask | None, path: str) -> list[Cell]:
    """The cells of a fixed number of bytes, or of a decimal in such."""
    if pat.is_decimal(node.arrow):
        return _decimal_fixed(node.size, array, present, path)
    first = array.offset * node.size
    return [_rows(content(array.buffers()[1])[first : first + len(array) * node.size], node.size, len(array), present)]


def _rows(data: Bytes, width: int, rows: int, present: Mask | None) -> Cell:
    if present is None:
        return FixedCell(data, width)
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


_CHUNK_ROWS = 16384
_CHUNK_BYTES = 1 << 28
_LENGTH_SIZE = 4
_SPARE_BYTES = 64  # of a row, for lengths, branches and varints that are longer than what Arrow has
Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)


def encode_records(
    batch: pa.RecordBatch | pa.Table, schema_json: str, *, framed: bool = True, head: bytes = b"", tail: bytes = b""
) -> memoryview:
    """The records part of an Avro data block: for each row its length (int32, big-endian) and its Avro binary.

    Columns are matched to the schema's fields by name, in any order; a nullable field without a column is null, and
    types are promoted where nothing is lost.  *head* and *tail* go around the records; not *framed*, they have no
    lengths.

    Raises:
        SchemaError: a column that the schema does not know, that it requires and is missing, or of another type.
        DataError: a null where the schema has none, or a value that its type does not hold.
        EncodeError: a record of 2 GiB or more.
    """
    parts = (data for data, _ in _chunks(batch, schema_json, framed=framed))
    return _gathered(chain([content(head)], parts, [content(tail)]), batch)


def encode_datums(batch: pa.RecordBatch, schema_json: str) -> pa.LargeBinaryArray:
    """The Avro binary of each row without its length; otherwise as :func:`encode_records`."""
    starts = [np.zeros(1, np.int64)]

    def parts() -> Iterator[Bytes]:
        for data, ends in _chunks(batch, schema_json, framed=False):
            starts.append(ends[1:] + starts[-1][-1])
            yield data

    data = pa.py_buffer(_gathered(parts(), batch))
    return pa.Array.from_buffers(pa.large_binary(), batch.num_rows, [None, pa.py_buffer(np.concatenate(starts)), data])


def _gathered(parts: Iterable[Bytes], batch: pa.RecordBatch | pa.Table) -> memoryview:
    """*parts* in one piece, most often without being copied twice: records are seldom longer than what Arrow has."""
    room, used = np.empty(batch.nbytes + batch.num_rows * _SPARE_BYTES + _SPARE_BYTES, np.uint8), 0
    for part in parts:
        end = used + len(part)
        if end > len(room):
            room, full = np.empty(end * 2, np.uint8), room
            room[:used] = full[:used]
        room[used:end] = part
        used = end
    return room[:used].data.toreadonly()


def _chunks(batch: pa.RecordBatch | pa.Table, schema_json: str, *, framed: bool) -> Iterator[tuple[Bytes, Longs]]:
    """The bytes of some rows after the other, and where in them each row begins and the last one ends."""
    target = avro_to_arrow(schema_json)
    extra = next((name for name in batch.schema.names if target.get_field_index(name) < 0), None)
    if extra is not None:
        raise SchemaError(f"column {extra} is not in the Avro schema: drop it, or add it there", column=extra)
    record = parse_schema(schema_json)
    fits = batch.schema.equals(target)  # then there is nothing to resolve, and nulls are looked at below
    for piece in _pieces(batch):
        left = piece
        while left.num_rows:
            chunk = _not_too_large(left if fits else resolve(left, _with_shared(target, record, left)))
            left = left.slice(chunk.num_rows)
            cells = _record_cells(record, chunk, None, "")
            lengths = size(cells, chunk.num_rows)
            if framed:
                cells.insert(0, _length_prefix(lengths))
                lengths += _LENGTH_SIZE
            yield join(cells, lengths)


def _pieces(rows: pa.RecordBatch | pa.Table) -> Iterator[pa.RecordBatch]:
    """*rows* some at a time; only batches that are short are put together, and so copied."""
    batches = rows.to_batches() if isinstance(rows, pa.Table) else [rows]
    if len(batches) * _CHUNK_ROWS > 2 * rows.num_rows + _CHUNK_ROWS:
        return map(one_batch, _cut(rows))
    return (piece for batch in batches for piece in _cut(batch))


def _cut(rows: Rows) -> Iterator[Rows]:
    """*rows* in parts of like size, as each costs the same calls."""
    count = max(-(-rows.num_rows // max(round(rows.num_rows / _CHUNK_ROWS), 1)), 1)
    return (rows.slice(first, count) for first in range(0, rows.num_rows, count))


def _with_shared(target: pa.Schema, record: Record, rows: pa.RecordBatch) -> pa.Schema:
    """*target*, but a text that is there once for all *rows* stays so: its cell is made once."""
    for index, (name, node) in enumerate(record.fields):
        place = rows.schema.get_field_index(name)
        array = rows.column(place) if place >= 0 else None
        is_plain = isinstance(node.inner if isinstance(node, Nullable) else node, Primitive)
        if is_plain and isinstance(array, pa.DictionaryArray) and _is_shared_text(array, target.field(index).type):
            target = target.set(index, target.field(index).with_type(array.type))
    return target


def _is_shared_text(array: pa.DictionaryArray, kind: pa.DataType) -> bool:
    is_text = array.type.value_type == kind and (pa.types.is_string(kind) or pa.types.is_binary(kind))
    return is_text and len(array.dictionary) == 1 and not (array.null_count or array.dictionary.null_count)


def _not_too_large(chunk: pa.RecordBatch) -> pa.RecordBatch:
    while chunk.num_rows > 1 and chunk.nbytes > _CHUNK_BYTES:
        chunk = chunk.slice(0, chunk.num_rows // 2)
    return chunk


def _length_prefix(lengths: Longs) -> Word:
    if int(lengths.max(initial=0)) > INT32_MAX:
        raise EncodeError(f"a record of {lengths.max()} bytes: Hudi's lengths are 32-bit")
    return small(lengths.astype(np.uint32).byteswap().astype(np.uint64), _LENGTH_SIZE, None)


def _cells(node: Node, array: pa.Array, present: Mask | None, path: str) -> list[Cell]:
    if not node.nullable:
        _check_nulls(array, present, path)
    return _ENCODERS[type(node)](node, array, present, path)


def _check_nulls(array: pa.Array, present: Mask | None, path: str) -> None:
    valid = validity(array)
    if valid is None or (present is not None and not (present & ~valid).any()):
        return
    raise DataError(f"column {path} is not nullable and has a null", column=path)


def _nullable(node: Nullable, array: pa.Array, present: Mask | None, path: str) -> list[Cell]:
    valid = validity(array)
    full, empty = (2, 0) if node.null_branch == 0 else (0, 2)
    if valid is None:
        return [byte(full, present), *_cells(node.inner, array, present, path)]
    if not valid.any():
        return [byte(empty, present)]
    branch = (valid if full else ~valid).astype(np.uint64) << U64(1)
    return [small(branch, 1, present), *_cells(node.inner, array, valid if present is None else valid & present, path)]


def _record_cells(node: Record, rows: pa.RecordBatch | pa.StructArray, present: Mask | None, path: str) -> list[Cell]:
    cells: list[Cell] = []
    for index, (name, child) in enumerate(node.fields):
        array = rows.field(index) if isinstance(rows, pa.StructArray) else rows.column(index)
        cells += _cells(child, array, present, f"{path}.{name}" if path else name)
    return cells


def _array(node: Array, array: pa.Array, present: Mask | None, path: str) -> list[Cell]:
    return _items(node.items, array, array.values.slice, present, f"{path}.item")


def _map(node: Map, array: pa.Array, present: Mask | None, path: str) -> list[Cell]:
    def entries(first: int, count: int) -> pa.StructArray:
        parts = [array.keys.slice(first, count), array.items.slice(first, count)]
        return pa.StructArray.from_arrays(parts, names=["key", "value"])

    return _items(node.entries, array, entries, present, path)


def _items(
    node: Node, array: pa.Array, values: Callable[[int, int], pa.Array], present: Mask | None, path: str
) -> list[Cell]:
    """Count, items and a closing zero, as Java writes them: all items in one block, nothing but the zero for none."""
    places = offsets(array)
    first, last = int(places[0]), int(places[-1])
    counts = np.diff(places)
    used = None
    if present is not None:
        used = np.repeat(present, counts)  # what stands under a null list must not be encoded
        counts = counts * present
    data, starts = np.zeros(0, np.uint8), np.zeros(1, np.int64)
    if last > first:
        cells = _cells(node, values(first, last - first), used, path)
        data, starts = join(cells, size(cells, last - first))
    begins, ends = starts[places[:-1] - first], starts[places[1:] - first]
    body = Reference(data, begins, ends - begins)
    return [*integers(counts, counts > 0), body, byte(0, present)]


def _union(node: Union, array: pa.StructArray, present: Mask | None, path: str) -> list[Cell]:
    set_ = there(array, present)
    members = [array.field(index) for index in range(array.type.num_fields)]
    chosen = [np.ones(len(array), np.bool_) if (valid := validity(member)) is None else valid for member in members]
    refuse(np.sum(chosen, axis=0) != 1, set_, "a union of which not exactly one member is set", path)
    if set_ is not None:
        chosen = [mask & set_ for mask in chosen]
    order = [index for index, branch in enumerate(node.branches) if branch is not None]
    index = np.full(len(array), node.branches.index(None) if None in node.branches else 0, np.int64)
    for branch, mask in zip(order, chosen, strict=True):
        index[mask] = branch
    cells = integers(index, present)
    for branch, member, mask in zip(order, members, chosen, strict=True):
        inner = node.branches[branch]
        if inner is not None and mask.any():
            cells += _cells(inner, member, mask, f"{path}.member{order.index(branch)}")
    return cells


_ENCODERS: dict[type[Node], Callable[[Any, Any, Mask | None, str], list[Cell]]] = {
    Nullable: _nullable,
    Record: _record_cells,
    Primitive: primitive,
    Fixed: fixed,
    Enum: enum,
    Array: _array,
    Map: _map,
    Union: _union,
}
