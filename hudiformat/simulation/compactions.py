"""What the compactions of a window of commits do to the file groups that get no new rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hudiformat.simulation.board import Board
from hudiformat.simulation.groups import FRACTION, HITS

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Merged:
    """What a compaction writes, and what it makes old; ``files`` times ``2 ** FRACTION``."""

    written: int = 0
    rows: int = 0
    old: int = 0
    files: int = 0


def compaction_of_others(board: Board, commits: int) -> tuple[Merged, Merged]:
    """Return what a compaction after so many commits does to file groups that are no targets, and the next ones."""
    groups, rates = board.groups, board.updates.rates
    if not groups.length:
        return Merged(), Merged()
    hits, updated = np.zeros(groups.length, np.int64), np.zeros(groups.length, np.int64)
    if rates.is_any:
        known = slice(0, len(rates.hits))
        hits[known], updated[known] = rates.hits_of_others, rates.logged(board.kind)
    after = groups["fixed"] + np.where(groups["has_base"] == 0, groups["count"] * board.row.file, 0)
    after = after + board.row.of_base(groups["rows"] + groups["log_rows"])
    has_rows = (groups["log_rows"] > 0) | (groups["log_files"] > 0)
    first = np.where(has_rows, 1.0, -np.expm1(-(groups["hits"] + hits * commits) / float(1 << HITS)))
    logs = groups["log_rows"] * board.row.log + groups["updated"] + updated * commits >> FRACTION
    before = np.where(groups["has_base"] > 0, groups.base_bytes(), 0)
    every = board.settings.options.services.compact_delta_commits
    cycle = -np.expm1(-hits * every / float(1 << HITS))
    return (
        _merged(board, first, before, after, logs),
        _merged(board, cycle, after, after, updated * every >> FRACTION),
    )


def _merged(board: Board, share: Floats, before: Numbers, after: Numbers, logs: Numbers) -> Merged:
    is_other = ~board.is_target()
    share = np.where(is_other, share, 0)
    return Merged(
        written=round(float((share * after).sum())),
        rows=round(float((share * board.groups.all_rows()).sum())),
        old=round(float((share * before).sum())) + int(logs[is_other].sum()),
        files=round(float((share * board.groups["count"]).sum()) * (1 << FRACTION)),
    )
