"""Reading a table: slices -> merged rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.basefile import read_base_file
from hudiformat.basefile.meta_fields import RECORD_KEY
from hudiformat.blocks import BlockType, LogBlock
from hudiformat.errors import SchemaError, UnsupportedFeatureError
from hudiformat.logfile import LogReader
from hudiformat.merge import Candidates, MergeRule, counting_blocks, merge_slice, read_candidates
from hudiformat.storage import Storage
from hudiformat.table.keys import RowKeys, stored_keys
from hudiformat.table.partition_columns import PartitionColumns
from hudiformat.table.pruning import fits
from hudiformat.table.schema import TableSchema
from hudiformat.timeline import MergeMode, TableConfig
from hudiformat.view import FileSlice, Visibility


@dataclass(frozen=True, slots=True)
class SliceReader:
    """Reads slices of one table.  It travels to other processes: plain values only."""

    config: TableConfig
    schema: TableSchema
    visibility: Visibility
    as_of: str | None = None
    incremental: bool = False

    @property
    def output_schema(self) -> pa.Schema:
        """The columns of a read without projection: the meta fields where the table has them, then its own."""
        return self.partition_columns.shown(self._stored_schema)

    @property
    def partition_columns(self) -> PartitionColumns:
        """What is shown in the columns that partition paths are made of."""
        return PartitionColumns.of(self.config, unescapes=not self.incremental)

    @property
    def _stored_schema(self) -> pa.Schema:
        """The columns as the files have them, and those that only the paths have."""
        return self.schema.arrow_with_meta if self.config.populate_meta_fields else self.schema.arrow

    def project(self, columns: Sequence[str] | None) -> pa.Schema:
        """The schema of a read of *columns*, in their order.

        Raises:
            SchemaError: the table has no such column, or one is asked for twice.
        """
        full = self.output_schema
        for name in columns or ():
            if name not in full.names:
                raise SchemaError(f"no column {name!r}; the columns are {', '.join(full.names)}", column=name)
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
        """The merged rows of *file_slice*; its base file alone without *with_logs*.

        Memory is bounded by the rows of the slice.  Rows for which *may_hold* is not true may be left out, where no log
        file could still change them.

        Raises:
            DecodeError: a log block is damaged inside.
            UnsupportedFeatureError: the slice or the table holds what cannot be merged yet.
        """
        refuse_unreadable(self.config)
        shown = self.project(columns)
        wanted = self._stored(shown.names)
        merging = with_logs and bool(file_slice.log_files)
        rule = self.merge_rule() if merging else None
        needed = wanted if rule is None else self._needed(wanted, rule)
        base = None
        if file_slice.base_file is not None:
            pushed = may_hold if rule is None and may_hold is not None and self._of_files(may_hold) else None
            path = _path(file_slice, str(file_slice.base_file.name))
            base = read_base_file(storage, path, needed, may_hold=pushed)
        if rule is not None:
            base = merge_slice(base, self._candidates(storage, file_slice, needed, rule), rule)
        rows = needed.empty_table() if base is None else base
        return self.partition_columns.show(rows, file_slice.partition_path, shown, merged=rule is not None)

    def _of_files(self, expression: pc.Expression) -> bool:
        """Whether an expression asks of nothing but what files hold as it is shown."""
        columns = self.partition_columns
        hidden = {*columns.from_path, *columns.as_text}
        return fits(expression, pa.schema([field for field in self._stored_schema if field.name not in hidden]))

    def merge_rule(self) -> MergeRule:
        """How the table's records are merged.

        Raises:
            UnsupportedFeatureError: in a way that is not supported yet.
        """
        config, mode = self.config, merge_mode(self.config)
        return MergeRule(
            mode=mode,
            keys=stored_keys if config.populate_meta_fields else self._made_keys,
            ordering_fields=config.ordering_fields if mode is MergeMode.EVENT_TIME_ORDERING else (),
            delete_column=self.schema.delete_column,
            delete_marker=delete_marker(config),
        )

    def _made_keys(self, rows: pa.Table) -> pa.ChunkedArray:
        return pa.chunked_array([RowKeys.of(self.config).record_keys(rows)])

    def _needed(self, wanted: pa.Schema, rule: MergeRule) -> pa.Schema:
        keys = (RECORD_KEY,) if self.config.populate_meta_fields else self.config.record_key_fields
        names = dict.fromkeys([*wanted.names, *keys, *rule.ordering_fields])
        if rule.delete_column is not None:
            names[rule.delete_column] = None
        if rule.delete_marker is not None:
            names[rule.delete_marker[0]] = None
        return self._stored(names)

    def _stored(self, names: Iterable[str]) -> pa.Schema:
        schema = self._stored_schema
        return pa.schema([schema.field(name) for name in names])

    def _candidates(self, storage: Storage, file_slice: FileSlice, needed: pa.Schema, rule: MergeRule) -> Candidates:
        return read_candidates(list(self._blocks(storage, file_slice)), needed, rule)

    def _blocks(self, storage: Storage, file_slice: FileSlice) -> Iterator[LogBlock]:
        def in_merge_order() -> Iterator[LogBlock]:
            for log in file_slice.log_files:
                yield from LogReader(_path(file_slice, str(log.name)), storage=storage)

        yield from counting_blocks(filter(self._shows, in_merge_order()))

    def _shows(self, block: LogBlock) -> bool:
        """Whether a block's instant has completed, by ``as_of``; from table version 8 on the file's name has said so.

        Source: BaseHoodieLogRecordReader.scanInternalV1.
        """
        if block.type in (BlockType.CORRUPT, BlockType.COMMAND) or not self.visibility.logs_name_slices:
            return True
        committed = self.visibility.is_committed(block.instant or "")
        return committed and (self.as_of is None or (block.instant or "") <= self.as_of)


def merge_mode(config: TableConfig) -> MergeMode:
    """How a table's records are merged; without ordering fields the newest counts.

    Raises:
        UnsupportedFeatureError: in a way that is not supported yet.
    """
    if config.merge_mode is MergeMode.CUSTOM:
        raise UnsupportedFeatureError("tables with a custom merge mode", feature="CUSTOM merge mode")
    if config.partial_update_mode is not None:
        raise UnsupportedFeatureError(
            f"the partial update mode {config.partial_update_mode}", feature="partial update mode"
        )
    return config.merge_mode if config.ordering_fields else MergeMode.COMMIT_TIME_ORDERING


def delete_marker(config: TableConfig) -> tuple[str, str] | None:
    """The column and the text in it that mark a row as a delete, where the table has such.

    Source: DeleteContext.getCustomDeleteMarkerKeyValue.
    """
    column, marker = (config.merge_properties.get(f"hoodie.payload.delete.{part}") for part in ("field", "marker"))
    return (column, marker) if column and marker else None


def refuse_unreadable(config: TableConfig) -> None:
    """Raise an UnsupportedFeatureError for a table whose rows cannot be read yet."""
    refused = {
        f"base files of format {config.base_file_format}": config.base_file_format != "PARQUET",
        "bootstrapped tables": config.bootstrap_base_path is not None,
    }
    for feature, present in refused.items():
        if present:
            raise UnsupportedFeatureError(f"the table {config.name!r}: cannot read {feature} yet", feature=feature)


def _path(file_slice: FileSlice, name: str) -> str:
    return f"{file_slice.partition_path}/{name}" if file_slice.partition_path else name
