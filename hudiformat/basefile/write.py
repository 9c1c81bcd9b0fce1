"""Rows with meta fields -> the bytes of a base file."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudiformat.basefile.bloom import BloomFilter
from hudiformat.basefile.meta_fields import RECORD_KEY

# Source: HoodieBloomFilterWriteSupport, and parquet-avro's AvroReadSupport and AvroWriteSupport.
_BLOOM_FILTER = "org.apache.hudi.bloomfilter"
_MIN_KEY = "hoodie_min_record_key"
_MAX_KEY = "hoodie_max_record_key"
_AVRO_SCHEMA = "parquet.avro.schema"
_MODEL = "writer.model.name"


def encode_base_file(
    table: pa.Table, avro_schema: str, *, compression: str = "gzip", bloom_filter: bool = True
) -> pa.Buffer:
    """The bytes of a Parquet base file with the rows of *table*, which has the meta fields.

    The footer carries the Avro schema, the range of the record keys and, with *bloom_filter*, their filter.
    """
    keys = table[RECORD_KEY].combine_chunks()
    footer = {_AVRO_SCHEMA: avro_schema, _MODEL: "avro"}
    if bloom_filter:
        footer[_BLOOM_FILTER] = BloomFilter.of(keys).serialize()
    if table.num_rows:
        footer |= dict(zip((_MIN_KEY, _MAX_KEY), _key_range(keys), strict=True))
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, compression=compression, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(footer)
    return sink.getvalue()


def _key_range(keys: pa.Array) -> tuple[str, str]:
    """The least and the greatest key as Java orders texts: by UTF-16 units, not by UTF-8 bytes or code points.

    Hudi's bloom index compares with them: BloomIndexFileInfo.isKeyInRange.
    """
    beyond_utf16_unit = pc.match_substring_regex(keys, "[\U00010000-\U0010ffff]")  # else the orders are the same
    if pc.any(beyond_utf16_unit).as_py():
        texts = keys.to_pylist()
        return min(texts, key=_utf16), max(texts, key=_utf16)
    found = pc.min_max(keys)
    return found["min"].as_py(), found["max"].as_py()


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be")
