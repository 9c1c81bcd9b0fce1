"""Play the commits of a workload: many at once as long as nothing is to be decided, else one by one by the rules.

A *lane* is a writer of one partition with file groups of its own: a partition, or one of Flink's tasks in it.  Most
of the time all new rows of a lane go to one file group, its *target*.  So a window of commits is an array of a row per
lane and a column per commit: the rows that the target has before each.  Where it can no longer take all rows of a
commit, or another file group comes first, the rules of :mod:`hudiformat.sizing` are asked; the window ends there.

Whatever the windows, the result is the same: all sums are of integers.  Updates are expected values: a commit of ``u``
updates changes a file group that has the share ``w`` of the rows with the probability ``1 - exp(-u * w)``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hudiformat.simulation.board import Board
from hudiformat.simulation.by_rules import play_by_rules
from hudiformat.simulation.due import (
    clustering_is_due,
    compaction_is_due,
    until_clustering,
    until_compaction,
)
from hudiformat.simulation.lanes import choose_target
from hudiformat.simulation.moving import cluster_now, compact_now
from hudiformat.simulation.rings import resize_now
from hudiformat.simulation.samples import Samples
from hudiformat.simulation.totals import Totals
from hudiformat.simulation.window import Window

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_MOST_CELLS = 1 << 17
_MOST_COLUMNS, _LEAST_COLUMNS = 1 << 12, 16


def play(
    board: Board, *, samples: int, one_by_one: bool = False, progress: Callable[[int], None] = lambda _: None
) -> Totals:
    """Play all commits, and return what was counted; *progress* is told how many have been played.

    The file groups are looked at after so many of the commits as *samples* says.

    With *one_by_one*, no two commits are played at once: slow, and the same result.
    """
    commit, end, wanted = 0, board.load.commits, _LEAST_COLUMNS
    samples_of = Samples(board, samples)
    while commit < end:
        _begin(board, commit)
        most = min(wanted, samples_of.next_from(commit) + 1 - commit)
        width = 1 if one_by_one else _width(board, commit, most)
        window = Window(board, commit, width)
        played = window.playable()
        if played:
            window.keep(played)
            commit += played
        if played < width:
            if played:
                _begin(board, commit)
            _play_one(board, commit)
            commit += 1
            wanted = max(2 * played, _LEAST_COLUMNS)
        else:
            wanted = min(2 * wanted, _MOST_COLUMNS)
        _serve(board, commit - 1)
        if commit == end:
            board.delete_rows(commit)
        samples_of.take(commit - 1)
        progress(commit)
    return board.totals


def _begin(board: Board, commit: int) -> None:
    for lane in board.begin_commit(commit):
        choose_target(board, lane, board.recent.average())


def _width(board: Board, commit: int, wanted: int) -> int:
    """Return how many commits from *commit* on may be played at once, if nothing is to be decided in between."""
    lanes = max(len(board.active), 1)
    end = commit + max(min(wanted, _MOST_CELLS // lanes), 1)
    end = min(end, board.load.commits, board.end_of_day(commit), board.end_of_row_size(commit))
    end = min(end, board.updates.end_of_epoch)
    end = min(end, commit + until_compaction(board, commit))
    return max(min(end, commit + until_clustering(board)) - commit, 1)


def _play_one(board: Board, commit: int) -> None:
    """Play one commit, by the rules in the lanes that need them."""
    window = Window(board, commit, 1)
    lanes = board.active[~window.is_fine()[:, 0]]
    average = int(window.averages[0])
    entry = play_by_rules(board, commit, lanes, window.new_rows(lanes), average)
    window.keep(1, without=lanes, entry=entry)
    for lane in lanes.tolist():
        choose_target(board, lane, average)
    board.updates.end_epoch()


def _serve(board: Board, commit: int) -> None:
    """Run the services that are due after a commit and were not played with it."""
    if compaction_is_due(board):
        compact_now(board, commit)
    if clustering_is_due(board):
        (resize_now if board.settings.resizes else cluster_now)(board, commit)
