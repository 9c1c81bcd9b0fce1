"""Read files whose columns have other names than in the query, because columns were renamed or dropped since.

:func:`block_of_query` is what every reader of log records asks for, as a block may also lack the values of a column.

Source: FileGroupReaderSchemaHandler.getRequiredSchemaForFileAndRenamedColumns, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import partial

import pyarrow as pa

from hudiformat.codec.avro.renaming import rename_columns
from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.build import data_block
from hudiformat.codec.log.frame import BlockHeader, BlockType, HeaderKey
from hudiformat.file_group.base_file.filters import FileFilter, KeyFilter
from hudiformat.file_group.base_file.read import BaseRows, read_columns, scan_base_file, scan_base_rows
from hudiformat.file_group.emptied_keys import EMPTIED, may_lack_key, restore_emptied_keys
from hudiformat.naming.file_names import BaseFileName, base_name
from hudiformat.schema.internal_schema import SchemaHistory
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.table_config import TableConfig


def scan_batches(
    storage: Storage,
    path: str,
    schema: pa.Schema,
    *,
    history: SchemaHistory | None,
    may_hold: FileFilter | None = None,
) -> Iterator[pa.RecordBatch]:
    """Scan a base file as ``scan_base_file`` does, by the column names that the file has.

    If these differ from the names in *schema*, *may_hold* is ignored, because the file's statistics have other names.

    Raises:
        CorruptTableError, SchemaError, StorageError: as ``scan_base_file``.
    """
    stored = stored_schema_of(storage, path, schema, history)
    if stored is None:
        yield from scan_base_file(storage, path, schema, may_hold=may_hold)
        return
    for batch in scan_base_file(storage, path, stored):
        yield SchemaHistory.rename_to(batch, schema)


def scan_rows(
    storage: Storage,
    path: str,
    schema: pa.Schema,
    head: pa.Schema,
    *,
    history: SchemaHistory | None,
    where: KeyFilter | None = None,
    may_hold: FileFilter | None = None,
    replaced: int | None = None,
) -> Iterator[BaseRows]:
    """Scan a base file as ``scan_base_rows`` does, by the column names that the file has.

    Raises:
        CorruptTableError, SchemaError, StorageError: as ``scan_base_rows``.
    """
    stored, first = stored_schemas_of(storage, path, (schema, head), history)
    if stored is None and first is None:
        yield from scan_base_rows(storage, path, schema, head, where=where, may_hold=may_hold, replaced=replaced)
        return
    stored, first = stored or schema, first or head
    for rows in scan_base_rows(storage, path, stored, first, where=where):
        shown = pa.schema([*head, *list(rows.head.schema)[len(head) :]])  # the key may have been added
        yield BaseRows(SchemaHistory.rename_to(rows.head, shown), partial(_rename_batches, rows, schema), rows.numbers)


def _rename_batches(rows: BaseRows, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    return (SchemaHistory.rename_to(batch, schema) for batch in rows.read())


def stored_schema_of(storage: Storage, path: str, schema: pa.Schema, history: SchemaHistory | None) -> pa.Schema | None:
    """Return *schema* with the column names of the base file at *path*; None if the names are the same.

    Raises:
        CorruptTableError, StorageError: the file cannot be read.
    """
    return stored_schemas_of(storage, path, (schema,), history)[0]


def stored_schemas_of(
    storage: Storage, path: str, schemas: Sequence[pa.Schema], history: SchemaHistory | None
) -> list[pa.Schema | None]:
    """Return for each of *schemas* what :func:`stored_schema_of` returns; the footer is read once."""
    if history is None or history.has_one_form:
        return [None] * len(schemas)
    instant, stored = BaseFileName.parse(base_name(path)).instant, read_columns(storage, path)
    return [history.stored_schema(one, instant, stored) for one in schemas]


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
