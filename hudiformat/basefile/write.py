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
        footer |= dict(zip((_MIN_KEY, _MAX_KEY), _key_range(keys), strict=True))
    return encode_parquet(table, avro_schema, compression=compression, footer=footer)


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
