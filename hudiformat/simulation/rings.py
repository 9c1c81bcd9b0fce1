"""Buckets of consistent hashing in a simulated table: each is a lane with a file group, until it is split or merged.

A lane gets the share of its partition's new rows that its range has of all hashes, as keys are hashed evenly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hudiformat.services.clustering_plan import chosen_partitions
from hudiformat.services.resizing import resize_limits
from hudiformat.simulation.board import Board
from hudiformat.simulation.groups import FRACTION, NOBODY
from hudiformat.simulation.moving import moment_of
from hudiformat.simulation.rates import FAR
from hudiformat.write.index.hash_ring import REPLACE
from hudiformat.write.index.resizing import Resize, plan_resizes

Numbers = npt.NDArray[np.int64]


def can_resize(board: Board) -> bool:
    """Return whether a partition may have buckets to split or to merge."""
    groups, limits = board.groups, resize_limits(board.settings.options)
    if not groups.length:
        return False
    sizes = groups.base_bytes() + groups.log_bytes()
    partition = board.lanes["partition"][groups["lane"]]
    counts = np.bincount(partition, minlength=len(board.paths))
    large = np.bincount(partition[sizes > limits.split], minlength=len(board.paths))
    small = np.bincount(partition[(sizes <= limits.merge) & (groups.all_rows() > 0)], minlength=len(board.paths))
    return bool((((large > 0) & (counts < limits.most)) | ((small > 1) & (counts > limits.fewest))).any())


def until_resize(board: Board) -> int:
    """Return how many commits it takes at least until a bucket may be split or merged, if none can be now."""
    limits, settings = resize_limits(board.settings.options), board.settings
    counts = np.bincount(board.lanes["partition"][board.groups["lane"]], minlength=1)
    found = FAR
    if (counts > limits.fewest).any():
        # A bucket that gets its first rows is small, and so may be one without its log files.
        if not board.groups.all_rows().all():
            return 1
        found = max(settings.options.services.compact_delta_commits - board.deltas, 1) if settings.compacts else FAR
    return min(found, _until_split(board, limits.split)) if (counts < limits.most).any() else found


def _until_split(board: Board, most: int) -> int:
    """Return after how many commits a bucket may have more than *most* bytes, if it gets as many rows as any can."""
    row, rates = board.row, board.updates.rates
    largest = int((board.groups.base_bytes() + board.groups.log_bytes()).max(initial=0)) + row.file
    rows = (board.most_rows_of_commit * int(board.lanes["weight"].max(initial=0)) >> board.weight_bits) + 1
    each = (rows * max(row.base, row.log) + int(rates.updated.max(initial=0)) >> FRACTION) + 1
    return max((most - largest) // each, 1)


def resize_now(board: Board, commit: int) -> None:
    """Plan which buckets are split and merged after a commit, and rewrite them."""
    board.delete_rows(commit + 1)
    groups, options = board.groups, board.settings.options.clustering
    partition_of = board.lanes["partition"][groups["lane"]]
    rows, planned = groups.all_rows(), 0
    gone = np.zeros(groups.length, bool)
    number_of = {file_id: number for number, file_id in groups.ids.items()}
    found: list[tuple[str, list[Resize]]] = []
    for path in sorted(set(chosen_partitions(board.paths, options, moment_of(board, commit))) & set(board.paths)):
        if planned >= options.most_groups:
            break
        own = np.flatnonzero((partition_of == board.paths.index(path)) & (rows > 0)).tolist()
        resizes = plan_resizes(
            board.rings[path],
            groups.slices_of(own, path),
            resize_limits(board.settings.options),
            lambda: board.new_id().removesuffix("-0"),
            sorts=bool(options.sort_columns),
        )[: options.most_groups - planned]
        planned += len(resizes)
        found.append((path, resizes))
    for path, resizes in found:
        for one in resizes:
            numbers = [number_of[taken.file_id] for taken in one.slices]
            gone[numbers] = True
            _rewrite(board, commit, path, one, numbers)
        if resizes:
            nodes = [node for one in resizes for node in one.nodes]
            board.rings[path] = board.rings[path].after(nodes, f"{commit:017}")
    if not planned:
        return
    board.remove(np.concatenate([gone, np.zeros(groups.length - len(gone), bool)]))
    board.totals.add("clusterings", commit, 1)
    board.since_clustering = 0
    board.find_active()


def _rewrite(board: Board, commit: int, path: str, resize: Resize, numbers: Sequence[int]) -> None:
    """Write the rows of buckets to new ones, each with the share that its range has of theirs."""
    groups, totals = board.groups, board.totals
    at = np.array(numbers)
    lanes = groups["lane"][at]
    old = int(groups.base_bytes()[at].sum() + groups.log_bytes()[at].sum())
    old_files = int(groups["has_base"][at].sum() + groups["log_files"][at].sum())
    sums = {name: int(groups[name][at].sum()) for name in ("rows", "given", "changed")}
    sums["rows"] += int(groups["log_rows"][at].sum())
    sums["fixed"] = int(np.maximum(groups["fixed"] - board.row.file * groups["has_base"], 0)[at].sum())
    ring = board.rings[path]
    after = ring.after(resize.nodes, ring.instant)
    share_of = {node.file_id: share for node, share in zip(after.nodes, after.shares, strict=True)}
    opened = [node.file_id for node in resize.nodes if node.tag == REPLACE]
    total, written, before = sum(share_of[one] for one in opened), 0, 0.0
    board.lanes["weight"][lanes], board.widths[lanes], board.lanes["target"][lanes] = 0, 0.0, NOBODY
    for file_id in opened:
        until = before + share_of[file_id] / total
        share = {name: round(value * until) - round(value * before) for name, value in sums.items()}
        lane = board.open_lane(int(lanes[0]), share_of[file_id], commit + 1)
        number = groups.add(file_id, lane=lane, has_base=1, **{**share, "fixed": share["fixed"] + board.row.file})
        board.lanes["target"][lane] = number
        written += groups.size_of(number)
        before = until
    for name, value in (("clustered_bytes", written), ("old_bytes", old), ("read_bytes", old)):
        totals.add(name, commit, value)
    totals.add("service_files", commit, len(opened) << FRACTION)
    totals.add("old_files", commit, old_files << FRACTION)
