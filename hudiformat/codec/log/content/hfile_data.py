"""Content of an HFile data block: a whole HFile, record key -> Avro record, sorted by the bytes of the key.

Layout: spec/log-block.md; HFiles: spec/hfile.md.  Source: HoodieHFileDataBlock.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.avro.decode import Records, find_records
from hudiformat.codec.avro.encode import encode_datums
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.hfile.writer import encode_hfile
from hudiformat.errors import SchemaError

KEY_FIELD = "_hoodie_record_key"
_SCHEMA_KEY = "schema"  # of the file info: HoodieAvroHFileReaderImplBase.SCHEMA_KEY


def encode(batch: pa.RecordBatch, schema: str, *, compression: str = "gzip") -> bytes:
    """Return the content for *batch* under the Avro schema *schema* (JSON); the rows are sorted by their record key.

    Raises:
        SchemaError: the batch does not fit the schema, or has no record key.
        EncodeError: a key that an HFile cannot hold.
    """
    if KEY_FIELD not in batch.schema.names:
        columns = ", ".join(batch.schema.names) or "none"
        raise SchemaError(f"an HFile block needs the column {KEY_FIELD}; the columns are {columns}", column=KEY_FIELD)
    keys = batch[KEY_FIELD].cast(pa.binary())
    order = pc.sort_indices(keys)
    # The encoded records are sorted, not the rows before: Arrow's take does not support nested columns of views.
    records = encode_datums(batch, schema).take(order)
    return encode_hfile(keys.take(order), records, compression=compression, file_info={_SCHEMA_KEY: schema.encode()})


def locate_records(content: bytes | memoryview, written: str) -> Records:
    """Locate the records of *content*, which were written with the Avro schema *written*, in the order of their keys.

    The keys of the HFile entries are not used: the records hold their keys too, and Hudi 1.0 wrote running numbers
    there.

    Raises:
        DecodeError: the content is damaged.
        UnsupportedFeatureError: the HFile has a compression that is not supported.
    """
    values = [block["value"] for block in HFileReader(memoryview(content)).blocks()]
    records = pa.chunked_array(values, pa.binary()).combine_chunks().cast(pa.large_binary())
    return find_records(_with_lengths(records), len(records), written)


def record_count(content: bytes | memoryview) -> int:
    """Return how many records *content* declares; the records are not read."""
    return HFileReader(memoryview(content)).num_entries


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
