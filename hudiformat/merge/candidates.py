"""The rows and deletes of a slice's blocks as columns, in merge order.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.blocks import BlockType, LogBlock
from hudiformat.timeline import MergeMode

Booleans = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]


_Part = tuple[pa.ChunkedArray, list[pa.ChunkedArray], Booleans, Booleans]
"""Of one block: keys, ordering values, which entries are deletes, which of those reset."""


@dataclass(frozen=True, slots=True)
class MergeRule:
    """How the records of a table are told apart and merged.

    ``keys`` gives the record key of each row of a table.  A row is a delete when ``delete_column`` holds true in it, or
    the column that ``delete_marker`` names first holds the text that it names second.
    """

    mode: MergeMode
    keys: Callable[[pa.Table], pa.ChunkedArray]
    ordering_fields: tuple[str, ...] = ()
    delete_column: str | None = None
    delete_marker: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Candidates:
    """What log files say about keys, one entry per row or delete, in merge order.

    ``row`` is the entry's row in ``records``, or -1 for an entry of a delete block.  A delete that ``resets`` carries
    no ordering value: it wins over all that came before it, and loses to whatever comes after.
    """

    records: pa.Table
    keys: pa.ChunkedArray
    ordering: tuple[pa.ChunkedArray, ...]
    row: Integers
    deleted: Booleans
    resets: Booleans

    def __len__(self) -> int:
        return len(self.row)


def read_candidates(blocks: Sequence[LogBlock], schema: pa.Schema, rule: MergeRule) -> Candidates:
    """The candidates of *blocks*, which count and come in merge order; records are brought to *schema*.

    Raises:
        DecodeError: a block is damaged inside.
        SchemaError: records that cannot be brought to *schema*.
    """
    records: list[pa.RecordBatch] = []
    parts: list[_Part] = []
    rows: list[Integers] = []
    count = 0
    for block in blocks:
        if block.type is BlockType.DELETE:
            parts.append(_delete_part(block.deletes(), schema, rule))
            rows.append(np.full(len(parts[-1][2]), -1, dtype=np.int64))
        else:
            batch = block.to_arrow(schema)
            records.append(batch)
            parts.append(_record_part(pa.Table.from_batches([batch]), rule))
            rows.append(np.arange(count, count + batch.num_rows, dtype=np.int64))
            count += batch.num_rows
    return Candidates(
        records=pa.Table.from_batches(records, schema),
        keys=_concat([part[0] for part in parts], pa.string()),
        ordering=tuple(
            _concat([part[1][i] for part in parts], schema.field(name).type)
            for i, name in enumerate(rule.ordering_fields)
        ),
        row=np.concatenate([np.empty(0, np.int64), *rows]),
        deleted=np.concatenate([np.empty(0, np.bool_), *(part[2] for part in parts)]),
        resets=np.concatenate([np.empty(0, np.bool_), *(part[3] for part in parts)]),
    )


def _record_part(table: pa.Table, rule: MergeRule) -> _Part:
    ordering = [table[name] for name in rule.ordering_fields]
    deleted = _flagged(table, rule)
    return rule.keys(table), ordering, deleted, deleted & _without_ordering(ordering, table.num_rows)


def _delete_part(deletes: pa.RecordBatch, schema: pa.Schema, rule: MergeRule) -> _Part:
    values = deletes["ordering"]
    found = [pa.chunked_array([part]) for part in (values.flatten() if pa.types.is_struct(values.type) else [values])]
    if len(found) != len(rule.ordering_fields):
        found = []
    kinds = [schema.field(name).type for name in rule.ordering_fields]
    ordering = [
        _cast_or_null(found[i], kind) if found else pa.chunked_array([pa.nulls(len(deletes), kind)])
        for i, kind in enumerate(kinds)
    ]
    every = np.ones(len(deletes), dtype=np.bool_)
    resets = _without_ordering(found, len(deletes)) | _without_ordering(ordering, len(deletes))
    resets |= np.asarray(pc.is_null(values))  # of several ordering fields too
    return pa.chunked_array([deletes["record_key"]]), ordering, every, resets


def _cast_or_null(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """*values* as the ordering column's type; a value of another type counts as none, so that the delete wins."""
    try:
        return values.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.chunked_array([pa.nulls(len(values), kind)])


def _without_ordering(ordering: list[pa.ChunkedArray], length: int) -> Booleans:
    """Which deletes carry no ordering value: null, or the 32-bit 0 that Hudi writes for none."""
    if len(ordering) != 1:  # several ordering values are never Hudi's placeholder
        return np.full(length, not ordering, dtype=np.bool_)
    (column,) = ordering
    missing = pc.is_null(column)
    if pa.types.is_int32(column.type):
        missing = pc.or_(missing, pc.equal(pc.fill_null(column, 0), 0))
    return np.asarray(missing)


def _flagged(table: pa.Table, rule: MergeRule) -> Booleans:
    flags = np.zeros(table.num_rows, dtype=np.bool_)
    if rule.delete_column is not None:
        flags |= np.asarray(pc.fill_null(table[rule.delete_column], False))
    if rule.delete_marker is not None:
        column, marker = rule.delete_marker
        flags |= np.asarray(pc.fill_null(pc.equal(table[column].cast(pa.string()), marker), False))
    return flags


def _concat(arrays: list[pa.ChunkedArray], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for array in arrays for chunk in array.chunks], kind)
