"""A window of commits that are played at once: what each finds and leaves, and whether the rules have to be asked.

Three lanes, in each of which a commit brings 2 rows, targets with 1, 5 and 8 rows, and room for 10 rows::

    before    = [[1, 3, 5, 7], [5, 7, 9, 11], [8, 10, 12, 14]]
    takes_all = [[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]]
    window      column 0; then the rules for lane 2 in column 1, and the targets for lanes 0 and 1

All sums are of integers, so that the result does not depend on the width of the windows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hudiformat.simulation.board import Board
from hudiformat.simulation.compactions import compaction_of_others
from hudiformat.simulation.due import compactions_due
from hudiformat.simulation.groups import FRACTION, HITS, NOBODY
from hudiformat.simulation.rates import expected
from hudiformat.simulation.settings import Writing
from hudiformat.sizing.small_files import Kind
from hudiformat.sizing.spark import spare_bytes

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Window:
    """A window of commits: arrays with a row for each active lane, and a column for each commit."""

    def __init__(self, board: Board, commit: int, width: int) -> None:
        self._board, self._commit = board, commit
        lanes, at = board.lanes, board.active
        new = board.new[commit : commit + width + 1] - lanes["origin"][at][:, None]
        counted = new * lanes["weight"][at][:, None] + lanes["phase"][at][:, None] >> board.weight_bits
        self.rows: Numbers = np.diff(counted, axis=1)
        """The new rows."""
        self._before = counted[:, :-1] - counted[:, :1]
        self._counted = counted - counted[:, :1]
        self._target = lanes["target"][at]
        self._has_target = self._target != NOBODY
        self._is_due = compactions_due(board, commit, width)
        self._size(width)
        self.averages = self._averages(width)

    def new_rows(self, lanes: Numbers) -> Numbers:
        """Return the new rows of the first commit in some of the lanes."""
        found: Numbers = self.rows[np.searchsorted(self._board.active, lanes), 0]
        return found

    # What the targets have before each commit.

    def _size(self, width: int) -> None:
        """Set the bytes of the targets before and after each commit, as files and as sizing estimates them."""
        board, groups = self._board, self._board.groups
        at = np.maximum(self._target, 0)
        fixed, rows, logged = (_column(groups[name], at) for name in ("fixed", "rows", "log_rows"))
        row, is_target = board.row, self._has_target[:, None]
        if board.settings.logs_new_rows:
            # The rows that were in the base file after the newest compaction of the window, or before the window.
            last = np.maximum.accumulate(np.where(self._is_due, np.arange(width), -1))
            last = np.concatenate([[-1], last[:-1]])
            in_base = np.where(last < 0, rows, rows + logged + self._counted[:, last + 1])
            in_logs = np.where(last < 0, logged + self._before, self._before - self._counted[:, last + 1])
            no_base, count = _column(groups["has_base"], at) == 0, _column(groups["count"], at)
            fixed = fixed + np.where(no_base & (last >= 0) & (in_base > 0), count * row.file, 0)
            self._base = np.where(is_target, fixed + row.of_base(in_base), 0)
            updated, rate = _column(groups["updated"], at), _column(board.updates.rates.updated, at)
            steps = np.where(last < 0, np.arange(width), np.arange(width) - last - 1)
            more = np.where(last < 0, updated, 0) + rate * steps
            self._logs = in_logs * row.log + more >> FRACTION
            self._in_logs = in_logs
            self._estimated = self._base + (self._logs * board.sizing.log_ratio).astype(np.int64)
            self._after = self._base
        else:
            sizes = np.where(is_target, fixed + row.of_base(rows + self._counted), 0)
            self._base, self._after = sizes[:, :-1], sizes[:, 1:]
            self._estimated = self._base
        self._records = self._counted[:, 1:] + (rows + _column(groups["given"], at))

    # What each commit writes.

    def _averages(self, width: int) -> Numbers:
        """Return the average record size that sizing estimates before each commit."""
        board = self._board
        sizes, records = self._entries = self._written(slice(None))
        if not self._is_due.any():
            return board.recent.averages(sizes, records)[:width]
        # A compaction is a commit of its own after the delta commit that it follows.
        place = np.arange(width) + np.concatenate([[0], np.cumsum(self._is_due)[:-1]])
        entries = np.zeros((2, width + int(self._is_due.sum())), np.int64)
        entries[:, place] = sizes, records
        entries[:, place[self._is_due] + 1] = self._compacted()
        found: Numbers = board.recent.averages(entries[0], entries[1])[place]
        return found

    def _written(self, columns: slice) -> tuple[Numbers, Numbers]:
        """Return the bytes and records of each commit from which a record size is estimated."""
        board = self._board
        is_new = self.rows[:, columns] > 0
        opened_bytes, opened_rows = self._opened(columns)
        if board.settings.logs_new_rows:
            if not board.settings.uses_flink:
                zeros = np.zeros(is_new.shape[1], np.int64)
                return zeros, zeros.copy()
            rows = self.rows[:, columns].sum(axis=0)
            updates = board.totals["updates"][self._commit : self._commit + self.rows.shape[1]][columns]
            sizes = board.row.of_log(self.rows[:, columns]).sum(axis=0) + is_new.sum(axis=0) * board.row.block
            return sizes + board.updates.rates.logged_bytes, rows + updates
        touched = self._touched(columns)
        sizes = (touched * self._after[:, columns] >> HITS).sum(axis=0) + opened_bytes
        records = (touched * self._records[:, columns] >> HITS).sum(axis=0) + opened_rows
        if board.kind is Kind.COW:
            return sizes + board.updates.rates.rewritten_bytes, records + board.updates.rates.rewritten_rows
        return sizes, records

    def _buckets(self) -> Numbers:
        """Return the buckets of each lane, as a column."""
        return _column(self._board.groups["count"], np.maximum(self._target, 0))

    def _touched(self, columns: slice) -> Numbers:
        """Return how probable it is that a commit rewrites the target, times ``2 ** HITS``."""
        board, rows = self._board, self.rows[:, columns]
        if board.settings.has_buckets:
            own = board.updates.rates.in_bucket(self._target)[:, None]
            return np.where(self._has_target[:, None], expected(rows / self._buckets() + own), 0)
        certain = np.where(self._has_target, 1 << HITS, 0)[:, None]
        if board.kind is not Kind.COW or not len(board.updates.rates.share):
            return certain * (rows > 0)
        idle = np.where(self._has_target, board.updates.rates.share[np.maximum(self._target, 0)], 0)[:, None]
        return np.where(rows > 0, certain, idle)

    def _opened(self, columns: slice) -> tuple[Numbers, Numbers]:
        """Return the bytes and rows of the file groups that each commit opens, if it opens some without any rule."""
        board, rows = self._board, self.rows[:, columns]
        if not board.settings.opens_always or board.settings.logs_new_rows:
            zeros = np.zeros(rows.shape[1], np.int64)
            return zeros, zeros.copy()
        files = self._files_opened(columns)
        sizes = (board.row.of_base(rows) + files * board.row.file).sum(axis=0)
        return sizes, rows.sum(axis=0)

    def _files_opened(self, columns: slice) -> Numbers:
        board, rows = self._board, self.rows[:, columns]
        most = board.settings.tasks if board.settings.writing is Writing.BULK_INSERT else 1
        return np.minimum(rows, most)

    def _compacted(self) -> tuple[Numbers, Numbers]:
        """Return the bytes and records that each compaction of the window writes."""
        board = self._board
        due = np.flatnonzero(self._is_due)
        first, cycle = compaction_of_others(board, int(due[0]) + 1)
        sizes = np.full(len(due), cycle.written)
        records = np.full(len(due), cycle.rows)
        sizes[0], records[0] = first.written, first.rows
        own = self._compacted_targets(due)
        return sizes + own.written, records + own.rows

    def _compacted_targets(self, due: Numbers) -> _Compacted:
        """Return what each compaction of the window makes of the targets, summed over lanes."""
        board, groups = self._board, self._board.groups
        zeros = np.zeros(len(due), np.int64)
        if not board.settings.logs_new_rows or not groups.length:
            return _Compacted(zeros, zeros, zeros, zeros, zeros)
        at = np.maximum(self._target, 0)
        row = board.row
        rows = _column(groups["rows"], at) + _column(groups["log_rows"], at)
        count = _column(groups["count"], at)
        first_fixed = np.where(_column(groups["has_base"], at) == 0, count * row.file, 0)
        total = rows + self._counted[:, due + 1]
        after = _column(groups["fixed"], at) + first_fixed + row.of_base(total)
        since = self._in_logs[:, due] + self.rows[:, due]
        share = np.where(since > 0, 1 << HITS, 0)
        if board.settings.has_buckets:
            own = (
                board.updates.rates.in_bucket(self._target)[:, None]
                * board.settings.options.services.compact_delta_commits
            )
            share = expected(since / count + own)
        share = np.where(self._has_target[:, None], share, 0)
        before = self._base[:, due]
        rate = _column(board.updates.rates.updated, at)
        last = np.concatenate([[-1], due[:-1]])
        more = np.where(last < 0, _column(groups["updated"], at), 0) + rate * (due - last)
        logs = since * row.log + more >> FRACTION
        logs = np.where(self._has_target[:, None], logs, 0)
        return _Compacted(
            written=(share * after >> HITS).sum(axis=0),
            rows=(share * (total + _column(groups["given"], at)) >> HITS).sum(axis=0),
            old=((share * before >> HITS) + logs).sum(axis=0),
            read=((share * before >> HITS) + logs).sum(axis=0),
            files=(share * count >> (HITS - FRACTION)).sum(axis=0),
        )

    # Whether the rules have to be asked.

    def is_fine(self) -> Flags:
        """Return where a commit needs no rule: there are no new rows, or the target takes them all as before."""
        board, lanes, at = self._board, self._board.lanes, self._board.active
        none: Flags = self.rows == 0
        if board.settings.has_buckets:
            return np.ones_like(none)
        if board.settings.opens_always:
            if board.settings.writing is Writing.BULK_INSERT:
                return np.ones_like(none)
            per_group = board.rows_per_group(self.averages)
            one_file: Flags = none | ((self.rows <= per_group) & (board.most_rows_of_file >= self.rows))
            return one_file
        size = self._estimated
        fits = spare_bytes(size, self.rows, self.averages, board.sizing) >= 0
        if board.settings.logs_new_rows and board.kind is Kind.MOR:
            is_small = size < board.sizing.max_file_size
        else:
            is_small = size < board.sizing.small_file_limit
        fine = self._has_target[:, None] & is_small & fits
        fine &= lanes["spare"][at][:, None] < self.averages
        fine &= lanes["unsettled"][at][:, None] == 0
        if board.kind is Kind.MOR_BLIND:
            fine &= size <= lanes["following"][at][:, None]
            fine &= ~self._has_new_candidates() & ~self._has_logs()
        result: Flags = none | fine
        return result

    def _has_new_candidates(self) -> Flags:
        """Return where a compaction of the window may have made another file group of the lane the smallest."""
        was_due = np.concatenate([[False], np.logical_or.accumulate(self._is_due)[:-1]])
        found: Flags = (self._board.lanes["hidden"][self._board.active] > 0)[:, None] & was_due
        return found

    def _has_logs(self) -> Flags:
        """Return where the target has got a log file of updates, in commits without new rows."""
        board = self._board
        if not len(board.updates.rates.hits):
            return np.zeros(self.rows.shape, bool)
        at = np.maximum(self._target, 0)
        idle = np.cumsum(self.rows == 0, axis=1)
        idle = np.concatenate([np.zeros((len(idle), 1), np.int64), idle], axis=1)
        width = self.rows.shape[1]
        last = np.maximum.accumulate(np.where(self._is_due, np.arange(width), -1))
        last = np.concatenate([[-1], last[:-1]])
        kept = np.where(last < 0, _column(board.groups["hits"], at), 0)
        since = idle[:, :-1] - np.where(last < 0, 0, idle[:, last + 1])
        hits = kept + since * _column(board.updates.rates.hits, at)
        found: Flags = self._has_target[:, None] & (hits >= 1 << (HITS - 1))
        return found

    def playable(self) -> int:
        """Return how many commits of the window need no rule."""
        bad = np.flatnonzero(~self.is_fine().all(axis=0))
        return int(bad[0]) if len(bad) else self.rows.shape[1]

    # The result.

    def keep(self, width: int, *, without: Numbers | None = None, entry: tuple[int, int] = (0, 0)) -> None:
        """Play the first *width* commits of the window; *without* the lanes that the rules have played.

        *entry* are the bytes and records that these have written.
        """
        board, columns = self._board, slice(0, width)
        if without is not None and len(without):
            gone = np.searchsorted(board.active, without)
            self.rows[gone] = 0
            self._has_target[gone] = False
            for array in (self._base, self._after, self._estimated, self._records):
                array[gone] = 0
        if without is None:
            sizes, records = self._entries[0][columns], self._entries[1][columns]
        else:
            sizes, records = self._written(columns)
            sizes, records = sizes + entry[0], records + entry[1]
        due = np.flatnonzero(self._is_due[:width])
        if without is not None:  # compact_now does it, with all file groups
            due = due[:0]
        compacted = None
        if len(due):
            self._is_due = self._is_due[:width]
            compacted = self._compacted()
        if board.settings.logs_new_rows:
            self._keep_logs(columns)
        else:
            self._keep_base_files(columns)
        if board.settings.opens_always:
            self._open_groups(columns)
        self._keep_others(width)
        if compacted is not None:
            self._keep_compactions(due, compacted)
        self._keep_groups(width, due)
        board.recent.add_window(sizes, records, due, compacted)
        board.deltas = width - 1 - int(due[-1]) if len(due) else board.deltas + width
        board.since_clustering += width + len(due)

    def _keep_logs(self, columns: slice) -> None:
        """Count the log files of new rows."""
        board, commit, totals = self._board, self._commit, self._board.totals
        rows = self.rows[:, columns]
        if board.settings.has_buckets:
            buckets = self._buckets()
            own = board.updates.rates.in_bucket(self._target)[:, None]
            share = np.where(self._has_target[:, None], expected(rows / buckets + own), 0)
            parts = board.parts(commit, board.row.of_log(rows), buckets)
            files = (share * buckets * parts >> (HITS - FRACTION)).sum(axis=0)
        else:
            parts = board.parts(commit, board.row.of_log(rows))
            files = np.where(rows > 0, parts, 0).sum(axis=0) << FRACTION
        totals.add("log_files", commit, files)
        totals.add("written_bytes", commit, board.row.of_log(rows).sum(axis=0) + (files * board.row.block >> FRACTION))

    def _keep_base_files(self, columns: slice) -> None:
        """Count the base files that new rows are written to, and the versions that these replace."""
        board, commit, totals = self._board, self._commit, self._board.totals
        touched = self._touched(columns)
        count = self._buckets() if board.settings.has_buckets else np.ones(1, np.int64)
        files = (touched * count >> (HITS - FRACTION)).sum(axis=0)
        existed = np.where(self._existed()[:, None] | (self._counted[:, columns] > 0), touched, 0)
        old = (existed * self._base[:, columns] >> HITS).sum(axis=0)
        again = self._written_again(columns)
        totals.add("written_bytes", commit, (touched * self._after[:, columns] >> HITS).sum(axis=0) + again)
        totals.add("base_files", commit, files)
        totals.add("old_bytes", commit, old)
        totals.add("read_bytes", commit, old)
        totals.add("old_files", commit, (existed * count >> (HITS - FRACTION)).sum(axis=0))

    def _written_again(self, columns: slice) -> Numbers:
        """Return the bytes of base files that Flink's tasks write before the last part of a commit's rows."""
        board, rows = self._board, self.rows[:, columns]
        count = self._buckets() if board.settings.has_buckets else 1
        more = board.parts(self._commit, board.row.of_log(rows), count) - 1
        if isinstance(more, int):
            return np.zeros(rows.shape[1], np.int64)
        # The first of two parts leaves a file with half of the new rows, and so on.
        mean = self._base[:, columns] + self._after[:, columns] >> 1
        found: Numbers = np.where((rows > 0) & self._has_target[:, None], more * mean, 0).sum(axis=0)
        return found

    def _existed(self) -> Flags:
        groups = self._board.groups
        if not groups.length:
            return np.zeros(len(self._target), bool)
        return groups["has_base"][np.maximum(self._target, 0)] > 0

    def _open_groups(self, columns: slice) -> None:
        """Add the file groups that each commit opens in each lane, equal ones as one item."""
        board, commit, totals = self._board, self._commit, self._board.totals
        rows, files = self.rows[:, columns], self._files_opened(columns)
        most = board.settings.tasks if board.settings.writing is Writing.BULK_INSERT else 1
        if board.settings.logs_new_rows:
            totals.add("groups_opened", commit, files.sum(axis=0))
        else:
            totals.add("written_bytes", commit, self._opened(columns)[0])
            totals.add("base_files", commit, files.sum(axis=0) << FRACTION)
            totals.add("groups_opened", commit, files.sum(axis=0))
        opened = []  # in the order in which one commit after the other opens them
        for lane, found in zip(board.active.tolist(), rows, strict=True):
            numbers = zip(*np.unique(found, return_index=True, return_counts=True), strict=True)
            opened += [(int(first), lane, int(number), int(times)) for number, first, times in numbers if number]
        for _, lane, number, times in sorted(opened):
            board.add_equal(lane, number, times, min(number, most))

    def _keep_others(self, width: int) -> None:
        """Count what the updates write to file groups that are no targets."""
        board, commit, totals, rates = self._board, self._commit, self._board.totals, self._board.updates.rates
        if not rates.is_any:
            return
        ones = np.ones(width, np.int64)
        if board.kind is Kind.COW:
            totals.add("written_bytes", commit, ones * rates.rewritten_bytes)
            totals.add("base_files", commit, ones * rates.rewritten_files)
            totals.add("old_bytes", commit, ones * rates.rewritten_bytes)
            totals.add("read_bytes", commit, ones * rates.rewritten_bytes)
            totals.add("old_files", commit, ones * rates.rewritten_files)
            return
        totals.add("written_bytes", commit, ones * rates.logged_bytes)
        totals.add("log_files", commit, ones * rates.logged_files)

    def _keep_compactions(self, due: Numbers, compacted: tuple[Numbers, Numbers]) -> None:
        board, totals = self._board, self._board.totals
        first, cycle = compaction_of_others(board, int(due[0]) + 1)
        own = self._compacted_targets(due)
        for number, at in enumerate((self._commit + due).tolist()):
            others, log_files = cycle if number else first, board.logs_since(at)
            blocks = log_files * board.row.block >> FRACTION
            totals.add("compacted_bytes", at, int(compacted[0][number]))
            totals.add("old_bytes", at, others.old + blocks + int(own.old[number]))
            totals.add("read_bytes", at, others.old + blocks + int(own.read[number]))
            totals.add("service_files", at, others.files + int(own.files[number]))
            totals.add("old_files", at, log_files + others.files + int(own.files[number]))
            totals.add("compactions", at, 1)

    def _keep_groups(self, width: int, due: Numbers) -> None:
        """Leave the file groups as the window leaves them."""
        board, groups = self._board, self._board.groups
        if not groups.length:
            return
        at, has = self._target, self._has_target
        rates, since = board.updates.rates, width
        added = self._counted[:, width]
        if len(due):
            since = width - 1 - int(due[-1])
            in_base = self._counted[:, int(due[-1]) + 1]
            if board.settings.logs_new_rows:
                groups["log_rows"][at[has]] += in_base[has]
            before = int(due[0]) + 1
            if rates.is_any:
                groups["hits"][: len(rates.hits)] += rates.hits_of_others * before
            groups.fold_logs(np.ones(groups.length, bool))
            hidden = board.active[board.lanes["hidden"][board.active] > 0]
            board.lanes["following"][hidden] = NOBODY  # those without log files now may come before the target
            added = added - in_base if board.settings.logs_new_rows else added
        if rates.is_any and board.kind is not Kind.COW:
            known = slice(0, len(rates.hits))
            groups["updated"][known] += rates.logged(board.kind) * since
            groups["hits"][known] += rates.hits_of_others * since
        first = width - since
        if board.settings.logs_new_rows:
            groups["log_rows"][at[has]] += added[has]
            since_then = self.rows[:, first:width]
            count = self._buckets() if board.settings.has_buckets else 1
            parts = board.parts(self._commit + first, board.row.of_log(since_then), count)
            groups["log_files"][at[has]] += np.where(since_then > 0, parts, 0).sum(axis=1)[has]
        else:
            groups["rows"][at[has]] += added[has]
            if board.settings.has_buckets:
                self._begin_buckets(added)
            if rates.is_any and board.kind is Kind.MOR_BLIND:
                idle = (self.rows[:, first:width] == 0).sum(axis=1)
                groups["hits"][at[has]] += idle[has] * rates.hits[at[has]]

    def _begin_buckets(self, added: Numbers) -> None:
        """Give the buckets of lanes that have got their first rows a base file."""
        groups = self._board.groups
        first = self._target[self._has_target & (added > 0)]
        first = first[groups["has_base"][first] == 0]
        groups["has_base"][first] = 1


@dataclass(frozen=True, slots=True)
class _Compacted:
    """What compactions have written, read and made old; numbers of files times ``2 ** FRACTION``."""

    written: Numbers
    rows: Numbers
    old: Numbers
    read: Numbers
    files: Numbers


def _column(values: Numbers, at: Numbers) -> Numbers:
    """Return values as a column, zeros where there are no items yet."""
    return (values[at] if len(values) else np.zeros(len(at), np.int64))[:, None]
