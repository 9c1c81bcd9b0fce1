"""List the newest file slices of partitions, in the driver."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame

from hudiformat.file_group.slices import FileSlice
from hudiformat.spark.write.lookup.tagging import PATH
from hudiformat.storage.opening import open_storage
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.index.tagging import PartitionIndex


def newest_slices(rows: DataFrame, plan: WritePlan) -> list[FileSlice]:
    """Return the newest file slices of the partitions that the tagged *rows* belong to."""
    paths = [row[0] for row in rows.select(PATH).distinct().collect()]
    return slices_of(plan, paths)


def slices_of(plan: WritePlan, paths: Iterable[str]) -> list[FileSlice]:
    """Return the newest file slices of the partitions *paths*."""
    storage = open_storage(plan.root)
    return [one for path in paths for one in PartitionIndex(storage, plan, path).slices]
