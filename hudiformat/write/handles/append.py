"""The append handle: write rows and deletes of one file group as blocks in its log files.

It decides how large a block is; ``LogWriter`` decides where a log file ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from hudiformat.codec.avro.arrays import rows_within
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.build import data_block, data_blocks, delete_block
from hudiformat.codec.log.frame import BlockHeader, HeaderKey
from hudiformat.file_group.base_file.file_indexes import FileIndexer
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import LogFileName
from hudiformat.schema.meta_fields import INSERTED, RECORD_KEY, UPDATED, add_meta_columns, blank_meta_fields
from hudiformat.schema.table_schema import TableSchema
from hudiformat.table.options.values import Operation
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.files import GroupTarget, LogFileStats, WriteCounts
from hudiformat.write.handles.logged_entries import LoggedEntries
from hudiformat.write.rows import NOT_IN_BASE_FILE, Booleans, Integers, LocatedRows, take_rows

_SMALL_BLOCKS = 1024
"""Rows that fill less than this fraction of a block are encoded together with those of other file groups."""


_NEWEST_SHARE = 0.2
"""The weight of the newest block in the running average of the extra bytes of a row (HoodieAppendHandle)."""
_TOLERANCE = 1.1
"""A block may be larger than the maximum by this factor, since sizes are estimated before rows are encoded."""


class _DataBlock(NamedTuple):
    """A block of rows, with its counts and what the metadata table keeps of it."""

    block: LogBlock
    counts: WriteCounts
    indexer: FileIndexer | None


class _Encoded(NamedTuple):
    """The number of rows in blocks, and the bytes that they had in memory."""

    rows: int
    size: int


class AppendHandle:
    """Writes rows into data blocks of up to ``block_max_size`` bytes, and at the end all deletes into one delete block.

    Memory is bounded by the rows of one block and the keys that are deleted.

    - *compacted* are the instants whose blocks a log compaction replaces.
    - *below* is the slice that the log files are added to, if names or statistics must say it: in table version 6, and
      in a table with change data.
    - *base_instant* is the instant of the base file that the positions of rows refer to.  If every row of a block has a
      position, the rows are sorted by position, and the block header names that base file.
    - *partial* are the columns that data blocks have besides the meta fields, if these are not all columns.
    - *entries* finds what the blocks change in indexes of single records; a log compaction changes nothing there.

    Source: HoodieAppendHandle, FileGroupReaderBasedAppendHandle.
    """

    def __init__(
        self,
        target: GroupTarget,
        *,
        compacted: Sequence[str] = (),
        below: FileSlice | None = None,
        base_instant: str | None = None,
        partial: TableSchema | None = None,
        entries: LoggedEntries | None = None,
    ) -> None:
        self._target = target
        self._plan = target.plan
        self._compacted = {HeaderKey.COMPACTED_BLOCK_TIMES: ",".join(compacted)} if compacted else {}
        self._base_instant = base_instant
        self._partial = partial
        self._entries = entries
        name = first_log(target, below)
        self._writer = target.log_writer(name)
        self._waiting = WaitingRows()
        self._sizes = BlockSizes(self._plan.options.block_max_size)
        self._deletes: list[tuple[pa.Array, pa.Array | None, Integers]] = []
        self._stats = LogFileStats(target.partition_path, target.file_id, name.instant, below)
        self._written = 0
        self._encoded = _Encoded(0, 0)

    @property
    def buffered_bytes(self) -> int:
        """The bytes of the rows that are in memory."""
        return self._waiting.size

    @property
    def data_size(self) -> float:
        """The bytes of the log files; those of rows in memory are estimated."""
        return self._written + self._waiting.size + len(self._waiting) * self.extra_bytes

    @property
    def extra_bytes(self) -> float:
        """The bytes of a row in the log files beyond its bytes in memory, on average; negative if it had fewer."""
        return (self._written - self._encoded.size) / max(self._encoded.rows, 1)

    def insert(self, rows: LocatedRows, *, first_counter: int) -> None:
        """Buffer new rows, which have the table's own columns, and write the blocks that are full."""
        self._write(rows, first_counter, is_update=False)

    def update(self, rows: LocatedRows, *, first_counter: int) -> None:
        """Write rows that count as updates, as :meth:`insert` writes new rows."""
        self._write(rows, first_counter, is_update=True)

    def add_meta_fields(
        self, rows: LocatedRows, file_ids: str | pa.Array, first_counter: int, *, is_update: bool
    ) -> BlockRows:
        """Return *rows* with the meta fields, for :meth:`take`; rows of several handles may be prepared at once.

        *file_ids* are the ids of their file groups.
        """
        stored = add_meta_columns(
            rows.rows,
            rows.keys,
            instant=self._plan.instant,
            partition_path=self._target.partition_path,
            file_name=file_ids,
            task_partition=self._target.token.partition,
            counters=first_counter,
            operation=self._operation(is_update=is_update),
        )
        return self._with_size(stored, rows.known_positions, is_update=is_update)

    def take(self, rows: BlockRows) -> None:
        """Buffer rows that have the meta fields, and write the blocks that are full."""
        self._waiting.add(rows)
        while self._waiting.size >= self._plan.options.block_max_size:
            self._write_block()

    def keep_rows(self, rows: pa.RecordBatch) -> None:
        """Buffer rows of the file group's log files, with the meta fields that they have there."""
        self.take(self._with_size(rows, np.full(rows.num_rows, NOT_IN_BASE_FILE), is_update=True))

    def delete(
        self, record_keys: pa.Array, ordering: pa.Array | None = None, *, positions: Integers | None = None
    ) -> None:
        """Buffer deletes; if *ordering* is None, a delete wins over everything before it."""
        places = np.full(len(record_keys), NOT_IN_BASE_FILE) if positions is None else positions
        self._deletes.append((record_keys, ordering, places))
        if self._entries is not None:
            self._entries.delete(record_keys, wins=ordering is None or not self._plan.ordering_fields)

    def delete_rows(self, rows: LocatedRows) -> None:
        """Buffer the deletes of *rows*, which are flagged as deletes, with their ordering values if they have all."""
        fields = self._plan.config.ordering_fields
        has_values = bool(fields) and set(fields).issubset(rows.rows.schema.names)
        ordering = delete_ordering([rows.rows[name] for name in fields], fields) if has_values else None
        self.delete(rows.keys, ordering, positions=rows.positions)

    def one_block(self) -> pa.Table | None:
        """Return all waiting rows if they make one small block; else None.

        Such rows may be encoded together with others, and the block is passed to :meth:`close`.
        """
        is_small = 0 < self._waiting.size <= self._plan.options.block_max_size // _SMALL_BLOCKS
        is_plain = self._base_instant is None and not self._compacted
        if not (is_small and is_plain) or self._sizes.rows_of(self._waiting) < len(self._waiting):
            return None
        rows = self._waiting.take(len(self._waiting))
        self._waiting.put_back(rows)
        return self._as_stored(rows.rows)

    def encode(self, parts: Sequence[pa.Table]) -> Iterator[LogBlock]:
        """Encode the blocks of *parts*, each the result of :meth:`one_block` of one of several handles of a write."""
        cuts = list(accumulate(map(len, parts[:-1])))
        return data_blocks(pa.concat_tables(parts), cuts, **self._shared_arguments)

    def flush(self) -> None:
        """Write the buffered rows in blocks."""
        while len(self._waiting):
            self._write_block()

    def _write_block(self) -> None:
        written = self._next_block()
        self._append([written.block], written.counts, written.indexer)

    def close(self, block: LogBlock | None = None) -> list[WriteStat]:
        """Write what is left, and close; return one statistic per log file.

        *block* holds the rows of :meth:`one_block`, if that has returned any.
        """
        last = None
        while len(self._waiting):
            last = self._next_block(block)
            block = None
            if len(self._waiting) or not self._deletes:
                self._append([last.block], last.counts, last.indexer)
        if self._deletes:  # the delete block goes into one append with the last data block, as in Hudi
            delete, deleted = self._delete_block()
            if last is None:
                self._append([delete], deleted, self._plan.indexer())
            else:
                self._append([last.block, delete], last.counts + deleted, last.indexer)
        self._writer.close()
        logs, indexer = self._stats.logs, self._plan.indexer()
        if self._entries is not None and indexer is not None and logs:
            self._stats.index(self._entries.pass_to(indexer, logs))
        return self._stats.finish()

    def abandon(self) -> None:
        """Close the log file without writing what is left."""
        self._writer.abandon()

    def _write(self, rows: LocatedRows, first_counter: int, *, is_update: bool) -> None:
        self.take(self.add_meta_fields(rows, self._target.file_id, first_counter, is_update=is_update))

    def _operation(self, *, is_update: bool) -> str | None:
        if not self._plan.schema.keeps_operations:
            return None
        return UPDATED if is_update and self._plan.operation is Operation.UPSERT else INSERTED

    def _with_size(self, rows: pa.RecordBatch, positions: Integers, *, is_update: bool) -> BlockRows:
        schema = self._plan.schema if self._partial is None else self._partial
        table = pa.Table.from_batches([rows]).select(schema.arrow_with_meta.names)
        return BlockRows.of(table, np.full(len(table), is_update), positions)

    def _next_block(self, encoded: LogBlock | None = None) -> _DataBlock:
        """Take the next block from the waiting rows; *encoded* is a block of all of them."""
        rows = self._waiting.take(len(self._waiting) if encoded else self._sizes.rows_of(self._waiting))
        block = encoded or self._data_block(rows.rows, rows.positions)
        while (fewer := self._sizes.fewer(rows, len(block.content))) is not None:
            self._waiting.put_back(rows.slice(fewer, len(rows.rows)))
            rows = rows.slice(0, fewer)
            block = self._data_block(rows.rows, rows.positions)
        self._sizes.measure(rows, len(block.content))
        self._encoded = _Encoded(self._encoded.rows + len(rows.rows), self._encoded.size + rows.size)
        updated = int(rows.updates.sum())
        counts = WriteCounts(writes=len(rows.rows), updates=updated, inserts=len(rows.rows) - updated)
        return _DataBlock(block, counts, self._indexer(rows))

    def _as_stored(self, rows: pa.Table) -> pa.Table:
        """Return *rows* as log files have them: in a table without meta fields with nulls there."""
        return rows if self._plan.config.populate_meta_fields else blank_meta_fields(rows)

    def _indexer(self, rows: BlockRows) -> FileIndexer | None:
        """Return what the metadata table keeps of a block of *rows*."""
        indexer = self._plan.indexer()
        if indexer is not None:
            indexer.add(self._as_stored(rows.rows))
        if self._entries is not None:
            self._entries.add(rows.rows[RECORD_KEY].combine_chunks(), rows.updates)
        return indexer

    def _data_block(self, rows: pa.Table, positions: Integers) -> LogBlock:
        rows, order = self._as_stored(rows), self._position_order(positions)
        block = data_block(
            rows if order is None else take_rows(rows, order),
            positions=None if order is None else positions[order],
            base_instant=None if order is None else self._base_instant,
            **self._shared_arguments,
        )
        return self._with_headers(block)

    @property
    def _shared_arguments(self) -> dict[str, Any]:
        """The arguments that all data blocks of a write are created with."""
        options = self._plan.options
        schema = self._plan.schema if self._partial is None else self._partial
        return {
            "instant": self._plan.instant,
            "schema": schema.avro_with_meta,
            "format": options.block_format,
            "is_partial": self._partial is not None,
            "compression": options.parquet_codec if options.block_format == "parquet" else None,
        }

    def _position_order(self, positions: Integers) -> Integers | None:
        """Return the order of the rows by position, if the block header can have positions; else None.

        Each record must have a position, and no two the same.  For example, the positions [7, 2, 5] give the order [1,
        2, 0]; the positions [7, -1, 5], one of which is unknown, give None.

        Source: HoodieLogBlock.addRecordPositionsIfRequired.
        """
        if self._base_instant is None or not len(positions):
            return None
        order = np.argsort(positions, kind="stable")
        ascending = positions[order]
        return order if ascending[0] > NOT_IN_BASE_FILE and (np.diff(ascending) > 0).all() else None

    def _with_headers(self, block: LogBlock) -> LogBlock:
        if not self._compacted:
            return block
        return LogBlock(block.type, BlockHeader({**block.header, **self._compacted}), block.content)

    def _delete_block(self) -> tuple[LogBlock, WriteCounts]:
        keys = pa.chunked_array([part[0] for part in self._deletes]).combine_chunks()
        orderings = [part[1] for part in self._deletes]
        kind = next((values.type for values in orderings if values is not None), None)
        ordering = None
        if kind is not None:
            filled = [pa.nulls(len(part[0]), kind) if part[1] is None else part[1] for part in self._deletes]
            ordering = pa.chunked_array(filled).combine_chunks()
        positions = np.concatenate([part[2] for part in self._deletes])
        order = self._position_order(positions)
        block = delete_block(
            keys if order is None else take_rows(keys, order),
            instant=self._plan.instant,
            partition_path=self._target.partition_path,
            ordering=ordering if order is None or ordering is None else take_rows(ordering, order),
            schema=self._plan.schema.avro_with_meta,
            positions=None if order is None else positions[order],
            base_instant=None if order is None else self._base_instant,
        )
        return self._with_headers(block), WriteCounts(deletes=len(keys))

    def _append(self, blocks: list[LogBlock], counts: WriteCounts, indexer: FileIndexer | None) -> None:
        result = self._writer.append(*blocks)
        self._written += result.size
        self._stats.add(result, counts, indexer)


def first_log(target: GroupTarget, below: FileSlice | None) -> LogFileName:
    """Return the name of the first log file that a write adds to a file group; *below* is the group's newest slice.

    In table version 6 it continues the version numbers of the slice.  If a compaction of the slice is pending, it
    begins those of the slice that the compaction will create: the compaction does not read what is written after it was
    planned.

    Source: HoodieAppendHandle.init, AbstractTableFileSystemView.fetchLatestFileSlicesIncludingInflight, Hudi 1.2.0.
    """
    plan, instant, version = target.plan, target.plan.instant, 0
    if plan.logs_name_slices and below is not None:
        newest = below.log_files[-1].name.instant if below.log_files else below.base_instant
        instant = plan.compactions.get((target.partition_path, target.file_id), newest)
        logs = [log.name for log in below.log_files if log.name.instant == instant]
        last = max(logs, key=lambda name: name.version, default=None)
        if last is not None and plan.options.log_append and not last.suffix:
            return last
        version = 0 if last is None else last.version
    return LogFileName(target.file_id, instant, version + 1, str(target.token))


def delete_ordering(values: Sequence[pa.Array], fields: Sequence[str]) -> pa.Array:
    """Return the ordering values of deletes as a delete block stores them."""
    held = [_as_spark_holds(array) for array in values]
    return held[0] if len(held) == 1 else pa.StructArray.from_arrays(held, names=list(fields))


def _as_spark_holds(values: pa.Array) -> pa.Array:
    """Return ordering values of deletes with timestamps and dates as the numbers that Spark's rows hold.

    Hudi on Spark writes numbers.  It cannot compare them with a java.sql.Timestamp or Date, and lets the delete win.
    """
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.int64())
    return values.cast(pa.int32()) if pa.types.is_date32(values.type) else values


class BlockRows(NamedTuple):
    """Rows of a block: with the meta fields, which of them are updates, and their positions in the base file.

    ``size`` is the rows' bytes in memory if each row had its own copy of values that all share, as it has in the block.
    """

    rows: pa.Table
    updates: Booleans
    positions: Integers
    size: int

    @classmethod
    def of(cls, rows: pa.Table, updates: Booleans, positions: Integers) -> BlockRows:
        """Return the rows together with their size."""
        return cls(rows, updates, positions, int(rows.nbytes + rows.num_rows * _shared_bytes(rows)))

    def slice(self, start: int, stop: int) -> BlockRows:
        """Return the rows from *start* to *stop*."""
        rows = self.rows.slice(start, stop - start)
        return BlockRows.of(rows, self.updates[start:stop], self.positions[start:stop])

    def share(self, start: int, count: int) -> BlockRows:
        """Return *count* rows from *start*; their size is a proportional part of the size of all."""
        rows, stop = self.rows.slice(start, count), start + count
        return BlockRows(
            rows, self.updates[start:stop], self.positions[start:stop], self.size * count // len(self.rows)
        )


class WaitingRows:
    """A queue of rows in the order in which they came; rows are taken from its front.  ``size`` is the size of all."""

    def __init__(self) -> None:
        self._parts: deque[BlockRows] = deque()
        self.size = 0

    def __len__(self) -> int:
        return sum(len(part.rows) for part in self._parts)

    def add(self, rows: BlockRows) -> None:
        """Add *rows* at the end."""
        self._parts.append(rows)
        self.size += rows.size

    def put_back(self, rows: BlockRows) -> None:
        """Put *rows* that were taken back at the front."""
        self._parts.appendleft(rows)
        self.size += rows.size

    def first(self, size: float, extra: float) -> int:
        """Return how many rows from the front fit into *size* bytes.

        Each row is counted with *extra* bytes beyond its size in memory.
        """
        count, left = 0, size
        for part in self._parts:
            whole = part.size + len(part.rows) * extra
            if whole > left:
                return count + rows_within(part.rows, left, extra=extra + _shared_bytes(part.rows))
            count, left = count + len(part.rows), left - whole
        return count

    def take(self, count: int) -> BlockRows:
        """Remove the first *count* rows, and return them."""
        taken: list[BlockRows] = []
        while count:
            part = self._parts.popleft()
            if len(part.rows) > count:
                self._parts.appendleft(part.slice(count, len(part.rows)))
                part = part.slice(0, count)
            taken.append(part)
            count -= len(part.rows)
        self.size = sum(part.size for part in self._parts)
        if len(taken) == 1:
            return taken[0]
        rows = pa.concat_tables([part.rows for part in taken])
        updates, positions = (np.concatenate([part[column] for part in taken]) for column in (1, 2))
        return BlockRows(rows, updates, positions, sum(part.size for part in taken))


class BlockSizes:
    """Decides how many rows go into a block of *most* bytes.

    The size of a row in a block is estimated as its bytes in memory plus ``extra``: by how much, on average, the rows
    of earlier blocks were larger than in memory, or smaller.  An average of whole rows would learn too late that rows
    grow.

    For example, 100 rows with 2,000 bytes in memory made a block of 2,300 bytes: ``extra`` is 3.  A next block of 100
    rows with 4,000 bytes in memory and 4,800 in the block has 8 more per row: ``extra`` is now 3 + 0.2 * (8 - 3) = 4.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.extra: float | None = None

    def rows_of(self, waiting: WaitingRows) -> int:
        """Return how many of the *waiting* rows form the next block; at least one."""
        return max(waiting.first(self._most, self.extra or 0.0), 1)

    def measure(self, rows: BlockRows, size: int) -> None:
        """Update the estimate from a block of *size* bytes that holds *rows*."""
        extra = (size - rows.size) / len(rows.rows)
        known = extra if self.extra is None else self.extra
        self.extra = known + _NEWEST_SHARE * (extra - known)

    def fewer(self, rows: BlockRows, size: int) -> int | None:
        """Return how many of *rows* to encode instead if a block of all, with *size* bytes, is too large; else None."""
        count = len(rows.rows)
        if count == 1 or size <= self._most * _TOLERANCE:
            return None
        waiting = WaitingRows()
        waiting.add(rows)
        fitting = waiting.first(self._most, (size - rows.size) / count)
        return min(max(fitting, 1), count - 1)


def _shared_bytes(rows: pa.Table) -> int:
    """Return the bytes that each row has in dictionary columns, whose values are in memory only once."""
    columns: list[Any] = [
        column.chunk(0) for column in rows.columns if pa.types.is_dictionary(column.type) and column.num_chunks
    ]
    return sum(column.dictionary.nbytes // max(len(column.dictionary), 1) for column in columns)
