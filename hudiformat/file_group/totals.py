"""Totals of file slices: the numbers and the bytes of base files and of log files.  Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hudiformat.file_group.slices import FileSlice


@dataclass(frozen=True, slots=True)
class SliceTotals:
    """The sums over file slices; bytes are sizes of files on storage.

    ``small_base_files`` counts base files below the limit that :meth:`of` was given.
    """

    file_groups: int = 0
    base_files: int = 0
    base_bytes: int = 0
    small_base_files: int = 0
    log_files: int = 0
    log_bytes: int = 0

    @classmethod
    def of(cls, slices: Iterable[FileSlice], *, small_file_limit: int) -> SliceTotals:
        """Return the totals of *slices*; a base file below *small_file_limit* bytes is small."""
        every = list(slices)
        bases = [item.base_file.size for item in every if item.base_file is not None]
        logs = [log.size for item in every for log in item.log_files]
        return cls(
            file_groups=len(every),
            base_files=len(bases),
            base_bytes=sum(bases),
            small_base_files=sum(size < small_file_limit for size in bases),
            log_files=len(logs),
            log_bytes=sum(logs),
        )

    def __add__(self, other: SliceTotals) -> SliceTotals:
        return SliceTotals(
            self.file_groups + other.file_groups,
            self.base_files + other.base_files,
            self.base_bytes + other.base_bytes,
            self.small_base_files + other.small_base_files,
            self.log_files + other.log_files,
            self.log_bytes + other.log_bytes,
        )

    @property
    def average_base_file(self) -> int | None:
        """The average bytes of a base file; None if there are no base files."""
        return self.base_bytes // self.base_files if self.base_files else None

    @property
    def log_ratio(self) -> float | None:
        """Bytes of log files per byte of base files; None if there are no base files.

        Log files are what a query reads in addition to base files, and what a compaction would merge.
        """
        return self.log_bytes / self.base_bytes if self.base_bytes else None
