"""Rows with meta fields -> the bytes of a base file."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.basefile.bloom import BloomFilter
from hudiformat.basefile.meta_fields import RECORD_KEY
from hudiformat.blocks import encode_parquet

# Source: HoodieBloomFilterWriteSupport.
_BLOOM_FILTER = "org.apache.hudi.bloomfilter"
_MIN_KEY = "hoodie_min_record_key"
_MAX_KEY = "hoodie_max_record_key"


def encode_base_file(
    table: pa.Table, avro_schema: str, *, compression: str = "gzip", bloom_filter: bool = True
) -> pa.Buffer:
    """The bytes of a Parquet base file with the rows of *table*, which has the meta fields.

    The footer carries the Avro schema, the range of the record keys and, with *bloom_filter*, their filter.
    """
    keys = table[RECORD_KEY].combine_chunks()
    footer = {_BLOOM_FILTER: BloomFilter.of(keys).serialize()} if bloom_filter else {}
    if table.num_rows:
        key_range = pc.min_max(keys)
        footer |= {_MIN_KEY: key_range["min"].as_py(), _MAX_KEY: key_range["max"].as_py()}
    return encode_parquet(table, avro_schema, compression=compression, footer=footer)
