"""The merge handle: merge new rows, updates and deletes with a base file into the next base file of its file group.

A bucket without a base file gets its first one in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.base_file.file_indexes import FileKeys
from hudiformat.file_group.base_file.read import BaseRows, read_file_keys
from hudiformat.file_group.renamed_columns import scan_rows
from hudiformat.file_group.slices import FileSlice
from hudiformat.schema.meta_fields import (
    INSERTED,
    RECORD_KEY,
    add_file_name,
    add_origin,
    without_file_name,
)
from hudiformat.storage.threads import BackgroundCalls
from hudiformat.table.registered import refuse_lacking_columns
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.files import GroupTarget, WriteCounts, base_file_stat
from hudiformat.write.handles.base_files import OpenBaseFile
from hudiformat.write.handles.change_log import INSERT, ChangeLog
from hudiformat.write.handles.copied_groups import CopiedGroups, open_copied_groups
from hudiformat.write.handles.file_changes import CollectedChanges, key_column
from hudiformat.write.rows import (
    Integers,
    LocatedRows,
)


class MergeHandle:
    """Collects the changes of a file group, and writes its next base file at the end.

    The old base file is streamed batch by batch: memory is bounded by a row group, the record keys, and the changes.
    Rows that stay keep their meta fields, except the file's name.  *below* is the newest slice of the group, if there
    is one.  It must have no log files: they are not read, and the new base file would hide them.

    Raises:
        UnsupportedFeatureError: the slice has log files.

    Source: FileGroupReaderBasedMergeHandle; HoodieConcatHandle for rows that are not compared with existing ones.
    """

    def __init__(self, target: GroupTarget, below: FileSlice | None) -> None:
        _refuse_log_files(target, below)
        if below is not None and below.is_registered:
            refuse_lacking_columns(target.storage, target.plan.config, below)
        base = None if below is None else below.base_file
        self._target = target
        self._plan = target.plan
        self._base = base
        self._collected = CollectedChanges(self._plan)
        self._numbers: Integers = np.empty(0, np.int64)
        self._open: OpenBaseFile | None = None
        self._log = ChangeLog(target) if self._plan.config.cdc_enabled and base is not None else None
        self.buffered_bytes = 0

    def insert(self, rows: LocatedRows, *, first_counter: int) -> None:
        """Add new rows; if an insert may add a key again, they are not compared with the existing rows."""
        self._collected.insert(rows, first_counter)

    def update(self, rows: LocatedRows, *, first_counter: int) -> None:
        """Add rows that update existing rows, or delete them by their own delete column."""
        self._collected.update(rows, first_counter)

    def delete(self, record_keys: pa.Array, *, positions: Integers | None = None) -> None:
        """Add keys of rows to delete, whatever their ordering values."""
        self._collected.delete(record_keys, positions)

    def flush(self) -> None:
        """Do nothing: nothing can be written before the end."""

    def close(self) -> list[WriteStat]:
        """Write the base file, and return its statistic."""
        if self._base_path is None:
            return self._write_file(None)
        touched = self._collected.touched
        only_updates, key = self._collected.only_update(touched), key_column(self._plan)
        with open_copied_groups(self._target, self._base_path, touched, only_updates=only_updates, key=key) as copied:
            return self._write_file(copied)

    def _write_file(self, copied: CopiedGroups | None) -> list[WriteStat]:
        # The size of a row only decides where the first row group ends: that is not worth reading commits for.
        file = OpenBaseFile(self._target, row_size=self._plan.options.sizing.record_size_estimate, copied=copied)
        self._open = file
        self._numbers = self._collected.numbers
        changes = self._collected.merged(
            stored=self._add_meta_fields,
            schema=self._schema,
            indexed_file=file if self._plan.indexes is not None and self._plan.indexes.values else None,
        )
        counts = WriteCounts()
        # With indexes, rows are written in this thread, because the values for the indexes are collected in it.
        with BackgroundCalls(apart=self._target.threads > 1 and self._plan.indexes is None) as behind:
            for part in self._parts(file, changes.ordering_fields, copied):
                if not isinstance(part, BaseRows):
                    behind.call(*part)
                    continue
                merged, counted = changes.merge(part, self._log)
                counts += counted
                behind.call(file.write, add_file_name(merged, file.name))
            behind.finish()
        new_keys = [pa.array([], pa.string())]
        for rows in (changes.remaining_rows(), self._add_meta_fields(self._collected.inserted(), INSERTED)):
            if self._log is not None:
                self._log.add(INSERT, None, rows)
            counts += WriteCounts(inserts=rows.num_rows)
            file.write(add_file_name(rows, file.name))
            file.add_keys(rows[RECORD_KEY])
            file.add_values(rows)
            new_keys += rows[RECORD_KEY].chunks
        for keys in changes.deleted_keys:
            file.drop_keys(keys)
        # The bloom filter of the old file has all keys but the new ones; those that are deleted do no harm in it.
        added = pa.concat_arrays(new_keys)
        if copied is None:
            size = file.close(known=self._base_keys(), added=added)
        else:
            size = file.close(own=copied.keys_with(added, bloom_filter=self._plan.options.bloom_filter))
        rows_written = file.rows
        self._open = None
        stat = base_file_stat(
            partition_path=self._target.partition_path,
            file_id=file.file_id,
            path=file.path,
            rows=rows_written,
            size=size,
            counts=counts,
            previous=None if self._base is None else self._base.name,
            indexed=file.indexed,
        )
        return [stat if self._log is None else replace(stat, cdc_stats=self._log.close())]

    def abandon(self) -> None:
        """Stop writing; the rollback of the write deletes the files."""
        if self._open:
            self._open.abandon()
        if self._log is not None:
            self._log.abandon()

    @property
    def _schema(self) -> pa.Schema:
        """All columns except the file's name, which all rows get when they are written."""
        return without_file_name(self._plan.schema.arrow_with_meta)

    def _parts(
        self, file: OpenBaseFile, ordering_fields: tuple[str, ...], copied: CopiedGroups | None
    ) -> Iterator[BaseRows | tuple[Callable[[int], None], int]]:
        """Yield the rows of the old base file, and in their place what copies them to *file*."""
        if copied is None:
            yield from self._base_rows(ordering_fields)
            return
        for number in range(copied.count):
            if number in copied.chosen:
                yield file.copy, number
                continue
            yield from self._base_rows(ordering_fields, groups=(number,))
            if copied.kept:
                yield file.replace, number

    def _base_rows(
        self, ordering_fields: tuple[str, ...], *, groups: Collection[int] | None = None
    ) -> Iterator[BaseRows]:
        if self._base_path is None:
            return
        has_positions = self._collected.positions is not None
        first = ordering_fields if has_positions and ordering_fields else (RECORD_KEY, *ordering_fields)
        head = pa.schema([self._schema.field(name) for name in dict.fromkeys(first)])
        storage, path, virtual = self._target.storage, self._base_path, self._plan.virtual_keys
        if virtual is None:
            yield from scan_rows(storage, path, self._schema, head, history=self._plan.history, groups=groups)
            return
        found = scan_rows(storage, path, virtual.stored(self._schema), virtual.stored(head), history=self._plan.history)
        yield from virtual.fill_base(found, head, self._schema)

    @property
    def _base_path(self) -> str | None:
        if self._base is None:
            return None
        return self._target.path(self._base.name.stored_as)

    def _base_keys(self) -> FileKeys | None:
        """Return the keys that the footer of the old base file describes."""
        return None if self._base_path is None else read_file_keys(self._target.storage, self._base_path)

    def _add_meta_fields(self, rows: pa.Table, operation: str) -> pa.Table:
        """Return rows of the collected changes with all meta fields except the file's name, numbered call by call."""
        numbers, self._numbers = np.split(self._numbers, [rows.num_rows])
        return add_origin(
            rows.select(self._plan.schema.arrow.names),
            rows[key_column(self._plan)],
            pa.array(numbers),
            instant=self._plan.instant,
            partition_path=self._target.partition_path,
            task_partition=self._target.token.partition,
            operation=operation if self._plan.schema.keeps_operations else None,
        )


def _refuse_log_files(target: GroupTarget, below: FileSlice | None) -> None:
    """Raise an UnsupportedFeatureError if the slice has log files.

    Sizing never chooses such a group, so this only happens in COPY_ON_WRITE tables with log files.
    """
    if below is not None and below.log_files:
        raise UnsupportedFeatureError(
            f"the file group {below.file_id} in partition {below.partition_path!r} of "
            f"{target.storage.root}: expected no log files in a copy-on-write table, found "
            "some, whose rows a new base file would hide; make the table MERGE_ON_READ and "
            "compact it",
            feature="rewriting a base file that has log files",
        )
