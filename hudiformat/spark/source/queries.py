"""Queries cut into pieces that travel to tasks: a file slice each, or for change data a write each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from hudiformat.api import Table, open_table
from hudiformat.errors import OptionError
from hudiformat.query.changes import CHANGE_SCHEMA, ChangeReader, refuse_without_changes
from hudiformat.query.incremental import Span, Write, writes_within, written_by, written_slices
from hudiformat.query.scan import SliceQuery
from hudiformat.spark.options import AS_OF, BEGIN, CDC, END, INCREMENTAL, QUERY, SNAPSHOT, SourceOptions
from hudiformat.storage import open_storage
from hudiformat.view import FileSlice


@dataclass(frozen=True)
class SlicePiece(InputPartition):
    """The rows of one file slice that a query asks for."""

    path: str
    query: SliceQuery
    file_slice: FileSlice

    def read(self) -> Iterator[pa.RecordBatch]:
        """The rows, read in this process."""
        return iter(self.query.scan(open_storage(self.path), [self.file_slice]))


@dataclass(frozen=True)
class ChangePiece(InputPartition):
    """What one write has changed."""

    path: str
    options: Mapping[str, str]
    write: Write

    def read(self) -> Iterator[pa.RecordBatch]:
        """The changes, read in this process."""
        table = open_table(self.path, options=self.options)
        return ChangeReader(table.context, table.slice_reader()).changes([self.write])


Piece = SlicePiece | ChangePiece


def output_schema(options: SourceOptions) -> pa.Schema:
    """The columns of the rows that are asked for."""
    if options.query == CDC:
        return CHANGE_SCHEMA
    return options.table().slice_reader(as_of=options.get(AS_OF)).output_schema


def pieces(options: SourceOptions, columns: list[str]) -> list[Piece]:
    """What the tasks of a batch query read.

    Raises:
        OptionError: an incremental query that does not say where it begins.
        HudiFormatError: whatever stops the query.
    """
    table, query = options.table(), options.query
    if query in (INCREMENTAL, CDC):
        begin = options.get(BEGIN)
        if begin is None:
            raise OptionError(f"a query with {QUERY}={query} needs {BEGIN}", option=BEGIN)
        return pieces_within(options, Span.of(table.context, begin, options.get(END)), columns)
    as_of = options.get(AS_OF)
    slice_query = SliceQuery(table.slice_reader(as_of=as_of), columns, with_logs=query == SNAPSHOT)
    return [SlicePiece(table.path, slice_query, one) for one in table.file_slices(as_of=as_of)]


def pieces_within(options: SourceOptions, span: Span, columns: list[str]) -> list[Piece]:
    """What the tasks read of what was written, or changed, within *span*."""
    table = options.table()
    writes = writes_within(table.context, span)
    if options.query == CDC:
        refuse_without_changes(table.context)
        return [ChangePiece(table.path, options.of_table, write) for write in writes]
    return [*_written(table, span, writes, columns)]


def _written(table: Table, span: Span, writes: list[Write], columns: list[str]) -> Iterator[Piece]:
    reader = replace(table.slice_reader(), incremental=True)
    query = SliceQuery(reader, columns, written_by=written_by(table.context, span, writes))
    slices = written_slices(table.context, writes)
    for file_slice in table.file_slices() if slices is None else slices:
        yield SlicePiece(table.path, query, file_slice)


def read_piece(piece: object, target: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a piece as Spark was told that they are.

    Where there is nothing to read, Spark makes up one task with a partition of its own.
    """
    if isinstance(piece, SlicePiece | ChangePiece):
        for batch in piece.read():
            yield batch.select(target.names).cast(target)
