"""The growth of a table, commit by commit, computed from the statistics in the commits.

A base file begins a new slice of its file group: from then on, the group has the bytes and rows of the base file and of
the log files that completed after the base file's instant.  A log file adds to its group.  A replace commit removes
groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import BaseFileName, base_name, parse_data_file
from hudiformat.report.facts import Growth
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.timeline import Instant

MOST_POINTS = 1000
_SERVICES = ("COMPACT", "LOG_COMPACT", "CLUSTER")
"""Operations that only rewrite rows, so that their counts of rows are not added."""


@dataclass(slots=True)
class _Group:
    """A file group: bytes and rows of its base file, and (completion time, bytes, rows) of each log file since."""

    base_bytes: int = 0
    base_rows: int = 0
    logs: list[tuple[str, int, int]] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        return self.base_bytes + sum(log[1] for log in self.logs)

    @property
    def rows(self) -> int:
        return self.base_rows + sum(log[2] for log in self.logs)


class GrowthCounter:
    """A counter to which commits are added in the order of their completion."""

    def __init__(self, slices: Iterable[FileSlice], first_active: str | None, *, is_whole: bool) -> None:
        self._groups: dict[tuple[str, str], _Group] = {}
        self._total = self._rows = 0
        self._is_whole = is_whole
        self._points: list[tuple[str, str, int, int, int, int, int, int]] = []
        if not is_whole:
            self._begin_with(slices, first_active or "")

    def _begin_with(self, slices: Iterable[FileSlice], first_active: str) -> None:
        """Add the files that were written before the first commit of the active timeline."""
        for one in slices:
            base = one.base_file
            logs = sum(log.size for log in one.log_files if log.name.instant < first_active)
            found = (0 if base is None or base.name.instant >= first_active else base.size) + logs
            if found:
                self._groups[one.partition_path, one.file_id] = _Group(base_bytes=found)
                self._total += found

    def add(self, done: Instant, metadata: CommitMetadata) -> None:
        """Add a completed write."""
        operation = (metadata.operation_type or "").upper()
        for path, ids in (metadata.partition_to_replace_file_ids or {}).items():
            for file_id in ids:
                self._remove((path, file_id))
        stats = metadata.write_stats
        for stat in stats:
            self._write(done, stat)
        counts = (0, 0, 0) if operation in _SERVICES else _counts(stats)
        written = sum(max(stat.total_write_bytes, 0) for stat in stats)
        self._points.append((done.time, operation.lower(), written, self._total, *counts, self._rows))

    def _remove(self, key: tuple[str, str]) -> None:
        group = self._groups.pop(key, None)
        if group is not None:
            self._total -= group.bytes
            self._rows -= group.rows

    def _write(self, done: Instant, stat: WriteStat) -> None:
        key = stat.partition_path or "", stat.file_id or ""
        name = parse_data_file(base_name(stat.path or ""))
        if name is None:
            return
        group = self._groups.setdefault(key, _Group())
        bytes_before, rows_before = group.bytes, group.rows
        if isinstance(name, BaseFileName):
            group.logs = [log for log in group.logs if log[0] >= done.time]
            group.base_bytes, group.base_rows = stat.file_size_in_bytes or stat.total_write_bytes, stat.num_writes
        else:
            completed = done.completion_time or done.time
            group.logs.append((completed, stat.total_write_bytes, stat.num_inserts - stat.num_deletes))
        self._total += group.bytes - bytes_before
        self._rows += group.rows - rows_before

    def growth(self) -> Growth:
        """Return the growth over the newest commits, at most MOST_POINTS."""
        points = self._points[-MOST_POINTS:]
        columns = list(zip(*points, strict=True)) or [()] * 8
        times, operations, written, total, inserted, updated, deleted, rows = columns
        return Growth(
            times=tuple(map(str, times)),
            operations=tuple(map(str, operations)),
            written=np.array(written, np.int64),
            total=np.array(total, np.int64),
            inserted=np.array(inserted, np.int64),
            updated=np.array(updated, np.int64),
            deleted=np.array(deleted, np.int64),
            rows=np.array(rows, np.int64),
            is_whole=self._is_whole,
        )


def _counts(stats: Iterable[WriteStat]) -> tuple[int, int, int]:
    """Return the numbers of inserted, updated and deleted rows."""
    found = list(stats)
    inserted = sum(stat.num_inserts for stat in found)
    return inserted, sum(stat.num_update_writes for stat in found), sum(stat.num_deletes for stat in found)
