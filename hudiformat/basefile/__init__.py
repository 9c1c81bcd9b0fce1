"""Parquet base files with the footer that Hudi's readers and indexes expect.  Layout: spec/base-file.md."""

from hudiformat.basefile.bloom import BloomFilter
from hudiformat.basefile.key_filter import KeyFilter, read_key_filter
from hudiformat.basefile.meta_fields import META_FIELDS, add_meta_columns, meta_schema, without_meta_fields
from hudiformat.basefile.read import read_base_file, scan_base_file
from hudiformat.basefile.write import BaseFileWriter

__all__ = [
    "META_FIELDS",
    "BaseFileWriter",
    "BloomFilter",
    "KeyFilter",
    "add_meta_columns",
    "meta_schema",
    "read_base_file",
    "read_key_filter",
    "scan_base_file",
    "without_meta_fields",
]
