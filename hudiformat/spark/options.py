"""Options of the data source, as Hudi's keys; all other options are passed to :func:`hudiformat.open_table`.

Spark passes the names of options in lower case.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyspark

from hudiformat.api.table import Table, open_table
from hudiformat.catalogs.opening import is_catalog
from hudiformat.errors import OptionError
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.table.options.sync import SPARK_VERSION
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
    """Open the table for a job, whose tasks get only its path.

    Raises:
        OptionError: the path has credentials or options, which are not sent to tasks; an option is unknown or has a bad
            value.
        NotATableError: there is no table at *path*.
    """
    table = open_table(path, options={SPARK_VERSION: pyspark.__version__, **(options or {})})
    if "://" in table.path and table.path != path.rstrip("/") and not is_catalog(path):
        raise OptionError(
            "path: expected one without credentials or options, which tasks are not handed, "
            f"found {table.path}; give them by the environment, as with "
            "spark.executorEnv.AWS_ENDPOINT_URL",
            option="path",
        )
    return table


def _closest_option(option: str) -> str | None:
    """Return the option of this module that is closest to the misspelt *option*; None if none is close."""
    known = {key.lower(): key for key in (*_OF_QUERIES, WRITER, TO_DELETE, *_OPERATION_KEYS)}
    close = difflib.get_close_matches(option.lower(), known, n=1, cutoff=0.8)
    return known[close[0]] if close else None


@dataclass(frozen=True)
class SourceOptions:
    """The options of one reader or writer."""

    given: Mapping[str, str]

    def __post_init__(self) -> None:
        """Convert this module's options to lower case, as Spark does; of two equal names, the later option is used."""
        own = {*_OURS, *_OPERATION_KEYS, *_SPARKS_OWN}
        lower = {key.lower() if key.lower() in own else key: value for key, value in self.given.items()}
        object.__setattr__(self, "given", lower)

    def get(self, key: str) -> str | None:
        """Return the value of an option; None if it is not set."""
        return self.given.get(key.lower())

    @property
    def path(self) -> str:
        """The path of the table.

        Raises:
            OptionError: there is no path.
        """
        path = self.get("path")
        if path is None:
            raise OptionError(
                "path: expected the path of a table, found none; name it with load(path), save(path) or start(path)",
                option="path",
            )
        return path

    @property
    def of_table(self) -> dict[str, str]:
        """The options for the table: all but those of this module and of Spark."""
        ours = {*_OURS, *_OPERATION_KEYS, *_SPARKS_OWN}
        return {key: value for key, value in self.given.items() if key.lower() not in ours}

    def table(self) -> Table:
        """Open the table.

        Raises:
            OptionError: there is no path, or an option is unknown or has a bad value.
            NotATableError: there is no table at the path.
        """
        try:
            return open_for_tasks(self.path, self.of_table)
        except OptionError as error:
            if not error.is_unknown or (meant := _closest_option(error.option or "")) is None:
                raise
            raise OptionError(
                f"unknown option {error.option!r}; did you mean {meant!r}?", option=error.option, is_unknown=True
            ) from error

    @property
    def query(self) -> str:
        """The query type; ``cdc`` is also an incremental query with the format ``cdc``, as in Hudi.

        Raises:
            OptionError: there is no such query type, or no such format.
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
        """The selected columns; None for all.

        Raises:
            OptionError: the option names no column: Spark cannot count the rows of a data source without columns.
        """
        text = self.get(COLUMNS)
        names = None if text is None else [name.strip() for name in text.split(",") if name.strip()]
        if names == []:
            raise OptionError(
                f"{COLUMNS}: expected names of columns, found {text!r}; use "
                "hudiformat.spark.read(columns=[]) to count rows",
                option=COLUMNS,
            )
        return names

    @property
    def partitions_to_delete(self) -> list[str] | None:
        """The partition paths that ``delete_partition`` deletes, where ``*`` matches any text.

        None if the option is not set: the partitions of the rows are deleted then.
        """
        text = self.get(TO_DELETE)
        return None if text is None else [path.strip() for path in text.split(",") if path.strip()]

    @property
    def native(self) -> str:
        """Which base files Spark's own reader reads: ``true``, all; ``false``, none; ``auto``, local files and HDFS.

        Raises:
            OptionError: the option has another value.
        """
        text = (self.get(NATIVE) or "auto").lower()
        if text not in ("auto", "true", "false"):
            raise OptionError(f"{NATIVE}: expected auto, true or false, found {text!r}", option=NATIVE)
        return text

    @property
    def operation(self) -> Operation:
        """The operation by which the batches of a stream are written; upsert by default.

        Raises:
            OptionError: there is no such operation, or streams do not support it.
        """
        operation = self._operation() or Operation.UPSERT
        if operation is Operation.DELETE_PARTITION:
            raise OptionError(
                "operation: expected one that writes the rows of a stream, found "
                "delete_partition; call hudiformat.spark.delete_partitions",
                option="operation",
            )
        return operation

    def batch_operation(self, *, overwrite: bool) -> Operation:
        """Return the operation of a batch write: upsert by default, insert_overwrite_table with mode *overwrite*.

        Raises:
            OptionError: there is no such operation, or with *overwrite* it is not one that replaces rows.
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

    def operation_for(self, operation: Operation, config: TableConfig, names: Sequence[str]) -> Operation:
        """Return *operation*; if the options name none and rows have no key, return bulk_insert, as all rows are new.

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

    def with_sizing_tasks(self, tasks: int) -> SourceOptions:
        """Return these options for a stream whose new rows *tasks* tasks share, unless an option sets the number."""
        return SourceOptions({SIZING_TASKS: str(tasks), **self.given})

    @property
    def commits_per_batch(self) -> int | None:
        """The largest number of commits that a batch of a stream reads; None without a limit.

        Raises:
            OptionError: the option is not a number above 0.
        """
        text = self.get(LIMIT)
        if text is None:
            return None
        if not text.isdecimal() or int(text) < 1:
            raise OptionError(f"{LIMIT}: expected a number above 0, found {text!r}", option=LIMIT)
        return int(text)
