"""The log files among themselves: of several entries with one key, the one that is left.  Pure.

In block order, the newer entry wins, under event time only when its ordering value is not lower.  A delete without an
ordering value wins over what came before, and loses to what comes after.
Source: BufferedRecordMergerFactory, KeyBasedFileGroupRecordBuffer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hudiformat.merge.candidates import Candidates
from hudiformat.merge.keys import KeyIndex
from hudiformat.merge.rule import Booleans, Integers, comparable


@dataclass(frozen=True, slots=True)
class Runs:
    """The entries of keys that have several, those of a key next to one another, in merge order.

    ``entry`` says which each is, ``segment`` numbers the keys, ``starts`` says where each begins.  What a delete
    without ordering value took away is not among them.  Under event time ``rank`` compares like ordering values.
    """

    entry: Integers
    segment: Integers
    starts: Integers
    rank: Integers

    @property
    def place(self) -> Integers:
        """0, 1, 2 and so on."""
        return np.arange(len(self.entry))

    def last(self, flags: Booleans) -> Integers:
        """Per key the last place at which *flags* holds, or -1."""
        return np.maximum.reduceat(np.where(flags, self.place, -1), self.starts)

    def first(self, flags: Booleans) -> Integers:
        """Per key the first place at which *flags* holds, or the number of all places."""
        return np.minimum.reduceat(np.where(flags, self.place, len(self.entry)), self.starts)

    def where(self, flags: Booleans) -> Runs:
        """Those for which *flags* holds; of each key there has to be one."""
        segment = self.segment[flags]
        starts = np.flatnonzero(np.diff(segment, prepend=-1))
        return Runs(self.entry[flags], segment, starts, self.rank[flags])


def key_numbers(logs: Candidates) -> tuple[Integers, KeyIndex | Integers]:
    """Each entry's number among the keys, and the keys; by positions the positions stand for the keys, ascending."""
    if logs.positions is not None:
        found, numbers = np.unique(logs.positions, return_inverse=True)
        return numbers.astype(np.int64), found
    index = KeyIndex.of(logs.keys)
    return index.numbers(), index


def runs(numbers: Integers, logs: Candidates, *, by_event_time: bool, deletes_win: bool = False) -> Runs:
    """The entries of all keys, the keys in the order of their *numbers*."""
    entry = np.lexsort((logs.age, numbers))
    segment = numbers[entry]
    rank = np.zeros(len(entry), np.int64)
    if by_event_time:
        rank = comparable(logs.ordering, len(logs))[entry]
    every = Runs(entry, segment, np.flatnonzero(np.diff(segment, prepend=-1)), rank)
    return _after_deletes(every, logs) if deletes_win else _after_resets(every, logs)


def _after_resets(every: Runs, logs: Candidates) -> Runs:
    resets = logs.resets[every.entry]
    if not resets.any():
        return every
    last_reset = every.last(resets)[every.segment]
    after = every.place > last_reset
    # A delete block's entry right after a delete without ordering value changes nothing (deltaMergeDeleteRecord): the
    # state stays one that any record beats.
    first_record = every.first((every.entry < logs.num_rows) & after)[every.segment]
    alive = (last_reset < 0) | (every.place == last_reset) | (after & (every.place >= first_record))
    # Whatever comes after a reset is above it.
    lowest = np.where(resets, np.iinfo(np.int64).min, every.rank)
    return Runs(every.entry, every.segment, every.starts, lowest).where(alive)


def _after_deletes(every: Runs, logs: Candidates) -> Runs:
    is_delete = logs.deleted[every.entry]
    # What a delete holds against later records is the ordering value of its row.
    holds_nothing = is_delete & (logs.resets[every.entry] | (every.entry >= logs.num_rows))
    rank = np.where(holds_nothing, np.iinfo(np.int64).min, every.rank)
    alive = every.place >= every.last(is_delete)[every.segment]
    return Runs(every.entry, every.segment, every.starts, rank).where(alive)


def last_entries(
    numbers: Integers, count: int, logs: Candidates, *, by_event_time: bool, deletes_win: bool = False
) -> Integers:
    """Of each of *count* keys the entry that is left."""
    if count == len(numbers):  # each key once, the usual case
        entries = np.empty(count, np.int64)
        entries[numbers] = np.arange(count)
        return entries
    if not by_event_time:
        newest = np.full(count, -1, np.int64)
        np.maximum.at(newest, numbers, logs.age)
        by_age = np.empty(len(logs), np.int64)
        by_age[logs.age] = np.arange(len(logs))
        return by_age[newest]
    found = runs(numbers, logs, by_event_time=True, deletes_win=deletes_win)
    ranking = np.lexsort((found.place, found.rank, found.segment))
    last = np.flatnonzero(np.diff(found.segment[ranking], append=count))
    return found.entry[ranking[last]]
