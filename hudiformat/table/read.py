"""Reading a table: slices -> merged rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from hudiformat.basefile import read_base_file
from hudiformat.basefile.meta_fields import RECORD_KEY
from hudiformat.blocks import LogBlock
from hudiformat.errors import SchemaError, UnsupportedFeatureError
from hudiformat.logfile import LogReader
from hudiformat.merge import Candidates, MergeRule, counting_blocks, merge_slice, read_candidates
from hudiformat.storage import Storage
from hudiformat.table.keys import RowKeys, stored_keys
from hudiformat.table.schema import TableSchema
from hudiformat.timeline import VERSION_WITH_COMPLETION_TIMES, KeyGenerator, MergeMode, TableConfig
from hudiformat.view import FileSlice


@dataclass(frozen=True, slots=True)
class SliceReader:
    """Reads slices of one table.  It travels to other processes: plain values only."""

    config: TableConfig
    schema: TableSchema

    @property
    def output_schema(self) -> pa.Schema:
        """The columns of a read without projection: the meta fields where the table has them, then its own."""
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
    ) -> pa.Table:
        """The merged rows of *file_slice*; its base file alone without *with_logs*.

        Memory is bounded by the rows of the slice.

        Raises:
            DecodeError: a log block is damaged inside.
            UnsupportedFeatureError: the slice or the table holds what cannot be merged yet.
        """
        refuse_unreadable(self.config)
        wanted = self.project(columns)
        merging = with_logs and bool(file_slice.log_files)
        rule = self.merge_rule() if merging else None
        needed = wanted if rule is None else self._needed(wanted, rule)
        base = None
        if file_slice.base_file is not None:
            base = read_base_file(storage, _path(file_slice, str(file_slice.base_file.name)), needed)
        if rule is not None:
            base = merge_slice(base, self._candidates(storage, file_slice, needed, rule), rule)
        return needed.empty_table().select(wanted.names) if base is None else base.select(wanted.names)

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
        return self.project(list(names))

    def _candidates(self, storage: Storage, file_slice: FileSlice, needed: pa.Schema, rule: MergeRule) -> Candidates:
        return read_candidates(list(self._blocks(storage, file_slice)), needed, rule)

    def _blocks(self, storage: Storage, file_slice: FileSlice) -> Iterator[LogBlock]:
        def in_merge_order() -> Iterator[LogBlock]:
            for log in file_slice.log_files:
                yield from LogReader(_path(file_slice, str(log.name)), storage=storage)

        yield from counting_blocks(in_merge_order())


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
        f"table version {config.version}": config.version < VERSION_WITH_COMPLETION_TIMES,
        "dropped partition columns": config.drop_partition_columns,
        # Hudi shows the text of the path in the partition column there, not what is in the files.
        "timestamp-based partition paths": _has_timestamp_partitions(config),
        f"base files of format {config.base_file_format}": config.base_file_format != "PARQUET",
        "bootstrapped tables": config.bootstrap_base_path is not None,
    }
    for feature, present in refused.items():
        if present:
            raise UnsupportedFeatureError(f"the table {config.name!r}: cannot read {feature} yet", feature=feature)


def _has_timestamp_partitions(config: TableConfig) -> bool:
    custom = config.key_generator is KeyGenerator.CUSTOM and "timestamp" in config.partition_types
    return config.key_generator is KeyGenerator.TIMESTAMP or custom


def _path(file_slice: FileSlice, name: str) -> str:
    return f"{file_slice.partition_path}/{name}" if file_slice.partition_path else name
