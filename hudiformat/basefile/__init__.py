"""Reading and writing Parquet base files, with the footer that Hudi's readers and indexes expect.

Layout: spec/base-file.md.
"""

from hudiformat.basefile.bloom import BLOOM_FILTER, BloomFilter, parse_filters
from hudiformat.basefile.copied import CopiedBaseFile, can_be_copied
from hudiformat.basefile.expressions import IndexedExpression
from hudiformat.basefile.file_keys import FileKeys
from hudiformat.basefile.filters import KeyFilter, possible
from hudiformat.basefile.footers import Footer, read_footer
from hudiformat.basefile.indexed import FileIndexer, IndexedFile, Indexes, indexed_values
from hudiformat.basefile.meta_fields import (
    COMMIT_TIME,
    DELETED,
    DELETED_FIELD,
    FILE_NAME,
    INSERTED,
    META_FIELDS,
    OPERATION,
    PARTITION_PATH,
    RECORD_KEY,
    UPDATED,
    add_file_name,
    add_meta_columns,
    add_origin,
    is_meta_field,
    meta_schema,
    refuse_other_flags,
    without_file_name,
    without_meta_fields,
)
from hudiformat.basefile.read import (
    BaseRows,
    as_base_rows,
    opened_base_file,
    read_base_file,
    read_column_names,
    read_file_keys,
    row_groups_to_read,
    scan_base_file,
    scan_base_rows,
)
from hudiformat.basefile.statistics import (
    NO_ROWS,
    ColumnStatistics,
    StatisticsCollector,
    column_statistics,
    kind_of,
    unknown_statistics,
)
from hudiformat.basefile.write import BaseFileWriter

__all__ = [
    "BLOOM_FILTER",
    "COMMIT_TIME",
    "DELETED",
    "DELETED_FIELD",
    "FILE_NAME",
    "INSERTED",
    "META_FIELDS",
    "NO_ROWS",
    "OPERATION",
    "PARTITION_PATH",
    "RECORD_KEY",
    "UPDATED",
    "BaseFileWriter",
    "BaseRows",
    "BloomFilter",
    "ColumnStatistics",
    "CopiedBaseFile",
    "FileIndexer",
    "FileKeys",
    "Footer",
    "IndexedExpression",
    "IndexedFile",
    "Indexes",
    "KeyFilter",
    "StatisticsCollector",
    "add_file_name",
    "add_meta_columns",
    "add_origin",
    "as_base_rows",
    "can_be_copied",
    "column_statistics",
    "indexed_values",
    "is_meta_field",
    "kind_of",
    "meta_schema",
    "opened_base_file",
    "parse_filters",
    "possible",
    "read_base_file",
    "read_column_names",
    "read_file_keys",
    "read_footer",
    "refuse_other_flags",
    "row_groups_to_read",
    "scan_base_file",
    "scan_base_rows",
    "unknown_statistics",
    "without_file_name",
    "without_meta_fields",
]
