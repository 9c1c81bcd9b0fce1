"""When compaction and clustering of a simulated table are due, and which commits may be played at once with them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hudiformat.simulation.board import Board
from hudiformat.simulation.rates import FAR
from hudiformat.simulation.rings import can_resize, until_resize
from hudiformat.sizing.small_files import Kind

Flags = npt.NDArray[np.bool_]


def _first_planned(board: Board) -> int:
    """Return the first commit whose compaction is planned by itself, as it may leave file groups out."""
    services = board.settings.options.services
    if not board.settings.compacts:
        return FAR
    if services.compaction_log_size or services.compaction_log_files > 1 or board.settings.opens_always:
        return 0
    return board.first_limited


def until_compaction(board: Board, commit: int) -> int:
    """Return how many commits from *commit* on may be played at once with regard to compactions."""
    first = _first_planned(board)
    if commit < first:
        return first - commit
    return max(board.settings.options.services.compact_delta_commits - board.deltas, 1)


def until_clustering(board: Board) -> int:
    """Return how many commits it takes until a clustering is due; far, if no partition has anything to cluster."""
    settings = board.settings
    if not settings.options.clustering.inline:
        return FAR
    if not settings.resizes and not (settings.opens_always or _has_groups_to_cluster(board)):
        return FAR
    if settings.resizes and board.since_clustering >= settings.options.clustering.inline_commits:
        return 1 if can_resize(board) else until_resize(board)
    left = settings.options.clustering.inline_commits - board.since_clustering
    return max(left // 2 if settings.compacts else left, 1)  # each commit may bring a compaction, a commit as well


def _has_groups_to_cluster(board: Board) -> bool:
    """Return whether a partition has two small file groups, or one that may have log files."""
    groups, options = board.groups, board.settings.options.clustering
    if not groups.length:
        return False
    sizes = np.where(groups["has_base"] > 0, groups.base_bytes() // groups["count"], 0)
    is_small = sizes < options.small_file_limit
    gets_logs = board.kind is not Kind.COW and (board.settings.logs_new_rows or bool(board.load.updates))
    if is_small.any() and gets_logs:
        return True
    partition = board.lanes["partition"][groups["lane"]]
    return bool((np.bincount(partition[is_small], groups["count"][is_small]) > 1).any())


def compactions_due(board: Board, commit: int, width: int) -> Flags:
    """Return after which of *width* commits from *commit* on a compaction of all log files runs."""
    if not board.settings.compacts or commit >= _first_planned(board):
        return np.zeros(width, bool)
    every = board.settings.options.services.compact_delta_commits
    found: Flags = (board.deltas + 1 + np.arange(width)) % every == 0
    return found


def compaction_is_due(board: Board) -> bool:
    """Return whether a compaction runs after this commit."""
    return board.settings.compacts and board.deltas >= board.settings.options.services.compact_delta_commits


def clustering_is_due(board: Board) -> bool:
    """Return whether a clustering runs after this commit."""
    options = board.settings.options.clustering
    if not options.inline or board.since_clustering < options.inline_commits:
        return False
    return can_resize(board) if board.settings.resizes else _has_groups_to_cluster(board)
