"""What a table is expected to hold: the writes that count, and the rows after any of them.

Nothing of hudiformat is used here.  A write is a list of changes to a dictionary; the rows at a moment are what the
changes of all writes up to that moment make of an empty one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

Key = tuple[str, str]
"""Partition path and record key; with a global index the partition path is that of the row that is there."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row that somebody writes; ``is_deleted`` is its flag, which makes it a delete."""

    key: str
    partition: str
    ts: int
    value: int
    is_deleted: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What one write does: first ``emptied`` partitions lose their rows, or all do, then keys and rows are written.

    ``keys`` are deleted, whatever their ordering values.
    """

    rows: tuple[Row, ...] = ()
    keys: tuple[Key, ...] = ()
    emptied: frozenset[str] = frozenset()
    empties_all: bool = False


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows at a moment, with the instant that wrote each, and the keys that files of a partition may contain."""

    live: Mapping[Key, tuple[Row, str]] = field(default_factory=dict)
    ever: frozenset[Key] = frozenset()

    def values(self) -> dict[Key, tuple[int, int]]:
        """Ordering value and value of each row."""
        return {key: (row.ts, row.value) for key, (row, _) in self.live.items()}

    def written_after(self, instants: Iterable[str]) -> dict[Key, tuple[int, int]]:
        """The rows that one of *instants* wrote."""
        wanted = set(instants)
        return {key: (row.ts, row.value) for key, (row, instant) in self.live.items() if instant in wanted}


@dataclass(frozen=True, slots=True)
class Rules:
    """How rows of one key are merged: by their ordering values or not, and in one partition or in all."""

    by_event_time: bool
    is_global: bool

    def apply(self, before: Rows, change: Change, instant: str) -> Rows:
        """The rows after *change*, which the write *instant* made."""
        live, ever = dict(before.live), set(before.ever)
        for key in list(live):
            if change.empties_all or key[0] in change.emptied:
                del live[key]
        ever = {key for key in ever if not (change.empties_all or key[0] in change.emptied)}
        for partition, name in change.keys:
            if (found := self._find(live, partition, name)) is not None:
                del live[found]
        for row in change.rows:
            found = self._find(live, row.partition, row.key)
            ever.add((row.partition, row.key))
            if found is not None and self.by_event_time and row.ts < live[found][0].ts:
                continue
            if found is not None:
                del live[found]
            if not row.is_deleted:
                live[row.partition, row.key] = (row, instant)
        return replace(before, live=live, ever=frozenset(ever))

    def _find(self, live: Mapping[Key, object], partition: str, name: str) -> Key | None:
        if not self.is_global:
            return (partition, name) if (partition, name) in live else None
        return next((key for key in live if key[1] == name), None)


class Expected:
    """The writes that count, by their instants, in the order in which they were completed."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.changes: dict[str, Change] = {}

    def write(self, instant: str, change: Change) -> None:
        """A write that was completed."""
        assert instant not in self.changes
        self.changes[instant] = change

    def forget(self, instants: Iterable[str]) -> None:
        """Writes that were rolled back."""
        for instant in instants:
            self.changes.pop(instant, None)

    def rows(self, as_of: str | None = None) -> Rows:
        """The rows after all writes, or after those that had begun by *as_of*."""
        found = Rows()
        for instant, change in self.changes.items():
            if as_of is None or instant <= as_of:
                found = self.rules.apply(found, change, instant)
        return found
