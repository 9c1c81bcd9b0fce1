"""Read file slices: merge a base file and log files into rows.

The option ``hudiformat.damage`` decides whether a damaged file is handled as in Hudi, is an error, or is a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.avro.nodes import unknown_logical_types
from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.damaged import add_log_file_to_errors
from hudiformat.codec.log.frame import BlockType
from hudiformat.conditions.filters import can_evaluate
from hudiformat.errors import HudiFormatError, SchemaError, unknown_column_error
from hudiformat.file_group.base_file.filters import FileFilter, KeyFilter
from hudiformat.file_group.base_file.format import refuse_unreadable
from hudiformat.file_group.base_file.read import (
    BaseRows,
    LogsWin,
    count_and_highest,
    count_row_groups,
    count_rows,
    read_columns,
    scan_base_file,
    to_base_rows,
)
from hudiformat.file_group.damage import DamageMode, log_blocks, sound_blocks, sound_rows
from hudiformat.file_group.deleted_files import explain_missing_files, files_of, refuse_lost_base_file
from hudiformat.file_group.finer_times import StoredTimes
from hudiformat.file_group.key_filter import key_filter, plain_comparisons
from hudiformat.file_group.merging.candidates import blocks_to_merge, have_operations, memory_of, read_candidates
from hudiformat.file_group.merging.counting import count_by_position
from hudiformat.file_group.merging.rule import MergeRule, RecordMerger, merge_rule
from hudiformat.file_group.merging.slice import MergedLog, ReplacedRows, log_rows, merge_log_entries, merge_slice
from hudiformat.file_group.merging.spill import merge_on_disk
from hudiformat.file_group.merging.together import SliceLog, merge_together
from hudiformat.file_group.renamed_columns import block_of_query, scan_batches, scan_rows, stored_schema_of
from hudiformat.file_group.slices import FileSlice, Visibility
from hudiformat.file_group.virtual_keys import VirtualKeys
from hudiformat.naming.file_names import join_path
from hudiformat.schema.internal_schema import SchemaHistory
from hudiformat.schema.meta_fields import COMMIT_TIME, OPERATION, RECORD_KEY
from hudiformat.schema.partition_columns import PartitionColumns
from hudiformat.schema.table_schema import TableSchema, columns_of, refuse_unknown_types
from hudiformat.storage.mapping import release_pages
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.table_config import TableConfig

DEFAULT_MERGE_MEMORY = 1 << 30
"""Bytes of log records that a read merges in memory.  Source: HoodieMemoryConfig.MAX_MEMORY_FOR_MERGE."""

_WHOLE_RECORDS = (BlockType.AVRO_DATA, BlockType.PARQUET_DATA, BlockType.HFILE_DATA)


@dataclass(frozen=True, slots=True)
class SliceReader:
    """Reads slices of one table; it holds plain values only, so that it can be pickled for other processes.

    ``visibility`` decides which log blocks are merged.  *with_keys*: the rows of a table without meta fields have these
    too, with the record keys that are made of their columns, and nulls.  *merger* is the user's own merger, if any.  A
    slice whose log records take more than *merge_memory* bytes is merged through files in a temporary folder.  *damage*
    says what a read does with damaged files.  *history* is given if columns may have other names in older files, and
    *times* if files may count microseconds where the query counts milliseconds.
    """

    config: TableConfig
    schema: TableSchema
    visibility: Visibility
    as_of: str | None = None
    incremental: bool = False
    merger: RecordMerger | None = None
    merge_memory: int = DEFAULT_MERGE_MEMORY
    damage: DamageMode = DamageMode.HUDI
    history: SchemaHistory | None = None
    times: StoredTimes | None = None
    with_keys: bool = False

    @property
    def output_schema(self) -> pa.Schema:
        """The columns of a read without projection: the meta fields, if the table has them, then its own."""
        return self._stored_schema

    @property
    def partition_columns(self) -> PartitionColumns:
        """The columns that partition paths are made of, and what a path tells about them."""
        return PartitionColumns.of(self.config)

    @property
    def column_to_count(self) -> str:
        """The column that costs least to read, for whoever counts rows: one that merging reads, or a short one."""
        config, names = self.config, self.output_schema.names
        unknown = {path.partition(".")[0] for path in unknown_logical_types(self.schema.avro)}
        known = (name for name in config.ordering_fields if name in names and name not in unknown)
        return next(known, COMMIT_TIME if config.populate_meta_fields else columns_of(config.record_key_fields)[0])

    @property
    def _stored_schema(self) -> pa.Schema:
        """The columns as the files store them, and those that only partition paths hold."""
        has_meta = self.config.populate_meta_fields or self.with_keys
        return self.schema.arrow_with_meta if has_meta else self.schema.arrow

    @property
    def _virtual_keys(self) -> VirtualKeys | None:
        if not self.with_keys or self.config.populate_meta_fields:
            return None
        return VirtualKeys.of(self.config, self.schema)

    def project(self, columns: Sequence[str] | None) -> pa.Schema:
        """Return the schema of a read of *columns*, in their order.

        Raises:
            SchemaError: the table has no such column, or one is asked for twice.
            UnsupportedFeatureError: a column has a logical type that is not known.
        """
        full = self.output_schema
        known = set(full.names)
        for name in columns or ():
            if name not in known:
                raise unknown_column_error(name, full.names)
        refuse_unknown_types(self.schema.avro, full.names if columns is None else columns)
        if len(set(columns or ())) < len(columns or ()):
            raise SchemaError(f"a column is asked for twice: {', '.join(columns or ())}")
        return full if columns is None else pa.schema([full.field(name) for name in columns])

    def read(
        self,
        storage: Storage,
        file_slice: FileSlice,
        *,
        columns: Sequence[str] | None = None,
        with_logs: bool = True,
        may_hold: pc.Expression | None = None,
    ) -> pa.Table:
        """Read all batches of :meth:`scan` into one table; raise what :meth:`scan` raises."""
        batches = self.scan(storage, file_slice, columns=columns, with_logs=with_logs, may_hold=may_hold)
        return pa.Table.from_batches(batches, self.project(columns))

    def scan(
        self,
        storage: Storage,
        file_slice: FileSlice,
        *,
        columns: Sequence[str] | None = None,
        with_logs: bool = True,
        may_hold: pc.Expression | None = None,
        stored: Sequence[str] = (),
    ) -> Iterator[pa.RecordBatch]:
        """Yield the merged rows of *file_slice*, batch by batch; without *with_logs*, the rows of its base file alone.

        The columns named in *stored* are appended to each batch a second time, with the values as the files store them.

        In memory are the newest log record of each key, up to ``merge_memory``, and a few row groups of the base file
        at a time.  *may_hold* is a hint: rows for which it is not true may be left out, but need not be.  Before
        merging, only its conditions on record keys are applied, because other values may come from a log file; a base
        file that is not merged is filtered by all of it.

        Raises:
            DecodeError: a log block is damaged inside.
            FilesGoneError: a file of the slice was cleaned or rolled back meanwhile.
            UnsupportedFeatureError: the slice has records that cannot be merged, or the table cannot be read.
        """
        return self.prepare(columns, with_logs=with_logs, may_hold=may_hold, stored=stored).rows(storage, file_slice)

    def prepare(
        self,
        columns: Sequence[str] | None = None,
        *,
        with_logs: bool = True,
        may_hold: pc.Expression | None = None,
        stored: Sequence[str] = (),
    ) -> SliceScan:
        """Return the scan that :meth:`scan` makes of a slice, for any number of slices; arguments are the same.

        Raises:
            SchemaError: the table has no such column, or one is asked for twice.
            UnsupportedFeatureError: the table cannot be read.
        """
        refuse_unreadable(self.config)
        shown, partition_columns = self.project(columns), self.partition_columns
        pushed = None
        if may_hold is not None and self._uses_stored_values(may_hold):
            pushed = FileFilter.of(may_hold, self._stored_schema, plain_comparisons(may_hold))
        return SliceScan(
            reader=self,
            shown=shown,
            stored=tuple(stored),
            with_logs=with_logs,
            where=None if may_hold is None else key_filter(may_hold, self.config),
            pushed=pushed,
            base_schema=self._select_stored(shown.names),
            partition_columns=partition_columns,
            partition_fields=tuple(name for name in partition_columns.fields if shown.get_field_index(name) >= 0),
        )

    def absent_from_files(self, storage: Storage, file_slice: FileSlice, *, with_logs: bool) -> frozenset[str]:
        """Return the partition columns that a base file, or a data block with whole records, lacks."""
        fields = self.partition_columns.fields
        absent: set[str] = set()
        if file_slice.base_file is not None:
            path = file_slice.base_path
            absent.update(set(fields).difference(read_columns(storage, path).names))
        for block in self._blocks(storage, file_slice, pa.schema([])) if with_logs else ():
            if block.type in _WHOLE_RECORDS and not block.is_partial:
                absent.update(set(fields).difference(avro_to_arrow(block.schema).names))
        return frozenset(absent)

    def scan_stored(self, storage: Storage, file_slice: FileSlice) -> Iterator[pa.RecordBatch]:
        """Yield the merged rows of *file_slice* with the values that a new base file stores.

        Queries may show other values in partition columns.

        Raises:
            DecodeError, UnsupportedFeatureError: as :meth:`scan`.
        """
        with add_log_file_to_errors(storage, file_slice.log_paths):
            if file_slice.log_files:
                yield from self.merged_batches(storage, file_slice, self._stored_schema)
            else:
                yield from self.base_batches(storage, file_slice, self._stored_schema)

    def merge_rule(self) -> MergeRule:
        """Return the rule by which the table's records are merged.

        Raises:
            UnsupportedFeatureError: only Java code defines how records are merged, and *merger* is None.
        """
        return merge_rule(self.config, self.schema, self.merger)

    def _uses_stored_values(self, expression: pc.Expression) -> bool:
        """Return whether an expression refers only to columns whose values queries show as the files store them."""
        columns = self.partition_columns
        hidden = columns.from_path if self._virtual_keys is None else {*columns.from_path, RECORD_KEY}
        return can_evaluate(expression, pa.schema([field for field in self._stored_schema if field.name not in hidden]))

    def _schema_to_read(self, wanted: pa.Schema, rule: MergeRule) -> pa.Schema:
        if rule.merger is not None:
            return self._stored_schema
        return self._select_stored(dict.fromkeys([*wanted.names, *self._columns_for_merging(rule)]))

    def _columns_for_merging(self, rule: MergeRule) -> Iterable[str]:
        """Return the columns that merging needs."""
        keys = (RECORD_KEY,) if self.config.populate_meta_fields else columns_of(self.config.record_key_fields)
        return dict.fromkeys([*keys, *rule.columns])

    @staticmethod
    def _select_without_keys(needed: pa.Schema, shown: pa.Schema, rule: MergeRule) -> pa.Schema | None:
        """Return what of *needed* is read of a slice whose rows are matched by position; None for all of it."""
        kept = {*shown.names, *rule.columns}
        return pa.schema([field for field in needed if field.name in kept]) if kept and rule.merger is None else None

    def _select_stored(self, names: Iterable[str]) -> pa.Schema:
        schema = self._stored_schema
        return pa.schema([schema.field(name) for name in names])

    def merged_batches(
        self,
        storage: Storage,
        file_slice: FileSlice,
        shown: pa.Schema,
        where: KeyFilter | None = None,
        *,
        may_hold: FileFilter | None = None,
        logs: MergedLog | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a slice merged with its log files, with the columns of *shown*.

        Rows whose keys do not match *where* are left out, and rows that do not match *may_hold* may be.  *logs* is what
        :meth:`merge_logs` returned for the slice.
        """
        virtual = self._virtual_keys
        if virtual is not None and RECORD_KEY in shown.names:
            found = self.merged_batches(storage, file_slice, virtual.stored(shown), where, may_hold=may_hold)
            yield from virtual.fill_all(found, shown)
            return
        if logs is None:
            merged = self._merge_blocks(storage, file_slice, shown, where, may_hold=may_hold)
        else:
            rule = self.merge_rule()
            needed = self._schema_to_read(shown, rule)
            needed = self._select_without_keys(needed, shown, rule) or needed
            merged = self._merge_in_memory(
                storage, file_slice, shown, needed=needed, rule=rule, logs=logs, may_hold=may_hold
            )
        for batch in merged:
            yield batch if batch.schema.names == shown.names else batch.select(shown.names)

    def _merge_blocks(
        self,
        storage: Storage,
        file_slice: FileSlice,
        shown: pa.Schema,
        where: KeyFilter | None,
        *,
        may_hold: FileFilter | None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of :meth:`merged_batches`, with more columns."""
        rule = self.merge_rule()
        needed = self._schema_to_read(shown, rule)
        blocks = blocks_to_merge(self._blocks(storage, file_slice, needed), counts=self._counted)
        if file_slice.base_file is None and not self.incremental:  # whose slices have the files of some writes alone
            refuse_lost_base_file(storage, self.config, file_slice, blocks, damage=self.damage)
        if self.damage is DamageMode.SKIP:
            blocks = sound_blocks(blocks, storage, join_path(file_slice.partition_path, file_slice.file_id))
        if rule.operation_column is None and rule.merger is None and have_operations(blocks):
            # The newest files of the table have no operations, but deletes among these records have to count.
            needed, rule = needed.append(pa.field(OPERATION, pa.string())), replace(rule, operation_column=OPERATION)
        size = memory_of(blocks)
        if size > self.merge_memory:
            base = self._base_rows(storage, file_slice, needed, rule, where)
            return merge_on_disk(base, blocks, needed, rule, size=size, memory=self.merge_memory, where=where)
        instant = None if file_slice.base_file is None else str(file_slice.base_file.name.instant)
        without_keys = self._select_without_keys(needed, shown, rule)
        read = read_candidates(blocks, needed, rule, base_instant=instant, by_position=without_keys, where=where)
        logs = merge_log_entries(read, rule)
        release_pages(block.content for block in blocks)  # the records have been copied to columns
        if logs.by_position and without_keys is not None:
            needed = without_keys
            logs = logs.select(needed.names)
        return self._merge_in_memory(
            storage, file_slice, shown, where, needed=needed, rule=rule, logs=logs, may_hold=may_hold
        )

    def _merge_in_memory(
        self,
        storage: Storage,
        file_slice: FileSlice,
        shown: pa.Schema,
        where: KeyFilter | None = None,
        *,
        needed: pa.Schema,
        rule: MergeRule,
        logs: MergedLog,
        may_hold: FileFilter | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the base file of a slice merged with *logs*, whose records have the columns of *needed*."""
        tested = None if rule.merger is not None or may_hold is None else may_hold
        if tested is not None and any(needed.get_field_index(name) < 0 for name in tested.columns.names):
            tested = None
        won = self._won(logs, rule, shown, tested, may_hold)
        base = self._base_rows(storage, file_slice, needed, rule, where, replaced=len(logs), tested=tested, won=won)
        return merge_slice(base, logs, rule, chosen=None if tested is None else tested.matches)

    def merge_logs(self, storage: Storage, slices: Sequence[FileSlice], shown: pa.Schema) -> list[MergedLog] | None:
        """Return the merged entries of the log files of each of *slices*, whose blocks are decoded together.

        Return None if the slices have to be merged one by one: entries are not matched by positions in base files, or
        it takes more to merge them than to match positions.

        Raises:
            HudiFormatError: as :meth:`merged_batches`, without saying for which slice.
        """
        rule = self.merge_rule()
        without_keys = self._select_without_keys(self._schema_to_read(shown, rule), shown, rule)
        if without_keys is None or rule.partial or self._virtual_keys or self.damage is DamageMode.SKIP:
            return None
        logs = []
        for one in slices:
            blocks = blocks_to_merge(self._blocks(storage, one, without_keys), counts=self._counted)
            logs.append(SliceLog(blocks, one.base_instant))
            if one.base_file is None or not logs[-1].has_positions:
                return None
        every = [block for log in logs for block in log.blocks]
        fits = memory_of(every) <= self.merge_memory and not have_operations(every)
        merged = merge_together(logs, without_keys, rule) if fits else None
        release_pages(block.content for block in every)
        return merged

    def _won(
        self, logs: MergedLog, rule: MergeRule, shown: pa.Schema, tested: FileFilter | None, may_hold: FileFilter | None
    ) -> LogsWin | None:
        """Return where the entries of *logs* win over all rows of the base file; None if that is not told by bounds.

        By position, a row group without rows that the query wants is not read at all.  By key its rows have to be
        known: of several rows with one key the logs replace only the first.
        """
        if rule.merger is not None or logs.set is not None:
            return None
        ordering = [self._stored_schema.field(name) for name in rule.ordering_fields] if logs.ordering else []
        lowest = logs.lowest_ordering(np.ones(len(logs), np.bool_))
        if lowest is None:
            return None
        keys = [] if logs.by_position else [one for one in self._columns_for_merging(rule) if one not in rule.columns]
        tests = [] if tested is None else tested.columns.names
        return LogsWin(
            field=ordering[0] if ordering else None,
            lowest=lowest,
            head=self._select_stored(dict.fromkeys([*keys, *tests])),
            columns=self._select_stored(dict.fromkeys([*shown.names, *keys])),
            may_hold=may_hold if logs.by_position else None,
        )

    def count_merged(self, storage: Storage, slices: Sequence[FileSlice]) -> list[int | None]:
        """Return the number of rows of each of *slices*, which have base files; None if its records have to be merged.

        Each step is done for all slices before the next: that costs a third less than slice by slice.

        Raises:
            CorruptTableError, DecodeError, StorageError: a file of a slice is missing or damaged.
        """
        rule = self.merge_rule()
        if self.history is not None or self.times is not None or len(rule.ordering_fields) > 1:
            return [None] * len(slices)
        schema = self._schema_to_read(pa.schema([]), rule)
        ordering = schema.field(rule.ordering_fields[0]) if rule.ordering_fields else None
        with add_log_file_to_errors(storage, chain.from_iterable(one.log_paths for one in slices)):
            logs = [blocks_to_merge(self._blocks(storage, one, schema), counts=self._counted) for one in slices]
            stored = [count_and_highest(storage, one.base_path, ordering) for one in slices]
            return [
                None
                if memory_of(blocks) > self.merge_memory or have_operations(blocks)
                else count_by_position(blocks, schema, rule, base_instant=one.base_instant, rows=rows, highest=highest)
                for one, blocks, (rows, highest) in zip(slices, logs, stored, strict=True)
            ]

    def replaced_rows(self, storage: Storage, file_slice: FileSlice, shown: pa.Schema) -> ReplacedRows | None:
        """Return what the log files of a slice replace in its base file; None if its records have to be merged to tell.

        That is known if all entries of the log files have positions, and the bounds of the base file's ordering values
        show that each wins over its row.

        Raises:
            CorruptTableError, DecodeError, StorageError: a file of the slice is missing or damaged.
        """
        base, rule = file_slice.base_file, self.merge_rule()
        is_changed = self.history is not None or self.times is not None or self._virtual_keys is not None
        if base is None or is_changed or len(rule.ordering_fields) > 1:
            return None
        if (found := self.merge_logs(storage, [file_slice], shown)) is None:
            return None
        (logs,) = found
        lowest = logs.lowest_ordering(np.ones(len(logs), np.bool_))
        if not isinstance(logs.keys, np.ndarray) or lowest is None:
            return None
        ordering = self._stored_schema.field(rule.ordering_fields[0]) if logs.ordering else None
        rows, highest = count_and_highest(storage, file_slice.base_path, ordering)
        if int(logs.keys.max(initial=0)) >= rows or (ordering is not None and lowest < highest):
            return None
        return ReplacedRows(logs.keys, tuple(log_rows(logs.select(shown.names), ~logs.deleted)))

    @property
    def _counted(self) -> Callable[[str], bool] | None:
        """Which instants count, if their blocks have to be asked.

        From table version 8 on, the name of a log file decides whether its blocks are merged.  But a log file written
        in version 6, before an upgrade, may have blocks that are later than the moment of the query.
        """
        return self._counts if self.visibility.logs_name_slices or self.as_of is not None else None

    def _blocks(self, storage: Storage, file_slice: FileSlice, needed: pa.Schema) -> Iterator[LogBlock]:
        columns = frozenset(needed.names)
        for path in file_slice.log_paths:
            for block in log_blocks(storage, path, damage=self.damage):
                found = block_of_query(block, columns, self.config, self.history)
                yield found if self.times is None else self.times.convert(found, self._stored_schema)

    def base_batches(
        self,
        storage: Storage,
        file_slice: FileSlice,
        schema: pa.Schema,
        where: KeyFilter | None = None,
        *,
        may_hold: FileFilter | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the base file of a slice that may match *where* and *may_hold*, with *schema*."""
        if file_slice.base_file is None:
            return
        virtual = self._virtual_keys
        if virtual is not None and RECORD_KEY in schema.names:
            found = self.base_batches(storage, file_slice, virtual.stored(schema), where, may_hold=may_hold)
            yield from virtual.fill_all(found, schema)
            return
        path = file_slice.base_path
        if self.damage is DamageMode.SKIP:
            yield from sound_rows(self._scan_base(storage, path, schema), storage, path)
        elif where is None:
            yield from self._scan_base(storage, path, schema, may_hold)
        else:
            head = pa.schema([])
            history, times = self.history, self.times
            for rows in scan_rows(
                storage, path, schema, head, history=history, times=times, where=where, may_hold=may_hold
            ):
                yield from rows.read()

    def _scan_base(
        self, storage: Storage, path: str, schema: pa.Schema, may_hold: FileFilter | None = None
    ) -> Iterator[pa.RecordBatch]:
        if self.history is None and self.times is None:
            return scan_base_file(storage, path, schema, may_hold=may_hold)
        return scan_batches(storage, path, schema, history=self.history, times=self.times, may_hold=may_hold)

    def _base_rows(
        self,
        storage: Storage,
        file_slice: FileSlice,
        schema: pa.Schema,
        rule: MergeRule,
        where: KeyFilter | None,
        *,
        replaced: int | None = None,
        tested: FileFilter | None = None,
        won: LogsWin | None = None,
    ) -> Iterator[BaseRows]:
        """Yield the rows of the base file, whose heads have the columns of merging and those of *tested*.

        Merging may replace *replaced* of the rows, any if it is None.  *won* says which row groups need less.
        """
        if file_slice.base_file is None:
            return
        if self.damage is DamageMode.SKIP:
            yield from to_base_rows(self.base_batches(storage, file_slice, schema))
            return
        path = file_slice.base_path
        first = {*self._columns_for_merging(rule), *([] if tested is None else tested.columns.names)}
        head = pa.schema([field for field in schema if field.name in first])
        few = replaced if tested is None else None
        history, times = self.history, self.times
        yield from scan_rows(
            storage, path, schema, head, history=history, times=times, where=where, replaced=few, won=won
        )

    def _counts(self, instant: str) -> bool:
        """Return whether the blocks of *instant* are merged: it has completed, and is not later than ``as_of``.

        Source: BaseHoodieLogRecordReader.scanInternalV1.
        """
        if self.as_of is not None and instant > self.as_of:
            return False
        return not self.visibility.logs_name_slices or self.visibility.is_committed(instant)


@dataclass(frozen=True, slots=True)
class SliceScan:
    """What a query reads of each file slice, found out once: columns, filters and partition columns.

    ``shown`` are the columns of the rows.  ``pushed`` is the filter of a slice that is not merged, ``where`` the
    condition on record keys of any slice; ``base_schema`` has the columns to read of a base file alone.
    ``partition_fields`` are the partition columns among ``shown``.
    """

    reader: SliceReader
    shown: pa.Schema
    stored: tuple[str, ...]
    with_logs: bool
    where: KeyFilter | None
    pushed: FileFilter | None
    base_schema: pa.Schema
    partition_columns: PartitionColumns
    partition_fields: tuple[str, ...]

    def is_merged(self, file_slice: FileSlice) -> bool:
        """Return whether log files of *file_slice* are merged with its base file."""
        return self.with_logs and bool(file_slice.log_files)

    def rows(self, storage: Storage, file_slice: FileSlice, logs: MergedLog | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a slice; see :meth:`SliceReader.scan`, whose errors it raises."""
        reader = self.reader
        if self.is_merged(file_slice):
            batches = reader.merged_batches(
                storage, file_slice, self.shown, self.where, may_hold=self.pushed, logs=logs
            )
        else:
            batches = reader.base_batches(storage, file_slice, self.base_schema, self.where, may_hold=self.pushed)
        return self._shown_rows(storage, file_slice, batches)

    def merge_logs(self, storage: Storage, slices: Sequence[FileSlice]) -> list[MergedLog | None]:
        """Return for each of *slices* the entries of its log files, if those of all are merged together; else None.

        No error is raised: :meth:`rows` raises it for the slice that it is about.
        """
        merged = [one for one in slices if self.is_merged(one)] if self.where is None else []
        found: list[MergedLog] | None = None
        if len(merged) > 1:
            with suppress(HudiFormatError):
                found = self.reader.merge_logs(storage, merged, self.shown)
        ready = iter(found or ())
        return [next(ready, None) if self.is_merged(one) else None for one in slices]

    def replaced_rows(self, storage: Storage, file_slice: FileSlice) -> ReplacedRows | None:
        """Return what log files replace in the base file of a slice; see :meth:`SliceReader.replaced_rows`."""
        with self._explained_errors(storage, file_slice):
            found = self.reader.replaced_rows(storage, file_slice, self.shown)
        if found is None:
            return None
        return ReplacedRows(found.positions, tuple(self._shown_rows(storage, file_slice, iter(found.batches))))

    @contextmanager
    def _explained_errors(self, storage: Storage, file_slice: FileSlice) -> Iterator[None]:
        """Say in errors of the body which log file is damaged, and why a file is missing."""
        named = add_log_file_to_errors(storage, file_slice.log_paths) if file_slice.log_files else nullcontext()
        with explain_missing_files(storage, self.reader.config, partial(files_of, file_slice)), named:
            yield

    def _shown_rows(
        self, storage: Storage, file_slice: FileSlice, batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        """Yield *batches* of rows of a slice with the columns and the values that the query shows."""
        names = self.shown.names
        absent: list[frozenset[str]] = []
        with self._explained_errors(storage, file_slice):
            for batch in batches:
                rows = batch if batch.schema.names == names else batch.select(names)
                if self.partition_fields:
                    rows = self._with_partition_values(storage, file_slice, rows, absent)
                for name in self.stored:
                    rows = rows.append_column(f"\0{name}", batch[name])  # cannot collide: Avro allows no such name
                yield rows

    def counts(self, storage: Storage, slices: Sequence[FileSlice]) -> list[int | None]:
        """Return how many rows :meth:`rows` yields of each slice; None where the rows have to be read to tell.

        Raises:
            HudiFormatError: as :meth:`rows`.
        """
        is_filtered = self.where is not None or self.pushed is not None or self.reader.damage is DamageMode.SKIP
        known = [] if is_filtered else [one for one in slices if one.base_file is not None]
        with explain_missing_files(storage, self.reader.config, lambda: [*chain.from_iterable(map(files_of, known))]):
            merged = iter(self.reader.count_merged(storage, [one for one in known if self.is_merged(one)]))
            told = iter([next(merged) if self.is_merged(one) else count_rows(storage, one.base_path) for one in known])
        return [None if is_filtered or one.base_file is None else next(told) for one in slices]

    def row_groups(self, storage: Storage, file_slice: FileSlice) -> tuple[int, int]:
        """Return how many row groups of the base file :meth:`rows` would read, and how many the file has.

        Raises:
            CorruptTableError, StorageError: the base file cannot be read.
        """
        if file_slice.base_file is None:
            return 0, 0
        reader, path = self.reader, file_slice.base_path
        stored = stored_schema_of(storage, path, reader.output_schema, reader.history, times=reader.times)
        is_pushed = not self.is_merged(file_slice) and stored is None
        return count_row_groups(storage, path, may_hold=self.pushed if is_pushed else None, where=self.where)

    def _with_partition_values(
        self, storage: Storage, file_slice: FileSlice, rows: pa.RecordBatch, absent: list[frozenset[str]]
    ) -> pa.RecordBatch:
        """Return *rows* of a slice with the path's values in partition columns that a file of the slice lacks.

        The files are asked for their columns if a partition column has nulls; *absent* keeps the answer.
        """
        columns, path = self.partition_columns, file_slice.partition_path
        for name in self.partition_fields:
            position = rows.schema.get_field_index(name)
            field, values = rows.schema.field(position), rows.column(position)
            if columns.dropped:  # a delete of Hudi writes files that have the column, of nulls
                values = pa.repeat(columns.value(field, path), rows.num_rows)
            elif columns.is_default(name, path):
                values = pa.nulls(rows.num_rows, field.type)
            elif values.null_count:
                if not absent:
                    merging = self.is_merged(file_slice)
                    absent.append(self.reader.absent_from_files(storage, file_slice, with_logs=merging))
                if name in absent[0] and (value := columns.value(field, path)).is_valid:
                    values = pc.fill_null(values, value)
            if values is not rows.column(position):
                rows = rows.set_column(position, field, values)
        return rows
