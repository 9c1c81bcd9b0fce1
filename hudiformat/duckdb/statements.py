"""Run INSERT, UPDATE, DELETE and MERGE of SQL by the methods of a table, or refuse what they do not do exactly."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.api.reading import context_of
from hudiformat.api.table import Table, open_table
from hudiformat.arguments import check_arguments
from hudiformat.conditions.clauses import Delete, Insert, Update
from hudiformat.duckdb.queries import is_path, query, rows_of
from hudiformat.duckdb.values import Scope, refuse
from hudiformat.errors import ArgumentError, DataError, SchemaError, unknown_column_error
from hudiformat.schema.meta_fields import is_meta_field
from hudiformat.write.commit.transaction import Commit

if TYPE_CHECKING:
    import duckdb
    from sqlglot.expressions import Expression

_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(\w*)", re.DOTALL)
_Query = Callable[[str], "duckdb.DuckDBPyRelation"]
_PARTS: Mapping[str, Sequence[str]] = {
    "Insert": ("this", "expression", "by_name", "with_", "with", "is_function"),
    "Update": ("this", "expressions", "where"),
    "Delete": ("this", "where"),
    "Merge": ("this", "using", "on", "whens"),
    "When": ("matched", "source", "condition", "then"),
}
"""The parts of statements that are carried over; with any other one a statement does something else."""


@check_arguments
def execute(
    sql: str,
    *,
    connection: duckdb.DuckDBPyConnection | None = None,
    options: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Commit:
    """Run the statement *sql* on the table whose path it names, in one commit; names are as for :func:`query`.

    ``INSERT INTO`` is :meth:`hudiformat.Table.insert` of the rows of a query of DuckDB; ``UPDATE``, ``DELETE`` and
    ``MERGE INTO`` are ``update``, ``delete`` and ``merge``.  ``ON`` of a ``MERGE`` compares all columns of the record
    key and of the partition path.  Values are literals, columns, and sums and products of integers or of doubles.

    Raises:
        ArgumentError: *sql* is no such statement.
        UnsupportedFeatureError: the statement, or a part of it, is none that these methods do exactly; or DuckDB is
            not installed.
        FilterError, SchemaError, DataError, CommitError: as for the method.

    Source: sqlglot.parse; the statements of DuckDB.
    """
    import sqlglot  # noqa: PLC0415 - it takes a third of a second, for statements alone

    try:
        trees = [tree for tree in sqlglot.parse(sql, dialect="duckdb") if tree is not None]
    except sqlglot.errors.SqlglotError as error:
        raise ArgumentError(
            f"sql: expected a statement, found {sql!r}, which cannot be parsed", argument="sql"
        ) from error
    kinds = [type(tree).__name__ for tree in trees]
    if len(trees) != 1 or kinds[0] not in _RUN:
        raise ArgumentError(
            f"sql: expected one INSERT, UPDATE, DELETE or MERGE, found {', '.join(kinds) or 'nothing'}; call query for "
            "SELECT",
            argument="sql",
        )
    [tree] = trees
    _refuse_parts(tree)
    target = _target_of(tree)
    if not is_path(target.name):
        raise ArgumentError(
            f"sql: expected the path of a table, such as './trips', found {target.name!r}", argument="sql"
        )
    table = open_table(target.name, options=options, storage_options=storage_options)
    ask = partial(query, connection=connection, options=options, storage_options=storage_options)
    return _RUN[kinds[0]](table, tree, ask)


def is_change(sql: str) -> bool:
    """Return whether *sql* is a statement for :func:`execute`, by its first word, or after WITH by sqlglot."""
    found = _FIRST_WORD.match(sql)
    word = found[1].capitalize() if found else ""
    if word != "With":
        return word in _RUN
    import sqlglot  # noqa: PLC0415 - as above

    try:
        return type(sqlglot.parse_one(sql, dialect="duckdb")).__name__ in _RUN
    except sqlglot.errors.SqlglotError:
        return False


def _refuse_parts(tree: Expression) -> None:
    """Refuse a part of a statement that the methods of a table do not have, such as RETURNING."""
    known = _PARTS[type(tree).__name__]
    for name, part in tree.args.items():
        if part and name not in known:
            refuse(f"{name.strip('_')} of {tree.key}", instead="leave it out")


def _target_of(tree: Expression) -> Expression:
    """Return the table that a statement changes."""
    target = tree.this.this if type(tree.this).__name__ == "Schema" else tree.this
    if type(target).__name__ != "Table" or len(target.parts) != 1:
        refuse(f"the target {target.sql('duckdb')}", instead="name the path of a table, in quotes")
    return target


def _run_delete(table: Table, tree: Expression, _ask: _Query) -> Commit:
    return table.delete(where=_where(tree, _scope_of(table, tree)))


def _run_update(table: Table, tree: Expression, _ask: _Query) -> Commit:
    scope = _scope_of(table, tree)
    return table.update(_assigned(tree.expressions, scope, table.schema), where=_where(tree, scope))


def _scope_of(table: Table, tree: Expression) -> Scope:
    return Scope({_name_of(_target_of(tree)): ("", table.schema)})


def _name_of(table: Expression) -> str:
    return str(table.alias_or_name).lower()


def _where(tree: Expression, scope: Scope) -> pc.Expression:
    where = tree.args.get("where")
    return pc.scalar(True) if where is None else scope.condition(where.this)


def _assigned(nodes: Sequence[Expression], scope: Scope, schema: pa.Schema) -> dict[str, object]:
    """Return the values of ``SET a = ..., b = ...``, by column."""
    values: dict[str, object] = {}
    for node in nodes:
        if type(node).__name__ != "EQ":
            refuse(f"the assignment {node.sql('duckdb')}", instead="set columns to values")
        name = node.this.name
        if name in values:
            raise SchemaError(f"SQL: column {name!r}: expected one value, found two", column=name)
        values[name] = scope.value(node.expression, _field(schema, name))
    return values


def _field(schema: pa.Schema, name: str) -> pa.Field:
    """Return the column *name*, or one of no type, which the method of the table refuses."""
    return schema.field(name) if schema.get_field_index(name) >= 0 else pa.field(name, pa.null())


def _run_insert(table: Table, tree: Expression, ask: _Query) -> Commit:
    select = tree.expression.copy()
    for name in ("with_", "with"):
        if tree.args.get(name):
            select.set(name, tree.args[name].copy())
    rows = _rows(ask(select.sql("duckdb")))
    schema = table.schema
    if not tree.args.get("by_name"):
        named = [one.name for one in tree.this.expressions] if type(tree.this).__name__ == "Schema" else schema.names
        if len(named) != len(rows.schema):
            raise DataError(f"SQL: expected values of the columns {', '.join(named)}, found {len(rows.schema)} values")
        rows = _renamed(rows, named)
    return table.insert(_fit(rows, schema))


def _rows(relation: duckdb.DuckDBPyRelation) -> pa.RecordBatchReader:
    """Return the rows of a query without meta fields, which the write makes."""
    reader = rows_of(relation)
    names = [name for name in reader.schema.names if not is_meta_field(name)]
    schema = pa.schema([reader.schema.field(name) for name in names])
    return pa.RecordBatchReader.from_batches(schema, (batch.select(names) for batch in reader))


def _renamed(rows: pa.RecordBatchReader, names: Sequence[str]) -> pa.RecordBatchReader:
    schema = pa.schema([field.with_name(name) for field, name in zip(rows.schema, names, strict=True)])
    return pa.RecordBatchReader.from_batches(
        schema, (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in rows)
    )


def _fit(rows: pa.RecordBatchReader, schema: pa.Schema) -> pa.RecordBatchReader:
    """Return *rows* with the columns of *schema*; a column that they lack is null, and no value changes.

    Raises:
        SchemaError: *rows* have another column.
        DataError: from the reader, a value does not fit its column.
    """
    known = set(schema.names)
    for name in rows.schema.names:
        if name not in known:
            raise unknown_column_error(name, schema.names, prefix="SQL: ")
    given = set(rows.schema.names)

    def fit(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        columns = [batch[one.name] if one.name in given else pa.nulls(len(batch), one.type) for one in schema]
        try:
            yield from pa.table(columns, names=schema.names).cast(schema).to_batches()
        except (pa.ArrowException, ValueError) as error:
            raise DataError(f"SQL: expected values of the table's columns, found others: {error}") from error

    return pa.RecordBatchReader.from_batches(schema, chain.from_iterable(map(fit, rows)))


@dataclass(frozen=True, slots=True)
class _Merge:
    """A MERGE of the rows ``source``; ``names`` are those of the target and of the source in the statement."""

    table: Table
    names: tuple[str, str]
    source: pa.Schema

    @property
    def both(self) -> Scope:
        """What a clause for matched rows may use."""
        target, source = self.names
        return Scope({target: ("target", self.table.schema), source: ("source", self.source)})

    @property
    def source_alone(self) -> Scope:
        """What a clause for rows without a match may use."""
        return Scope({self.names[1]: ("source", self.source)})

    def check_keys(self, on: Expression) -> None:
        """Refuse a condition of ON by which other rows match than by the record key and the partition path."""
        config, options = self.table.config, context_of(self.table).options
        partition = [] if options.is_global else config.partition_fields
        keys = {*config.record_key_fields, *partition}
        compared = [one.unnest() for one in on.flatten()] if type(on.unnest()).__name__ == "And" else [on.unnest()]
        found = set()
        for one in compared:
            paths = [self.both.path(side) for side in (one.this, one.expression)] if type(one).__name__ == "EQ" else []
            if sorted(path[0] for path in paths) != ["source", "target"] or paths[0][1:] != paths[1][1:]:
                refuse(
                    f"ON {one.sql('duckdb')}", instead=f"compare the columns {', '.join(sorted(keys))} of both tables"
                )
            found.add(".".join(paths[0][1:]))
        if found != keys:
            refuse(
                f"ON with the columns {', '.join(sorted(found))}",
                instead=f"compare the columns {', '.join(sorted(keys))}, of the record key and the partition path",
            )

    def clause(self, when: Expression) -> Update | Delete | Insert:
        """Return a clause for matched rows, or for rows without a match."""
        _refuse_parts(when)
        if when.args.get("source"):
            refuse("WHEN NOT MATCHED BY SOURCE", instead="delete or update these rows by a condition")
        matched = bool(when.args["matched"])
        scope = self.both if matched else self.source_alone
        condition = None if when.args.get("condition") is None else scope.condition(when.args["condition"])
        then = when.args["then"]
        kind = type(then).__name__
        if matched and kind == "Var" and then.name.upper() == "DELETE":
            return Delete(condition)
        if matched and kind == "Update":
            nodes = [] if _is_all(then.expressions) else then.expressions
            return Update(_assigned(nodes, scope, self.table.schema) or None, condition)
        if not matched and kind == "Insert":
            return Insert(self._inserted(then, scope), condition)
        return refuse(f"WHEN ... THEN {then.sql('duckdb')}", instead="use UPDATE, DELETE and INSERT")

    def _inserted(self, then: Expression, scope: Scope) -> dict[str, object] | None:
        """Return the values of ``INSERT (a, b) VALUES (...)``; None for all columns of the source."""
        if then.this is None or _is_all([then.this]):
            return None
        if type(then.this).__name__ != "Tuple" or type(then.expression).__name__ != "Tuple":
            refuse(f"WHEN ... THEN {then.sql('duckdb')}", instead="write INSERT (a, b) VALUES (x, y)")
        values: dict[str, object] = {}
        for column, value in zip(then.this.expressions, then.expression.expressions, strict=True):
            is_same = type(value).__name__ == "Column" and scope.path(value) == ["source", column.name]
            if column.name in self._fixed and not is_same:
                refuse(f"a new value of the key column {column.name}", instead=f"insert the source's {column.name}")
            if column.name not in self._fixed:
                values[column.name] = scope.value(value, _field(self.table.schema, column.name))
        return values

    @property
    def _fixed(self) -> Sequence[str]:
        config = self.table.config
        return [*config.record_key_fields, *config.partition_fields]


def _is_all(nodes: Sequence[Expression]) -> bool:
    """Return whether ``*`` or nothing stands for all columns."""
    return not nodes or [type(node).__name__ for node in nodes] == ["Star"]


def _run_merge(table: Table, tree: Expression, ask: _Query) -> Commit:
    using = tree.args["using"]
    rows = _rows(ask(f"select * from {using.sql('duckdb')}"))  # noqa: S608 - a part of the user's own statement
    merge = _Merge(table, (_name_of(tree.this), _name_of(using)), rows.schema)
    if not tree.args.get("on"):
        refuse("MERGE without ON", instead="compare the columns of the record key and the partition path")
    merge.check_keys(tree.args["on"])
    clauses = [merge.clause(when) for when in tree.args["whens"].expressions]
    return table.merge(
        rows,
        when_matched=[one for one in clauses if not isinstance(one, Insert)],
        when_not_matched=[one for one in clauses if isinstance(one, Insert)],
    )


_RUN: Mapping[str, Callable[[Table, Any, _Query], Commit]] = {
    "Insert": _run_insert,
    "Update": _run_update,
    "Delete": _run_delete,
    "Merge": _run_merge,
}
