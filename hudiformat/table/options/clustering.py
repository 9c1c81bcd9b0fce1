"""The options of clustering: which file slices are rewritten together, and in which order their rows are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from hudiformat.errors import OptionError
from hudiformat.table.options.parsers import (
    Keys,
    member_of,
    parse_any_integer,
    parse_boolean,
    parse_count,
    parse_fields,
    parse_integer,
    parse_text,
)

_MIB = 1024 * 1024
_PLAN = "hoodie.clustering.plan.strategy."
_SIZE_BASED = "org.apache.hudi.client.clustering.plan.strategy.{}SizeBasedClusteringPlanStrategy"


class PartitionFilter(Enum):
    """Which partitions a clustering looks at (``hoodie.clustering.plan.partition.filter.mode``).

    Source: org.apache.hudi.table.action.cluster.ClusteringPlanPartitionFilterMode.
    """

    NONE = "NONE"
    RECENT_DAYS = "RECENT_DAYS"
    SELECTED_PARTITIONS = "SELECTED_PARTITIONS"
    DAY_ROLLING = "DAY_ROLLING"


class Layout(Enum):
    """How rows are ordered by several columns (``hoodie.layout.optimize.strategy``).

    Source: org.apache.hudi.config.HoodieClusteringConfig.LayoutOptimizationStrategy.
    """

    LINEAR = "LINEAR"
    Z_ORDER = "ZORDER"
    HILBERT = "HILBERT"


class SliceOrder(Enum):
    """The order in which file slices are put into groups (``hoodie.clustering.plan.strategy.file.slices.sort.by``).

    Source: org.apache.hudi.table.action.cluster.ClusteringFileSliceSortByField.
    """

    INSTANT_TIME = "INSTANT_TIME"
    """Oldest first."""
    SIZE = "SIZE"
    """Largest first."""


class UpdateStrategy(Enum):
    """How updates of file groups in a pending clustering are handled (``hoodie.clustering.updates.strategy``)."""

    REJECT = "org.apache.hudi.client.clustering.update.strategy.SparkRejectUpdateStrategy"


class PlanStrategy(Enum):
    """Hudi's classes whose way of planning is supported (``hoodie.clustering.plan.strategy.class``)."""

    SPARK = _SIZE_BASED.format("Spark")
    JAVA = _SIZE_BASED.format("Java")
    FLINK = _SIZE_BASED.format("Flink")
    BUCKETS = "org.apache.hudi.client.clustering.plan.strategy.SparkConsistentBucketClusteringPlanStrategy"
    """Accepted with consistent hashing, for which clustering always plans in this way, whichever class is named."""


@dataclass(frozen=True, slots=True)
class ClusteringOptions:
    """What a clustering rewrites, and when one runs after a write.  Sizes are bytes.

    Slices whose base file has less than ``small_file_limit`` are put into groups of up to ``group_bytes``, at most
    ``most_groups`` of them, and each group is rewritten into files of about ``target_size``.  ``single_group``: one
    slice alone is rewritten too.  ``selected`` and ``pattern`` choose partitions; then ``partition_filter`` does, with
    ``begin`` and ``end`` (SELECTED_PARTITIONS), or with ``days`` after ``skipped_days`` (RECENT_DAYS).  With
    ``is_async``, ``maintain`` clusters; a write does not.

    Source: HoodieClusteringConfig, Hudi 1.2.0.
    """

    small_file_limit: int = 300 * _MIB
    target_size: int = 1024 * _MIB
    group_bytes: int = 2048 * _MIB
    most_groups: int = 30
    single_group: bool = True
    slice_order: tuple[SliceOrder, ...] = (SliceOrder.SIZE,)
    sort_columns: tuple[str, ...] = ()
    layout: Layout = Layout.LINEAR
    partition_filter: PartitionFilter = PartitionFilter.NONE
    days: int = 2
    skipped_days: int = 0
    begin: str = ""
    end: str = ""
    selected: tuple[str, ...] = ()
    pattern: str = ""
    inline: bool = False
    inline_commits: int = 4
    schedule_inline: bool = False
    is_async: bool = False
    async_commits: int = 4
    plan_strategy: PlanStrategy = PlanStrategy.SPARK
    updates: UpdateStrategy = UpdateStrategy.REJECT


def parse_pattern(key: str, value: str) -> str:
    """Parse a regular expression.

    Raises:
        OptionError: the value is not a regular expression.
    """
    try:
        re.compile(value)
    except re.error as error:
        raise OptionError(f"{key}: expected a regular expression, found {value!r}: {error}", option=key) from error
    return value


def parse_layout(key: str, value: str) -> Layout:
    """Parse a layout; as in Hudi, ``z-order`` stands for ZORDER, too.

    Raises:
        OptionError: there is no layout of that name.
    """
    found: Layout = member_of(Layout)(key, "ZORDER" if value.lower() == "z-order" else value)
    return found


def parse_slice_order(key: str, value: str) -> tuple[SliceOrder, ...]:
    """Parse names of fields, separated by commas.

    Raises:
        OptionError: there is no such field, or none is named.
    """
    parse = member_of(SliceOrder)
    return tuple(parse(key, name.strip().upper()) for name in value.split(","))


CLUSTERING_KEYS: Keys = {
    f"{_PLAN}small.file.limit": ("small_file_limit", parse_any_integer),
    f"{_PLAN}target.file.max.bytes": ("target_size", parse_integer),
    f"{_PLAN}max.bytes.per.group": ("group_bytes", parse_integer),
    f"{_PLAN}max.num.groups": ("most_groups", parse_integer),
    f"{_PLAN}single.group.clustering.enabled": ("single_group", parse_boolean),
    f"{_PLAN}file.slices.sort.by": ("slice_order", parse_slice_order),
    f"{_PLAN}sort.columns": ("sort_columns", parse_fields),
    f"{_PLAN}partition.selected": ("selected", parse_fields),
    f"{_PLAN}partition.regex.pattern": ("pattern", parse_pattern),
    f"{_PLAN}cluster.begin.partition": ("begin", parse_text),
    f"{_PLAN}cluster.end.partition": ("end", parse_text),
    f"{_PLAN}daybased.lookback.partitions": ("days", parse_any_integer),
    f"{_PLAN}daybased.skipfromlatest.partitions": ("skipped_days", parse_count),
    f"{_PLAN}class": ("plan_strategy", member_of(PlanStrategy)),
    "hoodie.clustering.plan.partition.filter.mode": ("partition_filter", member_of(PartitionFilter)),
    "hoodie.clustering.updates.strategy": ("updates", member_of(UpdateStrategy)),
    "hoodie.clustering.inline": ("inline", parse_boolean),
    "hoodie.clustering.inline.max.commits": ("inline_commits", parse_integer),
    "hoodie.clustering.schedule.inline": ("schedule_inline", parse_boolean),
    "hoodie.clustering.async.enabled": ("is_async", parse_boolean),
    "hoodie.clustering.async.max.commits": ("async_commits", parse_integer),
    "hoodie.layout.optimize.strategy": ("layout", parse_layout),
}
