"""What the updates of a workload do to each file group, as expected values that hold for an epoch of commits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hudiformat.simulation.groups import FRACTION, HITS, NOBODY, Groups
from hudiformat.sizing.small_files import Kind

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

FAR = 1 << 62
"""A commit, or a size, that is never reached."""
_DELETE_BYTES = 60
"""What a delete takes in a log file: its key, its partition path and its ordering value."""
_NEARLY = 1e-6
_EPOCH, _LONGEST_EPOCH, _LOOK = 16, 4096, 64
"""Updates are spread anew when the rows of the table, or the updates of a commit, have changed by one of 16 parts."""


def expected(hits: Floats) -> Numbers:
    """Return the probability that something happens that is expected *hits* times, times ``2 ** HITS``."""
    found: Numbers = np.rint(-np.expm1(-hits) * (1 << HITS)).astype(np.int64)
    return found


@dataclass(frozen=True, slots=True)
class Rates:
    """What the updates of each commit of an epoch do, in expectation; arrays have an item per file group.

    ``hits`` are expected updates of each file group, and ``share`` the probability of at least one, both times
    ``2 ** HITS``; ``updated`` are the bytes that they add to its log files, times ``2 ** FRACTION``.  The sums are over
    file groups that are no targets; of files, times ``2 ** FRACTION``.
    """

    hits: Numbers
    share: Numbers
    updated: Numbers
    is_target: Flags
    rewritten_bytes: int = 0
    rewritten_rows: int = 0
    rewritten_files: int = 0
    logged_bytes: int = 0
    logged_files: int = 0

    @classmethod
    def none(cls) -> Rates:
        """Return the rates without updates."""
        empty = np.zeros(0, np.int64)
        return cls(empty, empty, empty, np.zeros(0, bool))

    @property
    def is_any(self) -> bool:
        """Whether there are updates."""
        return len(self.hits) > 0

    @property
    def hits_of_others(self) -> Numbers:
        """The hits of the file groups that are no targets."""
        return np.where(self.is_target, 0, self.hits)

    def in_bucket(self, target: Numbers) -> Floats:
        """Return how many updates are expected in each bucket of lanes, by the items of their buckets."""
        if not self.is_any:
            return np.zeros(len(target))
        return np.where(target == NOBODY, 0, self.hits[np.maximum(target, 0)]) / float(1 << HITS)

    def logged(self, kind: Kind) -> Numbers:
        """Return the bytes that the updates of a commit add to log files, times ``2 ** FRACTION``."""
        return np.where(self.is_target, 0, self.updated) if kind is Kind.MOR_BLIND else self.updated


class Updates:
    """The updates and deletes of each commit, and the rates that hold until the epoch ends.

    *new* are the new rows of all commits before each.  The hottest keys are at *places*, as shares of all rows, the
    hottest first, if keys differ by the exponent *skew*.
    """

    def __init__(self, updates: Numbers, deletes: Numbers, new: Numbers, places: Floats, skew: float) -> None:
        self._changes, self._new, self._places, self._skew = updates + deletes, new, places, skew
        self._deletes, self._updates = (np.concatenate([[0], np.cumsum(one)]) for one in (deletes, updates))
        self._has_any = bool(self._changes.any())
        self.rates = Rates.none()
        self.end_of_epoch = 0
        self._began, self._shares, self._spread_evenly = 0, np.zeros(0), np.zeros(0)

    def apply(self, commit: int, groups: Groups, *, rewrites: bool) -> None:
        """Take from the file groups the rows that were deleted since the epoch began, before *commit*.

        If base files are *rewrites*, let their rows be updated.
        """
        deleted, updated = (int(one[commit] - one[self._began]) for one in (self._deletes, self._updates))
        self._began = commit
        if rewrites and updated and len(self._shares):
            # The hottest keys are a few thousand, which are updated again and again: they are left out.
            groups.update_rows(updated * self._spread_evenly)
        if deleted:
            groups.delete_rows(np.rint(deleted * self._shares).astype(np.int64))

    def end_epoch(self) -> None:
        """Spread the updates anew before the next commit, because file groups have changed."""
        self.end_of_epoch = 0

    def begin_epoch(self, commit: int, groups: Groups, rows: Numbers, is_target: Flags, kind: Kind) -> None:
        """Spread the updates from *commit* on over the *rows* of each file group, and set how long this holds."""
        if not self._has_any:
            self.end_of_epoch = FAR
            return
        updates, end = self._changes_from(commit)
        total = int(rows.sum())
        grown = int(self._new[commit]) + max(total // _EPOCH, 1)
        self.end_of_epoch = max(min(end, int(np.searchsorted(self._new, grown))), commit + 1)
        self.rates, self._shares = Rates.none(), np.zeros(0)
        if total and updates:
            hot, weight = self._hot_keys(rows, groups) if len(self._places) else (np.zeros(len(rows)), 1.0)
            self._spread_evenly = weight * rows / total
            self._shares = hot + self._spread_evenly
            of_deletes = int(self._deletes[end] - self._deletes[commit]) / max(int(self._changes[commit:end].sum()), 1)
            size = groups.row.log * (1 - of_deletes) + (_DELETE_BYTES << FRACTION) * of_deletes
            sizes = updates * self._shares * size
            self.rates = _rates(groups, updates * self._shares, sizes, is_target, kind)

    def _hot_keys(self, rows: Numbers, groups: Groups) -> tuple[Floats, float]:
        """Return the share of the updates that the hottest keys of each file group have, and that of all other keys.

        Two file groups with 30 rows and 10 rows, and the two hottest keys at 0.1 and 0.8 of the rows::

            weights = [1, 1/2], and 2.8 for the 38 others
            result  = [1, 1/2] / 4.3, and 2.8 / 4.3
        """
        total, skew = int(rows.sum()), self._skew
        ranks = np.arange(1, min(len(self._places), total) + 1)
        weights = ranks ** -float(skew)
        first, last = len(ranks) + 0.5, total + 0.5
        if abs(skew - 1) < _NEARLY:
            others = float(np.log(last / first))
        else:
            others = float((last ** (1 - skew) - first ** (1 - skew)) / (1 - skew))
        # Items of file groups without ids come in another order when many commits are played at once.
        place = np.zeros(len(rows), np.int64)
        place[list(groups.ids)] = list(groups.ids)
        order = np.lexsort((groups["count"], rows, place, groups["lane"]))
        home = np.searchsorted(np.cumsum(rows[order]), self._places[: len(ranks)] * total, side="right")
        hot = np.bincount(order[np.minimum(home, len(rows) - 1)], weights, len(rows))
        every = float(weights.sum()) + others
        shares: Floats = hot / every
        return shares, others / every

    def _changes_from(self, commit: int) -> tuple[float, int]:
        """Return the updates and deletes of a commit, and the first later commit that has others."""
        ahead = self._changes[commit : commit + _LONGEST_EPOCH]
        for updates in (float(ahead[:_LOOK].mean()), float(ahead[0])):
            other = np.abs(ahead - updates) > max(updates / _EPOCH, 1.5)
            if not other[0]:
                break
        return updates, commit + (int(np.argmax(other)) if other.any() else len(ahead))


def _rates(groups: Groups, changes: Floats, sizes: Floats, is_target: Flags, kind: Kind) -> Rates:
    """Return the rates of so many updates and deletes, which take *sizes* in log files, times ``2 ** FRACTION``."""
    hits = changes / groups["count"]
    probable = -np.expm1(-hits)
    # Updates of a target whose base file is rewritten anyway go there.
    is_other = ~is_target
    logs = is_other if kind is Kind.MOR_BLIND else np.ones_like(is_other)
    updated = np.rint(sizes).astype(np.int64)
    counted = probable * groups["count"]
    files = float(counted[is_other].sum()) * (1 << FRACTION)
    return Rates(
        hits=np.rint(hits * (1 << HITS)).astype(np.int64),
        share=np.rint(probable * (1 << HITS)).astype(np.int64),
        updated=updated,
        is_target=is_target,
        rewritten_bytes=round(float((probable * groups.base_bytes())[is_other].sum())),
        rewritten_rows=round(float((probable * groups.all_rows())[is_other].sum())),
        rewritten_files=round(files),
        logged_bytes=round(float(updated[logs].sum()) / (1 << FRACTION) + files / (1 << FRACTION) * groups.row.block),
        logged_files=round(files),
    )
