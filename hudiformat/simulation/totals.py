"""What a simulation has counted: a column of numbers per cause, with an item per commit, and samples of the layout."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

COMMIT_COLUMNS = (
    "rows",
    "updates",
    "deletes",
    "written_bytes",
    "compacted_bytes",
    "clustered_bytes",
    "read_bytes",
    "base_files",
    "log_files",
    "service_files",
    "groups_opened",
    "old_bytes",
    "old_files",
    "compactions",
    "clusterings",
)
"""The numbers of each commit.

``written_bytes`` are those of the write, in ``base_files`` and ``log_files``; ``service_files`` are those of compaction
and clustering; ``read_bytes`` are read to rewrite files; ``old_bytes`` and ``old_files`` are of the files that the
newest file slices no longer have.
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """The newest file slices after a commit: numbers of files and bytes."""

    commit: int
    groups: int
    small_groups: int
    base_files: int
    base_bytes: int
    log_files: int
    log_bytes: int
    rows: int
    partitions: int
    classes: tuple[int, ...]


@dataclass(slots=True)
class Totals:
    """The columns of a run, and its samples."""

    columns: dict[str, Numbers]
    samples: list[Sample] = field(default_factory=list)

    @classmethod
    def of(cls, commits: int) -> Totals:
        """Return columns of zeros."""
        return cls({name: np.zeros(commits, np.int64) for name in COMMIT_COLUMNS})

    def __getitem__(self, name: str) -> Numbers:
        return self.columns[name]

    def add(self, name: str, commit: int, values: Numbers | int) -> None:
        """Add *values* to a column, those of the commits from number *commit* on."""
        if isinstance(values, int):
            self.columns[name][commit] += values
        else:
            self.columns[name][commit : commit + len(values)] += values
