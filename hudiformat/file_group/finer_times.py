"""Read files whose times are finer than those of the query: they were written after the column was widened.

A compaction that was planned while a column counted milliseconds may run once it counts microseconds.  Its file has
the instant of the plan, so time travel to a moment between reads it with the milliseconds of then.  Its label does not
tell: Hudi before 1.1 wrote the same one for numbers of milliseconds.  The schema in the metadata of its commit does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.casts import is_mislabelled
from hudiformat.codec.conversion import batch_of
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.build import data_block
from hudiformat.codec.log.frame import BlockHeader, BlockType, HeaderKey
from hudiformat.errors import SchemaError
from hudiformat.naming.file_names import BaseFileName, base_name


class StoredTimes(Protocol):
    """Tells which files have times in another unit than their query, whatever their labels say."""

    def schema_of(self, path: str, schema: pa.Schema) -> pa.Schema | None:
        """Return *schema* with the times of the base file at *path*; None if these are the same."""

    def convert(self, block: LogBlock, query: pa.Schema) -> LogBlock:
        """Return a log block with the times of the *query*, or the block itself."""


@dataclass(frozen=True, slots=True)
class FinerTimes:
    """The columns that commits wrote with microseconds which count milliseconds in the query, by their instants."""

    written: Mapping[str, pa.Schema]

    def schema_of(self, path: str, schema: pa.Schema) -> pa.Schema | None:
        """Return *schema* with the times of the base file at *path*; None if these are not finer."""
        written = self.written.get(BaseFileName.parse(base_name(path)).instant)
        finer = schema if written is None else _replace_times(schema, written, _is_finer)
        return None if finer.equals(schema) else finer

    def convert(self, block: LogBlock, query: pa.Schema) -> LogBlock:
        """Return a log block; if its times are finer, an Avro block with those of the *query*.

        Raises:
            DecodeError: the block is damaged.
            SchemaError: a time has a fraction of a millisecond.
        """
        if block.instant not in self.written or HeaderKey.SCHEMA not in block.header:
            return block
        written = avro_to_arrow(block.schema)
        coarser = _replace_times(written, query, _is_coarser)
        if coarser.equals(written):
            return block
        made = data_block(to_times_of(block.to_arrow(), coarser), instant=block.instant or "")
        header = BlockHeader({**block.header, HeaderKey.SCHEMA: made.schema})
        return block._replace(type=BlockType.AVRO_DATA, header=header, content=made.content)


def has_finer_times(query: pa.Schema, written: pa.Schema) -> bool:
    """Return whether a column that counts milliseconds in *query*, at any depth, counts microseconds in *written*."""
    return not _replace_times(query, written, _is_finer).equals(query)


def to_times_of(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return *batch* with the types of *schema*, whose times may have another unit.

    Raises:
        SchemaError: a time has a fraction of a millisecond, which the column could not hold then.
    """
    columns = [_cast(column, kind) for kind, column in zip(schema, batch.columns, strict=True)]
    return batch_of(columns, schema, batch.num_rows)


def _cast(column: pa.Array, field: pa.Field) -> pa.Array:
    try:
        return column if column.type.equals(field.type) else column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise SchemaError(
            f"column {field.name} is of type {column.type}, which does not fit {field.type}: {error}", column=field.name
        ) from error


_Test = Callable[[pa.DataType, pa.DataType], bool]


def _is_finer(kind: pa.DataType, other: pa.DataType) -> bool:
    return pat.is_timestamp(other) and is_mislabelled(other, kind)


def _is_coarser(kind: pa.DataType, other: pa.DataType) -> bool:
    return _is_finer(other, kind)


def _replace_times(schema: pa.Schema, other: pa.Schema, test: _Test) -> pa.Schema:
    """Return *schema* with the types of *other* for the fields, at any depth, for whose two types *test* is true."""
    fields = _replace_fields(schema, other, test)
    return pa.schema(fields, metadata=schema.metadata)


def _replace_fields(fields: Iterable[pa.Field], others: Iterable[pa.Field], test: _Test) -> list[pa.Field]:
    kinds = {one.name: one.type for one in others}
    return [one.with_type(_replace(one.type, kinds[one.name], test)) if one.name in kinds else one for one in fields]


def _replace(kind: pa.DataType, other: pa.DataType, test: _Test) -> pa.DataType:
    if pat.is_struct(kind) and pat.is_struct(other):
        return pa.struct(_replace_fields(kind, other, test))
    if pat.is_map(kind) and pat.is_map(other):
        return pa.map_(kind.key_field, kind.item_field.with_type(_replace(kind.item_type, other.item_type, test)))
    if pat.is_list(kind) and pat.is_list(other):
        return pa.list_(kind.value_field.with_type(_replace(kind.value_type, other.value_type, test)))
    return other if test(kind, other) else kind
