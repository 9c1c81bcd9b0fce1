"""Queries cut into pieces that travel to tasks: a file slice each, or for change data a write each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from hudiformat.errors import OptionError
from hudiformat.query import (
    CHANGE_SCHEMA,
    ChangeReader,
    SlicePlan,
    SliceQuery,
    SliceReader,
    Span,
    Write,
    plan_changes,
    plan_incremental,
    plan_snapshot,
    slice_reader,
)
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
        return self.query.batches(open_storage(self.path), [self.file_slice])


@dataclass(frozen=True)
class ChangePiece(InputPartition):
    """What one write has changed."""

    path: str
    reader: SliceReader
    write: Write

    def read(self) -> Iterator[pa.RecordBatch]:
        """The changes, read in this process."""
        return ChangeReader(open_storage(self.path), self.reader).changes([self.write])


Piece = SlicePiece | ChangePiece


def output_schema(options: SourceOptions) -> pa.Schema:
    """The columns of the rows that are asked for."""
    if options.query == CDC:
        return CHANGE_SCHEMA
    return slice_reader(options.table().context.state(), options.get(AS_OF)).output_schema


def pieces(options: SourceOptions, columns: list[str]) -> list[Piece]:
    """What the tasks of a batch query read.

    Raises:
        OptionError: an incremental query that does not name its begin.
        HudiFormatError: whatever stops the query.
    """
    table, query = options.table(), options.query
    if query in (INCREMENTAL, CDC):
        begin = options.get(BEGIN)
        if begin is None:
            raise OptionError(f"a query with {QUERY}={query} needs {BEGIN}", option=BEGIN)
        return pieces_within(options, Span.of(table.config.timeline_zone, begin, options.get(END)), columns)
    plan = plan_snapshot(table.context, as_of=options.get(AS_OF), columns=columns, with_logs=query == SNAPSHOT)
    return _pieces(table.path, plan)


def pieces_within(options: SourceOptions, span: Span, columns: list[str]) -> list[Piece]:
    """What the tasks read of what was written, or changed, within *span*."""
    table = options.table()
    if options.query == CDC:
        changes = plan_changes(table.context, span)
        return [ChangePiece(table.path, changes.reader.reader, write) for write in changes.writes]
    return _pieces(table.path, plan_incremental(table.context, span, columns=columns))


def _pieces(path: str, plan: SlicePlan) -> list[Piece]:
    return [SlicePiece(path, plan.query, one) for one in plan.slices]


def read_piece(piece: object, target: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a piece in the schema that was declared to Spark.

    Where there is nothing to read, Spark makes up one task with a partition of its own.
    """
    if isinstance(piece, SlicePiece | ChangePiece):
        for batch in piece.read():
            yield batch.select(target.names).cast(target)
