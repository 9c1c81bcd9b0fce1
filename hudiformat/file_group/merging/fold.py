"""Find the log entry that wins for each key: the first step of a merge.  Pure.

In merge order, the newer entry wins; under event-time ordering only if its ordering value is not lower.  A delete
without an ordering value (a *reset*) wins over every older entry and loses to every newer one.

Every distinct key of the log entries has a number, from 0 on.  Functions take *numbers*: the key number of each entry.

Source: BufferedRecordMergerFactory, KeyBasedFileGroupRecordBuffer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hudiformat.file_group.merging.candidates import Candidates
from hudiformat.file_group.merging.keys import KeyIndex
from hudiformat.file_group.merging.rule import Booleans, Integers, comparable_integers

_LOWEST = np.iinfo(np.int64).min


def key_numbers(logs: Candidates) -> tuple[Integers, KeyIndex | Integers]:
    """Return the key number of each entry, and the distinct keys; for positions, the distinct positions ascending."""
    if logs.positions is not None:
        positions, numbers = np.unique(logs.positions, return_inverse=True)
        return numbers.astype(np.int64), positions
    index = KeyIndex.of(logs.keys)
    return index.numbers(), index


def last_entries(
    numbers: Integers, count: int, logs: Candidates, *, by_event_time: bool, deletes_win: bool = False
) -> Integers:
    """Return the index of the winning entry of each of *count* keys.

    By commit time that is the newest entry.  Entries 0, 1 and 2 of the keys b, a, b, in merge order::

        numbers = [1, 0, 1]   logs.age = [0, 1, 2]
        newest  = [1, 2]      the highest age of each key
        by_age  = [0, 1, 2]   the entry with each age
        result  = [1, 2]      key a: entry 1; key b: entry 2
    """
    entries = np.empty(count, np.int64)
    entries[numbers] = np.arange(len(numbers))  # of a key that comes once, which nearly all do
    if count == len(numbers):
        return entries
    if not by_event_time:
        newest = np.full(count, -1, np.int64)
        np.maximum.at(newest, numbers, logs.age)
        by_age = np.empty(len(logs), np.int64)
        by_age[logs.age] = np.arange(len(logs))
        return by_age[newest]
    times = np.bincount(numbers, minlength=count)
    repeated, among = np.flatnonzero(times > 1), np.flatnonzero(times[numbers] > 1)
    by_key = sort_into_runs(
        np.searchsorted(repeated, numbers[among]), logs, by_event_time=True, deletes_win=deletes_win, among=among
    )
    # Within a key by ordering value, then by age: the last one wins.
    ranking = np.lexsort((by_key.index, by_key.rank, by_key.segment))
    last = np.flatnonzero(np.diff(by_key.segment[ranking], append=len(repeated)))
    entries[repeated] = by_key.entry[ranking[last]]
    return entries


@dataclass(frozen=True, slots=True)
class Runs:
    """Entries sorted by key number and within a key by age: the entries of a key are one run.

    ``entry`` is the index of each entry in the log, ``segment`` its key number, ``starts`` the index at which each run
    begins.  ``rank`` compares like the ordering values under event-time ordering and is 0 otherwise.

    Entries 0, 1 and 2 of the keys b, a, b with the ordering values 5, 7, 6::

        entry = [1, 0, 2]   segment = [0, 1, 1]   starts = [0, 1]   rank = [7, 5, 6]   index = [0, 1, 2]
    """

    entry: Integers
    segment: Integers
    starts: Integers
    rank: Integers

    @property
    def index(self) -> Integers:
        """The indices of the sorted entries: 0, 1, 2 and so on."""
        return np.arange(len(self.entry))

    def last(self, flags: Booleans) -> Integers:
        """Return per key the last index at which *flags* is true, or -1."""
        return np.maximum.reduceat(np.where(flags, self.index, -1), self.starts)

    def first(self, flags: Booleans) -> Integers:
        """Return per key the first index at which *flags* is true, or the number of entries."""
        return np.minimum.reduceat(np.where(flags, self.index, len(self.entry)), self.starts)

    def filter(self, flags: Booleans) -> Runs:
        """Return only the entries for which *flags* is true."""
        segment = self.segment[flags]
        starts = np.flatnonzero(np.diff(segment, prepend=-1))
        return Runs(self.entry[flags], segment, starts, self.rank[flags])


def sort_into_runs(
    numbers: Integers,
    logs: Candidates,
    *,
    by_event_time: bool,
    deletes_win: bool = False,
    among: Integers | None = None,
) -> Runs:
    """Sort the entries by key and age, and leave out the entries that a later delete makes irrelevant.

    Such a delete has no ordering value; with *deletes_win* any delete does it.  The delete itself is among the result.
    Only the entries *among* are sorted, of which *numbers* are the key numbers; all if it is None.
    """
    chosen = np.arange(len(logs)) if among is None else among
    order = np.lexsort((logs.age[chosen], numbers))
    entry, segment = chosen[order], numbers[order]
    rank = np.zeros(len(entry), np.int64)
    if by_event_time:
        rank = comparable_integers(logs.ordering, len(logs))[entry]
    every = Runs(entry, segment, np.flatnonzero(np.diff(segment, prepend=-1)), rank)
    return _from_last_delete(every, logs) if deletes_win else _from_last_reset(every, logs)


def _from_last_reset(every: Runs, logs: Candidates) -> Runs:
    """Drop the entries before the last reset of each key, and the deletes between it and the next record.

    A delete entry right after a reset changes nothing (deltaMergeDeleteRecord): any record still wins over the reset.
    One key with a record of ordering value 5, a reset, a delete of 7 and a record of 1; entries 0 and 1 are records::

        entry        = [0, 2, 3, 1]   rank = [5, 0, 7, 1]
        resets       = [F, T, F, F]
        last_reset   = [1, 1, 1, 1]   index of the key's last reset, for each entry
        after        = [F, F, T, T]
        first_record = [3, 3, 3, 3]   index of the first record after it
        kept         = [F, T, F, T]
        result: entry = [2, 1]   rank = [lowest, 1]
    """
    resets = logs.resets[every.entry]
    if not resets.any():
        return every
    last_reset = every.last(resets)[every.segment]
    after = every.index > last_reset
    first_record = every.first((every.entry < logs.num_rows) & after)[every.segment]
    kept = (last_reset < 0) | (every.index == last_reset) | (after & (every.index >= first_record))
    rank = np.where(resets, _LOWEST, every.rank)  # every newer entry wins over a reset
    return Runs(every.entry, every.segment, every.starts, rank).filter(kept)


def _from_last_delete(every: Runs, logs: Candidates) -> Runs:
    """Drop the entries before the last delete of each key.

    A delete that is a row keeps its ordering value: later records have to reach it.  A reset and an entry of a delete
    block get the lowest rank.  One key with a record of 5, a deleted row of 4 and a record of 1::

        entry     = [0, 1, 2]   rank = [5, 4, 1]
        is_delete = [F, T, F]   index of the last delete: 1
        kept      = [F, T, T]
        result: entry = [1, 2]   rank = [4, 1]
    """
    is_delete = logs.deleted[every.entry]
    without_value = is_delete & (logs.resets[every.entry] | (every.entry >= logs.num_rows))
    rank = np.where(without_value, _LOWEST, every.rank)
    kept = every.index >= every.last(is_delete)[every.segment]
    return Runs(every.entry, every.segment, every.starts, rank).filter(kept)
