"""Merge rows into a table, as SQL's MERGE INTO does, in this process.

A source row matches the table's row that has the same record key and partition path; with a global index the partition
path does not matter.  To a source row with a match, the first clause for matched rows whose condition is true is
applied; to a row without a match, the first clause for unmatched rows.  A row for which no condition is true is
skipped.  The matching rows are read after the write has begun, so a write that is repeated after a conflict reads them
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.api.projecting import fit_rows, project, refuse_unset, value_expression
from hudiformat.arguments import ArrowRows
from hudiformat.codec.avro.incoming import adapt_to_schema
from hudiformat.conditions.clauses import Clause, Delete, Insert, Update
from hudiformat.conditions.filters import Filter, as_filter
from hudiformat.errors import (
    DataError,
    OptionError,
    SchemaError,
    UnsupportedFeatureError,
    format_value,
    unknown_column_error,
)
from hudiformat.file_group.merging.keys import KeyIndex
from hudiformat.file_group.merging.rule import Combining
from hudiformat.read.scan import SliceQuery
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.schema.table_schema import RowKeys, as_reader
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableState
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.commit.transaction import Committed, attempts
from hudiformat.write.duplicates import combine_rows, keys_of
from hudiformat.write.index.existing import GROUP, PATH, ExistingRows
from hudiformat.write.rows import Integers, KeyedRows
from hudiformat.write.write import WriteTask, check_rows, local_task

SOURCE, TARGET, _STORED = "source", "target", "stored"


def merge_rows(state: TableState, *, source: ArrowRows, clauses: Sequence[Clause]) -> Committed:
    """Merge *source* into the table; return the commit and the state of the table after it.

    Raises:
        SchemaError: a clause sets a column that the table does not have, or a column of the record key or partition
            path.
        DataError: several source rows have the same key and there is no ordering column to choose by; or as for an
            upsert.
    """
    refuse_without_key(state)
    checked = check_rows(state, Operation.UPSERT, state.schema.arrow)
    keys = RowKeys.of(state.config)
    is_global = state.options.is_global
    fixed = list(keys.key_columns if is_global else keys.columns)
    for clause in clauses:
        check_clause(clause, checked.schema.arrow.names, fixed)
    rows = adapt_to_schema(as_reader(source), checked.schema.arrow).read_all().combine_chunks()

    for write in attempts(state, Operation.UPSERT, in_tasks=False, change=checked.change):
        with write, local_task(write.plan, state.storage, cache=state.context.parsed.cache) as task:
            plan = write.plan
            reader = plan.slice_reader(state.context.merger)
            merge = _Merge(plan, state.storage, _prepare_source(rows, plan, fixed), tuple(clauses), tuple(fixed))
            query = SliceQuery(reader, [*plan.schema.arrow.names, RECORD_KEY], merge.match_filter())
            write.commit(merge.write(task, query))
    return write.result


def refuse_without_key(state: TableState) -> None:
    """Raise an UnsupportedFeatureError if the table has no record key, or its files lack columns of the source rows."""
    if not state.config.record_key_fields:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: merge: expected a table with a record key, by which rows "
            "are matched, found none; update and delete rows by a condition, or upsert rows "
            "that a query has shown, with their meta fields",
            feature="merge without a record key",
        )
    if state.config.drop_partition_columns:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: merge: expected a table whose files have the partition columns, found one that "
            "drops them; upsert and delete rows",
            feature="merge with dropped partition columns",
        )


def flatten_clauses(*groups: object) -> list[Clause]:
    """Return the clauses of all *groups* in one list; a group is one clause, or a list or tuple of clauses.

    Raises:
        OptionError: a group holds something that is no clause.
    """
    clauses: list[Clause] = []
    for group in groups:
        for one in group if isinstance(group, list | tuple) else [group]:
            if not isinstance(one, Clause):
                raise OptionError(f"merge: expected clauses Update, Delete and Insert, found {format_value(one)}")
            clauses.append(one)
    return clauses


def check_clause(clause: Clause, known: Sequence[str], keys: Sequence[str]) -> None:
    """Raise a SchemaError if *clause* sets a column that is not among *known*, or one of the *keys*."""
    for name in () if isinstance(clause, Delete) else clause.values or ():
        if name not in known:
            raise unknown_column_error(name, known, prefix=f"{type(clause).__name__}: ")
        if name in keys:
            raise SchemaError(
                f"{type(clause).__name__}: the column {name!r} is of the record key or partition path, which the "
                "source gives; leave it out",
                column=name,
            )


def _prepare_source(rows: pa.Table, plan: WritePlan, fixed: Sequence[str]) -> KeyedRows:
    """Return the source's rows with their keys and partition paths, one row per key.

    Raises:
        DataError: a key column is missing, a key is null, or several rows have the same key and there is no ordering
            column to choose by.
    """
    keys, schema = RowKeys.of(plan.config), plan.schema
    names = keys.columns
    there = set(rows.schema.names)
    needed = there | (set(names) - set(fixed))  # with a global index, partition columns are not needed to match
    keys.check(pa.schema([field for field in schema.arrow if field.name in needed]))
    given = [name for name in names if name in there]
    own = schema.only(given)
    fitted = pa.Table.from_batches([own.fit(one) for one in rows.select(given).to_batches()], own.arrow)
    for name in names:
        if name not in given:
            kind = schema.arrow.field(name).type
            fitted = fitted.append_column(name, pa.nulls(rows.num_rows, kind))
    prepared = KeyedRows(rows, keys.record_keys(fitted), keys.partition_paths(fitted))
    decides = bool(plan.ordering_fields) and set(plan.ordering_fields) <= set(rows.schema.names)
    combined = combine_rows(rows, keys_of(plan, prepared), Combining(plan.ordering_fields if decides else ()))
    if combined is None:
        return prepared
    if not decides:
        raise _duplicate_key_error(prepared, combined[0], is_global=plan.options.is_global)
    return prepared.take(combined[0])


def _duplicate_key_error(rows: KeyedRows, kept: Integers, *, is_global: bool) -> DataError:
    one = int(np.setdiff1d(np.arange(len(rows.keys)), kept)[0])
    key, path = rows.keys[one].as_py(), rows.paths[one].as_py()
    alike = pc.equal(rows.keys, key) if is_global else pc.and_(pc.equal(rows.keys, key), pc.equal(rows.paths, path))
    where = "" if is_global else f" in partition {path!r}"
    return DataError(
        f"{pc.sum(alike).as_py()} source rows have the record key {key!r}{where}, and no ordering column that says "
        "which counts: leave one of them"
    )


@dataclass(frozen=True, slots=True)
class _Matches:
    """The rows of one file group that match source rows.

    ``numbers[i]`` is the number of the source row that matches row ``i``.  ``stored`` has the partition columns of the
    same rows with the values that the files hold, where ``rows`` has the values that the partition path gives.
    """

    path: str
    group: str
    rows: pa.Table
    stored: pa.Table
    numbers: Integers
    keys: pa.Array


@dataclass(frozen=True, slots=True)
class _Merge:
    """One merge of the rows of ``source``; ``fixed`` are the columns of keys and paths, which no clause can set."""

    plan: WritePlan
    storage: Storage
    source: KeyedRows
    clauses: tuple[Clause, ...]
    fixed: tuple[str, ...]

    def match_filter(self) -> pc.Expression | None:
        """Return a filter that is true for every row of the table that matches, and for few others; None without keys.

        For the key columns ``a`` and ``b`` it is ``a in (values of a) and b in (values of b)``, which is also true for
        combinations that no source row has.
        """
        config, rows = self.plan.config, self.source.rows
        arrow = self.plan.schema.arrow
        # A partition column is read from the partition path, whose value may differ from the value in the row's key.
        keys = RowKeys.of(config)
        names = [name for name in keys.key_columns if name in keys.key_fields and name not in keys.partition_columns]
        values = {name: rows[name].cast(arrow.field(name).type) for name in names}
        each = [pc.field(name).isin(pc.unique(column)) for name, column in values.items()]
        return reduce(and_, each) if rows.num_rows and each else None

    def write(self, task: WriteTask, query: SliceQuery) -> list[WriteStat]:
        """Read the matching rows, apply the clauses and write the results; return the statistics of the files."""
        matches = list(self._matches(task, query))
        written: list[pa.Table] = []
        for found in matches:
            joined = self._join((found.rows, found.stored), found.numbers)
            deleted, updated = self._apply(joined, (Update, Delete))
            written += updated
            if len(deleted):
                task.remove(found.path, found.group, found.keys.take(pa.array(deleted)))
        numbers = np.concatenate([np.empty(0, np.int64), *(found.numbers for found in matches)])
        new = np.setdiff1d(np.arange(len(self.source.keys)), numbers)
        written += self._apply(self._join(None, new), (Insert,))[1]
        rows = pa.concat_tables([self.plan.schema.arrow.empty_table(), *written]).combine_chunks()
        if rows.num_rows:
            for located in task.locate(KeyedRows.of(RowKeys.of(self.plan.config), rows)):
                task.write(located)
        return task.finish()

    def _matches(self, task: WriteTask, query: SliceQuery) -> Iterator[_Matches]:
        """Yield for each file group the rows of the table that match source rows."""
        source, is_global = self.source, self.plan.options.is_global
        index = KeyIndex.of(pa.chunked_array([_identities(source.keys, None if is_global else source.paths)]))
        groups = self._find_file_groups(task)
        task.tagger.list_partitions(dict.fromkeys(path for path, _ in groups))
        found_slices = (task.tagger.partition(path).slice_of.get(group) for path, group in groups)
        slices = [one for one in found_slices if one is not None]  # a bucket may have no files yet
        for one, (shown, hidden) in zip(slices, query.tables_with_stored(self.storage, slices), strict=True):
            path, group = one.partition_path, one.file_id
            rows, stored = shown.combine_chunks(), hidden.combine_chunks()
            found = rows[RECORD_KEY].combine_chunks()
            paths = None if is_global else pa.repeat(path, rows.num_rows)
            at, numbers = index.find(pa.chunked_array([_identities(found, paths)]))
            chosen = pa.array(at)
            own = np.asarray(index.rows)[numbers]
            rows = rows.drop_columns([RECORD_KEY]).take(chosen)
            yield _Matches(path, group, rows, stored.take(chosen), own, found.take(chosen))

    def _find_file_groups(self, task: WriteTask) -> list[tuple[str, str]]:
        """Return the pairs of partition path and file group that may hold the key of a source row, sorted."""
        source = self.source
        if self.plan.options.is_global:
            index = KeyIndex.of(pa.chunked_array([source.keys]))
            parts = ExistingRows(self.plan, self.storage, source.keys, source.paths, index, ()).find()
            pairs = [zip(one[PATH].to_pylist(), one[GROUP].to_pylist(), strict=True) for one in parts]
            return sorted({pair for part in pairs for pair in part})
        keys_alone = pa.RecordBatch.from_arrays([source.keys], ["key"])
        located = task.tagger.locate(KeyedRows(keys_alone, source.keys, source.paths))
        return sorted({(one.path, group) for one in located if not one.is_new for group in one.groups_with_rows})

    def _partition_schema(self) -> pa.Schema:
        """Return the schema of the partition columns of which queries may show what the path says."""
        names = RowKeys.of(self.plan.config).shown_from_path
        return pa.schema([field for field in self.plan.schema.arrow if field.name in names])

    def _join(self, target: tuple[pa.Table, pa.Table] | None, numbers: Integers) -> pa.Table:
        """Return the source rows *numbers*, and beside each the row of *target* that matches it, as structs.

        The columns are ``source``, ``target`` and ``stored``.  Without *target*, which is for source rows that match no
        row, the last two are null.
        """
        source = _struct(self.source.table.take(pa.array(numbers)))
        joined = {SOURCE: source}
        kinds = (self.plan.schema.arrow, self._partition_schema())
        for number, (name, schema) in enumerate(zip((TARGET, _STORED), kinds, strict=True)):
            if len(schema):  # Arrow cannot know the length of a struct array without fields
                nothing = pa.struct(list(schema))
                joined[name] = pa.nulls(len(numbers), nothing) if target is None else _struct(target[number])
        return pa.table(joined)

    def _apply(self, joined: pa.Table, kinds: tuple[type[Clause], ...]) -> tuple[Integers, list[pa.Table]]:
        """Apply the clauses of *kinds* to *joined*; return the numbers of the rows to delete, and the rows to write."""
        left = np.ones(joined.num_rows, np.bool_)
        deleted, written = [np.empty(0, np.int64)], []
        for clause in self.clauses:
            if not isinstance(clause, kinds) or not left.any():
                continue
            holds = left & _holds(clause, joined)
            left &= ~holds
            if isinstance(clause, Delete):
                deleted.append(np.flatnonzero(holds))
            elif holds.any():
                written.append(self._values(clause, joined.filter(pa.array(holds))))
        return np.concatenate(deleted), written

    def _values(self, clause: Update | Insert, joined: pa.Table) -> pa.Table:
        schema = self.plan.schema
        values = [self._value(clause, field) for field in schema.arrow]
        rows = fit_rows(project(joined, values, schema.arrow.names, of=type(clause).__name__), schema)
        if isinstance(clause, Update):
            old = joined[TARGET]
            named = [name for name in clause.values or () if name not in self.fixed]
            changes = {name: (pc.struct_field(old, [schema.arrow.get_field_index(name)]), rows[name]) for name in named}
            refuse_unset(changes, self.plan.rule, of=type(clause).__name__)
        return rows

    def _value(self, clause: Update | Insert, field: pa.Field) -> pc.Expression:
        """Return the expression whose value *clause* puts into the column *field*."""
        name = field.name
        if clause.values is not None and name in clause.values and name not in self.fixed:
            return value_expression(clause.values[name], field, of=type(clause).__name__)
        kept = pc.field(_STORED if self._partition_schema().get_field_index(name) >= 0 else TARGET, name)
        if isinstance(clause, Update) and name in self.fixed:
            return kept
        in_source = self.source.rows.schema.get_field_index(name) >= 0
        if in_source and (clause.values is None or name in self.fixed):
            return pc.field(SOURCE, name).cast(field.type)
        return kept


def _struct(rows: pa.Table) -> pa.Array:
    columns = [column.combine_chunks() for column in rows.columns]
    return pa.StructArray.from_arrays(columns, fields=list(rows.schema))


def _identities(keys: pa.Array, paths: pa.Array | None) -> pa.Array:
    """Return a text that identifies each record: its key, preceded by its partition path if *paths* are given."""
    return keys if paths is None else pc.binary_join_element_wise(paths, keys, "\0")


def _holds(clause: Clause, joined: pa.Table) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return for each row whether the condition of *clause* is true; null counts as false."""
    if clause.condition is None:
        return np.ones(joined.num_rows, np.bool_)
    condition = cast("Filter", clause.condition)
    joined = joined.select([SOURCE, TARGET])
    expression = as_filter(condition, joined.schema)
    assert expression is not None  # noqa: S101 - there is a condition
    [holds] = project(joined, [expression], ["holds"], of=type(clause).__name__).columns
    if not pa.types.is_boolean(holds.type):
        raise SchemaError(f"{type(clause).__name__}: expected a condition, found {expression} of type {holds.type}")
    return np.asarray(pc.fill_null(holds, False))
