"""Run the pre-commit validators of a write: SQL queries over the rows before and after it, by DuckDB.

As in Hudi, the rows are those of the partitions that the write changes.  Hudi reads their base files alone; here log
files are merged, so that validators work for tables of both types.

Source: SparkValidatorUtils, SqlQueryPreCommitValidator and its subclasses, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.avro.java_text import java_floats
from hudiformat.conditions.filters import Filter, as_filter
from hudiformat.errors import UnsupportedFeatureError, ValidationError, warn
from hudiformat.file_group.reader import SliceReader
from hudiformat.file_group.slices import FileSlice
from hudiformat.read.explain import explain
from hudiformat.read.plan import slice_reader
from hudiformat.read.scan import Scan, SliceQuery
from hudiformat.table.options.validation import FailurePolicy, ValidationOptions, Validator
from hudiformat.table.state import Parsed, TableState
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.config_files import VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.timeline import Instant, State

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TABLE = "<TABLE_NAME>"
_BEFORE, _AFTER = "table_before", "table_after"


def refuse_without_duckdb() -> None:
    """Check that validators can run here.

    Raises:
        UnsupportedFeatureError: DuckDB is not installed.
    """
    try:
        import duckdb  # noqa: F401, PLC0415 - only those who validate need it
    except ImportError as error:
        raise UnsupportedFeatureError(
            "pre-commit validators: expected the package duckdb to be installed, found none; install it: pip install "
            "'hudiformat[duckdb]'",
            feature="pre-commit validators",
        ) from error


def validate(state: TableState, instant: Instant, metadata: CommitMetadata) -> None:
    """Run the validators of the options on *state* as it is, and as the write at *instant* with *metadata* makes it.

    Raises:
        ValidationError: a validator refuses the write, and the policy is FAIL; or a query cannot be run.
    """
    options, root = state.options.validation, state.storage.root
    refuse_without_duckdb()
    paths = {stat.partition_path or "" for stat in metadata.write_stats}
    paths.update(metadata.partition_to_replace_file_ids or ())
    if not paths:
        return
    failures = tuple(_failures(options, _open(state, instant, metadata, sorted(paths))))
    if not failures:
        return
    message = f"{root}: pre-commit validators refuse the write {instant.time}: {'; '.join(failures)}"
    if options.policy is FailurePolicy.WARN_LOG:
        warn(message)
        return
    raise ValidationError(f"{message}; nothing was written", path=root, failures=failures)


def _open(state: TableState, instant: Instant, metadata: CommitMetadata, paths: Sequence[str]) -> DuckDBPyConnection:
    """Return a connection that has the rows of the partitions *paths* before and after the write as two tables."""
    import duckdb  # noqa: PLC0415 - only those who validate need it

    from hudiformat.read.dataset import TableDataset  # noqa: PLC0415 - pyarrow.dataset imports pandas

    before, after = _listed_by_folders(state), _completed(state, instant, metadata)
    reader = slice_reader(after)
    connection = duckdb.connect(config={"autoinstall_known_extensions": False})  # a commit downloads nothing
    # Both have the columns that the table has after the write.
    connection.register(_BEFORE, TableDataset(_Rows(before, replace(reader, visibility=before.visibility), paths)))
    connection.register(_AFTER, TableDataset(_Rows(after, reader, paths)))
    return connection


def _failures(options: ValidationOptions, connection: DuckDBPyConnection) -> Iterator[str]:
    """Yield what each validator has against the write."""
    if Validator.EQUALITY in options.validators:
        for query in options.equality:
            lost, before = _lost(connection, query, Validator.EQUALITY)
            if lost:
                yield f"{query!r}: expected all of its {before} rows of before after the write, found {before - lost}"
    if Validator.INEQUALITY in options.validators:
        for query in options.inequality:
            lost, before = _lost(connection, query, Validator.INEQUALITY)
            if not lost:
                yield f"{query!r}: expected other rows after the write, found all {before} of before"
    if Validator.SINGLE_RESULT in options.validators:
        for query, expected in options.single_result:
            found = _single_result(connection, query)
            if found != expected:
                yield f"{query!r}: expected {expected!r} after the write, found {found!r}"


def _lost(connection: DuckDBPyConnection, query: str, validator: Validator) -> tuple[int, int]:
    """Return how many rows of *query* before the write it does not have after it, and how many there were.

    Equal rows count once among those that are found again, as in Hudi: a query should return none.
    """
    with _runnable(query, validator):
        for name in (_BEFORE, _AFTER):
            connection.execute(f"CREATE OR REPLACE TEMP TABLE result_of_{name} AS {_in_duckdb(query, name)}")
    [(before, kept)] = connection.sql(
        f"SELECT (SELECT count(*) FROM result_of_{_BEFORE}), count(*) FROM "  # noqa: S608 - names of this module
        f"(SELECT * FROM result_of_{_BEFORE} INTERSECT SELECT * FROM result_of_{_AFTER})"
    ).fetchall()
    return before - kept, before


def _single_result(connection: DuckDBPyConnection, query: str) -> str | None:
    """Return the only value of *query* after the write, as Java writes it; None for null.

    Raises:
        ValidationError: it returns no value, or several.
    """
    with _runnable(query, Validator.SINGLE_RESULT):
        result = connection.sql(_in_duckdb(query, _AFTER)).to_arrow_table()
    if (result.num_rows, result.num_columns) != (1, 1):
        found = f"{result.num_rows} rows of {result.num_columns} columns"
        raise ValidationError(f"{Validator.SINGLE_RESULT.option}: {query!r}: expected a single value, found {found}")
    return _java_text(result.column(0).combine_chunks())


@contextmanager
def _runnable(query: str, validator: Validator) -> Iterator[None]:
    """Raise a ValidationError for a query that cannot be run in the block."""
    import duckdb  # noqa: PLC0415 - only those who validate need it
    import sqlglot  # noqa: PLC0415 - the same

    try:
        yield
    except (duckdb.Error, sqlglot.errors.SqlglotError) as error:
        raise ValidationError(f"{validator.option}: {query!r} cannot be run: {error}; nothing was written") from error


def _in_duckdb(query: str, table: str) -> str:
    """Return a query in Spark's SQL as DuckDB understands it, with the name of a table in it."""
    import sqlglot  # noqa: PLC0415 - only those who validate need it

    return str(sqlglot.transpile(query.replace(_TABLE, table), read="spark", write="duckdb")[0])


def _java_text(value: pa.Array) -> str | None:
    """Return the text of the one value of an array as Spark's values have it in Java; None for null."""
    if pat.is_floating(value.type):
        value = java_floats(value)
    found = value[0].as_py()
    if found is None:
        return None
    if isinstance(found, bool):
        return str(found).lower()
    if pat.is_timestamp(value.type):  # java.sql.Timestamp: at least one digit of the second
        text = f"{found:%Y-%m-%d %H:%M:%S.%f}".rstrip("0")
        return f"{text}0" if text.endswith(".") else text
    return str(found)


@dataclass(frozen=True)
class _Rows:
    """The rows of some partitions in one state of a table, as *reader* reads them."""

    state: TableState
    reader: SliceReader
    paths: Sequence[str]

    def scan(self, *, as_of: Any = None, columns: Sequence[str] | None = None, filter: Filter | None = None) -> Scan:
        """Return a scan; *as_of* is not asked for."""
        assert as_of is None  # noqa: S101 - a dataset of the newest rows
        condition = None if filter is None else as_filter(filter, self.reader.output_schema)
        query = SliceQuery(self.reader, columns, condition)
        return query.scan(self.state.storage, self._slices, lambda: explain(self.state, query, self._slices, None))

    def count(self, filter: Filter | None = None) -> int:
        """Return the number of rows for which *filter* is true."""
        return sum(rows.num_rows for rows in self.scan(filter=filter))

    @cached_property
    def _slices(self) -> list[FileSlice]:
        return [one for path in self.paths for one in self.state.slices(path)]


class _WithCommit(Parsed):
    """A cache of parsed files that always has the content of one commit, whose file does not exist yet."""

    def __init__(self, done: Instant, metadata: CommitMetadata) -> None:
        super().__init__()
        self._own = done, metadata
        self.commits[done] = metadata

    def keep(self, instant: Instant, metadata: CommitMetadata) -> bool:
        """Cache the content of another commit."""
        is_kept = super().keep(instant, metadata)
        done, own = self._own
        self.commits[done] = own
        return is_kept


def _listed_by_folders(state: TableState, parsed: Parsed | None = None) -> TableState:
    """Return *state* with the listing of folders, as the metadata table does not know the files of the write."""
    options = replace(state.context.options, metadata_enable=False)
    context = replace(state.context, options=options, parsed=parsed or Parsed())
    return TableState(context, state.config, state.timeline)


def _completed(state: TableState, instant: Instant, metadata: CommitMetadata) -> TableState:
    """Return *state* as it will be when *instant* is completed with *metadata*."""
    has_times = state.config.version >= VERSION_WITH_COMPLETION_TIMES
    completed_at = state.next_instant if has_times else None
    done = Instant(instant.time, instant.action.completed_as, State.COMPLETED, completed_at)
    left = [one for one in state.timeline.instants if one.time != instant.time]
    timeline = type(state.timeline).of([*left, done])
    return replace(_listed_by_folders(state, _WithCommit(done, metadata)), timeline=timeline)
