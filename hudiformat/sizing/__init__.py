"""Assign new records to file groups, first to small ones, then to new ones, as Hudi's writers do.

There are the rules of the Spark writer and those of the Flink writer.  All functions are pure.  A plan contains, for
every file group, the reason why it takes records or none.  Rules: spec/sizing.md.
"""

from hudiformat.sizing.explaining import GroupReason
from hudiformat.sizing.flink import (
    KNOWN_GROUP,
    NEW_GROUP,
    FlinkAssigner,
    FlinkTasks,
    Placement,
    Profile,
    Task,
    plan_in_order,
)
from hudiformat.sizing.key_groups import Parallelism
from hudiformat.sizing.record_size import Commits, RecordSize, SizingOptions, flink_record_size, spark_record_size
from hudiformat.sizing.small_files import (
    GroupVerdict,
    Kind,
    Pending,
    Verdict,
    estimated_size,
    flink_small_files,
    in_hudi_order,
    spark_small_files,
)
from hudiformat.sizing.spark import InsertBucket, PartitionPlan, plan_partition

__all__ = [
    "KNOWN_GROUP",
    "NEW_GROUP",
    "Commits",
    "FlinkAssigner",
    "FlinkTasks",
    "GroupReason",
    "GroupVerdict",
    "InsertBucket",
    "Kind",
    "Parallelism",
    "PartitionPlan",
    "Pending",
    "Placement",
    "Profile",
    "RecordSize",
    "SizingOptions",
    "Task",
    "Verdict",
    "estimated_size",
    "flink_record_size",
    "flink_small_files",
    "in_hudi_order",
    "plan_in_order",
    "plan_partition",
    "spark_record_size",
    "spark_small_files",
]
