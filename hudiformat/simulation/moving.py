"""Compaction and clustering of a simulated table, by the plans that the services make."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from hudiformat.services.clustering_plan import chosen_partitions, eligible_slices, group_slices
from hudiformat.services.compaction import choose_to_compact
from hudiformat.simulation.board import Board
from hudiformat.simulation.groups import FRACTION, HITS
from hudiformat.simulation.lanes import choose_target

Numbers = npt.NDArray[np.int64]

_MOST_EQUAL = 200_000
_BEGIN = datetime(2026, 1, 1)  # noqa: DTZ001 - a simulated hour of the day, in no zone


def compact_now(board: Board, commit: int) -> None:
    """Plan a compaction after a commit, and run it."""
    groups = board.groups
    if not groups.length:
        return
    sizes, logs = groups.base_bytes(), groups.log_bytes()
    share = np.where(
        (groups["log_rows"] > 0) | (groups["log_files"] > 0), 1.0, -np.expm1(-groups["hits"] / float(1 << HITS))
    )
    has_logs = np.flatnonzero(groups.has_logs())
    if not len(has_logs):
        return
    files = np.maximum(groups["log_files"], groups["hits"] >> HITS)[has_logs]
    services = board.settings.options.services
    counts = np.maximum(files // np.maximum(groups["count"][has_logs], 1), 1)
    chosen = has_logs[choose_to_compact(counts, logs[has_logs], sizes[has_logs] + logs[has_logs], services)]
    is_chosen = np.zeros(groups.length, bool)
    is_chosen[chosen] = True
    if len(chosen) == len(has_logs):
        is_chosen[:] = True
    before = float((share * np.where(groups["has_base"] > 0, sizes, 0))[is_chosen].sum())
    rows = float((share * groups.all_rows())[is_chosen].sum())
    merged_logs = int(logs[is_chosen].sum())
    number = float((share * groups["count"])[is_chosen].sum())
    fixed = groups["fixed"] + np.where(groups["has_base"] == 0, groups["count"] * board.row.file, 0)
    after = float((share * (fixed + board.row.of_base(groups["rows"] + groups["log_rows"])))[is_chosen].sum())
    totals, files_written = board.totals, round(number * (1 << FRACTION))
    groups.fold_logs(is_chosen)
    log_files = board.logs_since(commit)
    merged_logs += log_files * board.row.block >> FRACTION
    for name, value in (
        ("compacted_bytes", round(after)),
        ("old_bytes", round(before) + merged_logs),
        ("read_bytes", round(before) + merged_logs),
        ("service_files", files_written),
        ("old_files", log_files + files_written),
        ("compactions", 1),
    ):
        totals.add(name, commit, value)
    board.recent.add([(round(after), round(rows))])
    board.deltas = 0
    board.since_clustering += 1
    board.updates.end_epoch()
    average = board.recent.average()
    active = board.active
    if not board.settings.logs_new_rows:
        active = active[board.lanes["hidden"][active] > 0]
    for lane in active.tolist():
        choose_target(board, lane, average)


def moment_of(board: Board, commit: int) -> datetime:
    """Return the time of a commit; the first is at the beginning of a day."""
    return _BEGIN + timedelta(seconds=commit * board.load.interval)


def cluster_now(board: Board, commit: int) -> None:
    """Plan a clustering after a commit, and run it."""
    groups, options = board.groups, board.settings.options.clustering
    board.delete_rows(commit + 1)
    board.tell_apart(_MOST_EQUAL)
    lanes_of = groups["lane"].copy()
    partition_of = board.lanes["partition"][lanes_of]
    number_of = {file_id: number for number, file_id in groups.ids.items()}
    chosen = sorted(set(chosen_partitions(board.paths, options, moment_of(board, commit))) & set(board.paths))
    plans: list[tuple[list[int], int]] = []
    for path in chosen:
        if len(plans) >= options.most_groups:
            break
        own = np.flatnonzero(partition_of == board.paths.index(path)).tolist()
        slices = eligible_slices(groups.slices_of(own, path), frozenset(), options)
        for found, files in group_slices(slices, options, board.sizing.max_file_size):
            plans.append(([number_of[one.file_id] for one in found], files))
    plans = plans[: options.most_groups]
    if not plans:
        return
    average = board.recent.average()
    touched: set[int] = set()
    gone = np.zeros(groups.length, bool)
    for numbers, files in plans:
        touched |= set(lanes_of[numbers].tolist())
        gone[numbers] = True
        _rewrite(board, commit, numbers, files)
    board.remove(np.concatenate([gone, np.zeros(groups.length - len(gone), bool)]))
    board.totals.add("clusterings", commit, 1)
    board.since_clustering = 0
    board.updates.end_epoch()
    for lane in sorted(touched):
        choose_target(board, lane, average)


def _rewrite(board: Board, commit: int, numbers: list[int], files: int) -> None:
    """Write the rows of file groups to *files* new ones, of about the same size."""
    groups, totals = board.groups, board.totals
    at = np.array(numbers)
    lane = int(groups["lane"][at[0]])
    old = int(groups.base_bytes()[at].sum() + groups.log_bytes()[at].sum())
    old_files = int((groups["has_base"] * groups["count"])[at].sum() + groups["log_files"][at].sum())
    sums = {name: int(groups[name][at].sum()) for name in ("rows", "given", "changed")}
    sums["rows"] += int(groups["log_rows"][at].sum())
    # The bytes of given rows stay; each old file had bytes of its own, each new one has.
    sums["fixed"] = int(np.maximum(groups["fixed"] - groups["count"] * board.row.file, 0)[at].sum())
    written = 0
    for number in range(files):
        share = {name: value * (number + 1) // files - value * number // files for name, value in sums.items()}
        share["fixed"] += board.row.file
        added = board.add_clustered(lane, **share)
        written += int(groups.base_bytes()[added])
    for name, value in (("clustered_bytes", written), ("old_bytes", old), ("read_bytes", old)):
        totals.add(name, commit, value)
    totals.add("service_files", commit, files << FRACTION)
    totals.add("old_files", commit, old_files << FRACTION)
