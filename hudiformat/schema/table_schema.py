"""The rows of a table: their schema in Avro and Arrow, and the record keys and partition paths made from them."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.avro.nodes import unknown_logical_types
from hudiformat.codec.avro.schema import arrow_to_avro, avro_to_arrow, choose_fields
from hudiformat.codec.avro.types import format_avro_types, parse_avro_types
from hudiformat.codec.conversion import convert_to_schema, has_wrong_label
from hudiformat.codec.custom_types import as_columns_of, check_blobs
from hudiformat.errors import DataError, OptionError, SchemaError, UnsupportedFeatureError, suggest_names
from hudiformat.naming.keys import format_row, format_values, paths_of_texts, record_keys
from hudiformat.naming.time_zones import Zone
from hudiformat.naming.timed_partitions import TIMED_KEYS, TimedPartitions
from hudiformat.schema.evolution import EvolutionOptions, evolve_columns
from hudiformat.schema.meta_fields import (
    DELETE_OPERATIONS,
    DELETED_FIELD,
    META_FIELDS,
    OPERATION,
    PARTITION_PATH,
    RECORD_KEY,
    is_meta_field,
    meta_schema,
    without_meta_fields,
)
from hudiformat.timeline.table_config import KeyGenerator, TableConfig


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The schema of a table's own columns; ``avro`` is JSON as in the commit metadata.

    ``keeps_operations``: the files also have the meta field of the operation.  ``with_keys``: the rows of a write
    already contain their record keys and partition paths, in meta fields after the other columns: see
    ``write.made_keys``.
    """

    avro: str
    keeps_operations: bool = False
    with_keys: bool = False

    @classmethod
    def from_arrow(cls, schema: pa.Schema, table_name: str) -> TableSchema:
        """Return the table schema of *schema* without meta fields, named as Hudi's Spark writer names it.

        Raises:
            SchemaError: Avro cannot represent the type or the name of a column.
        """
        name = table_name.replace("-", "_").replace(".", "_")
        avro = arrow_to_avro(without_meta_fields(schema), name=f"{name}_record", namespace=f"hoodie.{name}")
        return cls(avro, keeps_operations=OPERATION in schema.names)

    @classmethod
    def of_commit(cls, avro: str) -> TableSchema:
        """Return the schema that a commit names, without meta fields.

        Hudi includes meta fields in the schema of a commit that only changes columns.
        """
        if META_FIELDS[0] not in avro:
            return cls(avro)
        schema = json.loads(avro)
        schema["fields"] = [field for field in schema["fields"] if field["name"] not in META_FIELDS]
        return cls(json.dumps(schema, separators=(",", ":"), ensure_ascii=False))

    @property
    def arrow(self) -> pa.Schema:
        """The table's own columns, followed by the two meta fields of the keys if ``with_keys`` is set."""
        return pa.schema([*_own_columns(self.avro), *KEY_META_FIELDS]) if self.with_keys else _own_columns(self.avro)

    @property
    def arrow_with_meta(self) -> pa.Schema:
        """The meta fields and the table's own columns."""
        return _all_columns(self.avro, operation=self.keeps_operations)

    @property
    def avro_with_meta(self) -> str:
        """The Avro schema of log records and base files, as JSON.

        Source: HoodieAvroUtils.addMetadataFields.
        """
        return _avro_with_meta(self.avro, operation=self.keeps_operations)

    @property
    def record_name(self) -> str:
        """The full name of the Avro record."""
        return parse_avro_types(self.avro).name

    def is_like(self, other: TableSchema) -> bool:
        """Return whether both have the same columns with the same types, in the same order."""
        return self.avro == other.avro or parse_avro_types(self.avro) == parse_avro_types(other.avro)

    def relabels(self, before: TableSchema) -> bool:
        """Return whether the numbers of a column of times that *before* has count another unit by this schema.

        A file that is written with the schema *before* would be read otherwise.
        """
        own = {field.name: field.type for field in self.arrow}
        return any(field.name in own and has_wrong_label(field.type, own[field.name]) for field in before.arrow)

    @property
    def delete_column(self) -> str | None:
        """The column that flags deletes; None if the table has none."""
        schema = self.arrow
        has_it = DELETED_FIELD in schema.names and pa.types.is_boolean(schema.field(DELETED_FIELD).type)
        return DELETED_FIELD if has_it else None

    def with_texts(self, names: Sequence[str]) -> TableSchema:
        """Return the schema with a string column added at the end for each of *names* that it lacks.

        Source: TableSchemaResolver.appendPartitionColumns, Hudi 1.2.0.
        """
        known = set(self.arrow.names)
        missing = [name for name in names if name not in known]
        schema = json.loads(self.avro)
        schema["fields"] += [{"name": name, "type": ["null", "string"], "default": None} for name in missing]
        avro = json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
        return replace(self, avro=avro) if missing else self

    def without(self, names: Sequence[str]) -> TableSchema:
        """Return the schema without the columns *names*."""
        dropped = set(names).intersection(self.arrow.names)
        kept = [name for name in self.arrow.names if name not in dropped and not is_meta_field(name)]
        return self.only(kept) if dropped else self

    def only(self, names: list[str]) -> TableSchema:
        """Return the schema of the columns *names*, in that order; the meta fields of ``with_keys`` are kept."""
        return replace(
            self,
            avro=choose_fields(self.avro, [name for name in names if not (self.with_keys and is_meta_field(name))]),
        )

    def evolve(self, rows: pa.Schema, options: EvolutionOptions) -> TableSchema:
        """Return the schema of the table after a write of rows with the columns *rows*, whose meta fields are ignored.

        Raises:
            SchemaError: the rows cannot be written, or rows already in the table could no longer be read.

        Source: HoodieSchemaUtils.deduceWriterSchema; spec/schema-evolution.md.
        """
        own = without_meta_fields(rows)
        if own.equals(self.arrow):  # the usual case
            return self
        own = as_columns_of(own, self.arrow)
        if own.equals(self.arrow):
            return self
        table = parse_avro_types(self.avro)
        scope, _, name = table.name.rpartition(".")
        incoming = parse_avro_types(arrow_to_avro(own, name=name, namespace=scope))
        result = evolve_columns(table, incoming, options)
        return self if result is table else replace(self, avro=format_avro_types(result))

    def fit(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return *batch* with the table's own columns, in the table's order and types, without meta fields.

        Missing columns are filled with nulls if they are nullable.

        Raises:
            SchemaError: the table does not have a column, a column cannot be converted to the table's type, or a column
                that is not nullable is missing.
            DataError: ``_hoodie_operation`` marks a row as a delete.
        """
        _refuse_deletes(batch)
        carried = KEY_META_NAMES if self.with_keys else ()
        own = batch.select([name for name in batch.schema.names if not is_meta_field(name) or name in carried])
        self.check(own.schema)
        fitted = convert_to_schema(own, self.arrow)
        if _BLOB in self.avro:
            check_blobs(fitted)
        return fitted

    def check(self, schema: pa.Schema) -> None:
        """Raise a SchemaError if rows of *schema* cannot be written to the table; no row is read."""
        incoming, table = without_meta_fields(schema), self.arrow
        own = incoming if incoming.equals(table) else as_columns_of(incoming, table)
        arrow_to_avro(own, name="incoming", namespace="hoodie")  # refuses what Avro cannot represent
        known = set(table.names)
        for name in incoming.names:
            if name not in known:
                raise SchemaError(
                    f"the column {name!r} is not in the table{suggest_names(name, table.names)}; its columns are "
                    f"{', '.join(table.names)}",
                    column=name,
                )
        empty = pa.RecordBatch.from_arrays([pa.array([], field.type) for field in incoming], schema=incoming)
        convert_to_schema(empty, table)


def as_reader(data: Any) -> pa.RecordBatchReader:
    """Return a reader of anything that exports Arrow's C stream: tables, batches, readers, data frames.

    A lazy frame of Polars is read by batches.

    Raises:
        DataError: *data* does not export it.
    """
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.Table):  # not through its stream: pyarrow 19.0.0 crashes on view arrays from one
        return data.to_reader()
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if hasattr(data, "__arrow_c_stream__"):
        try:
            return pa.RecordBatchReader.from_stream(data)
        except pa.ArrowInvalid as error:  # a stream of one column's values
            raise DataError(f"expected rows, found {type(data).__name__}: {error}") from error
    if hasattr(data, "collect_batches"):
        schema = pa.RecordBatchReader.from_stream(data.collect_schema().to_frame()).schema
        frames = data.collect_batches(lazy=True)
        return pa.RecordBatchReader.from_batches(schema, chain.from_iterable(map(as_reader, frames)))
    hint = "; pa.Table.from_pylist(rows) makes a table of a list of dicts" if isinstance(data, list) else ""
    if hasattr(data, "collect_schema"):
        hint = "; pass frame.collect(), or install Polars 1.34 or later, which gives it by batches"
    raise DataError(
        f"expected rows with __arrow_c_stream__ (such as a pyarrow.Table), found {type(data).__name__}{hint}"
    )


def _refuse_deletes(batch: pa.RecordBatch) -> None:
    """Refuse rows of a change stream that mark deletes: they must not be written as rows of the table."""
    kind = batch.schema.field(OPERATION).type if OPERATION in batch.schema.names else None
    if kind not in (None, pa.string(), pa.large_string()):
        raise SchemaError(f"column {OPERATION} of type {kind}: Hudi takes it for a text", column=OPERATION)
    if kind is not None and pc.any(pc.is_in(batch[OPERATION], value_set=pa.array(DELETE_OPERATIONS, kind))).as_py():
        kinds = " or ".join(DELETE_OPERATIONS)
        raise DataError(f"a row whose {OPERATION} is {kinds} cannot be written: pass the keys of such rows to delete()")


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """How a write changes a table's schema: ``before`` is that when the write was planned, ``after`` the new one."""

    before: TableSchema
    after: TableSchema

    def fits(self, current: TableSchema) -> bool:
        """Return whether the rows can be written to a table whose schema is *current* now."""
        return current.is_like(self.before) or current.is_like(self.after)

    def on(self, current: TableSchema) -> TableSchema | None:
        """Return the schema after the write to a table whose schema is *current* now; None if two writes conflict.

        A write that does not change the schema keeps the change that another write made meanwhile, unless that says
        that the numbers of times count another unit.

        Source: SimpleSchemaConflictResolutionStrategy, Hudi 1.2.0.
        """
        if self.fits(current):
            return self.after
        keeps = self.after.is_like(self.before) and not current.relabels(self.before)
        return current if keeps else None


@lru_cache(maxsize=64)
def _avro_with_meta(avro: str, *, operation: bool) -> str:
    avro_to_arrow(avro)  # raises a SchemaError if *avro* is no schema
    schema = json.loads(avro)
    names = (*META_FIELDS, OPERATION) if operation else META_FIELDS
    meta = [{"name": name, "type": ["null", "string"], "doc": "", "default": None} for name in names]
    schema["fields"] = meta + [field for field in schema["fields"] if not is_meta_field(field["name"])]
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)


_BLOB = '"blob"'
"""A part of each Avro schema with blobs, and of few others."""
_Rows = TypeVar("_Rows", pa.Table, pa.RecordBatch, pa.Table | pa.RecordBatch)

KEY_META_NAMES = (RECORD_KEY, PARTITION_PATH)
KEY_META_FIELDS = pa.schema([pa.field(name, pa.string()) for name in KEY_META_NAMES])
"""The meta fields that rows written to a table without record key fields contain."""


@dataclass(frozen=True, slots=True)
class RowKeys:
    """The rules by which a table's rows get their record key and partition path.

    The fields in ``timed`` are times, which become paths as ``time_options`` say, pairs of keys and texts; ``here`` is
    the time zone of the writer.  Files do not have the partition columns ``dropped``.  With
    ``slash_dates`` each ``-`` in a path is a slash.

    Source: KeyGenUtils, SimpleKeyGenerator, ComplexKeyGenerator, NonpartitionedKeyGenerator,
        TimestampBasedKeyGenerator, CustomKeyGenerator.
    """

    key_fields: tuple[str, ...]
    partition_fields: tuple[str, ...]
    complex_form: bool
    hive_style: bool
    url_encode: bool
    timed: frozenset[str] = frozenset()
    time_options: tuple[tuple[str, str], ...] = ()
    here: Zone | None = None
    dropped: tuple[str, ...] = ()
    slash_dates: bool = False

    @classmethod
    def of(cls, config: TableConfig) -> RowKeys:
        """Return the rules of the table's key generator.

        Raises:
            UnsupportedFeatureError: the table's key generator is not supported.
            OptionError: neither properties nor options say what the partition fields are.
        """
        if config.key_generator is KeyGenerator.OTHER:
            name = config.key_generator_class or config.properties.get("hoodie.table.keygenerator.type", "")
            supported = ", ".join(generator.name for generator in KeyGenerator if generator.value)
            raise UnsupportedFeatureError(
                f"cannot write rows to the table {config.name}: expected a key generator of {supported}, found {name}; "
                "write the table with Hudi, or copy its rows into a new table",
                feature=f"key generator {name}",
            )
        fields = config.record_key_fields
        return cls(
            key_fields=fields or (RECORD_KEY,),
            partition_fields=config.partition_fields,
            complex_form=bool(fields) and config.uses_complex_keys,
            hive_style=config.hive_style_partitioning,
            url_encode=config.url_encode_partitioning,
            timed=_timed_fields(config),
            time_options=tuple((key, config.properties[key]) for key in TIMED_KEYS if key in config.properties)
            if config.has_timed_paths
            else (),
            here=config.here,
            dropped=config.dropped_fields,
            slash_dates=config.slash_separated_dates,
        )

    @property
    def key_meta_fields(self) -> tuple[str, ...]:
        """The meta fields in which rows contain their keys; none if the keys are made from the table's columns."""
        return KEY_META_NAMES if self.key_fields == (RECORD_KEY,) else ()

    @property
    def columns(self) -> list[str]:
        """The columns that record keys and partition paths are made of, without duplicates."""
        return list(dict.fromkeys([*self.key_columns, *self.partition_columns, *self.key_meta_fields]))

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that have the key fields, which may be fields of structs."""
        return columns_of(self.key_fields)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns that have the partition fields, which may be fields of structs."""
        return columns_of(self.partition_fields)

    @property
    def shown_from_path(self) -> tuple[str, ...]:
        """The stored columns of which queries may show what the path says, and writes keep what files store."""
        return tuple(name for name in self.partition_columns if name in self.partition_fields and not self.dropped)

    def schema_of_rows(self, table: TableSchema) -> TableSchema:
        """Return the schema of the rows that are written to a table with the schema *table*."""
        return replace(table, with_keys=bool(self.key_meta_fields))

    def drop_key_fields(self, rows: _Rows) -> _Rows:
        """Return *rows* without what files do not store: meta fields that rows bring, and dropped partition columns.

        Rows of a delete may have no other columns; they are returned unchanged.
        """
        left_out = {*self.key_meta_fields, *self.dropped}
        own = [name for name in rows.schema.names if name not in left_out]
        return rows.select(own) if own and left_out else rows

    def record_keys(self, rows: pa.RecordBatch | pa.Table) -> pa.Array:
        """Return the record key of each row.

        Raises:
            DataError: a key column is missing, or a key is null or empty.
        """
        columns, fields = self._columns(rows, self.key_fields), list(self.key_fields)
        try:
            return record_keys(columns, fields, complex_form=self.complex_form)
        except DataError as error:
            if error.first is None:
                raise
            text = f"{error}, such as {format_row(rows, error.first)}; fill it, or leave these rows out"
            raise DataError(
                text, column=error.column, missing=error.missing, rows=error.rows, first=error.first
            ) from None

    def partition_paths(self, rows: pa.RecordBatch | pa.Table) -> pa.Array:
        """Return the partition path of each row, ``""`` in a table without partitions.

        Raises:
            DataError: a partition column is missing.
            SchemaError: Hudi does not define a text for the type of a partition column.
            OptionError: the partition path is made of times, and nothing says how.
        """
        if self.key_meta_fields and rows.schema.get_field_index(PARTITION_PATH) >= 0:
            [known] = self._columns(rows, (PARTITION_PATH,))
            if known.null_count:
                known = pc.coalesce(known, self.partition_paths(rows.drop_columns([PARTITION_PATH])))
            return known
        if not self.partition_fields:
            offsets = np.zeros(rows.num_rows + 1, np.int32)  # untouched zero pages take no memory
            return pa.StringArray.from_buffers(rows.num_rows, pa.py_buffer(offsets), pa.py_buffer(b""))
        columns = zip(self._columns(rows, self.partition_fields), self.partition_fields, strict=True)
        paths = paths_of_texts(
            [self._texts(column, name) for column, name in columns],
            list(self.partition_fields),
            hive_style=self.hive_style,
            url_encode=self.url_encode,
        )
        return pc.replace_substring(paths, "-", "/") if self.slash_dates else paths

    def _texts(self, column: pa.Array, name: str) -> pa.Array:
        if name in self.timed:
            return TimedPartitions.of(dict(self.time_options), self.here).texts(column, name)
        return format_values(column, name)

    def check(self, schema: pa.Schema) -> None:
        """Raise an error if no keys can be made for rows of *schema*.

        Raises:
            DataError: a column that keys are made of is missing.
            SchemaError: such a column exists twice, or Hudi does not define a text for its type.
        """
        own = {*self.key_columns, *self.partition_columns}  # Arrow cannot make empty columns of some types
        empty = pa.schema([one if one.name in own else one.with_type(pa.null()) for one in schema]).empty_table()
        self.record_keys(empty)
        self.partition_paths(empty)

    @staticmethod
    def _columns(rows: pa.RecordBatch | pa.Table, names: tuple[str, ...]) -> list[pa.Array]:
        columns, there = [], set(rows.schema.names)
        for name in names:
            outer, *inner = name.split(".")
            if rows.schema.names.count(outer) > 1:
                raise SchemaError(f"column {outer} is there twice: rename or drop one", column=outer)
            if outer not in there or field_type(rows.schema, name) is None:
                raise DataError(
                    f"the column {name!r}, which the table's keys are made of, is missing"
                    f"{suggest_names(name, rows.schema.names)}; the columns are {', '.join(rows.schema.names)}",
                    column=name,
                )
            column = rows.column(outer)
            column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            columns.append(pc.struct_field(column, inner) if inner else column)
        return columns


def _timed_fields(config: TableConfig) -> frozenset[str]:
    """Return the partition fields that the key generator of a table takes for times.

    Raises:
        OptionError: it is the CUSTOM one, whose fields have types, and they are not known.
    """
    if config.key_generator is KeyGenerator.TIMESTAMP:
        return frozenset(config.partition_fields)
    if config.key_generator is not KeyGenerator.CUSTOM:
        return frozenset()
    pairs = list(zip(config.partition_fields, config.partition_types, strict=True))
    if any(kind not in ("simple", "timestamp") for _, kind in pairs):
        key = "hoodie.datasource.write.partitionpath.field"
        raise OptionError(
            f"{key}: expected the type of each partition column, simple or timestamp, for the CUSTOM key generator of "
            f"the table {config.name}, found {', '.join(config.partition_fields)} alone in its properties; give the "
            "option that its other writers have, such as city:simple,ts:timestamp",
            option=key,
        )
    return frozenset(name for name, kind in pairs if kind == "timestamp")


def refuse_unknown_types(avro: str, columns: Collection[str]) -> None:
    """Raise an UnsupportedFeatureError if one of the *columns* of a table has a logical type that is not known."""
    for path, logical in unknown_logical_types(avro).items():
        if path.partition(".")[0] in columns:
            raise UnsupportedFeatureError(
                f"the column {path}: expected a type that hudiformat can read, found the logical type {logical!r}; "
                "name other columns in columns=, or read it with Hudi",
                feature=f"the logical type {logical}",
            )


def columns_of(fields: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of *fields* without duplicates; ``a.b`` is a field of the struct ``a``."""
    return tuple(dict.fromkeys(name.partition(".")[0] for name in fields))


def field_type(schema: pa.Schema, path: str) -> pa.DataType | None:
    """Return the type of a column, or of a field ``a.b`` of a struct; None if there is none, or two."""
    name, *inner = path.split(".")
    kind = schema.field(name).type if schema.names.count(name) == 1 else None
    for one in inner:
        if kind is None or not pa.types.is_struct(kind) or kind.get_field_index(one) < 0:
            return None
        kind = kind.field(one).type
    return kind


def stored_keys(rows: pa.Table) -> pa.ChunkedArray:
    """Return the record keys of rows that have meta fields."""
    return rows[RECORD_KEY]


@lru_cache(maxsize=64)
def _own_columns(avro: str) -> pa.Schema:
    return without_meta_fields(avro_to_arrow(avro))


@lru_cache(maxsize=64)
def _all_columns(avro: str, *, operation: bool) -> pa.Schema:
    return meta_schema(_own_columns(avro), operation=operation)
