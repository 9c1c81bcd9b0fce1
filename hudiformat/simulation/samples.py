"""Look at the file groups of a simulated table at some moments."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hudiformat.simulation.board import Board
from hudiformat.simulation.groups import FRACTION
from hudiformat.simulation.rates import FAR
from hudiformat.simulation.totals import Sample
from hudiformat.sizing.small_files import Kind

Numbers = npt.NDArray[np.int64]

CLASSES = tuple(1 << (20 + power) for power in range(11))
"""The upper bounds of the size classes of base files, in bytes: 1 MiB to 1 GiB."""


class Samples:
    """The moments at which the file groups are looked at: the first and the last commit, and some between them."""

    def __init__(self, board: Board, count: int) -> None:
        self._board = board
        self._moments = moments_of(board.load.commits, count)

    def next_from(self, commit: int) -> int:
        """Return the first commit from *commit* on after which the file groups are looked at."""
        at = int(np.searchsorted(self._moments, commit))
        return int(self._moments[at]) if at < len(self._moments) else FAR

    def take(self, commit: int) -> None:
        """Look at the file groups after *commit*, if it is one of the moments."""
        if self.next_from(commit) == commit:
            self._board.totals.samples.append(_sample(self._board, commit))


def moments_of(commits: int, count: int) -> Numbers:
    """Return after which of so many commits the files are looked at: the first, the last, and some between them."""
    found: Numbers = np.unique(np.linspace(0, commits - 1, count).astype(np.int64))
    return found


def _sample(board: Board, commit: int) -> Sample:
    """Return the numbers and bytes of the newest file slices."""
    groups = board.groups
    count, bases = groups["count"], groups.base_bytes()
    has_base = groups["has_base"] > 0
    sizes = (bases // np.maximum(count, 1))[has_base]
    place = np.searchsorted(np.array(CLASSES), sizes, side="right")
    classes = np.bincount(place, count[has_base], len(CLASSES) + 1).astype(np.int64)
    small = int(count[has_base][sizes < board.sizing.small_file_limit].sum())
    since = int(board.totals["log_files"][board.last_compaction + 1 : commit + 1].sum()) >> FRACTION
    given = int(groups["log_files"].sum()) if board.last_compaction < 0 else 0
    return Sample(
        commit=commit,
        groups=int(count.sum()),
        small_groups=small + int(count[~has_base].sum()),
        base_files=int(count[has_base].sum()),
        base_bytes=int(bases[has_base].sum()),
        log_files=max(since, given) if board.kind is not Kind.COW else 0,
        log_bytes=int(groups.log_bytes().sum()) + since * board.row.block,
        rows=int(groups.all_rows().sum()),
        partitions=len(board.paths),
        classes=tuple(classes.tolist()),
    )
