"""Data skipping: rule out file slices by the indexes and statistics in the metadata table.

However a row of a slice is merged, each of its values comes from one of the slice's files or is null.  So the values of
a column lie between the lowest and the highest bound of all these files.  If the filter cannot be true for such values,
no file of the slice is opened.  Rules: spec/queries.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby, islice, product
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.casts import keeps_order
from hudiformat.codec.conversion import convert_to_schema
from hudiformat.conditions.filters import columns_of, match_rows
from hudiformat.errors import DataError, HudiFormatError, SchemaError, warn
from hudiformat.file_group.base_file.filters import can_match
from hudiformat.file_group.key_filter import key_filter, value_filter
from hudiformat.file_group.slices import FileSlice
from hudiformat.metadata_table.bloom_filters import BLOOM_FILTERS, bloom_filters
from hudiformat.metadata_table.column_stats import (
    COLUMN_STATS,
    PARTITION_STATS,
    ColumnRange,
    ColumnStats,
    column_stats,
    partition_ranges,
)
from hudiformat.metadata_table.definitions import load_definitions
from hudiformat.metadata_table.kinds.record_index import RECORD_INDEX, is_partitioned
from hudiformat.metadata_table.record_lookup import partitioned_locations, record_locations
from hudiformat.metadata_table.secondary_index import SECONDARY_INDEX, has_secondary_keys, secondary_locations
from hudiformat.schema.partition_columns import PartitionColumns
from hudiformat.table.schema_files import schema_history
from hudiformat.table.state import TableState
from hudiformat.timeline.config_files import VERSION_WITH_COMPLETION_TIMES


def filter_batch(rows: pa.RecordBatch, expression: pc.Expression) -> pa.RecordBatch:
    """Return the rows for which a filter is true.

    Raises:
        SchemaError: the filter does not fit the columns.
    """
    try:
        flags = match_rows(pa.Table.from_batches([rows]), expression)
    except pa.ArrowException as error:
        raise SchemaError(f"the filter {expression} does not fit the columns: {error}") from error
    found = flags.true_count
    if found == rows.num_rows:
        return rows
    return rows.filter(flags) if found else rows.slice(0, 0)  # pyarrow 19 cannot filter when no row is left


@dataclass(frozen=True)
class PartitionPruner:
    """Decides by a partition's path whether the filter can be true for any of its rows."""

    columns: PartitionColumns
    schema: pa.Schema
    """The columns that the query returns."""
    filter: pc.Expression

    @cached_property
    def _uses_paths(self) -> bool:
        """Whether the filter uses a column about which paths tell something."""
        return not self.columns.bounded_by_path.isdisjoint(columns_of(self.filter, self.schema))

    @cached_property
    def _made(self) -> dict[str, frozenset[str]]:
        """What paths can have of times that columns have as texts, where the filter allows certain texts alone."""
        values = {name: value_filter(self.filter, name) for name in self.columns.timed & set(self.schema.names)}
        made = {name: self.columns.made_of(name, one) for name, one in values.items() if one is not None}
        return {name: one for name, one in made.items() if one is not None}

    def may_hold(self, path: str) -> bool:
        """Return whether the partition at *path* can have rows for which the filter is true."""
        return bool(self.holding([path]))

    def holding(self, paths: Sequence[str]) -> list[str]:
        """Return those of *paths* whose partitions can have rows for which the filter is true."""
        if not self._uses_paths:
            return list(paths)
        if new := [path for path in paths if path not in self._decided]:
            self._decided.update(dict.fromkeys(new, False) | dict.fromkeys(self._find_holding(new), True))
        return [path for path in paths if self._decided[path]]

    @cached_property
    def _decided(self) -> dict[str, bool]:
        """What has been decided: a query asks of each path before it is listed, and again of those of the commits."""
        return {}

    def _find_holding(self, paths: Sequence[str]) -> list[str]:
        paths = [path for path in paths if self.columns.may_be_made_of(path, self._made)]
        cases = [self.columns.cases(path, self.schema) for path in paths]
        flags = iter(can_match(self.filter, self.schema, [case for one in cases for case in one]))
        of_paths = [list(islice(flags, len(one))) for one in cases]
        return [path for path, found in zip(paths, of_paths, strict=True) if not found or any(found)]

    def entering(self, folders: Sequence[str]) -> list[str]:
        """Return those of *folders* that can be a partition of :meth:`holding`, or have one below them."""
        depth = len(self.columns.fields) - 1
        if self.columns.escaped:
            told = [folder for folder in folders if folder.count("/") == depth]
            gone = set(told).difference(self.holding(told))
        else:
            below = {folder: found for folder in folders if (found := self._cases_below(folder))}
            flags = iter(can_match(self.filter, self.schema, [case for cases in below.values() for case in cases]))
            may_have = {folder for folder, cases in below.items() if any([*islice(flags, len(cases))])}
            told = [folder for folder in below if folder not in may_have]
            gone = set(told).difference(self.holding(told))
        return [folder for folder in folders if folder not in gone]

    def _cases_below(self, folder: str) -> list[pc.Expression]:
        return self.columns.cases_below(folder, self.schema) if self._uses_paths else []

    def condition_of(self, path: str) -> pc.Expression | None:
        """Return the one condition that the path implies for all rows of the partition; None if there is no such."""
        cases = self.columns.cases(path, self.schema) if self._uses_paths else []
        return cases[0] if len(cases) == 1 else None


_MOST_CASES = 64
_MOST_KEYS = 1000
"""The largest number of keys that are looked up in an index; with more keys, reading the files costs less."""

_MOST_RECORDS = 10_000
"""The largest number of records with the wanted values whose file groups are looked up."""


def drop_skipped(
    state: TableState, slices: Sequence[FileSlice], pruner: PartitionPruner, *, with_logs: bool, is_newest: bool = False
) -> list[FileSlice]:
    """Return the slices in which the pruner's filter can be true.

    *with_logs* says whether the query merges log files.  *is_newest* says that it reads the newest rows of the table,
    so that indexes that describe only these can be used.  A partition of the metadata table that cannot be read is not
    used, with a warning.

    Source: RecordLevelIndexSupport, SecondaryIndexSupport, PartitionStatsIndexSupport, ColumnStatsIndexSupport,
    BloomFiltersIndexSupport, Hudi 1.2.0.
    """
    skipped = skipped_by_index(state, slices, pruner, with_logs=with_logs, is_newest=is_newest)
    return [one for one in slices if one not in skipped]


def skipped_by_index(
    state: TableState, slices: Sequence[FileSlice], pruner: PartitionPruner, *, with_logs: bool, is_newest: bool = False
) -> dict[FileSlice, str]:
    """Return the slices in which the pruner's filter cannot be true, each with the metadata partition that shows it.

    Arguments are those of :func:`drop_skipped`.
    """
    skipped: dict[FileSlice, str] = {}
    if not state.options.data_skipping:
        return skipped
    for partition, find in _indexes(state):
        left = [one for one in slices if one not in skipped]
        if (
            not left
            or not state.has_metadata_partition(partition)
            or (_covers_newest_only(partition) and not is_newest)
        ):
            continue
        try:
            skipped |= dict.fromkeys(find(state, left, pruner, with_logs=with_logs), partition)
        except HudiFormatError as error:
            message = f"{state.storage.root}: {partition} are not used, as they cannot be read: {error}"
            warn(message)
    return skipped


def _columns_with_statistics(state: TableState, pruner: PartitionPruner) -> pa.Schema:
    """Return the columns of the filter whose statistics can be used."""
    stored = _stored_columns(pruner)
    if state.context.merger is not None or schema_history(state) is not None:
        return pa.schema([])  # statistics are stored under the column's name at that time, which may have changed
    names, there = columns_of(pruner.filter, pruner.schema), set(stored.names)
    return pa.schema([stored.field(name) for name in names if name in there])


def _by_partition_statistics(
    state: TableState, slices: Sequence[FileSlice], pruner: PartitionPruner, **_query: bool
) -> set[FileSlice]:
    columns = _columns_with_statistics(state, pruner)
    # Below version 8 rows are appended to existing log files, and a partition's record may be merged into an older one
    # that does not cover all of them.
    grows = state.config.version < VERSION_WITH_COMPLETION_TIMES
    if not columns.names or not state.config.partition_fields or grows:
        return set()
    paths = list(dict.fromkeys(one.partition_path for one in slices))
    known = partition_ranges(state.storage, state.config, state.timeline, paths, columns.names)
    # A file without the column has no statistics of it, and its rows have null: so null is always possible.
    cases = [
        (path, case)
        for path in paths
        for case in _cases(columns, {name: [found] for name, found in known[path].items()}, may_be_null=True)
    ]
    gone = _rule_out(pruner, cases, lambda path: path)
    return {one for one in slices if one.partition_path in gone}


def _by_statistics(
    state: TableState, slices: Sequence[FileSlice], pruner: PartitionPruner, *, with_logs: bool
) -> set[FileSlice]:
    columns = _columns_with_statistics(state, pruner)
    if not columns.names:
        return set()
    grows = state.config.version < VERSION_WITH_COMPLETION_TIMES
    asked = [one for one in slices if not (with_logs and one.log_files and grows)]
    stats = column_stats(state.storage, state.config, state.timeline)
    statistics = _SliceStatistics(stats, pruner, columns, with_logs)
    return set(statistics.rule_out(asked))


def _by_bloom_filters(
    state: TableState, slices: Sequence[FileSlice], pruner: PartitionPruner, *, with_logs: bool
) -> set[FileSlice]:
    where = key_filter(pruner.filter, state.config)
    if where is None or where.keys is None:
        return set()
    keys = pa.array(sorted(where.keys), pa.string())
    index = bloom_filters(state.storage, state.config, state.timeline)
    skipped = set()
    for one in slices:
        if one.base_file is None or (with_logs and one.log_files):
            continue
        found = index.get(one.partition_path, str(one.base_file.name))
        if found is not None and not any(bloom.might_contain(keys).any() for bloom in found):
            skipped.add(one)
    return skipped


def _by_record_index(
    state: TableState, slices: Sequence[FileSlice], pruner: PartitionPruner, *, with_logs: bool
) -> set[FileSlice]:
    of_paths = is_partitioned(load_definitions(state.storage, state.config).get(RECORD_INDEX))
    where = key_filter(pruner.filter, state.config) if with_logs and (of_paths or _are_unique(state)) else None
    if where is None or where.keys is None or len(where.keys) > _MOST_KEYS:
        return set()
    if of_paths:
        paths = {one.partition_path for one in slices}
        places = partitioned_locations(state.storage, state.config, state.timeline, where.keys, paths)
        return {one for one in slices if (one.partition_path, one.file_id) not in places}
    found = set(record_locations(state.storage, state.config, state.timeline, where.keys).values())
    return {one for one in slices if (one.partition_path, one.file_id) not in found}


def _are_unique(state: TableState) -> bool:
    """Return whether each key is in one file group at most, as in a global record index.

    Where keys are unique only within a partition, several file groups may hold the same key.
    """
    return state.options.is_global or not state.config.partition_fields


def _by_secondary_index(
    state: TableState, slices: Sequence[FileSlice], pruner: PartitionPruner, *, with_logs: bool, name: str
) -> set[FileSlice]:
    definitions = load_definitions(state.storage, state.config)
    definition = None if is_partitioned(definitions.get(RECORD_INDEX)) else definitions.get(name)
    column = definition.fields[0] if definition is not None and len(definition.fields) == 1 else ""
    stored = _stored_columns(pruner)
    if definition is None or stored.get_field_index(column) < 0 or not has_secondary_keys(stored.field(column).type):
        return set()
    if not (with_logs and _are_unique(state)) or state.context.merger is not None or schema_history(state) is not None:
        return set()
    values = value_filter(pruner.filter, column)
    if values is None or len(values) > _MOST_KEYS:
        return set()
    found = secondary_locations(state.storage, state.config, state.timeline, definition, values, most=_MOST_RECORDS)
    return set() if found is None else {one for one in slices if (one.partition_path, one.file_id) not in found}


_Index = tuple[str, Callable[..., set[FileSlice]]]


def _indexes(state: TableState) -> Iterator[_Index]:
    """Yield the metadata partitions that can rule out slices, each with its function, the cheapest first.

    In a bootstrapped table, and in one whose base files are not in Parquet, Hudi 1.2.0 makes statistics of log files
    alone: those of source files and of base files are missing in them.
    """
    if state.config.bootstrap_base_path is not None:
        yield BLOOM_FILTERS, _by_bloom_filters
        return
    yield RECORD_INDEX, _by_record_index
    for name in state.config.metadata_partitions:
        if name.startswith(SECONDARY_INDEX):
            yield name, partial(_by_secondary_index, name=name)
    if state.config.base_file_format == "PARQUET":
        yield PARTITION_STATS, _by_partition_statistics
    yield COLUMN_STATS, _by_statistics
    yield BLOOM_FILTERS, _by_bloom_filters


def _covers_newest_only(partition: str) -> bool:
    """Return whether a metadata partition describes only the newest rows, and not those of earlier slices."""
    return partition in (RECORD_INDEX, PARTITION_STATS) or partition.startswith(SECONDARY_INDEX)


def _stored_columns(pruner: PartitionPruner) -> pa.Schema:
    """Return the columns whose values a query shows as the files store them."""
    hidden = pruner.columns.from_path
    return pa.schema([field for field in pruner.schema if field.name not in hidden])


@dataclass(frozen=True, slots=True)
class _SliceStatistics:
    """Compares the statistics of file slices with a filter."""

    stats: ColumnStats
    pruner: PartitionPruner
    columns: pa.Schema
    with_logs: bool

    def rule_out(self, slices: Sequence[FileSlice]) -> Iterator[FileSlice]:
        """Yield the slices in which the filter cannot be true."""
        for path, group in groupby(slices, key=lambda one: one.partition_path):
            ranges = self.stats.ranges(path, self.columns.names)
            cases = [(one, case) for one in group for case in self._cases(one, ranges)]
            yield from _rule_out(self.pruner, cases, lambda one: one.partition_path)

    def _cases(self, file_slice: FileSlice, ranges: Mapping[tuple[str, str], ColumnRange]) -> list[pc.Expression]:
        """Return conditions of which one is true for each row of a slice; an empty list if nothing is known."""
        logs = file_slice.log_files if self.with_logs else ()
        base = file_slice.base_file
        names = [str(file.name) for file in ([base] if base else []) + list(logs)]
        found = {column: [ranges.get((name, column)) for name in names] for column in self.columns.names}
        known = {column: [one for one in every if one is not None] for column, every in found.items()}
        complete = {column: every for column, every in known.items() if len(every) == len(names)}
        return _cases(self.columns, complete, may_be_null=bool(logs))


_Whole = TypeVar("_Whole", FileSlice, str)
"""A file slice, or a partition path."""


def _rule_out(
    pruner: PartitionPruner, cases: Sequence[tuple[_Whole, pc.Expression]], path_of: Callable[[_Whole], str]
) -> set[_Whole]:
    """Return the slices or partition paths for which the filter can be true in none of their *cases*."""
    known = {path: pruner.condition_of(path) for path in {path_of(one) for one, _ in cases}}
    guarantees = [case if (more := known[path_of(one)]) is None else more & case for one, case in cases]
    flags = can_match(pruner.filter, pruner.schema, guarantees)
    return {one for one, _ in cases} - {one for (one, _), flag in zip(cases, flags, strict=True) if flag}


def _cases(columns: pa.Schema, known: Mapping[str, Sequence[ColumnRange]], *, may_be_null: bool) -> list[pc.Expression]:
    """Return conditions of which one is true for each row whose values lie in the *known* ranges of their columns.

    Each condition combines one case of every column: with the cases ``a in [1, 5]`` and ``a is null`` of one column,
    and ``b in [7, 9]`` of another, there are two.  A column that would make more than ``_MOST_CASES`` is left out.  The
    list is empty if nothing is known.
    """
    by_column: list[list[pc.Expression]] = []
    for field in columns:
        cases = _of_column(field, known[field.name], may_be_null=may_be_null) if field.name in known else []
        if cases and len(cases) * _count(by_column) <= _MOST_CASES:
            by_column.append(cases)
    return [_conjunction(case) for case in product(*by_column)] if by_column else []


def _count(cases: Sequence[Sequence[pc.Expression]]) -> int:
    count = 1
    for column in cases:
        count *= len(column)
    return count


def _conjunction(case: Sequence[pc.Expression]) -> pc.Expression:
    first, *others = case
    for other in others:
        first &= other
    return first


def _of_column(field: pa.Field, ranges: Sequence[ColumnRange], *, may_be_null: bool) -> list[pc.Expression]:
    """Return the cases of one column's value: within bounds, null, or NaN, which bounds do not cover.

    The list is empty if the value can be anything.
    """
    bounds = [_bounds(field, one) for one in ranges if not one.all_null]
    column = pc.field(field.name)
    cases = []
    if may_be_null or any(one.may_be_null for one in ranges):
        cases.append(column.is_null())
    if not bounds:
        return cases
    lowest = _extreme("min", [lower for lower, _ in bounds])
    highest = _extreme("max", [upper for _, upper in bounds])
    if lowest is None and highest is None:
        return []
    within = [column >= lowest] if lowest is not None else []
    within += [column <= highest] if highest is not None else []
    if pa.types.is_floating(field.type):
        cases.append(column == pa.scalar(float("nan"), field.type))
    return [_conjunction(within), *cases]


def _bounds(field: pa.Field, known: ColumnRange) -> tuple[pa.Scalar, pa.Scalar]:
    """Return the lower and upper bound in the column's type; null for a bound that is not known."""
    nothing = pa.scalar(None, field.type)
    if known.kind is None or not keeps_order(known.kind, field.type):
        return nothing, nothing
    try:
        values = pa.array([known.lower, known.upper], known.kind)
        fitted = convert_to_schema(
            pa.RecordBatch.from_arrays([values], [field.name]), pa.schema([field.with_nullable(True)])
        ).column(0)
    except (SchemaError, DataError, pa.ArrowException):  # the column had another type then, or is nested now
        return nothing, nothing
    return fitted[0], fitted[1]


def _extreme(which: str, bounds: Sequence[pa.Scalar]) -> pa.Scalar | None:
    """Return the lowest or highest of *bounds*; None if one of them is not known."""
    if any(not bound.is_valid for bound in bounds):
        return None
    return pc.min_max(pa.array(bounds))[which]
