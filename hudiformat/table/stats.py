"""The statistics of a write, as Hudi's writers leave them in the commit metadata.

Source: HoodieAppendHandle.updateWriteStatus, HoodieCreateHandle.setupWriteStatus, HoodieWriteMergeHandle.close.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from hudiformat.logfile import AppendResult
from hudiformat.naming import BaseFileName, LogFileName
from hudiformat.timeline import CommitMetadata, WriteStat, decode_commit_metadata, encode_commit_metadata
from hudiformat.view import FileSlice


@dataclass(frozen=True, slots=True)
class WriteCounts:
    """How many records an append wrote, updated, inserted and deleted."""

    writes: int = 0
    updates: int = 0
    inserts: int = 0
    deletes: int = 0

    def __add__(self, other: WriteCounts) -> WriteCounts:
        return WriteCounts(
            self.writes + other.writes,
            self.updates + other.updates,
            self.inserts + other.inserts,
            self.deletes + other.deletes,
        )


@dataclass(slots=True)
class LogFileStats:
    """Adds up what was appended to each log file of a file group.

    *instant* is the one in their names; *below* the slice that the statistics name, if any.
    """

    partition_path: str
    file_id: str
    instant: str
    below: FileSlice | None = None
    _files: dict[str, tuple[WriteCounts, int, int]] = field(default_factory=dict)

    def add(self, result: AppendResult, counts: WriteCounts) -> None:
        """Count an append."""
        name = result.path.rsplit("/", 1)[-1]
        before, offset, size = self._files.get(name, (WriteCounts(), result.offset, 0))
        self._files[name] = (before + counts, offset, size + result.size)

    def finish(self) -> list[WriteStat]:
        """One statistic per log file, in the order in which the files were begun."""
        return [self._stat(name, *entry) for name, entry in self._files.items()]

    def _stat(self, name: str, counts: WriteCounts, offset: int, size: int) -> WriteStat:
        below = self.below
        base = "" if below is None or below.base_file is None else str(below.base_file.name)
        logs = () if below is None else tuple(str(log.name) for log in below.log_files)
        return WriteStat(
            file_id=self.file_id,
            path=f"{self.partition_path}/{name}" if self.partition_path else name,
            prev_commit=self.instant if below is None else below.base_instant,
            partition_path=self.partition_path,
            num_writes=counts.writes,
            num_update_writes=counts.updates,
            num_inserts=counts.inserts,
            num_deletes=counts.deletes,
            total_write_bytes=size,
            file_size_in_bytes=size,
            log_version=LogFileName.parse(name).version,
            log_offset=offset,
            base_file=base,
            log_files=(*logs, name),
        )


def base_file_stat(
    *,
    partition_path: str,
    file_id: str,
    path: str,
    rows: int,
    size: int,
    counts: WriteCounts | None = None,
    previous: BaseFileName | None = None,
) -> WriteStat:
    """The statistic of a base file; *size* in bytes, *rows* all of its rows.

    *counts* and *previous*, the base file in whose place it comes, are those of a group that was there.
    """
    counted = WriteCounts(inserts=rows) if counts is None else counts
    return WriteStat(
        file_id=file_id,
        path=path,
        # "null" is what Hudi writes where a file group has no earlier commit
        prev_commit="null" if previous is None else previous.instant,
        prev_base_file=None if previous is None else str(previous),
        partition_path=partition_path,
        num_writes=rows,
        num_inserts=counted.inserts,
        num_update_writes=counted.updates,
        num_deletes=counted.deletes,
        total_write_bytes=size,
        file_size_in_bytes=size,
    )


def encode_write_stats(stats: Iterable[WriteStat]) -> bytes:
    """Statistics as a message from one process to another."""
    return encode_commit_metadata(CommitMetadata(partition_to_write_stats={"": tuple(stats)}))


def decode_write_stats(message: bytes) -> tuple[WriteStat, ...]:
    """The statistics out of :func:`encode_write_stats`."""
    return decode_commit_metadata(message, path="a task's message").write_stats
