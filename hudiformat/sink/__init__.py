"""A sink for streams into plain files: small files are merged before they become visible, and partitions are committed.

This is Flink's streaming file sink for any engine with batches and tasks.  Tasks write with :class:`TaskWriter`, and
their messages go to one :class:`FileSink`.  Rules: spec/sink.md.
"""

from hudiformat.sink.coordinator import BatchCommit, Compactor, FileSink, run_one_after_the_other
from hudiformat.sink.formats import merge_files
from hudiformat.sink.layout import Layout, StagedFile, TaskCommit
from hudiformat.sink.options import Format, SinkOptions, parse_sink_options
from hudiformat.sink.packing import Packing, pack
from hudiformat.sink.partition_commit import (
    CommitPolicy,
    Metastore,
    PartitionTimeTrigger,
    PolicyContext,
    ProcessTimeTrigger,
)
from hudiformat.sink.partition_time import PartitionTime
from hudiformat.sink.rolling import TaskWriter

__all__ = [
    "BatchCommit",
    "CommitPolicy",
    "Compactor",
    "FileSink",
    "Format",
    "Layout",
    "Metastore",
    "Packing",
    "PartitionTime",
    "PartitionTimeTrigger",
    "PolicyContext",
    "ProcessTimeTrigger",
    "SinkOptions",
    "StagedFile",
    "TaskCommit",
    "TaskWriter",
    "merge_files",
    "pack",
    "parse_sink_options",
    "run_one_after_the_other",
]
