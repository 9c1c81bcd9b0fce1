"""What an action changes in a table, and the records that each partition of the metadata table gets for it.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import pyarrow as pa

from hudiformat.codec.statistics import ColumnStatistics
from hudiformat.timeline.commit_metadata import WriteStat

FileStatistics = Mapping[str, Mapping[str, ColumnStatistics | None]]
"""Statistics by file name and column; None if they are not known."""


@dataclass(frozen=True, slots=True)
class Change:
    """What an action changes in a table.

    - ``is_commit``: whether it is a commit of any kind, which lists the partitions that it wrote to.
    - ``time``: the instant of the action.
    - ``written``: the statistics of the files that it created, by partition path.
    - ``deleted``: the names of the files that it deleted, by partition path.
    - ``undone``: partition paths whose files changed because writes were rolled back.
    - ``gone``: partition paths whose folders no longer exist.
    - ``emptied``: partition paths that have no file groups after the action.
    - ``adds_only``: returns whether the action only adds files to a partition path.
    - ``live``: returns the names of the files of a partition path that readers need once the action is completed.
    - ``known``: returns the statistics that the metadata table has of the files of a partition path.
    - ``of_partition``: returns the statistics that it has of a whole partition path, by column.
    - ``joined``: the columns, with their types, that get statistics with the action, and ``older`` returns the names of
    all older files, which have none of them, by partition path.
    - ``replaced_keys``: returns the record keys of each file group that the action removes, with its partition path.
    - ``replaced_values``: returns, for the same file groups, the record keys and the values of a column (a dotted
    path).
    - ``logged_values``: returns, for each file group with log files of the action, these keys and values before and
    after.
    """

    is_commit: bool = False
    time: str = ""
    written: Mapping[str, Sequence[WriteStat]] = field(default_factory=dict)
    deleted: Mapping[str, Sequence[str]] = field(default_factory=dict)
    undone: Collection[str] = ()
    gone: Collection[str] = ()
    emptied: Collection[str] = ()
    adds_only: Callable[[str], bool] = lambda _path: False
    live: Callable[[str], Collection[str]] = lambda _path: ()
    known: Callable[[str], FileStatistics] = lambda _path: {}
    of_partition: Callable[[str], Mapping[str, ColumnStatistics]] = lambda _path: {}
    joined: Mapping[str, pa.DataType] = field(default_factory=dict)
    older: Callable[[], Iterable[tuple[str, Iterable[str]]]] = lambda: ()
    replaced_keys: Callable[[], Iterable[tuple[str, pa.Array]]] = lambda: ()
    replaced_values: Callable[[str], Iterable[pa.Table]] = lambda _column: ()
    logged_values: Callable[[str], Iterable[tuple[pa.Table, pa.Table]]] = lambda _column: ()


@dataclass(frozen=True, slots=True)
class KeyedRecords:
    """The records that a partition of the metadata table gets: ``keys``, encoded ``values``, and keys to drop.

    ``parts`` are the records by partition path of the table, if each of these has file groups of its own.
    """

    keys: pa.Array
    values: pa.Array
    dropped: pa.Array
    parts: Mapping[str, KeyedRecords] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Mapping[str, bytes], dropped: Collection[str] = ()) -> KeyedRecords:
        """Build the records from a mapping of keys to values."""
        return cls(
            pa.array(records.keys(), pa.string()),
            pa.array(records.values(), pa.binary()),
            pa.array(dropped, pa.string()),
        )

    def __bool__(self) -> bool:
        return len(self.keys) + len(self.dropped) > 0 or bool(self.parts)


class Stored(NamedTuple):
    """An encoded record, and the Avro schema (JSON) with which it was written."""

    value: bytes
    schema: str


class IndexKind(Protocol):
    """A kind of partition of the metadata table: the records that it gets for an action, and how records merge."""

    @property
    def name(self) -> str:
        """The name of the partition, which is a folder of the metadata table."""
        ...

    @property
    def is_plain(self) -> bool:
        """Whether the newest record of a key replaces older ones, so that records need not be merged."""
        ...

    def records(self, change: Change) -> KeyedRecords:
        """Return the records that the partition gets for *change*."""
        ...

    def part_to_hash(self, keys: pa.Array) -> pa.Array:
        """Return the part of each key whose hash determines the key's file group."""
        ...

    def merge(self, key: str, older: Stored, newer: Stored) -> Stored:
        """Merge two records with the same key."""
        ...

    def encode_base_record(self, key: str, record: Stored) -> bytes:
        """Return the record in the form in which a base file stores it."""
        ...
