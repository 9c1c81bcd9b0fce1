"""Look up the keys of a write in the record index, as a Spark job.

    few keys -> look up on the driver
    many keys -> shuffle by the file group of the index -> look up, each task in its own file groups of the index
    then, for the entries that have to be checked against the table's rows, join with the rows of the file slices

The rules are those of hudiformat.write.index.existing.
Source: SparkMetadataTableGlobalRecordLevelIndex, Hudi 1.2.0, which partitions the keys in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack

import pyarrow as pa
from pyspark.sql import DataFrame, functions
from pyspark.sql.types import BooleanType, IntegerType, StringType, StructField, StructType

from hudiformat.file_group.merging.keys import KeyIndex
from hudiformat.metadata_table.record_lookup import RecordIndex
from hudiformat.spark.write.lookup.few_keys import few_keys
from hudiformat.spark.write.lookup.live_rows import live_rows, slices_of
from hudiformat.spark.write.lookup.path_lookup import join_for_lookup, yield_batches
from hudiformat.spark.write.lookup.tagging import GROUP, KEY, PATH, cache, quote
from hudiformat.spark.write.schema import arrow_schema, spark_schema
from hudiformat.spark.write.workers import in_task
from hudiformat.storage.opening import open_storage
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.index.existing import ExistingRows

_DOUBT, _NUMBER = "_hudiformat_doubt", "_hudiformat_number"
_NUMBERED = StructType(
    [StructField(KEY, StringType()), StructField(PATH, StringType()), StructField(_NUMBER, IntegerType())]
)
_NAMED = StructType(
    [*(StructField(name, StringType()) for name in (KEY, PATH, GROUP)), StructField(_DOUBT, BooleanType())]
)


def named_rows(
    rows: DataFrame, plan: WritePlan, index: RecordIndex, ordering: pa.Schema, stack: ExitStack
) -> DataFrame:
    """Return the table's rows with the keys of *rows*: KEY, PATH, GROUP and the *ordering* values.

    Index entries that need no check have null ordering values, as their rows are not read.  *rows* have to be tagged
    and cached.
    """
    session, few = rows.sparkSession, few_keys(rows)
    if few is None:
        named = _look_up_by_tasks(rows, plan, index, stack)
        groups = {tuple(row) for row in named.where(_DOUBT).select(PATH, GROUP).distinct().collect()}
    else:
        here = _look_up_here(plan, index, few)
        named = session.range(0, 1, 1, 1).mapInArrow(in_task(yield_batches, here.to_batches()), _NAMED)
        unsure = here.filter(here[_DOUBT])
        groups = set(zip(unsure[PATH].to_pylist(), unsure[GROUP].to_pylist(), strict=True))
    values = spark_schema(ordering)
    nothing = [functions.lit(None).cast(field.dataType).alias(field.name) for field in values]
    trusted = named.where(~functions.col(_DOUBT)).select(KEY, PATH, GROUP, *nothing)
    doubtful = named.where(_DOUBT).drop(_DOUBT)
    if not groups:
        return trusted
    found = slices_of(plan, sorted({path for path, _ in groups}))
    slices = [one for one in found if (one.partition_path, one.file_id) in groups]
    live = live_rows(session, plan.root, plan.slice_reader(), slices, ordering, group=GROUP)
    checked = live.join(doubtful, [KEY, PATH, GROUP], "leftsemi")
    return trusted.unionByName(checked.select(*map(quote, trusted.columns)))


def _look_up_by_tasks(rows: DataFrame, plan: WritePlan, index: RecordIndex, stack: ExitStack) -> DataFrame:
    """Look up the keys of *rows* in the index by tasks, each of which reads its own file groups of the index."""
    count = index.count(open_storage(plan.root))
    tasks = min(count, int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or count))
    keys = rows.select(KEY, PATH).mapInArrow(in_task(_add_group_numbers, count), _NUMBERED).repartition(tasks, _NUMBER)
    return cache(keys.mapInArrow(in_task(_find, plan, index), _NAMED), stack)


def _look_up_here(plan: WritePlan, index: RecordIndex, few: Mapping[str, pa.Array]) -> pa.Table:
    """Look up *few* keys, given by partition path, in this process; return those that are in the index."""
    batches = [
        pa.RecordBatch.from_arrays([keys, pa.repeat(path, len(keys))], names=[KEY, PATH]) for path, keys in few.items()
    ]
    return pa.Table.from_batches(_find(plan, index, batches), arrow_schema(_NAMED)).combine_chunks()


def _add_group_numbers(count: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the keys with the number of their file group in the index."""
    for batch in batches:
        numbers = pa.array(RecordIndex.groups_of(batch[KEY], count), pa.int32())
        yield pa.RecordBatch.from_arrays([batch[KEY], batch[PATH], numbers], names=_NUMBERED.names)


def _find(plan: WritePlan, index: RecordIndex, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the keys of *batches* that are in the index, with their places and whether rows have to be read, too."""
    storage = open_storage(plan.root)
    for part in join_for_lookup(batches):
        keys, paths = (part[name].combine_chunks() for name in (KEY, PATH))
        numbers = KeyIndex.of(pa.chunked_array([keys]))
        for one in ExistingRows(plan, storage, keys, paths, numbers, ()).find_in_index(index):
            where = [pa.repeat(text, len(one.keys)) for text in (one.file_slice.partition_path, one.file_slice.file_id)]
            yield pa.RecordBatch.from_arrays([one.keys, *where, pa.array(one.doubtful)], names=_NAMED.names)
