"""Look up the keys of a write in a partitioned record index, each in the partition of its row, as a Spark job.

    few keys -> look up on the driver
    many keys -> shuffle by the file group of the index -> look up, each task in its own file groups of the index

Source: SparkMetadataTableRecordLevelIndex, Hudi 1.2.0, which partitions the keys in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from hudiformat.metadata_table.record_lookup import RecordIndex
from hudiformat.spark.write.lookup.tagging import KEY, PATH, TAGS
from hudiformat.spark.write.schema import arrow_schema
from hudiformat.spark.write.workers import in_task
from hudiformat.storage.opening import open_storage
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.index.tagging import Tagger
from hudiformat.write.rows import NEW as UNKNOWN
from hudiformat.write.rows import group_by_value

_NUMBER = "_hudiformat_number"
_NUMBERED = StructType(
    [StructField(PATH, StringType()), StructField(KEY, StringType()), StructField(_NUMBER, IntegerType())]
)
KEYS_AT_ONCE = 1_000_000


def keys_by_index(rows: DataFrame, plan: WritePlan, index: RecordIndex) -> DataFrame:
    """Return the keys of the tagged *rows* that are in the index, with the partition path and file group of each."""
    session = rows.sparkSession
    counts = index.open(open_storage(plan.root)).counts()
    wanted = max(sum(counts.values()), 1)
    tasks = min(wanted, int(session.conf.get("spark.sql.shuffle.partitions") or wanted))
    keys = (
        rows.select(PATH, KEY)
        .mapInArrow(in_task(_add_group_numbers, counts), _NUMBERED)
        .repartition(tasks, PATH, _NUMBER)
    )
    return keys.mapInArrow(in_task(_find, plan), TAGS)


def few_by_index(plan: WritePlan, few: Mapping[str, pa.Array]) -> Iterator[pa.RecordBatch]:
    """Look up *few* keys, given by partition path, in this process; yield the tags of those that are in the index."""
    batches = [
        pa.RecordBatch.from_arrays([keys, pa.repeat(path, len(keys))], names=[KEY, PATH]) for path, keys in few.items()
    ]
    return _find(plan, batches)


def yield_batches(found: Iterable[pa.RecordBatch], _batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield *found* as the result of a task."""
    yield from found


def join_for_lookup(batches: Iterable[pa.RecordBatch], *, at_once: int = KEYS_AT_ONCE) -> Iterator[pa.Table]:
    """Yield *batches* joined into tables of about *at_once* keys, which are looked up together."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= at_once:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _add_group_numbers(counts: Mapping[str, int], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the keys with the number of their file group in the index; keys of partitions without one are left out."""
    for batch in batches:
        for path, rows in group_by_value(batch[PATH]):
            if path in counts:
                keys = batch[KEY].take(pa.array(rows))
                numbers = pa.array(RecordIndex.groups_of(keys, counts[path]), pa.int32())
                yield pa.RecordBatch.from_arrays([pa.repeat(path, len(keys)), keys, numbers], names=_NUMBERED.names)


def _find(plan: WritePlan, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the tags of the keys in *batches* that are in the index, each key once."""
    tagger = Tagger(open_storage(plan.root), plan)
    for part in join_for_lookup(batches):
        for path, rows in group_by_value(part[PATH].combine_chunks()):
            keys = part[KEY].combine_chunks().take(pa.array(rows)).unique()
            tags = tagger.partition(path).locate_keys(keys)
            known = np.flatnonzero(tags.codes != UNKNOWN)
            groups = pa.array(tags.file_ids, pa.string()).take(pa.array(tags.codes[known]))
            columns = [pa.repeat(path, len(known)), groups, keys.take(pa.array(known))]
            yield pa.RecordBatch.from_arrays(columns, schema=arrow_schema(TAGS))
