"""Parquet files below the level of rows: footers in Thrift's compact protocol, and row groups copied byte for byte.

Rows are read and written with pyarrow; this folder does what pyarrow cannot.  Rules: spec/parquet-copy.md.
"""

from hudiformat.parquet.bounds import with_infinity
from hudiformat.parquet.copying import RowGroupCopier, copy_row_groups
from hudiformat.parquet.rows import close_writer, columns_with_nan, read_batches
from hudiformat.parquet.source import ParquetSource

__all__ = [
    "ParquetSource",
    "RowGroupCopier",
    "close_writer",
    "columns_with_nan",
    "copy_row_groups",
    "read_batches",
    "with_infinity",
]
