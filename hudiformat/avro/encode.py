"""RecordBatch -> Avro records, some thousand rows at a time.  Layout: spec/avro-records.md."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hudiformat.avro.arrays import Longs, Words, content
from hudiformat.avro.cells import Cell, join
from hudiformat.avro.cells import size as cell_sizes
from hudiformat.avro.chunks import CHUNK_ROWS, chunks
from hudiformat.avro.compiled.record_writer import record_writer
from hudiformat.avro.encoders import column_cells, head_and_length, length_prefix
from hudiformat.avro.nodes import parse_schema
from hudiformat.avro.output import Output, Parts, size_of

_BYTES_OF_A_VALUE = 16  # about
_SPARE_BYTES = 64  # per row, for lengths, branches and varints that are longer than the Arrow values


def encode_records(
    batch: pa.RecordBatch | pa.Table, schema_json: str, *, framed: bool = True, head: bytes = b"", tail: bytes = b""
) -> memoryview:
    """The records part of an Avro data block: for each row its length (int32, big-endian) and its Avro binary.

    Columns are matched to the schema's fields by name, in any order; a nullable field without a column is null, and
    types are promoted where nothing is lost.  *head* and *tail* are put around the records.  Without *framed*, the
    lengths are left out.

    Raises:
        SchemaError: a column that is not in the schema, a required column that is missing, or one of another type.
        DataError: a null where the schema allows none, or a value that its type does not hold.
        EncodeError: a record of 2 GiB or more.
    """
    output, _ = _encode(batch, schema_json, Parts(), framed=framed, head=head)
    output.append(content(tail))
    return output.written()


def encode_parts(
    batch: pa.RecordBatch | pa.Table, schema_json: str, firsts: Longs, heads: Words
) -> tuple[memoryview, Longs]:
    """The records of :func:`encode_records` in parts, and the offsets at which these begin, and the last one ends.

    Part ``i`` begins with the row ``firsts[i]``, and before its first record are the eight bytes of ``heads[i]``.
    The first part begins with row 0, and each one has a row at least.
    """
    output, starts = _encode(batch, schema_json, Parts(firsts, heads), framed=True)
    return output.written(), starts


def encode_datums(batch: pa.RecordBatch, schema_json: str) -> pa.LargeBinaryArray:
    """The Avro binary of each row without its length; otherwise as :func:`encode_records`."""
    output, starts = _encode(batch, schema_json, Parts(np.arange(batch.num_rows, dtype=np.int64)), framed=False)
    buffers = [None, pa.py_buffer(starts), pa.py_buffer(output.written())]
    return pa.Array.from_buffers(pa.large_binary(), batch.num_rows, buffers)


def _encode(
    batch: pa.RecordBatch | pa.Table, schema_json: str, parts: Parts, *, framed: bool, head: bytes = b""
) -> tuple[Output, Longs]:
    """The records behind *head*, and the offsets at which parts begin, and the last one ends."""
    record, first, starts = parse_schema(schema_json), 0, []
    writer = record_writer(schema_json, batch.num_rows * batch.num_columns * _BYTES_OF_A_VALUE)
    size = 0 if writer is not None and batch.num_rows <= CHUNK_ROWS else size_of(batch)
    output = Output(size + batch.num_rows * _SPARE_BYTES if size else 0, head)
    for rows in chunks(batch, schema_json, size=size):
        here = parts.within(first, first + len(rows))
        first += len(rows)
        if writer is not None and (begun := writer.append(rows, output, here, framed=framed)) is not None:
            starts.append(begun)
            continue
        cells: list[Cell] = []
        for index, (name, node) in enumerate(record.fields):
            cells += column_cells(node, rows.column(index), None, name)
        lengths = cell_sizes(cells, len(rows))
        if framed:
            prefix = length_prefix(lengths) if here.heads is None else head_and_length(lengths, here.firsts, here.heads)
            cells.insert(0, prefix)
            lengths += prefix.lengths
        data, ends = join(cells, lengths)
        starts.append(ends[here.firsts] + output.used)
        output.append(data)
    return output, np.concatenate([*starts, [output.used]])
