"""Look up record keys in all partitions: where each row of a write belongs, and which rows move to another partition.

Memory is bounded by the rows of the write and a few row groups of the table; for log files, by what a read needs.

Source: HoodieGlobalSimpleIndex, HoodieGlobalBloomIndex, HoodieIndexUtils.tagGlobalLocationBackToRecords, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.file_group.merging.keys import KeyIndex
from hudiformat.file_group.merging.rule import comparable_integers, ordering_values
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.values import DuplicatePolicy, Operation
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.index.existing import GROUP, NUMBER, PATH, ExistingRows
from hudiformat.write.index.tagging import key_exists
from hudiformat.write.rows import Booleans, Integers, KeyedRows, LocatedRows, group_by_value, take_rows


@dataclass(frozen=True, slots=True)
class GlobalLocations:
    """Where rows go: row ``i`` to its partition and the file group ``groups[i]``, null for a new row.

    ``moved`` are the record keys that leave a file group for another partition, by partition path and file id.
    """

    rows: KeyedRows
    groups: pa.Array
    moved: dict[tuple[str, str], pa.Array]

    def locate(self, *, batch_rows: int) -> Iterator[LocatedRows]:
        """Yield the rows by partition, with new rows separate, for *batch_rows* rows at a time."""
        start = 0
        for batch in self.rows.batches(batch_rows):
            groups = self.groups.slice(start, len(batch))
            columns = cast("pa.RecordBatch", batch.rows)
            for path, at in group_by_value(batch.paths):
                is_new = np.asarray(groups.take(pa.array(at)).is_null())
                if is_new.any():
                    new = at[is_new]
                    yield LocatedRows(path, take_rows(columns, new), take_rows(batch.keys, new), is_new=True)
                if not is_new.all():
                    known = at[~is_new]
                    encoded = groups.take(pa.array(known)).dictionary_encode()
                    file_ids, codes = encoded.dictionary.to_pylist(), np.asarray(encoded.indices).astype(np.int64)
                    rows, keys = take_rows(columns, known), take_rows(batch.keys, known)
                    yield LocatedRows(path, rows, keys, tuple(file_ids), codes)
            start += len(batch)


def locate_everywhere(plan: WritePlan, storage: Storage, rows: KeyedRows) -> GlobalLocations:
    """Return where *rows* belong.

    A row whose key exists with a higher ordering value stays in the partition of the existing row, and so does a
    delete. Deletes of keys that do not exist are left out.

    Raises:
        DataError: an insert of an existing key, if ``hoodie.datasource.insert.dup.policy`` is fail.
    """
    fields, keys, paths = plan.ordering_fields, rows.keys, rows.paths
    index = KeyIndex.of(pa.chunked_array([keys]))
    parts = list(ExistingRows(plan, storage, keys, paths, index, fields).find())
    if not parts:
        return _without_moves(rows, np.arange(0 if plan.operation is Operation.DELETE else len(rows)))
    live = pa.concat_tables(parts)
    at, of_row = _pair_rows(index.numbers(), np.asarray(live[NUMBER]), len(index))
    if plan.operation is Operation.INSERT:
        if len(at) and plan.options.insert_duplicates is DuplicatePolicy.FAIL:
            raise key_exists(keys[int(at[0])].as_py())
        return _without_moves(rows, np.setdiff1d(np.arange(len(rows)), at))
    # A key may exist in several partitions.  The row leaves those that it may leave, and updates its key in the others.
    existing = live.take(pa.array(of_row))
    found_in, groups = existing[PATH].combine_chunks(), existing[GROUP].combine_chunks()
    moves: Booleans = np.array(pc.not_equal(found_in, paths.take(pa.array(at))))
    moves[moves] = _may_move(plan, rows.table.take(pa.array(at[moves])), existing.filter(pa.array(moves)), fields)
    new = np.setdiff1d(np.arange(len(rows)), at[~moves])  # including rows that leave every partition with their key
    if plan.operation is Operation.DELETE:
        new = np.empty(0, np.int64)
    kept = _deduplicate(at[~moves], found_in.filter(pa.array(~moves)), groups.filter(pa.array(~moves)))
    order = pa.array(np.append(kept["row"], new).astype(np.int64))
    own_paths = pa.concat_arrays([kept["path"].combine_chunks(), paths.take(pa.array(new))])
    return GlobalLocations(
        KeyedRows(rows.rows.take(order), keys.take(order), own_paths),
        pa.concat_arrays([kept["group"].combine_chunks(), pa.nulls(len(new), pa.string())]),
        _by_group(found_in.filter(moves), groups.filter(moves), keys.take(pa.array(at[moves]))),
    )


def _without_moves(rows: KeyedRows, indices: Integers) -> GlobalLocations:
    """Return the rows at *indices*, all of them new, in their own partitions."""
    chosen = pa.array(indices)
    own = KeyedRows(rows.rows.take(chosen), rows.keys.take(chosen), rows.paths.take(chosen))
    return GlobalLocations(own, pa.nulls(len(chosen), pa.string()), {})


def _pair_rows(numbers: Integers, live: Integers, count: int) -> tuple[Integers, Integers]:
    """Pair each row of the write with every *live* row of the same key; both are given by the numbers of their keys.

    For example, two rows of the write with the keys 0 and 1, and three live rows with the keys 1, 0 and 1:

        numbers   0  1          live   1  0  1
        order     1  0  2       the live rows, sorted by key
        counts    1  2          the live rows of each key
        first     0  1          where the live rows of each key start in `order`
        times     1  2          how many pairs each row of the write has
        at        0  1  1       the row of the write in each pair
        which     0  0  1       the place of the pair among those of its row
        result    at, order[first + which] = 1  0  2
    """
    order = np.argsort(live, kind="stable")
    counts = np.bincount(live, minlength=count)
    first = np.cumsum(counts) - counts
    times = counts[numbers]
    at = np.repeat(np.arange(len(numbers)), times)
    which = np.arange(len(at)) - np.repeat(np.cumsum(times) - times, times)
    return at, order[first[numbers[at]] + which]


def _may_move(plan: WritePlan, rows: pa.Table, existing: pa.Table, fields: tuple[str, ...]) -> Booleans:
    """Return which rows may leave the partition of their key: those that win against the existing row, no deletes."""
    if plan.operation is Operation.DELETE or not plan.options.moves_partitions:
        return np.zeros(rows.num_rows, np.bool_)
    values = zip(ordering_values(rows, fields), ordering_values(existing, fields), strict=True)
    both = tuple(pa.chunked_array([*new.chunks, *old.chunks], new.type) for new, old in values)
    ranks = comparable_integers(both, 2 * rows.num_rows)
    wins: Booleans = ranks[: rows.num_rows] >= ranks[rows.num_rows :]
    return wins & ~plan.rule.deletes(rows)


def _deduplicate(rows: Integers, paths: pa.Array, groups: pa.Array) -> pa.Table:
    """Return each row once for each file group, however many rows with its key the group has."""
    table = pa.table({"row": rows, "path": paths, "group": groups})
    return table.group_by(table.schema.names, use_threads=False).aggregate([])


def _by_group(paths: pa.Array, groups: pa.Array, record_keys: pa.Array) -> dict[tuple[str, str], pa.Array]:
    """Return keys by partition path and file id."""
    table = pa.table({"path": paths, "group": groups, "key": record_keys})
    gathered = table.group_by(["path", "group"], use_threads=False).aggregate([("key", "list")])
    return {(row["path"], row["group"]): pa.array(row["key_list"], pa.string()) for row in gathered.to_pylist()}
