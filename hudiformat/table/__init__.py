"""A table's rows read and written, commits, locks; writes that failed are taken away."""

from hudiformat.merge import RecordMerger
from hudiformat.table.begin import Commit
from hudiformat.table.keys import RowKeys
from hudiformat.table.options import WriteOptions
from hudiformat.table.plan import REPLACING, Operation, WritePlan
from hudiformat.table.read import SliceReader
from hudiformat.table.scan import Scan
from hudiformat.table.schema import TableSchema
from hudiformat.table.stats import decode_write_stats, encode_write_stats
from hudiformat.table.task import WriteTask

__all__ = [
    "REPLACING",
    "Commit",
    "Operation",
    "RecordMerger",
    "RowKeys",
    "Scan",
    "SliceReader",
    "TableSchema",
    "WriteOptions",
    "WritePlan",
    "WriteTask",
    "decode_write_stats",
    "encode_write_stats",
]
