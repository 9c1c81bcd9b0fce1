"""Content of an Avro data block: version, record count, then per record its length and its Avro binary.

Layout: spec/log-block.md; the records: spec/avro-records.md.  Source: HoodieAvroDataBlock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.codec.avro.arrays import Longs
from hudiformat.codec.avro.decode import Records, find_records, find_runs
from hudiformat.codec.avro.encode import encode_parts
from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.conversion import convert_to_schema
from hudiformat.codec.log.selection import ReadRequest, find_matching_rows, select_fields
from hudiformat.conditions.filters import columns_of
from hudiformat.errors import CorruptBlockError, TruncatedBlockError, UnsupportedVersionError
from hudiformat.wire import Cursor, int32

CONTENT_VERSION = 3
RECORD_LENGTH_SIZE = 4
"""Bytes of the length in front of each record."""

_READABLE = (1, 2, 3)
_LARGE = 1 << 13
"""Contents of so many bytes on average have too many records to be walked through side by side."""
_PROLOGUE = np.dtype([("version", ">i4"), ("count", ">i4")])


def prologue(count: int) -> bytes:
    """Return the bytes before the records: the content version and the record count."""
    return int32(CONTENT_VERSION) + int32(count)


def encode_contents(batch: pa.RecordBatch | pa.Table, schema: str, bounds: Longs) -> Iterator[memoryview]:
    """Return the contents for the rows from ``bounds[i]`` to ``bounds[i + 1]``; all are parts of one buffer.

    *bounds* ascend from 0 to the number of rows.  Three rows of one nullable long each, with the bounds ``[0, 2, 2,
    3]``:

        counts      [2, 0, 1]
        full        [True, False, True]                a content without rows has no first row to put a prologue before
        prologues   [(3, 2), (3, 1)]                   each is written before the rows 0 and 2
        starts      [0, 20, 34]                        8 bytes of prologue, and 6 for each record
        contents    data[0:20], the empty content, data[20:34]
    """
    counts = np.diff(bounds)
    full = counts > 0
    prologues = np.zeros(int(full.sum()), _PROLOGUE)
    prologues["version"], prologues["count"] = CONTENT_VERSION, counts[full]
    data, starts = encode_parts(batch, schema, bounds[:-1][full], prologues.view(np.uint64))
    offsets = starts.tolist()
    contents = map(data.__getitem__, map(slice, offsets[:-1], offsets[1:]))
    if full.all():
        return contents
    empty = memoryview(prologue(0))
    return (next(contents) if is_full else empty for is_full in full.tolist())


def locate_records(content: bytes | memoryview, written: str) -> Records:
    """Locate the records of *content*, which were written with the Avro schema *written*; none is decoded yet.

    Raises:
        DecodeError: the content is damaged.
        SchemaError: *written* is no Avro record schema.
    """
    count = record_count(content)
    return find_records(content, count, written, start=_PROLOGUE.itemsize)


def locate_in_contents(contents: Sequence[bytes | memoryview], written: str) -> Records:
    """Locate the records of several contents that were written with one schema.

    That is faster than :func:`locate_records` for each of them if they are small.

    Raises:
        DecodeError: a content is damaged; the error does not say which one.
    """
    ends = np.cumsum([len(content) for content in contents])
    if ends[-1] >= _LARGE * len(contents):
        return _locate_as_one(contents, written)
    return locate_in_ranges(b"".join(contents), np.append(0, ends[:-1]), ends, written)


def _locate_as_one(contents: Sequence[bytes | memoryview], written: str) -> Records:
    """Locate the records of several contents as those of one content that has all of them.

    The records of two contents, two of 6 bytes each and one of 10 bytes, lengths included::

        counts   [2, 1]     ends of records, after 0   [0, 6, 12, 22]
        bounds   [12, 22]   where contents end, which are ends 2 and 2 + 1

    Raises:
        DecodeError: a content is damaged; the error does not say which one.
    """
    counts = [record_count(content) for content in contents]
    parts = [memoryview(content)[_PROLOGUE.itemsize :] for content in contents]
    records = find_records(b"".join(parts), sum(counts), written)
    bounds = np.cumsum([len(part) for part in parts])
    if (np.append(0, records.locate()[1])[np.cumsum(counts)] != bounds).any():
        raise CorruptBlockError("a content with more or fewer records than it declares")
    return records


def locate_in_ranges(data: bytes | memoryview, starts: Longs, ends: Longs, written: str) -> Records:
    """Locate the records of the contents from ``starts[i]`` to ``ends[i]`` of *data*, as :func:`locate_in_contents`.

    The contents lie less than 2 GiB apart.

    Raises:
        DecodeError: a content is damaged; the error does not say which one.
    """
    sizes = ends - starts
    if (sizes < _PROLOGUE.itemsize).any():
        raise TruncatedBlockError(
            f"a content of less than {_PROLOGUE.itemsize} bytes, without version and record count"
        )
    # The eight bytes from every offset on, with a stride of one byte: contents are not aligned.
    every: npt.NDArray[Any] = np.ndarray((len(data) - 7,), f"V{_PROLOGUE.itemsize}", data, strides=(1,))
    prologues = every[starts].view(_PROLOGUE)
    counts = prologues["count"].astype(np.int64)
    if not np.isin(prologues["version"], _READABLE).all() or ((counts < 0) | (counts > sizes)).any():
        raise CorruptBlockError("a content of unknown version, or with an impossible count")
    return find_runs(data, starts + _PROLOGUE.itemsize, ends, counts, written)


def decode(records: Records, wanted: ReadRequest) -> pa.RecordBatch:
    """Decode the rows and columns of *records* that are *wanted*.

    With a filter, its columns are decoded first, and all other columns only in the rows that match.

    Raises:
        DecodeError: the records are damaged.
        SchemaError: the records cannot be converted to the wanted schema, or there is no such column.
    """
    written = avro_to_arrow(records.schema)
    names = set(written.names)
    schema = wanted.schema or written
    condition = None if wanted.filter is None else wanted.condition(schema)
    if condition is not None:
        tested = select_fields(schema, columns_of(condition, schema))
        rows = convert_to_schema(
            records.decode([name for name in tested.names if name in names]), tested, relabel=wanted.relabel
        )
        records = records.take(find_matching_rows(condition, rows))
    if wanted.schema is None:
        return records.decode(wanted.columns, views=wanted.views)
    target = wanted.schema if wanted.columns is None else select_fields(wanted.schema, wanted.columns)
    present = [name for name in dict.fromkeys(target.names) if name in names]
    return convert_to_schema(records.decode(present, views=wanted.views), target, relabel=wanted.relabel)


def record_count(content: bytes | memoryview) -> int:
    """Return how many records *content* declares; the records are not read.

    Raises:
        DecodeError: the content is too short for so many records, or of an unknown version.
    """
    cursor = Cursor(memoryview(content))
    if (version := cursor.int32("content version")) not in _READABLE:
        raise UnsupportedVersionError(f"Avro data content of version {version}; known are 1 to {CONTENT_VERSION}")
    count = cursor.int32("record count")
    if not 0 <= count <= cursor.remaining // RECORD_LENGTH_SIZE:
        raise CorruptBlockError(f"{count} records are declared, in {cursor.remaining} bytes")
    return count
