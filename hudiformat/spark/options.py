"""What a data source is asked for, in Hudi's keys; everything else is for :func:`hudiformat.open_table`.

Spark hands options over in lower case.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hudiformat.api.table import Table, open_table
from hudiformat.errors import OptionError
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.table.options.values import REPLACING, Operation
from hudiformat.timeline.table_config import TableConfig

AS_OF = "as.of.instant"
QUERY = "hoodie.datasource.query.type"
FORMAT = "hoodie.datasource.query.incremental.format"
BEGIN = "hoodie.datasource.read.begin.instanttime"
END = "hoodie.datasource.read.end.instanttime"
START = "hoodie.datasource.streaming.startOffset"
LIMIT = "maxCommitsPerTrigger"
COLUMNS = "hudiformat.columns"
FILTER = "hudiformat.filter"
TO_DELETE = "hoodie.datasource.write.partitions.to.delete"
NATIVE = "hudiformat.spark.native"
SIZING_TASKS = "hudiformat.sizing.tasks"
WRITER = "hoodie.datasource.write.streaming.checkpoint.identifier"

SNAPSHOT, READ_OPTIMIZED, INCREMENTAL, CDC = "snapshot", "read_optimized", "incremental", "cdc"
LATEST = "latest_state"
_QUERIES = (SNAPSHOT, READ_OPTIMIZED, INCREMENTAL, CDC)
_OPERATION_KEYS = ("operation", "hoodie.datasource.write.operation")
_OF_NO_FRAME = (Operation.ALTER_SCHEMA,)
_SPARKS_OWN = ("path", "checkpointlocation", "queryname", "outputmode")
_OF_QUERIES = (AS_OF, QUERY, FORMAT, BEGIN, END, START, LIMIT, COLUMNS, FILTER, NATIVE)
_OURS = {key.lower() for key in (*_OF_QUERIES, WRITER, TO_DELETE)}


def open_for_tasks(path: str, options: Mapping[str, str] | None) -> Table:
    """The table, opened; tasks reach it by its path alone.

    Raises:
        OptionError: the path has credentials or options, which tasks are not handed; an unknown option, a bad value.
        NotATableError: there is no table.
    """
    table = open_table(path, options=options)
    if "://" in table.path and table.path != path.rstrip("/"):
        raise OptionError(
            f"{table.path}: expected a path without credentials or options, which tasks are not handed; give them by "
            "the environment, as with spark.executorEnv.AWS_ENDPOINT_URL",
            option="path",
        )
    return table


def _meant(option: str) -> str | None:
    """The option of the Spark side that a misspelt one is closest to; None where none is close."""
    known = {key.lower(): key for key in (*_OF_QUERIES, WRITER, TO_DELETE, *_OPERATION_KEYS)}
    close = difflib.get_close_matches(option.lower(), known, n=1, cutoff=0.8)
    return known[close[0]] if close else None


@dataclass(frozen=True)
class SourceOptions:
    """The options of one reader or writer."""

    given: Mapping[str, str]

    def __post_init__(self) -> None:
        """Give the options of this side the case that Spark gives them in a data source; of two, the later counts."""
        own = {*_OURS, *_OPERATION_KEYS, *_SPARKS_OWN}
        lower = {key.lower() if key.lower() in own else key: value for key, value in self.given.items()}
        object.__setattr__(self, "given", lower)

    def get(self, key: str) -> str | None:
        """What an option was set to."""
        return self.given.get(key.lower())

    @property
    def path(self) -> str:
        """Where the table is.

        Raises:
            OptionError: no path was given.
        """
        path = self.get("path")
        if path is None:
            raise OptionError("no path; name the table with load(path), save(path) or start(path)", option="path")
        return path

    @property
    def of_table(self) -> dict[str, str]:
        """The options that the table takes."""
        ours = {*_OURS, *_OPERATION_KEYS, *_SPARKS_OWN}
        return {key: value for key, value in self.given.items() if key.lower() not in ours}

    def table(self) -> Table:
        """The table, opened.

        Raises:
            OptionError: no path, an unknown option, or a bad value.
            NotATableError: there is no table.
        """
        try:
            return open_for_tasks(self.path, self.of_table)
        except OptionError as error:
            if not error.is_unknown or (meant := _meant(error.option or "")) is None:
                raise
            raise OptionError(
                f"unknown option {error.option!r}; did you mean {meant!r}?", option=error.option, is_unknown=True
            ) from error

    @property
    def query(self) -> str:
        """The query type; ``cdc`` may be asked for as Hudi has it too, as the format of an incremental query.

        Raises:
            OptionError: there is no such query, or no such format of one.
        """
        query = (self.get(QUERY) or SNAPSHOT).lower()
        if query not in _QUERIES:
            raise OptionError(f"{QUERY}: expected one of {', '.join(_QUERIES)}, found {query!r}", option=QUERY)
        form = (self.get(FORMAT) or LATEST).lower()
        if form not in (LATEST, CDC):
            raise OptionError(f"{FORMAT}: expected {LATEST} or {CDC}, found {form!r}", option=FORMAT)
        return CDC if query == INCREMENTAL and form == CDC else query

    @property
    def columns(self) -> list[str] | None:
        """The columns that are picked, None for all.

        Raises:
            OptionError: the option names none: Spark counts no rows of a data source without columns.
        """
        text = self.get(COLUMNS)
        names = None if text is None else [name.strip() for name in text.split(",") if name.strip()]
        if names == []:
            raise OptionError(
                f"{COLUMNS}: expected names of columns, found {text!r}; hudiformat.spark.read(columns=[]) counts rows",
                option=COLUMNS,
            )
        return names

    @property
    def partitions_to_delete(self) -> list[str] | None:
        """The partition paths that ``delete_partition`` removes, ``*`` for any text; None for those of the rows."""
        text = self.get(TO_DELETE)
        return None if text is None else [path.strip() for path in text.split(",") if path.strip()]

    @property
    def native(self) -> str:
        """Which base files Spark's own reader reads: of storages that surely are its own too (auto), all, or none.

        Raises:
            OptionError: it is none of these.
        """
        text = (self.get(NATIVE) or "auto").lower()
        if text not in ("auto", "true", "false"):
            raise OptionError(f"{NATIVE}: expected auto, true or false, found {text!r}", option=NATIVE)
        return text

    @property
    def operation(self) -> Operation:
        """What a batch of a stream does with its rows; upsert by default.

        Raises:
            OptionError: there is no such operation, or none for streams.
        """
        operation = self._operation() or Operation.UPSERT
        if operation is Operation.DELETE_PARTITION:
            raise OptionError(
                "operation: a stream has no delete_partition; call hudiformat.spark.delete_partitions",
                option="operation",
            )
        return operation

    def batch_operation(self, *, overwrite: bool) -> Operation:
        """What a batch does with its rows; with mode *overwrite* they replace all others by default.

        Raises:
            OptionError: there is no such operation, or it is none of those that overwrite.
        """
        operation = self._operation()
        if not overwrite:
            return operation or Operation.UPSERT
        if operation is not None and operation not in REPLACING:
            raise OptionError(
                f"mode overwrite: expected the operation insert_overwrite_table or insert_overwrite, found "
                f"{operation.value.lower()}; use mode append",
                option="operation",
            )
        return operation or Operation.INSERT_OVERWRITE_TABLE

    def for_rows(self, operation: Operation, config: TableConfig, names: Sequence[str]) -> Operation:
        """*operation*, or where none is named a bulk insert of rows that have no key, as in Hudi: they are all new.

        Source: HoodieSparkSqlWriter.deduceOperation, Hudi 1.2.0.
        """
        are_new = not config.record_key_fields and RECORD_KEY not in names
        is_left_open = operation is Operation.UPSERT and self._operation() is None
        return Operation.BULK_INSERT if are_new and is_left_open else operation

    def _operation(self) -> Operation | None:
        text = next((self.given[key] for key in _OPERATION_KEYS if key in self.given), None)
        known = {operation.value.lower(): operation for operation in Operation if operation not in _OF_NO_FRAME}
        if text is None or text.lower() in known:
            return None if text is None else known[text.lower()]
        raise OptionError(f"operation: expected one of {', '.join(known)}, found {text!r}", option="operation")

    def among(self, tasks: int) -> SourceOptions:
        """These options for a stream: with Flink's way of sizing, so many tasks share its new rows, unless they say."""
        return SourceOptions({SIZING_TASKS: str(tasks), **self.given})

    @property
    def commits_per_batch(self) -> int | None:
        """How many commits a batch of a stream takes at most.

        Raises:
            OptionError: it is no number above 0.
        """
        text = self.get(LIMIT)
        if text is None:
            return None
        if not text.isdecimal() or int(text) < 1:
            raise OptionError(f"{LIMIT}: expected a number above 0, found {text!r}", option=LIMIT)
        return int(text)
