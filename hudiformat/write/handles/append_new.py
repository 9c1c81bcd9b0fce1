"""The handle of new file groups that have only log files: a full group is followed by another one."""

from __future__ import annotations

from collections.abc import Callable

from hudiformat.codec.avro.arrays import rows_within
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.files import GroupTarget
from hudiformat.write.handles.append import AppendHandle
from hudiformat.write.handles.logged_entries import LoggedEntries
from hudiformat.write.rows import LocatedRows

_SEQUENCE_NUMBER = 10
"""The estimated bytes of a row's number, which follows the instant in its sequence number."""


def _no_entries(_target: GroupTarget) -> None:
    """Return None: the table has no index of single records."""


class AppendNewHandle:
    """Writes the rows of a new file group to log files; if they are too many for one group, to those of further groups.

    The file ids count up from ``-0``.  A group is full once its log files have more bytes than the largest base file,
    by ``SizingOptions.log_ratio``.  Hudi counts whole blocks only; here rows in memory count, too.  *entries* returns
    what finds the changes of a group in indexes of single records.

    Source: AppendHandleFactory, HoodieAppendHandle.canWrite, CopyOnWriteInsertHandler, Hudi 1.2.0.
    """

    def __init__(
        self, target: GroupTarget, *, entries: Callable[[GroupTarget], LoggedEntries | None] = _no_entries
    ) -> None:
        self._target = target
        self._entries = entries
        self._largest = target.plan.options.sizing.largest_log_group
        self._open: AppendHandle | None = None
        self._groups = 0
        self._stats: list[WriteStat] = []

    @property
    def buffered_bytes(self) -> int:
        """The bytes of the rows that are in memory."""
        return self._open.buffered_bytes if self._open else 0

    def insert(self, rows: LocatedRows, *, first_counter: int) -> None:
        """Write *rows*, which have the table's own columns."""
        start = 0
        while start < len(rows):
            handle = self._handle()
            left = rows.rows.slice(start)
            room = min(self._largest - handle.data_size, self._target.plan.options.block_max_size)
            extra = self._meta_bytes(rows) + handle.extra_bytes
            count = rows_within(left, room, extra=extra) + 1  # the row beyond those that fit makes the group full
            part = rows.slice(start, count)
            handle.insert(part, first_counter=first_counter + start)
            start += len(part)

    def flush(self) -> None:
        """Write the rows that are in memory."""
        if self._open:
            self._open.flush()

    def close(self) -> list[WriteStat]:
        """Write what is left, and return one statistic per log file."""
        if self._open:
            self._stats += self._open.close()
            self._open = None
        return self._stats

    def abandon(self) -> None:
        """Stop writing; the rollback of the write deletes the files."""
        if self._open:
            self._open.abandon()

    def _handle(self) -> AppendHandle:
        """Return the handle of the group that takes the next rows."""
        if self._open and self._open.data_size > self._largest:
            self._open.flush()  # the size of waiting rows was estimated: check again with the real size
            if self._open.data_size > self._largest:
                self._stats += self._open.close()
                self._open = None
        if self._open is None:
            group = self._target.file_id.rpartition("-")[0]
            target = self._target.of_group(f"{group}-{self._groups}")
            self._open = AppendHandle(target, entries=self._entries(target))
            self._groups += 1
        return self._open

    def _meta_bytes(self, rows: LocatedRows) -> float:
        """Return the estimated bytes of a row's meta fields, which *rows* do not have yet."""
        target = self._target
        texts = 2 * len(target.plan.instant) + _SEQUENCE_NUMBER + len(target.partition_path) + len(target.file_id)
        return texts + float(rows.keys.nbytes) / len(rows)
