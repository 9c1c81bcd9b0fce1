"""Encode a RecordBatch as Avro records, column by column.  Layout: spec/avro-records.md.

Each node of the schema turns an Arrow array into cells (see ``cells``), which are then joined row by row.  ``present``
says in which rows there is a value at all: below a null struct or in another branch of a union a value takes no bytes.
None means all rows.  If compiled kernels are used, they do all of that instead (``compiled.record_writer``).

Two rows of a nullable string and an int, ("a", 1) and (null, 300):

    branch     byte 02 in row 0, byte 00 in row 1         null is branch 0; 1 is zigzag-encoded as 02
    present    [True, False]                              for the string
    string     02 61 in row 0, nothing in row 1           length 1, "a"
    int        02 in row 0, d8 04 in row 1
    lengths    [4, 3]
    joined     00000004 02 02 61 02 | 00000003 00 d8 04   with the length in front of each record
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.codec.avro.arrays import (
    U64,
    Bytes,
    Longs,
    Mask,
    Output,
    Parts,
    Words,
    content,
    estimate_nbytes,
    numbers,
    offsets,
    one_batch,
    validity,
)
from hudiformat.codec.avro.cells import (
    WORD_SIZE,
    Cell,
    FixedCell,
    Reference,
    Word,
    constant_byte,
    equal_texts,
    fixed_word,
    head_and_length,
    integers,
    join,
    length_prefix,
    row_sizes,
    text_words,
)
from hudiformat.codec.avro.compiled.record_writer import RecordWriter, record_writer
from hudiformat.codec.avro.few_rows import encode_few
from hudiformat.codec.avro.nodes import Array, Enum, Fixed, Map, Node, Nullable, Primitive, Record, Union, parse_schema
from hudiformat.codec.avro.schema import avro_to_arrow, has_vectors
from hudiformat.codec.conversion import convert_to_schema
from hudiformat.codec.custom_types import store_vectors
from hudiformat.errors import DataError, SchemaError
from hudiformat.kernels import LOAD_AFTER, bytes_handled, jit_setting

_BYTES_OF_A_VALUE = 16  # an estimate, for the decision when kernels are loaded
_SPARE_BYTES = 64  # per row, for lengths, branches and varints that are longer than the Arrow values

_Rows = TypeVar("_Rows", pa.RecordBatch, pa.Table, pa.RecordBatch | pa.Table)
_DECIMAL_SIZE = 16
_DTYPES = {"int": np.int32, "long": np.int64, "float": np.uint32, "double": np.uint64}
_SIZES = {"float": 4, "double": 8}


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """How many rows are encoded at a time: about *rows*, of at most *most_bytes* in Arrow's memory, or one row.

    A batch of at most *few* rows is encoded without numpy, if it has exactly the schema's types; without kernels, these
    have to be simple ones.
    """

    rows: int = 16384
    most_bytes: int = 1 << 28
    few: int = 64


CHUNK_LIMITS = ChunkLimits()


def encode_records(
    batch: pa.RecordBatch | pa.Table,
    schema_json: str,
    *,
    framed: bool = True,
    head: bytes = b"",
    tail: bytes = b"",
    limits: ChunkLimits = CHUNK_LIMITS,
) -> memoryview:
    """Encode the records of an Avro data block: for each row its length (int32, big-endian) and its Avro binary.

    Columns are matched to the schema's fields by name, in any order; a nullable field without a column is null, and
    types are promoted if nothing is lost.  *head* and *tail* are put around the records.  Without *framed*, the lengths
    are left out.  The bytes do not depend on *limits*.

    Raises:
        SchemaError: a column that is not in the schema, a required column that is missing, or one of another type.
        DataError: a null where the schema allows none, or a value that its type does not hold.
        EncodeError: a record of 2 GiB or more.
    """
    writer = _writer(batch, schema_json)
    if (records := _few_records(batch, schema_json, writer, limits, framed=framed)) is not None:
        return memoryview(b"".join((head, records, tail)))
    output, _ = _encode_chunks(batch, schema_json, writer, Parts(), framed=framed, head=head, limits=limits)
    output.append(content(tail))
    return output.written_bytes()


def encode_parts(
    batch: pa.RecordBatch | pa.Table,
    schema_json: str,
    firsts: Longs,
    heads: Words,
    *,
    limits: ChunkLimits = CHUNK_LIMITS,
) -> tuple[memoryview, Longs]:
    """Encode the records of :func:`encode_records` in parts; return them, and where each part begins, and the end.

    Part ``i`` begins with the row ``firsts[i]``, and before its first record are the eight bytes of ``heads[i]``.  The
    first part begins with row 0, and each part has at least one row.
    """
    output, starts = _encode_chunks(
        batch, schema_json, _writer(batch, schema_json), Parts(firsts, heads), framed=True, limits=limits
    )
    return output.written_bytes(), starts


def encode_datums(
    batch: pa.RecordBatch, schema_json: str, *, limits: ChunkLimits = CHUNK_LIMITS
) -> pa.LargeBinaryArray:
    """Encode each row as its Avro binary without a length; otherwise as :func:`encode_records`."""
    parts = Parts(np.arange(batch.num_rows, dtype=np.int64))
    output, starts = _encode_chunks(batch, schema_json, _writer(batch, schema_json), parts, framed=False, limits=limits)
    buffers = [None, pa.py_buffer(starts), pa.py_buffer(output.written_bytes())]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), batch.num_rows, buffers)


def _writer(batch: pa.RecordBatch | pa.Table, schema_json: str) -> RecordWriter | None:
    """Return what encodes the rows by kernels; None if numpy is to."""
    bytes_handled[0] += batch.num_rows * batch.num_columns * _BYTES_OF_A_VALUE
    return record_writer(schema_json, jit_setting(), is_late=bytes_handled[0] >= LOAD_AFTER)


def _encode_chunks(
    batch: pa.RecordBatch | pa.Table,
    schema_json: str,
    writer: RecordWriter | None,
    parts: Parts,
    *,
    framed: bool,
    head: bytes = b"",
    limits: ChunkLimits,
) -> tuple[Output, Longs]:
    """Encode the records behind *head*; return the output, and the offsets at which the parts begin, and the end."""
    record, first, starts = parse_schema(schema_json), 0, []
    total = 0 if writer is not None and batch.num_rows <= limits.rows else estimate_nbytes(batch)
    output = Output(total + batch.num_rows * _SPARE_BYTES if total else 0, head)
    chunks = _chunks(batch, schema_json, total=total, limits=limits)
    for rows in map(store_vectors, chunks) if has_vectors(schema_json) else chunks:
        here = parts.in_rows(first, first + len(rows))
        first += len(rows)
        if (
            writer is not None
            and (begun := writer.append(rows, output, here, framed=framed, may_share=rows is not batch)) is not None
        ):
            starts.append(begun)
            continue
        cells: list[Cell] = []
        for index, (name, node) in enumerate(record.fields):
            cells += column_cells(node, rows.column(index), None, name)
        lengths = row_sizes(cells, len(rows))
        if framed:
            prefix = length_prefix(lengths) if here.heads is None else head_and_length(lengths, here.firsts, here.heads)
            cells.insert(0, prefix)
            lengths += prefix.lengths
        data, ends = join(cells, lengths)
        starts.append(ends[here.firsts] + output.used)
        output.append(data)
    return output, np.concatenate([*starts, [output.used]])


def _few_records(
    batch: pa.RecordBatch | pa.Table,
    schema_json: str,
    writer: RecordWriter | None,
    limits: ChunkLimits,
    *,
    framed: bool,
) -> bytes | None:
    """Return the records of a batch of few rows with exactly the schema's types; None if that is not what it is."""
    if not 0 < batch.num_rows <= limits.few or not batch.schema.equals(avro_to_arrow(schema_json)):
        return None
    if writer is None:
        return encode_few(one_batch(batch), schema_json, framed=framed)
    return None if has_vectors(schema_json) else writer.encode_few(one_batch(batch), framed=framed)


def _chunks(
    batch: pa.RecordBatch | pa.Table, schema_json: str, *, total: int, limits: ChunkLimits
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of *batch*, which has about *total* bytes, with the columns of the schema in its order.

    A column has its type, or is a dictionary of the one text that all rows share.  Only if *batch* has exactly the
    schema may a column that is not nullable still have a null.

    Raises:
        SchemaError: a column that is not in the schema, a required column that is missing, or one of another type.
        DataError: a null where the schema allows none, or a value that cannot be cast.
    """
    target = avro_to_arrow(schema_json)
    if batch.schema.equals(target):  # then there is nothing to resolve
        if 0 < batch.num_rows <= limits.rows and total <= limits.most_bytes and isinstance(batch, pa.RecordBatch):
            yield batch
            return
        for piece in _pieces(batch, limits.rows):
            yield from _split_large(piece, limits.most_bytes) if total > limits.most_bytes else (piece,)
        return
    extra = next((name for name in batch.schema.names if target.get_field_index(name) < 0), None)
    if extra is not None:
        raise SchemaError(f"column {extra} is not in the Avro schema: drop it, or add it there", column=extra)
    record = parse_schema(schema_json)
    for piece in _pieces(batch, limits.rows):
        converted = convert_to_schema(piece, _keep_shared_texts(target, record, piece))
        yield from _split_large(converted, limits.most_bytes)


def _pieces(rows: pa.RecordBatch | pa.Table, chunk_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield *rows* in pieces of about *chunk_rows*; batches are combined, and so copied, only if they are short."""
    batches = rows.to_batches() if isinstance(rows, pa.Table) else [rows]
    if len(batches) * chunk_rows > 2 * rows.num_rows + chunk_rows:
        return map(one_batch, _cut_evenly(rows, chunk_rows))
    return (piece for batch in batches for piece in _cut_evenly(batch, chunk_rows))


def _cut_evenly(rows: _Rows, chunk_rows: int) -> Iterator[_Rows]:
    """Cut *rows* into parts of about equal size, because each part costs the same calls."""
    count = max(-(-rows.num_rows // max(round(rows.num_rows / chunk_rows), 1)), 1)
    return (rows.slice(first, count) for first in range(0, rows.num_rows, count))


def _keep_shared_texts(target: pa.Schema, record: Record, rows: pa.RecordBatch) -> pa.Schema:
    """Return *target*, in which a text that all *rows* share stays a dictionary: its cell is made once."""
    for index, (name, node) in enumerate(record.fields):
        column = rows.schema.get_field_index(name)
        array = rows.column(column) if column >= 0 else None
        is_plain = isinstance(node.inner if isinstance(node, Nullable) else node, Primitive)
        if is_plain and isinstance(array, pa.DictionaryArray) and _is_shared_text(array, target.field(index).type):
            target = target.set(index, target.field(index).with_type(array.type))
    return target


def _is_shared_text(array: pa.DictionaryArray, kind: pa.DataType) -> bool:
    is_text = array.type.value_type == kind and (pa.types.is_string(kind) or pa.types.is_binary(kind))
    return is_text and len(array.dictionary) == 1 and not (array.null_count or array.dictionary.null_count)


def _split_large(rows: pa.RecordBatch, most_bytes: int) -> Iterator[pa.RecordBatch]:
    """Yield *rows* in parts of at most *most_bytes*, or of one row."""
    while rows.num_rows:
        part = rows
        while part.num_rows > 1 and part.nbytes > most_bytes:
            part = part.slice(0, part.num_rows // 2)
        yield part
        rows = rows.slice(part.num_rows)


def column_cells(node: Node, array: pa.Array, present: Mask | None, path: str) -> list[Cell]:
    """Return the cells of a column; if it is nullable, first the cell of its branch.

    Raises:
        DataError: a null in a column that is not nullable, or a value that its type does not hold.
    """
    cells: list[Cell] = []
    valid = validity(array)
    if isinstance(node, Nullable):
        full, empty = (2, 0) if node.null_branch == 0 else (0, 2)
        node = node.inner
        if valid is None:
            cells.append(constant_byte(full, present))
        elif not valid.any():
            return [constant_byte(empty, present)]
        else:
            cells.append(fixed_word((valid if full else ~valid).astype(np.uint64) << U64(1), 1, present))
            present = valid if present is None else valid & present
    elif valid is not None and not node.nullable and (present is None or (present & ~valid).any()):
        raise DataError(f"column {path} is not nullable and has a null", column=path)
    if isinstance(node, Record):
        struct = cast("pa.StructArray", array)
        for index, (name, child) in enumerate(node.fields):
            cells += column_cells(child, struct.field(index), present, f"{path}.{name}")
        return cells
    return cells + _ENCODERS[node.kind if isinstance(node, Primitive) else type(node)](node, array, present, path)


def _boolean_cells(_node: Primitive, array: pa.Array, present: Mask | None, _path: str) -> list[Cell]:
    values = array.cast(pa.uint8()).fill_null(0) if array.null_count else array.cast(pa.uint8())
    return [fixed_word(numbers(values, np.uint8).astype(np.uint64), 1, present)]


def _integer_cells(node: Primitive, array: pa.Array, present: Mask | None, _path: str) -> list[Cell]:
    return integers(numbers(array, _DTYPES[node.kind]).astype(np.int64), present)


def _floating_cells(node: Primitive, array: pa.Array, present: Mask | None, _path: str) -> list[Cell]:
    return [fixed_word(numbers(array, _DTYPES[node.kind]).astype(np.uint64), _SIZES[node.kind], present)]


def _text_cells(node: Primitive, array: pa.Array, present: Mask | None, _path: str) -> list[Cell]:
    """Return the cells of strings or bytes; a dictionary holds the one text that all rows share."""
    if pat.is_decimal(node.arrow):
        return _decimal_bytes_cells(array, present)
    if isinstance(array, pa.DictionaryArray):
        shared = content(cast("pa.BinaryScalar", array.dictionary[0]).as_buffer())
        return equal_texts(shared, len(shared))
    starts = offsets(array)
    data = content(array.buffers()[2])
    lengths = np.diff(starts)
    if present is not None:
        lengths *= present
    longest = int(lengths.max(initial=0))
    if present is None and int(lengths.min(initial=longest)) == longest:
        return equal_texts(data[starts[0] : starts[-1]], longest)
    cells = integers(lengths, present)
    if longest <= WORD_SIZE:
        return [*cells, Word(text_words(data, starts[:-1], lengths), lengths, longest)]
    return [*cells, Reference(data, starts[:-1], lengths)]


def _fixed_cells(node: Fixed, array: pa.Array, present: Mask | None, path: str) -> list[Cell]:
    if pat.is_decimal(node.arrow):
        return _decimal_fixed_cells(node.size, array, present, path)
    first = array.offset * node.size
    return [
        _fixed_width_cell(
            content(array.buffers()[1])[first : first + len(array) * node.size], node.size, len(array), present
        )
    ]


def _fixed_width_cell(data: Bytes, width: int, rows: int, present: Mask | None) -> Cell:
    if present is None:
        return FixedCell(data, width)
    return Reference(data, np.arange(0, rows * width, width), present * np.int64(width))


def _decimal_fixed_cells(width: int, array: pa.Array, present: Mask | None, path: str) -> list[Cell]:
    low, high = _halves(array)
    # A number fits if its highest bytes only repeat the sign: shifting them out and back must not change it.
    top, spare = (low.view(np.int64), 8 - width) if width <= WORD_SIZE else (high, max(_DECIMAL_SIZE - width, 0))
    bad = (top << (8 * spare)) >> (8 * spare) != top
    if width <= WORD_SIZE:
        bad |= top >> 63 != high
    raise_for_row(bad, present_rows(array, present), f"a decimal that needs more than {width} bytes", path)
    if width <= WORD_SIZE:
        return [fixed_word((low << U64(8 * spare)).byteswap(), width, present)]
    signs = np.repeat((high >> 63).astype(np.uint8)[:, None], max(width - _DECIMAL_SIZE, 0), axis=1)
    data = np.hstack([signs, _big_endian(array)[:, spare:]]).ravel()
    return [_fixed_width_cell(data, width, len(array), present)]


def _decimal_bytes_cells(array: pa.Array, present: Mask | None) -> list[Cell]:
    """Return the cells of decimals of as few bytes as two's complement needs, like Java's ``BigInteger.toByteArray``.

    For 258 and -2, of whose 16 bytes only the last three are shown:

        data       [[.. 00 01 02], [.. ff ff fe]]
        sign       [[00], [ff]]
        spare      all True but the last one for 258 (00 before 01), and all True for -2 (ff before ff, ff before fe)
        lengths    [2, 1]
    """
    data = _big_endian(array)
    sign = (data[:, :1] >> 7) * np.uint8(0xFF)
    spare = (data[:, :-1] == sign) & (data[:, 1:] >> 7 == sign >> 7)
    lengths = _DECIMAL_SIZE - np.logical_and.accumulate(spare, axis=1).sum(axis=1)
    if present is not None:
        lengths *= present
    ends = np.arange(1, len(array) + 1, dtype=np.int64) * _DECIMAL_SIZE
    return [*integers(lengths, present), Reference(data.ravel(), ends - lengths, lengths)]


def _halves(array: pa.Array) -> tuple[Words, Longs]:
    """Return the low and high 64 bits of decimals."""
    both = numbers(array, np.dtype([("low", np.uint64), ("high", np.int64)]))
    return np.ascontiguousarray(both["low"]), np.ascontiguousarray(both["high"])


def _big_endian(array: pa.Array) -> Bytes:
    """Return decimals as rows of 16 bytes, the most significant first."""
    return np.ascontiguousarray(numbers(array, "V16").view(np.uint8).reshape(-1, _DECIMAL_SIZE)[:, ::-1])


def _enum_cells(node: Enum, array: pa.Array, present: Mask | None, path: str) -> list[Cell]:
    indices = pc.index_in(array, pa.array(node.symbols, array.type))
    unknown = ~indices.is_valid().to_numpy(zero_copy_only=False)
    raise_for_row(unknown, present_rows(array, present), "a symbol that the enum lacks", path)
    return integers(numbers(indices.fill_null(0), np.int32).astype(np.int64), present)


def _array_cells(node: Array, array: pa.ListArray, present: Mask | None, path: str) -> list[Cell]:
    return _list_cells(node.items, array, array.values.slice, present, f"{path}.item")


def _map_cells(node: Map, array: pa.MapArray, present: Mask | None, path: str) -> list[Cell]:
    def entries(first: int, count: int) -> pa.StructArray:
        parts = [array.keys.slice(first, count), array.items.slice(first, count)]
        return pa.StructArray.from_arrays(parts, names=["key", "value"])

    return _list_cells(node.entries, array, entries, present, path)


def _list_cells(
    node: Node, array: pa.Array, values: Callable[[int, int], pa.Array], present: Mask | None, path: str
) -> list[Cell]:
    """Return the count, the items and a closing zero: as in Java, all items are in one block, and no block is empty.

    For the lists [1, 2], [] and [3] of ints:

        positions    [0, 2, 2, 3]    counts = [2, 0, 1]
        data         02 04 06        the items, encoded as one column; starts = [0, 1, 2, 3]
        begins       [0, 2, 2]       ends = [2, 2, 3]
        cells        04 02 04 00 | 00 | 02 06 00
    """
    positions = offsets(array)
    first, last = int(positions[0]), int(positions[-1])
    counts = np.diff(positions)
    used = None
    if present is not None:
        used = np.repeat(present, counts)  # the items below a null list are not encoded
        counts = counts * present
    data, starts = np.zeros(0, np.uint8), np.zeros(1, np.int64)
    if last > first:
        cells = column_cells(node, values(first, last - first), used, path)
        data, starts = join(cells, row_sizes(cells, last - first))
    begins, ends = starts[positions[:-1] - first], starts[positions[1:] - first]
    body = Reference(data, begins, ends - begins)
    return [*integers(counts, counts > 0), body, constant_byte(0, present)]


def _union_cells(node: Union, array: pa.StructArray, present: Mask | None, path: str) -> list[Cell]:
    has_value = present_rows(array, present)
    members = [array.field(index) for index in range(array.type.num_fields)]
    chosen = [np.ones(len(array), np.bool_) if (valid := validity(member)) is None else valid for member in members]
    raise_for_row(np.sum(chosen, axis=0) != 1, has_value, "a union of which not exactly one member is set", path)
    if has_value is not None:
        chosen = [mask & has_value for mask in chosen]
    # The members of the struct are the branches without null: member i is the branch order[i].
    order = [index for index, branch in enumerate(node.branches) if branch is not None]
    index = np.full(len(array), node.branches.index(None) if None in node.branches else 0, np.int64)
    for branch, mask in zip(order, chosen, strict=True):
        index[mask] = branch
    cells = integers(index, present)
    for branch, member, mask in zip(order, members, chosen, strict=True):
        inner = node.branches[branch]
        if inner is not None and mask.any():
            cells += column_cells(inner, member, mask, f"{path}.member{order.index(branch)}")
    return cells


def present_rows(array: pa.Array, present: Mask | None) -> Mask | None:
    """Return the rows with a value; None if all rows have one."""
    valid = validity(array)
    if valid is None or present is None:
        return present if valid is None else valid
    return valid & present


def raise_for_row(bad: Mask, there: Mask | None, what: str, path: str) -> None:
    """Raise for the first bad row with a value.

    Raises:
        DataError: a row is bad; *what* says why.
    """
    if there is not None:
        bad = bad & there
    if bad.any():
        raise DataError(f"column {path}, row {int(bad.argmax())} of its batch: {what}", column=path)


_ENCODERS: dict[str | type[Node], Callable[[Any, Any, Mask | None, str], list[Cell]]] = {
    "boolean": _boolean_cells,
    "int": _integer_cells,
    "long": _integer_cells,
    "float": _floating_cells,
    "double": _floating_cells,
    "string": _text_cells,
    "bytes": _text_cells,
    Fixed: _fixed_cells,
    Enum: _enum_cells,
    Array: _array_cells,
    Map: _map_cells,
    Union: _union_cells,
}
"""The function for a node that is neither nullable nor a record, by the kind of a primitive, or by its class."""
