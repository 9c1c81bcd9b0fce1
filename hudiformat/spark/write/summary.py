"""Summarize the rows of a write in one pass over their key columns: numbers, partitions and, if few, the keys."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from hudiformat.errors import DataError
from hudiformat.file_group.merging.keys import key_hashes
from hudiformat.naming.keys import format_row
from hudiformat.schema.table_schema import RowKeys, TableSchema
from hudiformat.sizing.key_groups import Parallelism
from hudiformat.spark.write.counting import Counts, parallelism_of, sum_counts
from hudiformat.spark.write.describing import phase
from hudiformat.spark.write.lookup.distinct import DistinctCounts, mix_hashes
from hudiformat.spark.write.lookup.tagging import KEY, PATH, TAGS, key_columns, quote, tag_rows
from hudiformat.spark.write.workers import in_task
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.rows import group_by_value

MOST = 100_000
"""The largest number of rows whose keys the driver collects."""

IS_DELETE = "_hudiformat_gone"
"""Whether a row is a delete."""


@dataclass(frozen=True)
class Summary:
    """A summary of the rows of a write: their number and their partition ``paths``.

    ``keys`` has PATH, KEY and GONE of each row, or is None if there are many rows.  ``upserts`` counts the rows that
    are not deletes, by partition path and task.  If rows with the same key are combined, each key is counted once; for
    many keys this is an estimate.  ``data`` holds the rows themselves, if they were requested and are few.
    """

    rows: int
    paths: tuple[str, ...]
    upserts: Counts
    keys: pa.Table | None
    data: pa.Table | None = None

    def few_keys(self) -> Mapping[str, pa.Array] | None:
        """Return the record keys by partition path, each once; None if there are many rows."""
        if self.keys is None:
            return None
        keys = self.keys[KEY].combine_chunks()
        return {path: keys.take(pa.array(at)).unique() for path, at in group_by_value(self.keys[PATH].combine_chunks())}


@dataclass
class _Part:
    """The summary of one task's rows."""

    rows: int = 0
    counts: dict[tuple[str, int], int] = field(default_factory=dict)
    different: DistinctCounts[tuple[str, int]] = field(default_factory=DistinctCounts)
    paths: set[str] = field(default_factory=set)
    keys: list[pa.RecordBatch] | None = field(default_factory=list)
    data: list[pa.RecordBatch] | None = None
    without_key: int = 0
    example: str = ""
    """The first row without a key."""


def summarize(df: DataFrame, plan: WritePlan, schema: TableSchema, *, with_data: bool = False) -> Summary:
    """Summarize the keys of *df* in one job; *with_data*, the driver also gets all columns if the rows are few.

    Raises:
        DataError: record keys are null or empty; the error has the number of such rows and shows one of them.
    """
    names = key_columns(plan)
    deletes = [name for name in plan.rule.delete_columns if name in df.columns]
    wanted = df if with_data else df.select(*map(quote, dict.fromkeys([*names, *deletes])))
    taken = in_task(_summarize_task, plan, schema.only(names), with_data)
    with phase(df.sparkSession, plan, "look at the keys"):
        messages = wanted.mapInArrow(taken, "part binary").collect()
    return _merge_parts([pickle.loads(bytes(message[0])) for message in messages], plan)  # noqa: S301 - pickled by us


def _summarize_task(
    plan: WritePlan,
    keys: TableSchema,
    with_data: bool,  # noqa: FBT001 - passed by a partial function
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield the summary of the rows of one task, pickled."""
    part, shares = _Part(data=[] if with_data else None), parallelism_of(plan)
    for batch in chain.from_iterable(_tag(part, plan, keys, one) for one in batches):
        _keep(part, batch.drop_columns(TAGS.names), plan)
        tags = batch.select([PATH, KEY]).append_column(IS_DELETE, pa.array(plan.rule.deletes(batch)))
        part.rows += len(tags)
        if part.keys is not None:
            part.keys.append(tags)
            if part.rows > MOST:
                part.keys = None
        _count(part, tags, shares, combines=plan.combines)
    yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(part)], pa.binary())], names=["part"])


def _tag(part: _Part, plan: WritePlan, keys: TableSchema, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """Tag a batch; if rows have no key, count them and return nothing, for the write fails after this pass."""
    try:
        return list(tag_rows(plan, keys, [batch]))
    except DataError as error:
        if error.missing is None or error.first is None:
            raise
        part.example = part.example or format_row(batch, error.first)
        part.without_key += error.missing
        part.rows += len(batch)
        return []


def _keep(part: _Part, rows: pa.RecordBatch, plan: WritePlan) -> None:
    """Keep the rows for the driver, unless there are too many."""
    if part.data is not None:
        part.data.append(rows)
        is_much = sum(one.nbytes for one in part.data) > plan.options.driver_bytes
        if is_much or part.rows + len(rows) > plan.options.driver_rows:
            part.data = None


def _count(part: _Part, tags: pa.RecordBatch, shares: Parallelism | None, *, combines: bool) -> None:
    """Count the rows that are not deletes, by partition path and task; if rows are combined, count distinct keys."""
    for path, rows in group_by_value(tags[PATH]):
        part.paths.add(path)
        chosen = tags.take(pa.array(rows))
        keys = chosen[KEY].filter(pc.invert(chosen[IS_DELETE]))
        owners = np.zeros(len(keys), np.int64) if shares is None else shares.owners(keys)
        for task in np.unique(owners).tolist():
            mine = keys.filter(pa.array(owners == task))
            if combines:
                part.different.add((path, task), mix_hashes(key_hashes(pa.chunked_array([mine]))))
            else:
                part.counts[path, task] = part.counts.get((path, task), 0) + len(mine)


def _merge_parts(parts: list[_Part], plan: WritePlan) -> Summary:
    """Merge the summaries of all tasks; raise a DataError if rows have no key."""
    rows = sum(part.rows for part in parts)
    if missing := sum(part.without_key for part in parts):
        name = ", ".join(RowKeys.of(plan.config).key_fields)
        example = next(part.example for part in parts if part.without_key)
        raise DataError(
            f"record key {name}: null or empty in {missing} of {rows} rows, such as {example}; nothing was written: "
            "fill it, or leave these rows out",
            column=name,
            missing=missing,
            rows=rows,
        )
    different: DistinctCounts[tuple[str, int]] = DistinctCounts()
    for part in parts:
        different.merge(part.different)
    counts = [different.counts()] if plan.combines else [part.counts for part in parts]
    upserts = sum_counts((path, task, count) for one in counts for (path, task), count in one.items())
    keys = None
    if rows <= MOST:
        found = [batch for part in parts for batch in part.keys or ()]
        keys = pa.Table.from_batches(found) if found else None
    data = None
    if parts and all(part.data is not None for part in parts):
        batches = [batch for part in parts for batch in part.data or ()]
        data = pa.Table.from_batches(batches) if batches else None
    return Summary(rows, tuple(sorted(set().union(*(part.paths for part in parts)))), upserts, keys, data)
