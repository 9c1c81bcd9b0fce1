"""Read the log blocks of a file slice into columns of entries, in merge order.  Pure.

:func:`blocks_to_merge` drops the blocks that are not merged and sorts the others.  :func:`read_candidates` then turns
each record and each delete of these blocks into one entry.  An entry has a record key (or a position in the base file),
ordering values, and an age: its index in merge order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.casts import keeps_order
from hudiformat.codec.log.batches import GROUP_LIMITS, GroupLimits, record_batches
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.frame import BlockType, HeaderKey
from hudiformat.errors import DataError, UnsupportedFeatureError
from hudiformat.file_group.base_file.filters import KeyFilter
from hudiformat.file_group.merging.rule import (
    Booleans,
    Integers,
    MergeRule,
    lacks_ordering_value,
    ordering_values,
)
from hudiformat.schema.meta_fields import OPERATION, RECORD_KEY

_KEYS = pa.schema([(RECORD_KEY, pa.string())])
_PACKED = 4  # estimated ratio of rows in memory to a compressed block

WrittenColumns = frozenset[str] | None
"""The columns that partial records contain; None for records that contain all columns."""


def blocks_to_merge(blocks: Iterable[LogBlock], *, counts: Callable[[str], bool] | None = None) -> list[LogBlock]:
    """Return the data and delete blocks that are merged, in merge order.

    *blocks* are in file order, one log file after the other.  *counts* decides by instant whether a block is merged;
    without it every instant is.  Corrupt blocks are skipped, as in Hudi.  All blocks of an instant come together, at
    the index of its first block.  A rollback block removes the blocks of its target instant that precede it; later
    blocks of that instant are kept (hudi#7729).  The blocks of a log compaction replace the blocks that it compacted,
    at the index of the newest of the compacted instants.

    Raises:
        UnsupportedFeatureError: a block has a type that cannot be merged.

    Source: BaseHoodieLogRecordReader.scanInternal.
    """
    by_instant: dict[str, list[LogBlock]] = {}
    for block in blocks:
        if block.type is BlockType.COMMAND:
            by_instant.pop(block.target_instant or "", None)
        elif block.type is not BlockType.CORRUPT and (counts is None or counts(block.instant or "")):
            _refuse_unsupported(block)
            by_instant.setdefault(block.instant or "", []).append(block)
    newest_first = list(_merged_instants(by_instant))
    return [block for instant in reversed(newest_first) for block in by_instant[instant]]


def memory_of(blocks: Iterable[LogBlock]) -> int:
    """Estimate the bytes that the records of *blocks* take in memory, without decoding them."""
    return sum(
        len(block.content) * (1 if block.type in (BlockType.AVRO_DATA, BlockType.DELETE) else _PACKED)
        for block in blocks
    )


def have_operations(blocks: Iterable[LogBlock]) -> bool:
    """Return whether records of *blocks* have the meta field of the operation."""
    return any(f'"{OPERATION}"' in schema for schema in {block.header.get(HeaderKey.SCHEMA, "") for block in blocks})


def _merged_instants(by_instant: dict[str, list[LogBlock]]) -> Iterator[str]:
    """Yield the instants that are merged, newest first; a log compaction replaces the instants that it compacted.

    The result of a log compaction may itself have been compacted: then the last compaction is the one that is merged.

    ::

        instants, oldest first:  1, 2, 3 (compacts 1 and 2), 4, 5 (compacts 3 and 4), 6
        6: yield 6
        5: replaced_by = {3: 5, 4: 5}
        4: yield 5, which replaces 4
        3: replaced_by = {3: 5, 4: 5, 1: 5, 2: 5}
        2: replaced by 5, which was yielded already; so is 1
    """
    replaced_by: dict[str, str] = {}
    yielded = set()
    for instant in reversed(by_instant):
        first = by_instant[instant][0]
        if HeaderKey.COMPACTED_BLOCK_TIMES in first.header:
            replaced_by |= dict.fromkeys(first.compacted_instants, replaced_by.get(instant, instant))
        elif (merged := replaced_by.get(instant, instant)) not in yielded:
            yielded.add(merged)
            yield merged


def _refuse_unsupported(block: LogBlock) -> None:
    if block.type is BlockType.CDC_DATA:
        feature = f"{block.type.name} block"
        message = (
            "expected data, delete and command blocks to merge, found a block of type "
            f"{block.type.name}; read it by Table.cdc, or as a LogBlock"
        )
        raise UnsupportedFeatureError(message, feature=feature)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The entries of log blocks: first one entry per row of ``records``, then one entry per delete.

    ``keys``, ``ordering``, ``age``, ``deleted``, ``resets`` and ``positions`` have one item per entry.

    - ``written``: one item per batch of ``records``, the columns that its records contain.
    - ``age``: the entry's index in merge order; 0 is the oldest.
    - ``deleted``: whether the entry deletes its key.
    - ``resets``: whether it is a delete without an ordering value, which wins over every older entry and loses to every
      newer one.
    - ``positions``: row numbers in the base file.  If they are given, entries are matched by position, and ``keys`` is
      empty.
    """

    records: tuple[pa.RecordBatch, ...]
    written: tuple[WrittenColumns, ...]
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
        """The number of entries that are rows of ``records``; the entries from this index on are deletes."""
        return sum(batch.num_rows for batch in self.records)


def read_candidates(
    blocks: Sequence[LogBlock],
    schema: pa.Schema,
    rule: MergeRule,
    *,
    base_instant: str | None = None,
    by_position: pa.Schema | None = None,
    where: KeyFilter | None = None,
) -> Candidates:
    """Decode *blocks*, which :func:`blocks_to_merge` returned, into entries; records are converted to *schema*.

    *base_instant* is the instant of the base file.  If every block has positions that refer to this file, entries are
    matched by position, otherwise by key; in the first case records may have only the columns *by_position*.  With
    *where* only entries whose keys match it are returned, and of the other records only the key is decoded.

    Raises:
        DecodeError: the content of a block is damaged.
        SchemaError: the records of a block cannot be converted to *schema*.

    Source: PositionBasedFileGroupRecordBuffer.
    """
    data = [block for block in blocks if block.type is not BlockType.DELETE]
    deletes = [read_deletes(block, schema, rule) for block in blocks if block.type is BlockType.DELETE]
    sizes = iter([len(part) for part in deletes])
    counts = np.array([next(sizes) if b.type is BlockType.DELETE else b.num_records() for b in blocks], np.int64)
    is_delete = np.array([block.type is BlockType.DELETE for block in blocks], np.bool_)
    age, positions = ages(counts, is_delete), _positions(blocks, counts, is_delete, base_instant)
    if where is not None:
        matches = where.rows(_keys_of(data, deletes))
        age, positions = _ranks(age[matches]), None if positions is None else positions[matches]
        deletes = [part.take(pa.array(where.rows(part["record_key"]))) for part in deletes]
    if positions is not None and by_position is not None and where is None:
        schema = by_position
    read = list(read_records(data, schema, where=where))
    return make_candidates(
        [batch for batch, _ in read],
        deletes,
        age,
        rule,
        schema,
        written=[columns for _, columns in read],
        positions=positions,
    )


def ages(counts: Integers, is_delete: Booleans) -> Integers:
    """Return each entry's index in merge order; *counts* and *is_delete* have one item per block.

    Entries of data blocks come first, then those of delete blocks.  A data block of 2 records, a delete block of 1 key
    and a data block of 1 record::

        counts = [2, 1, 1]   is_delete = [F, T, F]
        starts = [0, 2, 3]   index in merge order of each block's first entry
        order  = [0, 2, 1]   data blocks first
        sizes  = [2, 1, 1]   counts in that order
        starts[order] - (cumsum(sizes) - sizes) = [0, 3, 2] - [0, 2, 3] = [0, 1, -1]   how far each block is moved
        ages   = [0, 1, 2, 3] + [0, 0, 1, -1] = [0, 1, 3, 2]
    """
    starts = np.cumsum(counts) - counts
    order = np.argsort(is_delete, kind="stable")
    sizes = counts[order]
    ages: Integers = np.arange(counts.sum()) + np.repeat(starts[order] - (np.cumsum(sizes) - sizes), sizes)
    return ages


def _positions(
    blocks: Sequence[LogBlock], counts: Integers, is_delete: Booleans, base_instant: str | None
) -> Integers | None:
    """Return each entry's row number in the base file, or None unless all blocks have positions in that file."""
    if base_instant is None or any(not has_positions(block, base_instant) for block in blocks):
        return None
    by_block = [positions_of(block, base_instant) for block in blocks]
    if any(part is None or len(part) != count for part, count in zip(by_block, counts, strict=True)):
        return None
    order = np.argsort(is_delete, kind="stable")  # data blocks first, as in ages
    parts = [by_block[i] for i in order.tolist()]
    return np.concatenate([np.empty(0, np.int64), *(part for part in parts if part is not None)])


def positions_of(block: LogBlock, base_instant: str) -> Integers | None:
    """Return the row numbers of the entries of *block* in the base file *base_instant*; None if it has none.

    Raises:
        DecodeError: the positions are damaged.
    """
    found = block.positions() if has_positions(block, base_instant) else None
    return None if found is None else found.astype(np.int64)


def has_positions(block: LogBlock, base_instant: str) -> bool:
    """Return whether the header of *block* has positions in the base file *base_instant*."""
    return block.base_instant_of_positions == base_instant and HeaderKey.RECORD_POSITIONS in block.header


def _keys_of(data: Sequence[LogBlock], deletes: Sequence[pa.RecordBatch]) -> pa.Array:
    """Return the record keys of all records of *data*, followed by those of *deletes*."""
    rows = pa.Table.from_batches(record_batches(data, schema=_KEYS), _KEYS)
    chunks = [*rows[RECORD_KEY].chunks, *(part["record_key"] for part in deletes)]
    return pa.chunked_array(chunks, pa.string()).combine_chunks()


def _ranks(age: Integers) -> Integers:
    """Renumber *age* from 0 without gaps, in the same order: [7, 2, 5] becomes [2, 0, 1]."""
    ranks: Integers = np.empty(len(age), np.int64)
    ranks[np.argsort(age)] = np.arange(len(age))
    return ranks


def make_candidates(
    records: Sequence[pa.RecordBatch],
    deletes: Sequence[pa.RecordBatch],
    age: Integers,
    rule: MergeRule,
    schema: pa.Schema,
    *,
    written: Sequence[WrittenColumns],
    positions: Integers | None = None,
) -> Candidates:
    """Return the entries of *records*, which have *schema*, and of *deletes*, which :func:`read_deletes` returned."""
    rows = pa.Table.from_batches(records, schema)
    delete_rows = pa.Table.from_batches(deletes, delete_schema(schema, rule))
    deleted = rule.deletes(rows)
    ordering = ordering_values(rows, rule.ordering_fields)
    resets = deleted & lacks_ordering_value(ordering, rows.num_rows)
    keys = [rule.keys(rows), delete_rows["record_key"]] if positions is None else []
    return Candidates(
        records=tuple(records),
        written=tuple(written),
        keys=_concat(keys, pa.string()),
        ordering=tuple(
            _concat([column, delete_rows[f"ordering{i}"]], column.type) for i, column in enumerate(ordering)
        ),
        age=age,
        deleted=np.concatenate([deleted, np.ones(delete_rows.num_rows, np.bool_)]),
        resets=np.concatenate([resets, np.asarray(delete_rows["resets"])]),
        positions=positions,
    )


def delete_schema(schema: pa.Schema, rule: MergeRule) -> pa.Schema:
    """Return the columns of :func:`read_deletes`: the key, whether the delete resets, and one per ordering field."""
    ordering = [(f"ordering{i}", schema.field(name).type) for i, name in enumerate(rule.ordering_fields)]
    return pa.schema([("record_key", pa.string()), ("resets", pa.bool_()), *ordering])


def read_deletes(block: LogBlock, schema: pa.Schema, rule: MergeRule) -> pa.RecordBatch:
    """Return the deletes of a delete block; ordering values have the types of the ordering fields in *schema*.

    Raises:
        DecodeError: the content of the block is damaged.
        DataError: ordering values cannot be compared with those of the table.
    """
    return _with_ordering(block.deletes(), schema, rule)


def read_all_deletes(
    blocks: Sequence[LogBlock], schema: pa.Schema, rule: MergeRule
) -> tuple[list[pa.RecordBatch], list[int]]:
    """Return the deletes of several delete blocks, as :func:`read_deletes`, and how many each block has.

    Raises:
        DecodeError, DataError: as :func:`read_deletes`.
    """
    read = [block.deletes() for block in blocks]
    sizes = [len(part) for part in read]
    kinds = {part["ordering"].type for part in read}
    if len(kinds) == 1 and not pa.types.is_union(kinds.pop()):
        read = pa.Table.from_batches(read).combine_chunks().to_batches()
    return [_with_ordering(part, schema, rule) for part in read], sizes


def _with_ordering(deletes: pa.RecordBatch, schema: pa.Schema, rule: MergeRule) -> pa.RecordBatch:
    """Return *deletes* of a block with the columns of :func:`delete_schema`."""
    values = deletes["ordering"]
    written = values.flatten() if isinstance(values, pa.StructArray) else [values]
    if len(written) != len(rule.ordering_fields) or rule.by_payload:
        written = []
    known = delete_schema(schema, rule)
    ordering = [
        _ordering_values(written[i], kind, name) if written else pa.nulls(len(deletes), kind)
        for i, (kind, name) in enumerate(zip(known.types[2:], rule.ordering_fields, strict=True))
    ]
    resets = lacks_ordering_value(ordering, len(deletes))
    if [column.type for column in written] != known.types[2:]:  # else they are the same values
        resets = resets | lacks_ordering_value(written, len(deletes))
    resets = resets | np.asarray(pc.is_null(values))  # the struct of several ordering fields may be null as a whole
    return pa.RecordBatch.from_arrays([deletes["record_key"], pa.array(resets), *ordering], schema=known)


def _ordering_values(values: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    """Return the ordering values of deletes as values of the ordering field *name* of type *kind*.

    Raises:
        DataError: they cannot be compared with values of that type.
    """
    if values.type == kind:
        return values
    is_missing = bool(lacks_ordering_value([values], len(values)).all())
    try:
        if _are_comparable(values.type, kind):
            return values.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        if not is_missing:
            raise _incomparable(values, kind, name) from error
    if not is_missing:
        raise _incomparable(values, kind, name)
    return pa.nulls(len(values), kind)  # Hudi's placeholder is an int, whatever the type of the field


def _are_comparable(given: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether values of the two types have one order; pyarrow casts more: true to 1, a day to its midnight."""
    of_days = pa.types.is_date(given) and pa.types.is_timestamp(kind)
    of_times = pa.types.is_timestamp(given) and pa.types.is_date(kind)
    is_mixed = pa.types.is_boolean(given) != pa.types.is_boolean(kind) or of_days or of_times
    return keeps_order(given, kind) and not is_mixed


def _incomparable(values: pa.Array, kind: pa.DataType, name: str) -> DataError:
    return DataError(
        f"a delete has the ordering value {values[0]} of type {values.type}, which cannot be compared with the column "
        f"{name} of type {kind}",
        column=name,
    )


def read_records(
    blocks: Sequence[LogBlock],
    schema: pa.Schema,
    *,
    where: KeyFilter | None = None,
    limits: GroupLimits = GROUP_LIMITS,
) -> Iterator[tuple[pa.RecordBatch, WrittenColumns]]:
    """Yield the records of data blocks, each batch with the columns that its records contain.

    Columns that partial records do not contain are null.  *where* filters records by key, *limits* say which blocks
    are decoded together.

    Raises:
        DecodeError: the content of a block is damaged.
        SchemaError: the records of a block cannot be converted to *schema*.
    """
    condition = None if where is None else where.condition
    nullable = pa.schema([field.with_nullable(True) for field in schema], metadata=schema.metadata)
    for written, group in groupby(blocks, key=_written_columns):
        for batch in record_batches(
            group, schema=schema if written is None else nullable, filter=condition, relabel=True, limits=limits
        ):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema) if written else batch, written


def _written_columns(block: LogBlock) -> WrittenColumns:
    """Return the columns that the records of a partial block contain; None for a block of whole records."""
    return frozenset(avro_to_arrow(block.schema).names) if block.is_partial else None


def _concat(arrays: Sequence[pa.ChunkedArray], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for array in arrays for chunk in array.chunks], kind)
