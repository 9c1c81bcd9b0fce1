"""What is to change in a base file, as its rows stream by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.basefile import BaseRows
from hudiformat.basefile.meta_fields import RECORD_KEY
from hudiformat.index import NOWHERE
from hudiformat.merge import KeyIndex, RowSource
from hudiformat.merge.ordering import comparable
from hudiformat.table.change_log import DELETE, UPDATE, ChangeLog
from hudiformat.table.places import taken
from hudiformat.table.stats import WriteCounts

Booleans = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

_LOWER_HALF = 0xFFFFFFFF


class Meetings(Protocol):
    """Which rows of a base file which changes are about."""

    def of(self, rows: BaseRows) -> tuple[Integers, Integers]:
        """The places in *rows* that meet a change, in ascending order, and which change each of them meets."""

    def missed(self) -> Booleans:
        """Which changes have met no row, once all rows have come by."""


class KeyMeetings:
    """By record key: of several rows with one key only the first meets its change, as in Hudi."""

    def __init__(self, keys: pa.ChunkedArray) -> None:
        self._index = KeyIndex.of(keys)
        self._seen = np.zeros(len(keys), np.bool_)

    def of(self, rows: BaseRows) -> tuple[Integers, Integers]:
        """As :meth:`Meetings.of`."""
        at, numbers = self._index.find(pa.chunked_array([rows.head[RECORD_KEY]]))
        change = self._index.rows[numbers]
        first = np.unique(change, return_index=True)[1]
        new = np.sort(first[~self._seen[change[first]]])
        self._seen[change] = True
        return at[new], change[new]

    def missed(self) -> Booleans:
        """As :meth:`Meetings.missed`."""
        return ~self._seen


class PositionMeetings:
    """By the rows of the file that an index has found, one for each change or NOWHERE; no two changes have the same."""

    def __init__(self, positions: Integers) -> None:
        self._missed: Booleans = positions == NOWHERE
        # Sorted with their places in the lower half: several times as fast as argsort.
        ascending = np.sort(positions << 32 | np.arange(len(positions)))
        self._changes, self._positions = ascending & _LOWER_HALF, ascending >> 32

    def of(self, rows: BaseRows) -> tuple[Integers, Integers]:
        """As :meth:`Meetings.of`."""
        first, last = np.searchsorted(self._positions, [rows.numbers[0], rows.numbers[-1] + 1])
        return self._positions[first:last] - rows.numbers[0], self._changes[first:last]

    def missed(self) -> Booleans:
        """As :meth:`Meetings.missed`."""
        return self._missed


@dataclass(frozen=True, slots=True)
class Changes:
    """What is to change in a base file: ``rows`` take the place of those they meet, which go where ``deleted``.

    A delete that ``wins`` has no ordering value.  ``rows`` have no meta fields but the key: ``stored`` gives the others
    to those that are taken, which then have ``schema``.
    """

    meetings: Meetings
    rows: RowSource
    stored: Callable[[pa.Table], pa.Table]
    schema: pa.Schema
    deleted: Booleans
    wins: Booleans
    ordering_fields: tuple[str, ...]

    def merged(self, rows: BaseRows, log: ChangeLog | None = None) -> tuple[pa.Table, WriteCounts]:
        """What takes the place of *rows*, in their order; what is done to them is told to *log*."""
        head = pa.Table.from_batches([rows.head])
        at, change = self.meetings.of(rows)
        beaten = self._beaten(head, at, change)
        at, change = at[beaten], change[beaten]
        kept = np.ones(head.num_rows, np.bool_)
        kept[at] = False
        updated = ~self.deleted[change]
        counts = WriteCounts(updates=int(updated.sum()), deletes=int((~updated).sum()))
        if log is None and updated.all() and len(at) == head.num_rows:  # no other column of the old rows is read
            return self.stored(self.rows.at(change)), counts
        base = pa.Table.from_batches(rows.read(), self.schema)
        new = self.stored(self.rows.at(change[updated]))
        if log is not None:
            log.add(DELETE, base.take(pa.array(at[~updated])), None)
            log.add(UPDATE, base.take(pa.array(at[updated])), new)
        if not len(at):
            return base, counts
        if not updated.any():
            return base.filter(pa.array(kept)), counts
        both = pa.concat_tables([base, new]).combine_chunks()
        places = np.where(kept, np.arange(base.num_rows), -1)
        places[at[updated]] = base.num_rows + np.arange(int(updated.sum()))
        return both.take(pa.array(places[places >= 0])), counts

    def left(self) -> pa.Table:
        """The rows whose key was not there."""
        return self.stored(self.rows.rows.filter(pa.array(self.meetings.missed() & ~self.deleted)))

    def _beaten(self, base: pa.Table, at: Integers, change: Integers) -> Booleans:
        """Which of the rows that meet a change lose to it: all, but those with a higher ordering value."""
        if not self.ordering_fields:
            return np.ones(len(at), np.bool_)
        new = self.rows.at(change, self.ordering_fields)
        columns = tuple(
            pa.chunked_array([*new[name].chunks, *taken(base[name], at).chunks], base.schema.field(name).type)
            for name in self.ordering_fields
        )
        ranks = comparable(columns, 2 * len(at))
        beaten: Booleans = self.wins[change] | (ranks[: len(at)] >= ranks[len(at) :])
        return beaten
