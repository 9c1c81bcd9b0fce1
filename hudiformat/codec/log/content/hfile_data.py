"""Content of an HFile data block: a whole HFile, record key -> Avro record, sorted by the bytes of the key.

Layout: spec/log-block.md; HFiles: spec/hfile.md.  Source: HoodieHFileDataBlock.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.avro.decode import Records
from hudiformat.codec.avro.encode import encode_datums
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.hfile.records import SCHEMA_KEY, locate_values
from hudiformat.codec.hfile.writer import encode_hfile
from hudiformat.errors import SchemaError

KEY_FIELD = "_hoodie_record_key"


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
    return encode_hfile(keys.take(order), records, compression=compression, file_info={SCHEMA_KEY: schema.encode()})


def locate_records(content: bytes | memoryview, written: str) -> Records:
    """Locate the records of *content*, which were written with the Avro schema *written*, in the order of their keys.

    Raises:
        DecodeError: the content is damaged.
        UnsupportedFeatureError: the HFile has a compression that is not supported.
    """
    values = [block["value"] for block in HFileReader(memoryview(content)).blocks()]
    return locate_values(pa.chunked_array(values, pa.binary()).combine_chunks(), written)


def record_count(content: bytes | memoryview) -> int:
    """Return how many records *content* declares; the records are not read."""
    return HFileReader(memoryview(content)).num_entries
