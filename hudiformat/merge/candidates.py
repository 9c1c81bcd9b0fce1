"""Which blocks of a slice's log files count, and in which order.  Pure.

The rows and deletes of a slice's blocks as columns.  Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.avro import avro_to_arrow
from hudiformat.basefile import KeyFilter
from hudiformat.basefile.meta_fields import RECORD_KEY
from hudiformat.blocks import BlockType, HeaderKey, LogBlock
from hudiformat.blocks.batches import record_batches
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.merge.rule import Booleans, Integers, MergeRule, without_ordering

_ByInstant = dict[str, list[LogBlock]]


def counting_blocks(blocks: Iterable[LogBlock], *, counts: Callable[[str], bool] | None = None) -> list[LogBlock]:
    """The data and delete blocks that count among *blocks*, which come file by file, in merge order.

    *counts* says of an instant whether its blocks do; without it all do.  Corrupt blocks do not, as in Hudi.  The
    blocks of an instant stand together, where its first one stands.  A rollback block takes back the blocks of its
    target instant that stand before it; those after it stay (hudi#7729).  Blocks that a log compaction made take the
    place of the newest instant that they stand for.

    Raises:
        UnsupportedFeatureError: a block that cannot be merged here.

    Source: BaseHoodieLogRecordReader.scanInternal.
    """
    by_instant: _ByInstant = {}
    for block in blocks:
        if block.type is BlockType.COMMAND:
            by_instant.pop(block.target_instant or "", None)
        elif block.type is not BlockType.CORRUPT and (counts is None or counts(block.instant or "")):
            _refuse_unsupported(block)
            by_instant.setdefault(block.instant or "", []).append(block)
    newest_first = list(_instants_that_stand(by_instant))
    return [block for instant in reversed(newest_first) for block in by_instant[instant]]


def _instants_that_stand(by_instant: _ByInstant) -> Iterator[str]:
    """From the newest to the oldest, with compacted ones in the place of those they were made of.

    A compacted instant may have been compacted again: what was made of it last is what counts.
    """
    made_into: dict[str, str] = {}
    seen = set()
    for instant in reversed(by_instant):
        first = by_instant[instant][0]
        if HeaderKey.COMPACTED_BLOCK_TIMES in first.header:
            made_into |= dict.fromkeys(first.compacted_instants, made_into.get(instant, instant))
        elif (standing := made_into.get(instant, instant)) not in seen:
            seen.add(standing)
            yield standing


def _refuse_unsupported(block: LogBlock) -> None:
    if block.type is BlockType.CDC_DATA:
        feature = f"{block.type.name} block"
        raise UnsupportedFeatureError(f"a log block of type {block.type.name} cannot be merged", feature=feature)


_KEYS = pa.schema([(RECORD_KEY, pa.string())])

Written = frozenset[str] | None
"""The columns that partial records hold; None of records that hold all."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What log files say about keys: one entry per row of ``records``, and behind them one per delete.

    ``age`` is an entry's place in merge order.  ``written`` has an item per batch of ``records``.  A delete that
    ``resets`` carries no ordering value: it wins over all that came before it, and loses to whatever comes after.
    Where ``positions`` are given, rows of the base file, they and not the keys say what an entry is about.
    """

    records: tuple[pa.RecordBatch, ...]
    written: tuple[Written, ...]
    keys: pa.ChunkedArray
    ordering: tuple[pa.ChunkedArray, ...]
    age: Integers
    deleted: Booleans
    resets: Booleans
    positions: Integers | None = None

    def __len__(self) -> int:
        return len(self.age)

    @property
    def num_rows(self) -> int:
        """How many entries are rows."""
        return sum(batch.num_rows for batch in self.records)


def read_candidates(
    blocks: Sequence[LogBlock],
    schema: pa.Schema,
    rule: MergeRule,
    *,
    base_instant: str | None = None,
    where: KeyFilter | None = None,
) -> Candidates:
    """The candidates of *blocks*, which count and come in merge order; records are brought to *schema*.

    With the instant of the base file, record positions are used if those of all blocks are about that file.  With
    *where* there are only those whose keys fulfil it; of other records nothing but the keys is decoded.

    Raises:
        DecodeError: a block is damaged inside.
        SchemaError: records that cannot be brought to *schema*.

    Source: PositionBasedFileGroupRecordBuffer.
    """
    data = [block for block in blocks if block.type is not BlockType.DELETE]
    deletes = [deletes_of(block, schema, rule) for block in blocks if block.type is BlockType.DELETE]
    sizes = iter([len(part) for part in deletes])
    counts = np.array([next(sizes) if b.type is BlockType.DELETE else b.num_records() for b in blocks], np.int64)
    is_delete = np.array([block.type is BlockType.DELETE for block in blocks], np.bool_)
    age, positions = _ages(counts, is_delete), _positions(blocks, counts, is_delete, base_instant)
    if where is not None:
        chosen = where.rows(_keys_of(data, deletes))
        age, positions = _ranks(age[chosen]), None if positions is None else positions[chosen]
        deletes = [part.take(pa.array(where.rows(part["record_key"]))) for part in deletes]
    read = list(read_records(data, schema, where=where))
    return candidates_of(
        [batch for batch, _ in read],
        deletes,
        age,
        rule,
        schema,
        written=[columns for _, columns in read],
        positions=positions,
    )


def _keys_of(data: Sequence[LogBlock], deletes: Sequence[pa.RecordBatch]) -> pa.Array:
    """The record keys of all records, and of all deletes behind them."""
    records = [batch[RECORD_KEY] for batch, _ in read_records(data, _KEYS)]
    return pa.chunked_array([*records, *(part["record_key"] for part in deletes)], pa.string()).combine_chunks()


def _ranks(age: Integers) -> Integers:
    """The same order, without gaps."""
    ranks: Integers = np.empty(len(age), np.int64)
    ranks[np.argsort(age)] = np.arange(len(age))
    return ranks


def candidates_of(
    records: Sequence[pa.RecordBatch],
    deletes: Sequence[pa.RecordBatch],
    age: Integers,
    rule: MergeRule,
    schema: pa.Schema,
    *,
    written: Sequence[Written],
    positions: Integers | None = None,
) -> Candidates:
    """The candidates that *records* of *schema* and *deletes*, which :func:`deletes_of` made, are."""
    rows = pa.Table.from_batches(records, schema)
    gone = pa.Table.from_batches(deletes, delete_schema(schema, rule))
    deleted = rule.deletes(rows)
    ordering = [rows[name] for name in rule.ordering_fields]
    resets = deleted & without_ordering(ordering, rows.num_rows)
    keys = [rule.keys(rows), gone["record_key"]] if positions is None else []
    return Candidates(
        records=tuple(records),
        written=tuple(written),
        keys=_concat(keys, pa.string()),
        ordering=tuple(_concat([column, gone[f"ordering{i}"]], column.type) for i, column in enumerate(ordering)),
        age=age,
        deleted=np.concatenate([deleted, np.ones(gone.num_rows, np.bool_)]),
        resets=np.concatenate([resets, np.asarray(gone["resets"])]),
        positions=positions,
    )


def delete_schema(schema: pa.Schema, rule: MergeRule) -> pa.Schema:
    """The columns of :func:`deletes_of`: the key, whether the delete resets, and the ordering values."""
    kinds = [(f"ordering{i}", schema.field(name).type) for i, name in enumerate(rule.ordering_fields)]
    return pa.schema([("record_key", pa.string()), ("resets", pa.bool_()), *kinds])


def deletes_of(block: LogBlock, schema: pa.Schema, rule: MergeRule) -> pa.RecordBatch:
    """The deletes of a delete block, their ordering values in the types that the columns have in *schema*.

    Raises:
        DecodeError: the block is damaged inside.
    """
    deletes = block.deletes()
    values = deletes["ordering"]
    found = values.flatten() if pa.types.is_struct(values.type) else [values]
    if len(found) != len(rule.ordering_fields):
        found = []
    kinds = delete_schema(schema, rule).types[2:]
    ordering = [
        _cast_or_null(found[i], kind) if found else pa.nulls(len(deletes), kind) for i, kind in enumerate(kinds)
    ]
    resets = without_ordering(found, len(deletes)) | without_ordering(ordering, len(deletes))
    resets |= np.asarray(pc.is_null(values))  # of several ordering fields too
    return pa.RecordBatch.from_arrays(
        [deletes["record_key"], pa.array(resets), *ordering], schema=delete_schema(schema, rule)
    )


def read_records(
    blocks: Sequence[LogBlock], schema: pa.Schema, *, where: KeyFilter | None = None
) -> Iterator[tuple[pa.RecordBatch, Written]]:
    """The records, and which columns they hold; what partial records do not hold is null.  *where* picks by key."""
    condition = None if where is None else where.condition
    loose = pa.schema([field.with_nullable(True) for field in schema], metadata=schema.metadata)
    for written, group in groupby(blocks, key=_written):
        for batch in record_batches(group, schema=schema if written is None else loose, filter=condition):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema) if written else batch, written


def _written(block: LogBlock) -> Written:
    return frozenset(avro_to_arrow(block.schema).names) if block.is_partial else None


def _ages(counts: Integers, is_delete: Booleans) -> Integers:
    """The place of each entry in merge order: those of data blocks first, then those of delete blocks."""
    starts = np.cumsum(counts) - counts
    order = np.argsort(is_delete, kind="stable")
    sizes = counts[order]
    ages: Integers = np.arange(counts.sum()) + np.repeat(starts[order] - (np.cumsum(sizes) - sizes), sizes)
    return ages


def _positions(
    blocks: Sequence[LogBlock], counts: Integers, is_delete: Booleans, base_instant: str | None
) -> Integers | None:
    if base_instant is None or any(not _has_positions(block, base_instant) for block in blocks):
        return None
    found = [block.positions() for block in blocks]
    if any(part is None or len(part) != count for part, count in zip(found, counts, strict=True)):
        return None
    order = np.argsort(is_delete, kind="stable")
    parts = [found[i] for i in order.tolist()]
    return np.concatenate([np.empty(0, np.uint64), *(part for part in parts if part is not None)]).astype(np.int64)


def _has_positions(block: LogBlock, base_instant: str) -> bool:
    return block.base_instant_of_positions == base_instant and HeaderKey.RECORD_POSITIONS in block.header


def _cast_or_null(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """*values* as the ordering column's type; a value of another type counts as none, so that the delete wins."""
    try:
        return values.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(values), kind)


def _concat(arrays: Sequence[pa.ChunkedArray], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for array in arrays for chunk in array.chunks], kind)
