"""Parquet footers, and row groups that are copied without decoding: :func:`copy_row_groups`."""

from hudiformat.codec.parquet.copying import RowGroupCopier, copy_row_groups
from hudiformat.codec.parquet.source import ParquetSource

__all__ = ["ParquetSource", "RowGroupCopier", "copy_row_groups"]
