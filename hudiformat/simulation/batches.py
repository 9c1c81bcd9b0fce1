"""The rows that the batches of a simulated file sink bring to each partition, and the files that its tasks write."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hudiformat.simulation.workload import Spread, Workload
from hudiformat.sink.layout import StagedFile
from hudiformat.sink.options import SinkOptions
from hudiformat.sink.rolling import PIECE_ROWS

Numbers = npt.NDArray[np.int64]

_MOST_CELLS = 1 << 20
_SECOND = 1000


class Batches:
    """The batches of a workload: how many rows each has for which partitions."""

    def __init__(self, load: Workload, *, seed: int) -> None:
        self.load = load
        self._before = np.concatenate([[0], np.cumsum(load.rows_by_commit())])
        self._days, self._factors = load.days(), load.row_factors()
        self.is_by_day = load.partitions.spread == Spread.BY_DAY
        self._shares = load.partitions.shares()
        self._phases = np.random.default_rng(seed).random(len(self._shares))

    def windows(self, ends: Numbers) -> Iterator[tuple[int, int]]:
        """Yield the first batch, and the one after the last, of batches that can be played at once.

        They end after the batches *ends*, with the day, and where rows get larger.
        """
        changes = [self._factors, self._days] if self.is_by_day else [self._factors]
        found = [ends + 1, *(1 + np.flatnonzero(np.diff(values)) for values in changes)]
        found.append(np.arange(0, self.load.commits, max(_MOST_CELLS // self.most_partitions, 1)))
        bounds = np.unique(np.concatenate([*found, [self.load.commits]])).tolist()
        yield from pairwise(bounds)

    @property
    def most_partitions(self) -> int:
        """To how many partitions a batch may bring rows."""
        return 1 + self.load.partitions.late_days if self.is_by_day else self.load.partitions.count

    def row_bytes(self, batch: int) -> float:
        """Return the bytes of a row of a batch."""
        return self.load.row_bytes * float(self._factors[batch])

    def rows(self, first: int, end: int) -> tuple[Numbers, Numbers]:
        """Return the numbers of partitions, and the rows for each of them: a row for each batch, a column for each.

        A partition of a day has the day's number.
        """
        numbers, shares, phases = np.arange(len(self._shares)), self._shares, self._phases
        if self.is_by_day:
            day, partitions = int(self._days[first]), self.load.partitions
            late_days = min(day, partitions.late_days)
            late = partitions.late if late_days else 0.0
            numbers = day - np.arange(late_days + 1)
            shares = np.array([1 - late, *([late / max(late_days, 1)] * late_days)])
            phases = np.zeros(1)
        counted = np.floor(self._before[first : end + 1, None] * shares + phases).astype(np.int64)
        return numbers, np.diff(counted, axis=0)

    @staticmethod
    def piece(rows: int, all_rows: int) -> int:
        """Return how many rows of a partition a task gets at once, if the partition has *rows* of *all_rows*."""
        return max(PIECE_ROWS * rows // max(all_rows, 1), 1)

    def name(self, number: int) -> str:
        """Return the path of a partition."""
        if self.is_by_day:
            return f"day={number:05}"
        return "" if len(self._shares) == 1 else f"p={number:05}"

    def task_files(
        self, batch: int, rows: int, options: SinkOptions, *, tasks: int, piece: int, partition: str = ""
    ) -> list[StagedFile]:
        """Return the files that the tasks write with the *rows* of a batch for a partition.

        Each task gets the same share of them.  It closes a file with the *piece* of so many rows after which the file
        is larger than the option says, or when it has been open for too long.
        """
        row_bytes = self.row_bytes(batch)
        by_size = -(-(int(options.file_size / row_bytes) + 1) // piece) * piece
        share_open = min(options.rollover_interval / (self.load.interval * _SECOND), 1.0)
        found: list[StagedFile] = []
        for task in range(tasks):
            left, count = (task + 1) * rows // tasks - task * rows // tasks, 0
            full = min(by_size, max(int(left * share_open), 1))
            while left:
                own = min(left, full)
                name = f"{task:05d}-{count:05d}.{options.format.value}"
                size = round(own * row_bytes) + self.load.file_bytes
                found.append(StagedFile(partition, name, f"{partition}/{batch}-{name}", size, own))
                left, count = left - own, count + 1
        return found
