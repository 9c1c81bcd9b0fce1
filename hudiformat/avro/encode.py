"""RecordBatch -> Avro records, column by column.  Layout: spec/avro-records.md.

Each node of the schema turns an Arrow array into cells (see ``cells``).  ``present`` says which rows there are at all:
below a null struct or in another branch of a union a value takes no bytes.  None stands for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.avro import varint
from hudiformat.avro.buffers import Bytes, Longs, Mask, content, numbers, offsets, validity
from hudiformat.avro.cells import Cell, Constant, Reference, Word, join, size, word
from hudiformat.avro.nodes import Array, Enum, Fixed, Map, Node, Nullable, Primitive, Record, Union, parse_schema
from hudiformat.avro.resolve import resolve
from hudiformat.avro.schema import avro_to_arrow
from hudiformat.avro.varint import U64, Words
from hudiformat.errors import DataError, EncodeError, SchemaError
from hudiformat.wire import INT32_MAX

_CHUNK_ROWS = 16384  # cells of a chunk stay in the processor's cache
_WORD_BYTES = 8
_TRUE_LENGTH = {"boolean": 1, "float": 4, "double": 8}
_DTYPES = {"int": np.int32, "long": np.int64, "float": np.uint32, "double": np.uint64}


def encode_records(batch: pa.RecordBatch, schema_json: str) -> bytes:
    """The records part of an Avro data block: for each row its length (int32, big-endian) and its Avro binary.

    Columns are matched to the schema's fields by name, in any order; a nullable field without a column is null, and
    types are promoted where nothing is lost.

    Raises:
        SchemaError: a column that the schema does not know, that it requires and is missing, or of another type.
        DataError: a null where the schema has none, or a value that its type does not hold.
    """
    return b"".join(_chunks(batch, schema_json, framed=True)[0])


def encode_datums(batch: pa.RecordBatch, schema_json: str) -> pa.LargeBinaryArray:
    """The Avro binary of each row without its length; otherwise as :func:`encode_records`."""
    parts, starts = _chunks(batch, schema_json, framed=False)
    buffers = [None, pa.py_buffer(starts), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(pa.large_binary(), batch.num_rows, buffers)


def _chunks(batch: pa.RecordBatch, schema_json: str, *, framed: bool) -> tuple[list[memoryview], Longs]:
    """The bytes in parts, and where each row begins."""
    target = avro_to_arrow(schema_json)
    extra = next((name for name in batch.schema.names if target.get_field_index(name) < 0), None)
    if extra is not None:
        raise SchemaError(f"column {extra} is not in the Avro schema: drop it, or add it there", column=extra)
    record = parse_schema(schema_json)
    fits = batch.schema.equals(target)  # then there is nothing to resolve, and nulls are looked at below
    parts: list[memoryview] = []
    starts = [np.zeros(1, np.int64)]
    for first in range(0, batch.num_rows, _CHUNK_ROWS):
        chunk = batch.slice(first, _CHUNK_ROWS)
        chunk = chunk if fits else resolve(chunk, target)
        cells = _record_cells(record, chunk, None, "")
        if framed:
            cells.insert(0, _length_prefix(size(cells, chunk.num_rows)))
        data, places = join(cells, chunk.num_rows)
        parts.append(data.data)
        starts.append(places[1:] + starts[-1][-1])
    return parts, np.concatenate(starts)


def _length_prefix(lengths: Longs) -> Word:
    if int(lengths.max(initial=0)) > INT32_MAX:
        raise EncodeError(f"a record of {lengths.max()} bytes: Hudi's lengths are 32-bit")
    return word(lengths.astype(np.uint32).byteswap().astype(np.uint64), np.asarray(4, np.uint64), 4)


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
    there = _there(array, present)
    full, empty = (2, 0) if node.null_branch == 0 else (0, 2)
    if valid is None:
        return [*_byte(full, present), *_cells(node.inner, array, there, path)]
    branch = np.where(valid, U64(full), U64(empty))
    if valid.any():
        return [_small(branch, 1, present), *_cells(node.inner, array, there, path)]
    return _byte(empty, present)


def _record_cells(node: Record, rows: pa.RecordBatch | pa.StructArray, present: Mask | None, path: str) -> list[Cell]:
    cells: list[Cell] = []
    for index, (name, child) in enumerate(node.fields):
        array = rows.field(index) if isinstance(rows, pa.StructArray) else rows.column(index)
        cells += _cells(child, array, present, f"{path}.{name}" if path else name)
    return cells


def _primitive(node: Primitive, array: pa.Array, present: Mask | None, _path: str) -> list[Cell]:
    if pat.is_decimal(node.arrow):
        return _decimal_bytes(array, present)
    if node.kind in ("string", "bytes"):
        return _text(array, present)
    if node.kind in ("int", "long"):
        return _varint(numbers(array, _DTYPES[node.kind]).astype(np.int64), present)
    if node.kind == "boolean":
        values = array.cast(pa.uint8()).fill_null(0) if array.null_count else array.cast(pa.uint8())
        return [_small(numbers(values, np.uint8).astype(np.uint64), 1, present)]
    return [_small(numbers(array, _DTYPES[node.kind]).astype(np.uint64), _TRUE_LENGTH[node.kind], present)]


def _text(array: pa.Array, present: Mask | None) -> list[Cell]:
    places = offsets(array)
    data = content(array.buffers()[2])
    lengths = np.diff(places)
    if present is not None:
        lengths *= present
    elif (constant := _constant(data[places[0] : places[-1]], lengths)) is not None:
        return [Constant(constant)]
    return [*_varint(lengths, present), Reference(data, places[:-1], lengths)]


def _constant(data: Bytes, lengths: Longs) -> bytes | None:
    """The cell when it is the same in all rows, as Hudi's own columns often are."""
    length = int(lengths[0])
    if (lengths != length).any() or (data[:length] != data[len(data) - length :]).any():
        return None
    if (data[length:] != data[: len(data) - length]).any():
        return None
    [(prefix, _, size)] = varint.encode(varint.zigzag(lengths[:1]))
    return prefix.tobytes()[:size] + data[:length].tobytes()


def _fixed(node: Fixed, array: pa.Array, present: Mask | None, path: str) -> list[Cell]:
    if pat.is_decimal(node.arrow):
        return _decimal_fixed(node.size, array, present, path)
    starts = np.arange(array.offset, array.offset + len(array), dtype=np.int64) * node.size
    return [Reference(content(array.buffers()[1]), starts, _lengths(node.size, len(array), present))]


def _decimal_fixed(width: int, array: pa.Array, present: Mask | None, path: str) -> list[Cell]:
    low, high = _halves(array)
    top, spare = (low.view(np.int64), 8 - width) if width <= _WORD_BYTES else (high, max(16 - width, 0))
    bad = (top << (8 * spare)) >> (8 * spare) != top
    if width <= _WORD_BYTES:
        bad |= top >> 63 != high
    _refuse(bad, _there(array, present), f"a decimal that needs more than {width} bytes", path)
    if width <= _WORD_BYTES:
        return [_small((low << U64(8 * spare)).byteswap(), width, present)]
    signs = np.repeat((high >> 63).astype(np.uint8)[:, None], max(width - 16, 0), axis=1)
    data = np.hstack([signs, _big_endian(array)[:, spare:]]).ravel()
    starts = np.arange(len(array), dtype=np.int64) * width
    return [Reference(data, starts, _lengths(width, len(array), present))]


def _decimal_bytes(array: pa.Array, present: Mask | None) -> list[Cell]:
    """As few bytes as two's complement needs, like Java's ``BigInteger.toByteArray``."""
    data = _big_endian(array)
    sign = (data[:, :1] >> 7) * np.uint8(0xFF)
    spare = (data[:, :-1] == sign) & (data[:, 1:] >> 7 == sign >> 7)
    lengths = 16 - np.logical_and.accumulate(spare, axis=1).sum(axis=1)
    if present is not None:
        lengths *= present
    ends = np.arange(1, len(array) + 1, dtype=np.int64) * 16
    return [*_varint(lengths, present), Reference(data.ravel(), ends - lengths, lengths)]


def _halves(array: pa.Array) -> tuple[Words, Longs]:
    """The low and high 64 bits of decimals."""
    both = numbers(array, np.dtype([("low", np.uint64), ("high", np.int64)]))
    return np.ascontiguousarray(both["low"]), np.ascontiguousarray(both["high"])


def _big_endian(array: pa.Array) -> Bytes:
    """Decimals as rows of 16 bytes, the most significant first."""
    return np.ascontiguousarray(numbers(array, "V16").view(np.uint8).reshape(-1, 16)[:, ::-1])


def _enum(node: Enum, array: pa.Array, present: Mask | None, path: str) -> list[Cell]:
    found = pc.index_in(array, pa.array(node.symbols, array.type))
    _refuse(
        ~found.is_valid().to_numpy(zero_copy_only=False), _there(array, present), "a symbol that the enum lacks", path
    )
    return _varint(numbers(found.fill_null(0), np.int32).astype(np.int64), present)


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
        data, starts = join(_cells(node, values(first, last - first), used, path), last - first)
    begins, ends = starts[places[:-1] - first], starts[places[1:] - first]
    body = Reference(data, begins, ends - begins)
    return [*_varint(counts, counts > 0), body, *_byte(0, present)]


def _union(node: Union, array: pa.StructArray, present: Mask | None, path: str) -> list[Cell]:
    there = _there(array, present)
    members = [array.field(index) for index in range(array.type.num_fields)]
    chosen = [np.ones(len(array), np.bool_) if (valid := validity(member)) is None else valid for member in members]
    _refuse(np.sum(chosen, axis=0) != 1, there, "a union of which not exactly one member is set", path)
    if there is not None:
        chosen = [mask & there for mask in chosen]
    order = [index for index, branch in enumerate(node.branches) if branch is not None]
    index = np.full(len(array), node.branches.index(None) if None in node.branches else 0, np.int64)
    for branch, mask in zip(order, chosen, strict=True):
        index[mask] = branch
    cells = _varint(index, present)
    for branch, member, mask in zip(order, members, chosen, strict=True):
        inner = node.branches[branch]
        if inner is not None and mask.any():
            cells += _cells(inner, member, mask, f"{path}.member{order.index(branch)}")
    return cells


def _varint(values: Longs, present: Mask | None) -> list[Cell]:
    unsigned = varint.zigzag(values)
    if present is None:
        parts = varint.encode(unsigned)
        if not parts[0][1].ndim and (unsigned == unsigned[0]).all():
            return [Constant(parts[0][0][:1].tobytes()[:1])]  # often so for the lengths of strings
        return [word(*part) for part in parts]
    parts = varint.encode(unsigned * present)
    return [word(words, lengths * present, longest) for words, lengths, longest in parts]


def _small(values: Words, length: int, present: Mask | None) -> Word:
    """A cell of the same length wherever there is one."""
    if present is None:
        return word(values, np.asarray(length, np.uint64), length)
    return word(values * present, present * U64(length), length)


def _byte(value: int, present: Mask | None) -> list[Cell]:
    return [
        Constant(bytes([value])) if present is None else _small(np.full(len(present), value, np.uint64), 1, present)
    ]


def _lengths(length: int, rows: int, present: Mask | None) -> Longs:
    return np.full(rows, length, np.int64) if present is None else present * np.int64(length)


def _there(array: pa.Array, present: Mask | None) -> Mask | None:
    """The rows with a value."""
    valid = validity(array)
    if valid is None or present is None:
        return present if valid is None else valid
    return valid & present


def _refuse(bad: Mask, there: Mask | None, what: str, path: str) -> None:
    if there is not None:
        bad = bad & there
    if bad.any():
        raise DataError(f"column {path}, row {int(bad.argmax())} of its batch: {what}", column=path)


_ENCODERS: dict[type[Node], Callable[[Any, Any, Mask | None, str], list[Cell]]] = {
    Nullable: _nullable,
    Record: _record_cells,
    Primitive: _primitive,
    Fixed: _fixed,
    Enum: _enum,
    Array: _array,
    Map: _map,
    Union: _union,
}
