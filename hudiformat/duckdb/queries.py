"""Run queries of DuckDB over tables that are named by their paths."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from hudiformat.api.packages import import_package
from hudiformat.api.table import open_table
from hudiformat.arguments import check_arguments
from hudiformat.errors import ArgumentError
from hudiformat.read.time_travel import Moment

if TYPE_CHECKING:
    import duckdb

_FILES = (".parquet", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".arrow", ".db", ".duckdb", ".gz", ".zst")
"""Ends of names of files, which DuckDB itself reads."""
_PATTERN = frozenset("*?[")


@check_arguments
def query(
    sql: str,
    *,
    connection: duckdb.DuckDBPyConnection | None = None,
    as_of: Moment | None = None,
    options: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> duckdb.DuckDBPyRelation:
    """Return the rows of the query *sql*, in which tables are named by their paths, as a relation of DuckDB.

    A name with a slash in it, in quotes, is a table as :func:`hudiformat.open_table` opens it, with *options* and
    *storage_options*: ``from './trips'``, ``from 's3://bucket/trips'``, ``from 'hive://host:9083/db.trips'``.  Names of
    files, such as ``'rows/*.parquet'``, and other names are DuckDB's.  *as_of* is for all tables of the query.

    Columns and filters are pushed down, and DuckDB itself scans Parquet files on this machine that need no merging.
    The tables become views of *connection*, by default a new one in memory, with the rows of this moment.

    Raises:
        ArgumentError: *sql* is not one query of DuckDB's.
        NotATableError: there is no table at a path.
        UnsupportedFeatureError: DuckDB is not installed.

    Source: duckdb.DuckDBPyConnection.sql.
    """
    package = import_package("duckdb", extra="duckdb")
    found = package.connect() if connection is None else connection
    try:
        for name in sorted(filter(is_path, _tables_of(sql, package.connect()))):
            opened = open_table(name, options=options, storage_options=storage_options)
            found.register(name, opened.to_duckdb(found, as_of=as_of))
        rows: duckdb.DuckDBPyRelation = found.sql(sql)
    except package.Error as error:
        raise ArgumentError(f"sql: expected a query of DuckDB's, found {sql!r}: {error}", argument="sql") from error
    _CONNECTIONS[rows] = found
    return rows


_CONNECTIONS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""The connection of each relation that is alive: up to DuckDB 1.4 a relation does not keep it open."""
_ROWS_AT_ONCE = 122_880
"""The rows of a row group of DuckDB's."""


def rows_of(relation: duckdb.DuckDBPyRelation) -> pa.RecordBatchReader:
    """Return the rows of a relation batch by batch, in any release of DuckDB's."""
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    rows: pa.RecordBatchReader = read(_ROWS_AT_ONCE)
    return rows


def _tables_of(sql: str, connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the names of the tables of a query, as DuckDB parses it.

    Its ``get_table_names`` also binds the query, which fails where a join names columns of tables that are not there.

    Raises:
        ArgumentError: *sql* is not one query.
    """
    [[text]] = connection.execute("select json_serialize_sql(cast(? as varchar))", [sql]).fetchall()
    parsed = json.loads(text)
    if parsed["error"] or len(parsed["statements"]) != 1:
        problem = parsed.get("error_message") or f"{len(parsed['statements'])} statements"
        raise ArgumentError(
            f"sql: expected one query, found {sql!r}: {problem}; call execute for INSERT, UPDATE, DELETE and MERGE",
            argument="sql",
        )
    return set(_names_in(parsed["statements"]))


def _names_in(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if node.get("type") == "BASE_TABLE":
            yield str(node["table_name"])
        node = list(node.values())
    for one in node if isinstance(node, list) else ():
        yield from _names_in(one)


def is_path(name: str) -> bool:
    """Return whether the name of a table in SQL is the path of one of Hudi's."""
    ends = PurePosixPath(name.partition("?")[0].lower()).suffixes
    return "/" in name and not _PATTERN.intersection(name) and not (ends and ends[-1] in _FILES)
