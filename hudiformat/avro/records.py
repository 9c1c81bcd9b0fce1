"""Avro records -> RecordBatch, column by column, some thousand rows at a time.  Layout: spec/avro-records.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hudiformat.avro.buffers import Bytes, Longs
from hudiformat.avro.columns import column_of
from hudiformat.avro.cursors import PADDING, Cursors
from hudiformat.avro.decode import read
from hudiformat.avro.framing import walk, walk_many
from hudiformat.avro.items import skip
from hudiformat.avro.nodes import Record, parse_schema
from hudiformat.avro.resolve import batch_of
from hudiformat.avro.schema import avro_to_arrow
from hudiformat.errors import SchemaError

_CHUNK_ROWS = 16384  # about so many; with more, what is gathered of them leaves the cache


@dataclass(frozen=True, slots=True)
class Records:
    """Avro records of one schema in a buffer: where each begins and ends.  Nothing is decoded yet."""

    data: Bytes
    starts: Longs
    ends: Longs
    schema: str

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, rows: Longs) -> Records:
        """Only these of them, in ascending order."""
        return Records(self.data, self.starts[rows], self.ends[rows], self.schema)

    def decode(self, columns: Sequence[str] | None = None) -> pa.RecordBatch:
        """The records as rows.

        With *columns* only these are made, in this order; those before the last of them are skipped, those behind it
        not even looked at.

        Raises:
            SchemaError: there is no column of that name.
            DecodeError: the bytes are no records of this schema; ``offset`` counts from the start of the buffer.
        """
        record, schema, count = parse_schema(self.schema), _selected(avro_to_arrow(self.schema), columns), len(self)
        if not count:
            return batch_of([pa.nulls(0, field.type) for field in schema], schema, 0)
        if round(count / _CHUNK_ROWS) <= 1:  # a single chunk
            return _batch(record, schema, self._cursors(slice(None)))
        nodes = dict(record.fields)
        whole = {name: column_of(nodes[name], count) for name in schema.names}
        for cursors in self._chunks():
            for name, array in _arrays(record, schema.names, cursors):
                whole[name].add(array)
        return batch_of([whole[name].array() for name in schema.names], schema, count)

    def decode_parts(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """As :meth:`decode`, in batches of thousands of rows as they are made: nothing is copied into one.

        Raises:
            SchemaError, DecodeError: as :meth:`decode`.
        """
        record, schema = parse_schema(self.schema), _selected(avro_to_arrow(self.schema), columns)
        for cursors in self._chunks():
            yield _batch(record, schema, cursors)

    def _chunks(self) -> Iterator[Cursors]:
        """The records, in chunks of like size: a small one at the end would cost as many calls as the others.

        But for the last, a multiple of eight, for columns put their bits together byte by byte.
        """
        count = max(round(len(self) / _CHUNK_ROWS), 1)
        size = max(-(-len(self) // (8 * count)) * 8, 8)
        for first in range(0, len(self), size):
            yield self._cursors(slice(first, first + size))

    def _cursors(self, part: slice) -> Cursors:
        """Cursors over the bytes of some records alone, so that 32-bit offsets do for them."""
        starts, ends = self.starts[part], self.ends[part]
        first, last = int(starts[0]), int(ends[-1])
        if last + PADDING <= len(self.data):
            window = self.data[first : last + PADDING]
        else:
            window = np.zeros(last - first + PADDING, np.uint8)
            window[:-PADDING] = self.data[first:last]
        return Cursors(window, starts - first, ends - first, base=first)


def find_records(data: memoryview | bytes, count: int, writer_schema: str) -> Records:
    """The *count* records of an Avro data block, which *data* holds exactly: each a length (int32) and Avro binary.

    Raises:
        SchemaError: the schema is no Avro record schema.
        DecodeError: the bytes are not *count* records; ``offset`` counts from the start of *data*.
    """
    parse_schema(writer_schema)
    starts, ends = walk(memoryview(data).cast("B"), count)
    return Records(np.frombuffer(data, np.uint8), starts, ends, writer_schema)


def find_runs(data: memoryview | bytes, firsts: Longs, lasts: Longs, counts: Longs, writer_schema: str) -> Records:
    """The records of many short runs: of ``counts[i]`` records from ``firsts[i]`` to ``lasts[i]`` in *data*.

    Raises:
        DecodeError: as :func:`find_records`; where is not said.
    """
    content = np.frombuffer(data, np.uint8)
    return Records(content, *walk_many(content, firsts, lasts, counts), writer_schema)


def decode_records(
    data: memoryview | bytes, count: int, writer_schema: str, *, columns: Sequence[str] | None = None
) -> pa.RecordBatch:
    """The records of :func:`find_records`, decoded.

    Raises:
        SchemaError: the schema is no Avro record schema, or has none of a column that was asked for.
        DecodeError: the bytes are not *count* records of this schema; ``offset`` counts from the start of *data*.
    """
    return find_records(data, count, writer_schema).decode(columns)


def _selected(schema: pa.Schema, columns: Sequence[str] | None) -> pa.Schema:
    if columns is None:
        return schema
    for name in columns:
        if schema.get_field_index(name) < 0:
            raise SchemaError(f"column {name} is not in the Avro schema, which has {schema.names}", column=name)
    return pa.schema([schema.field(name) for name in columns])


def _batch(record: Record, schema: pa.Schema, cursors: Cursors) -> pa.RecordBatch:
    arrays = dict(_arrays(record, schema.names, cursors))
    return batch_of([arrays[name] for name in schema.names], schema, len(cursors))


def _arrays(record: Record, names: Sequence[str], cursors: Cursors) -> Iterator[tuple[str, pa.Array]]:
    """The columns of these names, in the order in which they stand in the record."""
    wanted = set(names)
    found = 0
    for name, node in record.fields:
        if found == len(wanted) < len(record.fields):
            return  # nobody needs to know what follows the last column asked for
        if name in wanted:
            found += 1
            yield name, read(node, cursors, None)
        else:
            skip(node, cursors, None)
    cursors.refuse(cursors.pos != cursors.end, None, "a record ends before its length says")
