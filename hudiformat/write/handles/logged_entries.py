"""What the log files of a write change in the indexes of single records.

A new key gets an entry; a key that is updated has one already, and stays in its file group.  In three cases only
merging can decide, so the rows of these keys are read together with the new log files, by the task that has written
them:

- A delete with an ordering value may lose against the existing row.
- A row of a key that an older log file has deleted may lose against that delete; if it wins, it has no entry yet.
- A secondary index needs the value that a row gets, and the value that it had.

Source: HoodieTableMetadataUtil.getRevivedAndDeletedKeysFromMergedLogs, Hudi 1.2.0, which merges the log files alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.file_group.base_file.file_indexes import FileIndexer
from hudiformat.file_group.keyed_rows import keyed_rows
from hudiformat.file_group.slices import FileSlice, LogFile
from hudiformat.write.commit.files import GroupTarget
from hudiformat.write.rows import Booleans


class LoggedEntries:
    """Collects the keys that are written to the log files of one file group, until these are closed.

    *below* is the newest slice of the group, None for a new group, and *deleted* returns the keys that its log files
    have deleted.  With *in_index*, the record index has the keys of all rows that count as updates; without, it may
    lack some, because the index of the write does not look keys up.
    """

    def __init__(
        self, target: GroupTarget, below: FileSlice | None, *, deleted: Callable[[], pa.Array], in_index: bool
    ) -> None:
        self._target = target
        self._plan = target.plan
        self._below = below
        self._old_deletes = deleted
        self._in_index = in_index
        self._added: list[pa.Array] = []
        self._dropped: list[pa.Array] = []
        self._undecided: list[pa.Array] = []
        self._unlisted: list[pa.Array] = []
        self._touched: list[pa.Array] = []

    def add(self, keys: pa.Array, updates: Booleans) -> None:
        """Add the keys of rows, some of which count as *updates*."""
        self._touched.append(keys)
        if not self._plan.merges_in_tasks:
            self._added.append(keys)
            return
        revived = updates & self._deleted_before(keys) if updates.any() else updates
        for waiting in (self._undecided, self._unlisted):
            waiting.append(keys.filter(pa.array(revived)))
        self._added.append(keys.filter(pa.array(~(updates if self._in_index else revived))))

    def delete(self, keys: pa.Array, *, wins: bool) -> None:
        """Add the keys of deletes; if *wins*, they win over every existing row."""
        self._touched.append(keys)
        if wins:
            self._dropped.append(keys)
        elif self._plan.merges_in_tasks:
            self._undecided.append(keys)
            self._unlisted.append(keys.filter(pa.array(self._deleted_before(keys))) if self._in_index else keys)

    def pass_to(self, indexer: FileIndexer, logs: Sequence[LogFile]) -> FileIndexer:
        """Pass to *indexer* what the log files *logs*, which are closed now, have changed, and return it.

        Raises:
            CorruptTableError, DecodeError, StorageError: a file of the slice is missing or damaged.
        """
        added, dropped, doubtful, unlisted = map(_unique, (self._added, self._dropped, self._undecided, self._unlisted))
        columns = self._plan.indexes.values if self._plan.indexes is not None else ()
        if not self._plan.merges_in_tasks:
            indexer.add_log_keys(_unique(self._touched))
        elif columns or len(doubtful):
            keys = _unique(self._touched) if columns else doubtful
            after = self._rows_after(logs, keys, columns)
            there = after.column(0).combine_chunks().cast(pa.string())
            added = _unique([added, unlisted.filter(pc.is_in(unlisted, value_set=there))])
            dropped = _unique([dropped, _without(doubtful, there)])
            if columns:
                before = keyed_rows(self._plan.slice_reader(), self._target.storage, self._below, columns, keys=keys)
                indexer.change_values(before, after)
        indexer.add_keys(_without(added, dropped))
        indexer.drop_keys(dropped)
        return indexer

    def _deleted_before(self, keys: pa.Array) -> Booleans:
        """Return which of *keys* older log files have deleted, so that the record index may lack them."""
        return np.asarray(pc.is_in(keys, value_set=self._old_deletes()))

    def _rows_after(self, logs: Sequence[LogFile], keys: pa.Array, columns: Sequence[str]) -> pa.Table:
        """Return the rows of *keys* as they are once the write is committed."""
        plan, target = self._plan, self._target
        below = self._below or FileSlice(target.partition_path, target.file_id, plan.instant)
        visibility = replace(
            plan.visibility,
            completion={**plan.visibility.completion, plan.instant: plan.instant},
            pending=plan.visibility.pending - {plan.instant},
        )
        reader = replace(plan.slice_reader(), visibility=visibility)
        after = replace(below, log_files=(*below.log_files, *logs))
        return keyed_rows(reader, target.storage, after, columns, keys=keys)


def _unique(keys: Sequence[pa.Array]) -> pa.Array:
    return pc.unique(pa.chunked_array([one.cast(pa.string()) for one in keys], pa.string()))


def _without(keys: pa.Array, others: pa.Array) -> pa.Array:
    return keys.filter(pc.invert(pc.is_in(keys, value_set=others)))
