"""Play one commit in the lanes in which something is to be decided, by the rules that writers call."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from hudiformat.simulation.board import Board
from hudiformat.simulation.groups import FRACTION, HITS, NOBODY
from hudiformat.simulation.lanes import assigner, numbers_of, verdicts
from hudiformat.simulation.settings import Engine
from hudiformat.sizing.flink import NEW_GROUP
from hudiformat.sizing.record_size import RecordSize
from hudiformat.sizing.small_files import Kind
from hudiformat.sizing.spark import plan_partition

Numbers = npt.NDArray[np.int64]


def play_by_rules(board: Board, commit: int, lanes: Numbers, rows: Numbers, average: int) -> tuple[int, int]:
    """Write the new *rows* of each of the *lanes*, and return the bytes and records by which a row's size is estimated.

    *average* is the record size that sizing estimates before the commit.
    """
    size = records = 0
    for lane, count in zip(lanes.tolist(), rows.tolist(), strict=True):
        known, opened = assign(board, lane, count, average)
        if board.kind is Kind.MOR_BLIND and board.updates.rates.is_any:
            _move_updates(board, commit, int(board.lanes["target"][lane]), known)
        for number, taken in known.items():
            entry = _fill(board, commit, number, taken)
            size, records = size + entry[0], records + entry[1]
        for file_id, taken in opened:
            entry = _open(board, commit, lane, file_id, taken)
            size, records = size + entry[0], records + entry[1]
        if board.settings.engine is Engine.FLINK:  # a new group takes rows until the second commit after it
            left = int(board.lanes["unsettled"][lane])
            board.lanes["unsettled"][lane] = 2 if opened else max(left - 1, 0)
    return size, records


def assign(board: Board, lane: int, rows: int, average: int) -> tuple[dict[int, int], list[tuple[str | None, int]]]:
    """Return how many new rows each file group of a lane gets, and each of the new ones, with an id if it has one."""
    found = () if board.settings.opens_always else verdicts(board, lane)
    number_of = numbers_of(board, lane)
    if not board.settings.uses_flink or board.settings.opens_always:
        plan = plan_partition(board.path_of(lane), rows, found, RecordSize(average), board.sizing)
        known = {number_of[one.file_id]: one.records for one in plan.buckets if one.file_id is not None}
        return known, [(None, one.records) for one in plan.buckets if one.file_id is None]
    placed: Counter[tuple[str, bool]] = Counter()
    for placement in assigner(board, lane, found, average).insert(board.path_of(lane), rows):
        placed[placement.file_id, placement.tag == NEW_GROUP] += placement.records
    known = {
        # The assigner may go on with a group that it has opened, although no rule calls it small any more.
        number_of[file_id] if file_id in number_of else board.groups.number_of(file_id): records
        for (file_id, is_new), records in placed.items()
        if not is_new
    }
    return known, [(file_id, records) for (file_id, is_new), records in placed.items() if is_new]


def _move_updates(board: Board, commit: int, target: int, known: dict[int, int]) -> None:
    """Let the updates go to log files where no new rows go, and to base files where new rows go, for one commit.

    The rates expect that the new rows go to the *target*.
    """
    groups, rates = board.groups, board.updates.rates
    filled = [number for number in known if number != target and number < len(rates.hits)]
    signs = [(number, -1) for number in filled]
    if target != NOBODY and target not in known:
        signs.append((target, 1))
    for number, sign in signs:
        groups["hits"][number] += sign * rates.hits[number]
        groups["updated"][number] += sign * rates.updated[number]
        files = int(rates.share[number]) >> (HITS - FRACTION)
        size = (int(rates.updated[number]) >> FRACTION) + (files * board.row.block >> FRACTION)
        board.totals.add("written_bytes", commit, sign * size)
        board.totals.add("log_files", commit, sign * files)


def _fill(board: Board, commit: int, number: int, rows: int) -> tuple[int, int]:
    """Write new rows to a file group, and return the bytes and records that count for the estimate."""
    groups, totals = board.groups, board.totals
    if board.settings.logs_new_rows:
        groups["log_rows"][number] += rows
        parts = _parts(board, commit, rows)
        groups["log_files"][number] += parts
        size = (rows * board.row.log >> FRACTION) + parts * board.row.block
        totals.add("written_bytes", commit, size)
        totals.add("log_files", commit, parts << FRACTION)
        return (size, rows) if board.settings.uses_flink else (0, 0)
    old = groups.size_of(number)
    groups["rows"][number] += rows
    size = groups.size_of(number)
    again = (_parts(board, commit, rows) - 1) * (old + size >> 1)
    for name, value in (("written_bytes", size + again), ("old_bytes", old), ("read_bytes", old)):
        totals.add(name, commit, value)
    totals.add("base_files", commit, 1 << FRACTION)
    totals.add("old_files", commit, 1 << FRACTION)
    return size, int(groups["rows"][number] + groups["given"][number])


def _open(board: Board, commit: int, lane: int, file_id: str | None, rows: int) -> tuple[int, int]:
    """Write new rows to new file groups, each as large as a file; the first has the *file_id*, if there is one."""
    totals, size, again = board.totals, 0, 0
    most = board.most_rows_of_file
    for start in range(0, rows, most):
        taken = min(most, rows - start)
        parts = _parts(board, commit, taken)
        if board.settings.opens_always:
            board.add_equal(lane, taken, 1, 1)
        else:
            number = board.add_group(lane, taken, None if start else file_id)
            board.groups["log_files"][number] *= parts
        if board.settings.logs_new_rows:
            size += (taken * board.row.log >> FRACTION) + parts * board.row.block
            totals.add("log_files", commit, parts << FRACTION)
        else:
            own = (taken * board.row.base >> FRACTION) + board.row.file
            size, again = size + own, again + (parts - 1) * own // 2
            totals.add("base_files", commit, 1 << FRACTION)
        totals.add("groups_opened", commit, 1)
    totals.add("written_bytes", commit, size + again)
    counts = not board.settings.logs_new_rows or board.settings.uses_flink
    return (size, rows) if counts else (0, 0)


def _parts(board: Board, commit: int, rows: int) -> int:
    """Return in how many parts the new rows of a file group are written."""
    return int(np.max(board.parts(commit, np.array([rows * board.row.log >> FRACTION]))))
