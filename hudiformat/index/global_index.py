"""Record keys that are looked for in all partitions: where each row of a write belongs, and what moves.

Memory is bounded by the rows of the write and a few row groups of the table; of log files, by what a read takes.
Source: HoodieGlobalSimpleIndex, HoodieGlobalBloomIndex, HoodieIndexUtils.tagGlobalLocationBackToRecords, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.basefile.meta_fields import RECORD_KEY
from hudiformat.errors import DataError
from hudiformat.index.lookup import PartitionIndex
from hudiformat.merge import KeyIndex
from hudiformat.merge.rule import comparable
from hudiformat.options.enums import DuplicatePolicy, Operation
from hudiformat.query.slice_reader import SliceReader
from hudiformat.storage import Storage
from hudiformat.table.schema import RowKeys
from hudiformat.transaction.plan import WritePlan
from hudiformat.view import FileSlice, list_partitions

Booleans = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

_NUMBER, _PATH, _GROUP = "_hudiformat_number", "_hudiformat_path", "_hudiformat_group"


@dataclass(frozen=True, slots=True)
class Routes:
    """Each of ``rows`` goes to the partition ``paths[i]`` and the file group ``groups[i]``, which is null for new ones.

    ``moved`` are the record keys that leave a file group for another partition, by partition path and file id.
    """

    rows: pa.Table
    paths: pa.Array
    groups: pa.Array
    moved: dict[tuple[str, str], pa.Array]


def route(plan: WritePlan, storage: Storage, rows: pa.Table) -> Routes:
    """Where *rows* belong.  A row that is there with a higher ordering value stays in its partition, and so do deletes.

    Raises:
        DataError: an insert of a key that is there, where ``hoodie.datasource.insert.dup.policy`` says fail.
    """
    keys = RowKeys.of(plan.config)
    record_keys, paths = keys.record_keys(rows), keys.partition_paths(rows)
    fields = plan.ordering_fields
    index = KeyIndex.of(pa.chunked_array([record_keys]))
    parts = list(_live(plan, storage, record_keys, index, fields))
    if not parts:
        return Routes(rows, paths, pa.nulls(rows.num_rows, pa.string()), {})
    live = pa.concat_tables(parts)
    at, of_row = _pairs(index.numbers(), np.asarray(live[_NUMBER]), len(index))
    if plan.operation is Operation.INSERT:
        return _without_duplicates(plan, rows, record_keys, paths, at)
    places = live.take(pa.array(of_row))
    found_in, groups = places[_PATH].combine_chunks(), places[_GROUP].combine_chunks()
    elsewhere = np.asarray(pc.not_equal(found_in, paths.take(pa.array(at))))
    moves = elsewhere & _may_move(plan, rows.take(pa.array(at)), places, fields)
    new = np.setdiff1d(np.arange(rows.num_rows), at[~moves])  # also those that move from everywhere
    kept = _once(at[~moves], found_in.filter(pa.array(~moves)), groups.filter(pa.array(~moves)))
    return Routes(
        rows.take(pa.array(np.append(kept["row"], new))),
        pa.concat_arrays([kept["path"].combine_chunks(), paths.take(pa.array(new))]),
        pa.concat_arrays([kept["group"].combine_chunks(), pa.nulls(len(new), pa.string())]),
        _by_group(found_in.filter(moves), groups.filter(moves), record_keys.take(pa.array(at[moves]))),
    )


def _live(
    plan: WritePlan, storage: Storage, record_keys: pa.Array, index: KeyIndex, fields: tuple[str, ...]
) -> Iterator[pa.Table]:
    """The rows of the table with one of *record_keys*: the key's number, where it is, and its ordering values."""
    reader = SliceReader(plan.config, plan.schema, plan.visibility, merge_memory=plan.options.merge_memory)
    for path, file_slice in _slices(plan, storage, record_keys):
        for batch in reader.scan(storage, file_slice, columns=[RECORD_KEY, *fields]):
            table = pa.Table.from_batches([batch])
            rows, numbers = index.find(table[RECORD_KEY])
            where = {
                name: pa.repeat(pa.scalar(text, pa.string()), len(rows))
                for name, text in ((_PATH, path), (_GROUP, file_slice.file_id))
            }
            ordering = {name: table[name].take(pa.array(rows)) for name in fields}
            yield pa.table({_NUMBER: pa.array(numbers, pa.int64()), **where, **ordering})


def _slices(plan: WritePlan, storage: Storage, record_keys: pa.Array) -> Iterator[tuple[str, FileSlice]]:
    for path, _ in list_partitions(storage):
        partition = PartitionIndex(storage, plan, path)
        for file_slice in partition.slices:
            if partition.may_hold(file_slice, record_keys):
                yield path, file_slice


def _pairs(numbers: Integers, live: Integers, count: int) -> tuple[Integers, Integers]:
    """The rows of the write, by their keys' *numbers*, each with every *live* row of the same key."""
    order = np.argsort(live, kind="stable")
    counts = np.bincount(live, minlength=count)
    first = np.cumsum(counts) - counts
    times = counts[numbers]
    at = np.repeat(np.arange(len(numbers)), times)
    which = np.arange(len(at)) - np.repeat(np.cumsum(times) - times, times)
    return at, order[first[numbers[at]] + which]


def _may_move(plan: WritePlan, rows: pa.Table, places: pa.Table, fields: tuple[str, ...]) -> Booleans:
    """Which rows may leave the partition where their key is: those that win, and are no deletes."""
    if plan.operation is Operation.DELETE or not plan.options.moves_partitions:
        return np.zeros(rows.num_rows, np.bool_)
    both = tuple(pa.chunked_array([*rows[name].chunks, *places[name].chunks], rows[name].type) for name in fields)
    ranks = comparable(both, 2 * rows.num_rows)
    wins: Booleans = ranks[: rows.num_rows] >= ranks[rows.num_rows :]
    if plan.schema.delete_column is not None:
        wins &= ~np.asarray(pc.fill_null(rows[plan.schema.delete_column], False))
    return wins


def _once(rows: Integers, paths: pa.Array, groups: pa.Array) -> pa.Table:
    """Each row once for each file group, however often that has its key."""
    table = pa.table({"row": rows, "path": paths, "group": groups})
    return table.group_by(table.schema.names, use_threads=False).aggregate([])


def _without_duplicates(
    plan: WritePlan, rows: pa.Table, record_keys: pa.Array, paths: pa.Array, there: Integers
) -> Routes:
    """Source: HoodieSparkSqlWriter, DataSourceUtils.resolveDuplicates."""
    if len(there) and plan.options.insert_duplicates is DuplicatePolicy.FAIL:
        raise DataError(f"the record key {record_keys[int(there[0])].as_py()!r} is in the table already")
    new = pa.array(np.setdiff1d(np.arange(rows.num_rows), there))
    return Routes(rows.take(new), paths.take(new), pa.nulls(len(new), pa.string()), {})


def _by_group(paths: pa.Array, groups: pa.Array, record_keys: pa.Array) -> dict[tuple[str, str], pa.Array]:
    """Keys by partition path and file id."""
    table = pa.table({"path": paths, "group": groups, "key": record_keys})
    gathered = table.group_by(["path", "group"], use_threads=False).aggregate([("key", "list")])
    return {(row["path"], row["group"]): pa.array(row["key_list"], pa.string()) for row in gathered.to_pylist()}
