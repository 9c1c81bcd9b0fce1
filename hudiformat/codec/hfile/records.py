"""Rows in an HFile: record key -> Avro record, as in base files and log blocks of that format.

The keys of the entries are not used: the records hold their keys too, and Hudi 1.0 wrote running numbers there.

Source: HoodieAvroHFileWriter, HoodieHFileDataBlock, Hudi 1.2.0; spec/hfile.md.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.avro.decode import Records, find_records

SCHEMA_KEY = "schema"
"""The text of the file info that is the Avro schema.  Source: HoodieAvroHFileReaderImplBase.SCHEMA_KEY."""


def locate_values(values: pa.Array, written: str) -> Records:
    """Locate the records in *values*, binary ones, which were written with the Avro schema *written* (JSON).

    Raises:
        DecodeError: the values are no such records.
    """
    return find_records(_with_lengths(values.cast(pa.large_binary())), len(values), written)


def _with_lengths(records: pa.Array) -> memoryview:
    """Return all records one after the other, each behind its length, as in an Avro data block.

    For the records ``b"a"``, ``b""`` and ``b"bcd"``:

        00000001 61  00000000  00000003 626364
    """
    if not len(records):
        return memoryview(b"")
    lengths = np.asarray(pc.binary_length(records)).astype(">i4")
    heads = pa.Array.from_buffers(pa.binary(4), len(lengths), [None, pa.py_buffer(lengths.tobytes())])
    joined = pc.binary_join_element_wise(heads.cast(pa.large_binary()), records, pa.scalar(b"", pa.large_binary()))
    return memoryview(joined.buffers()[2])
