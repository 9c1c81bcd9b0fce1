"""The newest commits of a simulated table, from which sizing estimates the bytes of a row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hudiformat.sizing.record_size import SizingOptions, record_sizes

Numbers = npt.NDArray[np.int64]


class RecentCommits:
    """The bytes and records of the newest commits, as many as the estimate reads."""

    def __init__(self, sizing: SizingOptions, *, uses_flink: bool) -> None:
        self._sizing, self._uses_flink = sizing, uses_flink
        self._found: list[tuple[int, int]] = []

    def columns(self) -> tuple[Numbers, Numbers]:
        """Return the bytes and the records of the newest commits."""
        found = np.array(self._found, np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def add(self, found: list[tuple[int, int]]) -> None:
        """Remember the bytes and records of commits, the oldest first."""
        known = [*self._found, *found]
        if self._uses_flink:
            used = [one for one in known if one[1] > 0 and one[0] > self._sizing.smallest_measured_commit]
            self._found = used[-1:]
        else:
            self._found = known[-max(self._sizing.estimation_commits, 1) :]

    def add_window(
        self, sizes: Numbers, records: Numbers, due: Numbers, compacted: tuple[Numbers, Numbers] | None
    ) -> None:
        """Remember commits, and the compactions after those of the numbers *due*."""
        found = list(zip(range(len(sizes)), sizes.tolist(), records.tolist(), strict=True))
        if compacted is not None:
            merged = zip(due.tolist(), compacted[0].tolist(), compacted[1].tolist(), strict=True)
            found = sorted([*found, *merged], key=lambda one: one[0])  # a compaction comes after its delta commit
        self.add([(size, rows) for _, size, rows in found])

    def averages(self, sizes: Numbers, records: Numbers) -> Numbers:
        """Return the record size that sizing estimates before each of the next commits, and after the last one."""
        known = self.columns()
        found = record_sizes(
            np.concatenate([known[0], sizes]),
            np.concatenate([known[1], records]),
            self._sizing,
            newest=None if self._uses_flink else max(self._sizing.estimation_commits, 0),
        )
        return found[len(known[0]) :]

    def average(self) -> int:
        """Return the record size that sizing estimates for the next commit."""
        none = np.zeros(0, np.int64)
        return int(self.averages(none, none)[-1])
