"""What two moments of a table differ in: rows by their keys, and files.

Only file slices that differ are read, whole, and compared in memory: a row of a slice that is the same at both moments
is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.slices import BaseFile, FileSlice, LogFile
from hudiformat.naming.file_names import join_path
from hudiformat.read.plan import SlicePlan, plan_snapshot
from hudiformat.read.time_travel import Moment
from hudiformat.schema.meta_fields import PARTITION_PATH, RECORD_KEY, is_meta_field
from hudiformat.table.state import TableContext

_LEFT, _RIGHT = "__left", "__right"
FILES = pa.schema([("change", pa.string()), ("path", pa.string()), ("size", pa.int64())])
"""The columns of the files that were added or removed."""


@dataclass(frozen=True, slots=True)
class TableDiff:
    """What a table has at a second moment that it had not at a first one, and the other way round.

    ``rows`` has a row for each record: ``op`` is ``i``, ``u`` or ``d``; ``before`` and ``after`` are its columns at the
    two moments, or null.  ``files`` has the data files that queries read at one of the moments alone: ``change`` is
    ``added`` or ``removed``, ``path`` is relative to the table, and ``size`` is bytes.

    Source: the procedure commits_compare and hudi-cli's ``diff``.
    """

    rows: pa.Table = field(repr=False)
    files: pa.Table = field(repr=False)

    def __repr__(self) -> str:
        ops = self.rows["op"].to_pylist()
        counts = ", ".join(f"{ops.count(op)} {word}" for op, word in (("i", "new"), ("u", "changed"), ("d", "gone")))
        return f"<TableDiff: rows: {counts}; {self.files.num_rows} files>"


def diff_table(context: TableContext, first: Moment, second: Moment | None) -> TableDiff:
    """Compare the table as of *first* with the table as of *second*, or now.

    Raises:
        TableError: the rows of one of the moments are not known, or were cleaned.
        UnsupportedFeatureError: the table has neither meta fields nor a record key.
    """
    before, after = plan_snapshot(context, as_of=first), plan_snapshot(context, as_of=second)
    keys = _keys(before)
    left = [one for one in before.slices if not _is_in(one, before, after)]
    right = [one for one in after.slices if not _is_in(one, after, before)]
    tables = _read(context, before, left), _read(context, after, right)
    return TableDiff(_compare(*tables, keys), _files(left, right))


def _keys(plan: SlicePlan) -> list[str]:
    config = plan.query.reader.config
    if config.populate_meta_fields:
        return [PARTITION_PATH, RECORD_KEY]
    if not config.record_key_fields:
        raise UnsupportedFeatureError(
            "diff: expected a table with meta fields or a record key, found neither, so that rows cannot be matched; "
            "read both moments by snapshot(as_of=...)",
            feature="comparing rows without a record key",
        )
    return list(dict.fromkeys([*config.partition_fields, *config.record_key_fields]))


def _is_in(one: FileSlice, of: SlicePlan, other: SlicePlan) -> bool:
    """Return whether *other* reads a slice of *of*, too; one with log files may not be the same, as these grow."""
    grows = bool(one.log_files) and of.query.reader.visibility.logs_name_slices
    return not grows and one in other.slices


def _read(context: TableContext, plan: SlicePlan, slices: Sequence[FileSlice]) -> pa.Table:
    return pa.Table.from_batches(plan.query.batches(context.storage, slices, keeps_all=True), plan.query.schema)


def _compare(before: pa.Table, after: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Match rows by *keys*, and leave out those whose columns are the same.

    With keys a, b before and b, c after, left and right are (0, 1, null) and (null, 0, 1).
    """
    named = [
        rows.select(keys).append_column(name, pa.array(np.arange(rows.num_rows)))
        for rows, name in ((before, _LEFT), (after, _RIGHT))
    ]
    joined = named[0].join(named[1], list(keys), join_type="full outer", use_threads=False)
    joined = joined.sort_by([(name, "ascending") for name in keys if _has_order(joined[name].type)])
    left, right = (joined[name].combine_chunks() for name in (_LEFT, _RIGHT))
    is_both = pc.and_(pc.is_valid(left), pc.is_valid(right))
    shown = [[name for name in rows.schema.names if not is_meta_field(name)] for rows in (before, after)]
    common = [name for name in shown[0] if name in shown[1] and before[name].type == after[name].type]
    pairs = left.filter(is_both), right.filter(is_both)
    differs = np.zeros(len(pairs[0]), bool)
    for name in common:
        differs |= _differs(before[name].take(pairs[0]), after[name].take(pairs[1]))
    kept = np.ones(len(left), bool)
    kept[np.asarray(is_both)] = differs
    left, right = left.filter(pa.array(kept)), right.filter(pa.array(kept))
    op = pc.if_else(pc.is_null(left), "i", pc.if_else(pc.is_null(right), "d", "u"))
    images = [
        _structs(rows.select(names)).take(at)
        for rows, names, at in zip((before, after), shown, (left, right), strict=True)
    ]
    return pa.table({"op": op, "before": images[0], "after": images[1]})


def _has_order(kind: pa.DataType) -> bool:
    return not pat.is_nested(kind)


def _structs(rows: pa.Table) -> pa.StructArray:
    columns = [column.combine_chunks() for column in rows.columns]
    return pa.StructArray.from_arrays(columns, fields=list(rows.schema))


def _differs(before: pa.ChunkedArray, after: pa.ChunkedArray) -> np.ndarray:
    """Return for each pair of values whether it differs; null is null, and NaN is NaN."""
    if pat.is_nested(before.type) or isinstance(before.type, pa.BaseExtensionType):
        pairs = zip(before.to_pylist(), after.to_pylist(), strict=True)  # Arrow does not compare them
        return np.fromiter((repr(one) != repr(other) for one, other in pairs), bool, len(before))
    same = pc.fill_null(pc.equal(before, after), False)
    nulls = pc.and_(pc.is_null(before), pc.is_null(after))
    same = pc.or_(same, nulls)
    if pat.is_floating(before.type):
        same = pc.or_(same, pc.fill_null(pc.and_(pc.is_nan(before), pc.is_nan(after)), False))
    return ~np.asarray(same, dtype=bool)


def _files(left: Iterable[FileSlice], right: Iterable[FileSlice]) -> pa.Table:
    """Return the files of the slices on one side alone."""
    removed, added = _sizes(left), _sizes(right)
    rows = [("removed", path, size) for path, size in removed.items() if path not in added]
    rows += [("added", path, size) for path, size in added.items() if path not in removed]
    return pa.Table.from_pylist(
        [dict(zip(FILES.names, row, strict=True)) for row in sorted(rows, key=lambda row: row[1])], FILES
    )


def _sizes(slices: Iterable[FileSlice]) -> dict[str, int]:
    found = {}
    for one in slices:
        files: list[BaseFile | LogFile] = [*one.log_files]
        if one.base_file is not None:
            files.append(one.base_file)
        found.update({join_path(one.partition_path, str(file.name)): file.size for file in files})
    return found
