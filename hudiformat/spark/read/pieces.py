"""The pieces of a query that are sent to tasks: one file slice, or for change data one write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.api.reading import context_of
from hudiformat.conditions.translation import as_expression
from hudiformat.errors import DataError, OptionError
from hudiformat.file_group.reader import SliceReader
from hudiformat.file_group.slices import FileSlice
from hudiformat.read.changes import CHANGE_SCHEMA, ChangeReader, change_schema
from hudiformat.read.incremental import Span, Write
from hudiformat.read.plan import SlicePlan, plan_changes, plan_incremental, plan_snapshot, slice_reader
from hudiformat.read.scan import SliceQuery
from hudiformat.spark.options import AS_OF, BEGIN, CDC, END, FILTER, INCREMENTAL, QUERY, SNAPSHOT, SourceOptions
from hudiformat.storage.opening import open_storage

_SIZE_OF_A_WRITE = 4 * 1024 * 1024
"""Bytes that a write counts as when pieces are shared out to tasks; the sizes of its files are not known."""


@dataclass(frozen=True)
class SlicePiece:
    """A piece of a query: the rows of one file slice."""

    path: str
    query: SliceQuery
    file_slice: FileSlice

    @property
    def size(self) -> int:
        """Bytes of the files of the slice."""
        return self.file_slice.size

    def read(self) -> Iterator[pa.RecordBatch]:
        """Read the rows in this process."""
        return self.query.batches(open_storage(self.path), [self.file_slice])


@dataclass(frozen=True)
class ChangePiece:
    """A piece of a query for change data: the changes of one write."""

    path: str
    reader: SliceReader
    write: Write
    columns: Sequence[str]
    filter: pc.Expression | None

    @property
    def size(self) -> int:
        """Bytes that the write counts as; the sizes of its files are not known."""
        return _SIZE_OF_A_WRITE

    def read(self) -> Iterator[pa.RecordBatch]:
        """Read the changes in this process."""
        return ChangeReader(open_storage(self.path), self.reader).changes([self.write], self.columns, self.filter)


Piece = SlicePiece | ChangePiece


def every_column(options: SourceOptions) -> pa.Schema:
    """Return all columns that the query can have, meta fields first."""
    if options.query == CDC:
        return CHANGE_SCHEMA
    return slice_reader(context_of(options.table()).state(), options.get(AS_OF)).output_schema


def output_schema(options: SourceOptions) -> pa.Schema:
    """Return the columns of the query's result.

    Raises:
        SchemaError: there is no such column.
    """
    if options.query == CDC:
        return change_schema(options.columns)
    return slice_reader(context_of(options.table()).state(), options.get(AS_OF)).project(options.columns)


def pieces(options: SourceOptions, columns: list[str], filter: pc.Expression | None = None) -> list[Piece]:
    """Plan a batch query and return its pieces; *filter* is used instead of the one in *options*.

    Raises:
        OptionError: an incremental query has no begin, or has an option of time travel.
        HudiFormatError: another reason stops the query.
    """
    table, query = options.table(), options.query
    if query in (INCREMENTAL, CDC):
        begin = options.get(BEGIN)
        if begin is None:
            raise OptionError(
                f"{BEGIN}: expected the begin of the span of a query with {QUERY}={query}, found "
                "none; set it, to '000' for all writes",
                option=BEGIN,
            )
        return pieces_within(options, Span.of(table.config, begin, options.get(END)), columns, filter)
    plan = plan_snapshot(
        context_of(table),
        as_of=options.get(AS_OF),
        columns=columns,
        filter=_condition(options) if filter is None else filter,
        with_logs=query == SNAPSHOT,
    )
    return _pieces(context_of(table).storage.root, plan)


def pieces_within(
    options: SourceOptions,
    span: Span,
    columns: list[str],
    filter: pc.Expression | None = None,
) -> list[Piece]:
    """Plan a query of the rows that were written, or of the changes that were made, within *span*; return its pieces.

    *filter* is used instead of the one in *options*.

    Raises:
        OptionError: there is an option of time travel too.
        HudiFormatError: another reason stops the query.
    """
    if options.get(AS_OF) is not None:
        raise OptionError(
            f"{AS_OF}: expected no moment for a query with {QUERY}={options.query}, found "
            f"{options.get(AS_OF)!r}; name its span by {BEGIN} and {END}",
            option=AS_OF,
        )
    table, condition = options.table(), _condition(options) if filter is None else filter
    if options.query == CDC:
        changes = plan_changes(context_of(table), span)
        reader = changes.reader.reader
        return [
            ChangePiece(context_of(table).storage.root, reader, write, columns, condition) for write in changes.writes
        ]
    return _pieces(
        context_of(table).storage.root, plan_incremental(context_of(table), span, columns=columns, filter=condition)
    )


def _condition(options: SourceOptions) -> pc.Expression | None:
    """Return the filter, which may use all columns of the query; None if there is none.

    Raises:
        FilterError: the text is not a condition that can be parsed.
        SchemaError: there is no such column.
    """
    text = options.get(FILTER)
    return None if text is None else as_expression(text, every_column(options))


def _pieces(path: str, plan: SlicePlan) -> list[Piece]:
    return [SlicePiece(path, plan.query, one) for one in plan.slices]


def read_pieces(found: Sequence[Piece], target: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the pieces of a task, one after the other, in the schema that was declared to Spark.

    Raises:
        DataError: a value does not fit the declared type.
    """
    for piece in found:
        for batch in piece.read():
            yield _as_declared(batch.select(target.names), target)


def _as_declared(rows: pa.RecordBatch, target: pa.Schema) -> pa.RecordBatch:
    """Cast *rows* to the declared schema; raise a DataError that says how to change the schema."""
    for field, column in zip(target, rows.columns, strict=True):
        if not field.nullable and column.null_count:  # such as the path of an empty string
            raise DataError(
                f"column {field.name} is required, and its partition path gives null in {column.null_count} rows; make "
                f"it nullable: Table.evolve(nullable={field.name!r})",
                column=field.name,
            )
    try:
        return rows.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        changed = [
            f"{one.name} of {one.type}"
            for one, other in zip(rows.schema, target, strict=True)
            if one.type != other.type
        ]
        raise DataError(
            f"the schema that was given does not fit the table's columns {', '.join(changed)}: {error}; leave it "
            "out, or give the table's types"
        ) from None
