"""A sink for streams into plain files: small files are merged before they become visible, and partitions are committed.

This is Flink's streaming file sink for any engine with batches and tasks.  Tasks write with :class:`TaskWriter`, and
their messages go to one :class:`FileSink`.  Rules: spec/sink.md.
"""

from hudiformat.sink.coordinator import BatchCommit, Compactor, FileSink, run_one_after_the_other
from hudiformat.sink.layout import Layout, StagedFile, TaskCommit
from hudiformat.sink.options import SinkOptions, parse_sink_options
from hudiformat.sink.packing import Packing, pack
from hudiformat.sink.partition_commit import CommitPolicy, Metastore, PartitionTimeTrigger, ProcessTimeTrigger
from hudiformat.sink.partition_time import PartitionTime
from hudiformat.sink.rolling import TaskWriter

__all__ = [
    "BatchCommit",
    "CommitPolicy",
    "Compactor",
    "FileSink",
    "Layout",
    "Metastore",
    "Packing",
    "PartitionTime",
    "PartitionTimeTrigger",
    "ProcessTimeTrigger",
    "SinkOptions",
    "StagedFile",
    "TaskCommit",
    "TaskWriter",
    "pack",
    "parse_sink_options",
    "run_one_after_the_other",
]
