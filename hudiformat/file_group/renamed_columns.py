"""Read files whose columns have other names or times than in the query, because the columns were changed since.

:func:`block_of_query` is what every reader of log records asks for, as a block may also lack the values of a column.

Source: FileGroupReaderSchemaHandler.getRequiredSchemaForFileAndRenamedColumns, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from hudiformat.codec.avro.renaming import rename_columns
from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.build import data_block
from hudiformat.codec.log.frame import BlockHeader, BlockType, HeaderKey
from hudiformat.file_group.base_file.filters import FileFilter, KeyFilter
from hudiformat.file_group.base_file.read import BaseRows, LogsWin, read_columns, scan_base_file, scan_base_rows
from hudiformat.file_group.emptied_keys import EMPTIED, may_lack_key, restore_emptied_keys
from hudiformat.file_group.finer_times import StoredTimes, to_times_of
from hudiformat.naming.file_names import BaseFileName, base_name
from hudiformat.schema.internal_schema import SchemaHistory
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.table_config import TableConfig


def scan_batches(
    storage: Storage,
    path: str,
    schema: pa.Schema,
    *,
    history: SchemaHistory | None = None,
    times: StoredTimes | None = None,
    may_hold: FileFilter | None = None,
) -> Iterator[pa.RecordBatch]:
    """Scan a base file as ``scan_base_file`` does, by the column names and times that the file has.

    If these differ from those in *schema*, *may_hold* is ignored, because the file's statistics are not the query's.

    Raises:
        CorruptTableError, SchemaError, StorageError: as ``scan_base_file``; SchemaError also as ``to_times_of``.
    """
    (form,) = _forms_of(storage, path, (schema,), history, times)
    if form.is_of_query:
        yield from scan_base_file(storage, path, schema, may_hold=may_hold)
        return
    for batch in scan_base_file(storage, path, form.stored):
        yield form.convert(batch, schema)


def scan_rows(
    storage: Storage,
    path: str,
    schema: pa.Schema,
    head: pa.Schema,
    *,
    history: SchemaHistory | None = None,
    times: StoredTimes | None = None,
    where: KeyFilter | None = None,
    may_hold: FileFilter | None = None,
    replaced: int | None = None,
    won: LogsWin | None = None,
    groups: Collection[int] | None = None,
) -> Iterator[BaseRows]:
    """Scan a base file as ``scan_base_rows`` does, by the column names and times that the file has.

    Raises:
        CorruptTableError, SchemaError, StorageError: as :func:`scan_batches`.
    """
    form, first = _forms_of(storage, path, (schema, head), history, times)
    if form.is_of_query and first.is_of_query:
        yield from scan_base_rows(
            storage, path, schema, head, where=where, may_hold=may_hold, replaced=replaced, won=won, groups=groups
        )
        return
    for rows in scan_base_rows(storage, path, form.stored, first.stored, where=where, groups=groups):
        shown = pa.schema([*head, *list(rows.head.schema)[len(head) :]])  # the key may have been added
        yield BaseRows(first.convert(rows.head, shown), partial(_converted, rows, form, schema), rows.numbers)


def _converted(rows: BaseRows, form: _Form, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    return (form.convert(batch, schema) for batch in rows.read())


@dataclass(frozen=True, slots=True)
class _Form:
    """The columns of a query as a base file has them: ``timed`` with its times, ``stored`` with its names too."""

    timed: pa.Schema
    stored: pa.Schema
    is_of_query: bool

    def convert(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """Return rows of the file with the names and times of *schema*."""
        if self.stored is not self.timed:
            batch = SchemaHistory.rename_to(batch, schema)
        return to_times_of(batch, schema)


def stored_schema_of(
    storage: Storage,
    path: str,
    schema: pa.Schema,
    history: SchemaHistory | None,
    *,
    times: StoredTimes | None = None,
) -> pa.Schema | None:
    """Return *schema* with the column names and times of the base file at *path*; None if these are the same.

    Raises:
        CorruptTableError, StorageError: the file cannot be read.
    """
    (form,) = _forms_of(storage, path, (schema,), history, times)
    return None if form.is_of_query else form.stored


def _forms_of(
    storage: Storage,
    path: str,
    schemas: Sequence[pa.Schema],
    history: SchemaHistory | None,
    times: StoredTimes | None,
) -> list[_Form]:
    """Return the form of each of *schemas* in the base file at *path*, whose footer is read at most once."""
    with_times = [None if times is None else times.schema_of(path, one) for one in schemas]
    timed = [one if found is None else found for one, found in zip(schemas, with_times, strict=True)]
    with_names: list[pa.Schema | None] = [None] * len(schemas)
    if history is not None and not history.has_one_form:
        instant, stored = BaseFileName.parse(base_name(path)).instant, read_columns(storage, path)
        with_names = [history.stored_schema(one, instant, stored) for one in timed]
    return [
        _Form(one, one if names is None else names, names is None and found is None)
        for one, names, found in zip(timed, with_names, with_times, strict=True)
    ]


def block_of_query(
    block: LogBlock, columns: Container[str], config: TableConfig, history: SchemaHistory | None
) -> LogBlock:
    """Return a log block of the table *config* whose *columns*, by the names of the query, can be read.

    Raises:
        DecodeError: the block is damaged.
        UnsupportedFeatureError: the values of one of the columns are in no file.
    """
    if may_lack_key(block) and _name_in_query(block, EMPTIED, history) in columns:
        block = restore_emptied_keys(block, config)
    return rename_block_columns(block, history)


def _name_in_query(block: LogBlock, name: str, history: SchemaHistory | None) -> str:
    """Return the name that the query has for the column *name* of a block's records."""
    if history is None or block.instant is None:
        return name
    renamed = avro_to_arrow(history.rename_record_schema(block.schema, block.instant)).names
    return renamed[avro_to_arrow(block.schema).names.index(name)]


def rename_block_columns(block: LogBlock, history: SchemaHistory | None) -> LogBlock:
    """Return a log block whose records have the column names of the query.

    An Avro block gets another schema in its header.  A Parquet block stores the names in its content, so it is
    rewritten as an Avro block.

    Raises:
        DecodeError: a Parquet block is damaged.
    """
    instant = block.instant
    if history is None or history.has_one_form or instant is None or HeaderKey.SCHEMA not in block.header:
        return block
    schema = history.rename_record_schema(block.schema, instant)
    if schema == block.schema:
        return block
    header = BlockHeader({**block.header, HeaderKey.SCHEMA: schema})
    if block.type is not BlockType.PARQUET_DATA:
        return block._replace(header=header)
    records = rename_columns(block.to_arrow(), avro_to_arrow(schema))
    content = data_block(records, instant=instant, schema=schema).content
    return block._replace(type=BlockType.AVRO_DATA, header=header, content=content)
