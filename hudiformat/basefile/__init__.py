"""Reading and writing Parquet base files, with the footer that Hudi's readers and indexes expect.

Layout: spec/base-file.md.
"""

from hudiformat.basefile.bloom import BLOOM_FILTER, BloomFilter, parse_filters
from hudiformat.basefile.file_keys import FileKeys
from hudiformat.basefile.filters import KeyFilter, possible
from hudiformat.basefile.meta_fields import META_FIELDS, add_meta_columns, meta_schema, without_meta_fields
from hudiformat.basefile.read import (
    BaseRows,
    as_base_rows,
    read_base_file,
    read_file_keys,
    scan_base_file,
    scan_base_rows,
)
from hudiformat.basefile.write import BaseFileWriter

__all__ = [
    "BLOOM_FILTER",
    "META_FIELDS",
    "BaseFileWriter",
    "BaseRows",
    "BloomFilter",
    "FileKeys",
    "KeyFilter",
    "add_meta_columns",
    "as_base_rows",
    "meta_schema",
    "parse_filters",
    "possible",
    "read_base_file",
    "read_file_keys",
    "scan_base_file",
    "scan_base_rows",
    "without_meta_fields",
]
