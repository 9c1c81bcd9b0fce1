"""Look up few record keys by tasks that read file slices, and send the results to the tasks that write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from hudiformat.errors import DataError
from hudiformat.file_group.slices import FileSlice
from hudiformat.spark.write.batches import tasks_at_once
from hudiformat.spark.write.counting import Counts, parallelism_of
from hudiformat.spark.write.describing import phase
from hudiformat.spark.write.lookup.few_keys import as_message
from hudiformat.spark.write.lookup.path_lookup import few_by_index
from hudiformat.spark.write.lookup.tagging import GROUP, KEY, NEW, PATH, TAGS
from hudiformat.spark.write.schema import arrow_schema
from hudiformat.spark.write.summary import IS_DELETE, Summary
from hudiformat.spark.write.workers import in_task
from hudiformat.storage.opening import open_storage
from hudiformat.table.options.values import DuplicatePolicy, Operation
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.index.tagging import PartitionIndex, key_exists
from hudiformat.write.rows import group_by_value

_KEY_ROWS = 65_536
_TASKS_PER_CORE = 4
_ROW = "_hudiformat_row"


@dataclass(frozen=True)
class LocatedKeys:
    """All keys of a write: PATH, KEY and GROUP, one row per file group that has the key; null GROUP if none has it."""

    places: pa.Table

    def tag(self, batch: pa.RecordBatch, operation: Operation) -> pa.RecordBatch:
        """Return the tagged rows of *batch* with GROUP and NEW, one row for each file group that has the key.

        A delete leaves out the new rows, an insert the rows that exist.

        Raises:
            DataError: a row has a key that was not looked up, as the data frame gave other rows when it was read again.
        """
        rows = pa.table({PATH: batch[PATH], KEY: batch[KEY], _ROW: np.arange(len(batch))})
        found = rows.join(self.places, [PATH, KEY], join_type="inner").sort_by(_ROW)
        if pc.count_distinct(found[_ROW]).as_py() < len(batch):
            raise DataError(
                "the data frame gave other record keys when its rows were asked for again, to be written: cache it, "
                "or write what gives the same rows every time"
            )
        is_new = pc.is_null(found[GROUP])
        if operation is Operation.DELETE:
            found = found.filter(pc.invert(is_new))
        elif operation is Operation.INSERT:
            found = found.filter(is_new)
        taken = batch.take(found[_ROW].combine_chunks())
        groups = pc.fill_null(found[GROUP].combine_chunks(), "")
        taken = taken.set_column(taken.schema.get_field_index(GROUP), GROUP, groups)
        is_one_kind = operation in (Operation.DELETE, Operation.INSERT)
        flags = pa.repeat(operation is Operation.INSERT, len(taken)) if is_one_kind else is_new.combine_chunks()
        return taken.append_column(NEW, flags)

    def upserts(self, keys: pa.Table, plan: WritePlan) -> Counts:
        """Count the new rows among *keys* (PATH, KEY, GONE), without deletes, by partition path and task."""
        new = self.places.filter(pc.is_null(self.places[GROUP])).select([PATH, KEY])
        rows = keys.filter(pc.invert(keys[IS_DELETE])).join(new, [PATH, KEY], join_type="inner")
        shares = parallelism_of(plan)
        counts: dict[str, Mapping[int, int]] = {}
        every = rows[KEY].combine_chunks()
        for path, at in group_by_value(rows[PATH].combine_chunks()):
            own = every.take(pa.array(at))
            own = own.unique() if plan.combines else own
            counts[path] = {0: len(own)} if shares is None else shares.counts(own)
        return counts


def look_up_few_keys(spark: SparkSession, plan: WritePlan, slices: Sequence[FileSlice], known: Summary) -> LocatedKeys:
    """Look up the few keys of a write in *slices*, or in the record index of their partitions.

    Raises:
        DataError: a key exists, and the insert fails on duplicates.
    """
    few = known.few_keys() or {}
    asked = pa.concat_tables([pa.table({PATH: pa.repeat(path, len(keys)), KEY: keys}) for path, keys in few.items()])
    if plan.record_index is not None:
        batches = list(few_by_index(plan, few))
    else:
        batches = _look_up_by_tasks(spark, plan, slices, few)
    found = pa.Table.from_batches(batches, arrow_schema(TAGS))
    places = asked.join(found, [PATH, KEY], join_type="left outer").combine_chunks()
    fails = plan.operation is Operation.INSERT and plan.options.insert_duplicates is DuplicatePolicy.FAIL
    if fails and found.num_rows:
        raise key_exists(found[KEY][0].as_py(), found[PATH][0].as_py())
    return LocatedKeys(places)


def _look_up_by_tasks(
    spark: SparkSession, plan: WritePlan, slices: Sequence[FileSlice], few: Mapping[str, pa.Array]
) -> list[pa.RecordBatch]:
    tasks = min(len(slices), _TASKS_PER_CORE * tasks_at_once(spark))
    numbers = spark.range(0, len(slices), 1, tasks)
    with phase(spark, plan, "look up keys"):
        messages = numbers.mapInArrow(in_task(_message, plan, slices, few), "keys binary").collect()
    return [batch for message in messages for batch in pa.ipc.open_stream(bytes(message[0]))]


def _message(
    plan: WritePlan, slices: Sequence[FileSlice], few: Mapping[str, pa.Array], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    return as_message(list(known_keys(plan, slices, few, batches)), "keys")


def known_keys(
    plan: WritePlan,
    slices: Sequence[FileSlice],
    few: Mapping[str, pa.Array] | None,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield the record keys of the file slices whose numbers are in *batches*; with *few*, only keys that are in it."""
    storage = open_storage(plan.root)
    for number in (number for batch in batches for number in batch.column(0).to_pylist()):
        path, file_id = slices[number].partition_path, slices[number].file_id
        partition = PartitionIndex(storage, plan, path)
        if few is None:
            keys = partition.slice_keys(slices[number]).unique()
        elif partition.may_hold(slices[number], few[path]):
            keys = partition.slice_keys(slices[number], among=few[path]).unique()
        else:
            continue
        for start in range(0, len(keys), _KEY_ROWS):
            part = keys.slice(start, _KEY_ROWS)
            columns = [pa.repeat(path, len(part)), pa.repeat(file_id, len(part)), part]
            yield pa.RecordBatch.from_arrays(columns, schema=arrow_schema(TAGS))
