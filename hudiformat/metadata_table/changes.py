"""What an action changes in a table, and what a partition of the metadata table is given of it.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import pyarrow as pa

from hudiformat.codec.statistics import ColumnStatistics
from hudiformat.timeline.commit_metadata import WriteStat

FileStatistics = Mapping[str, Mapping[str, ColumnStatistics | None]]
"""By file name and column; None where nothing is known of the column."""


@dataclass(frozen=True, slots=True)
class Change:
    """What an action of a table does.

    - ``is_commit``: whether it is a commit of any kind, which lists the partitions that it has written to.
    - ``time``: its instant.
    - ``written``: the statistics of the files that it has made, by partition path.
    - ``deleted``: the names of the files that it has deleted, by partition path.
    - ``undone``: partition paths whose files are others now, as writes were rolled back.
    - ``gone``: partition paths whose folders are gone.
    - ``emptied``: partition paths that it leaves without file groups.
    - ``adds_only``: whether it leaves all files of a partition path as they are, and adds others.
    - ``live``: gives the names of the files that readers need of a partition path, once the action is completed.
    - ``known``: gives the statistics that the metadata table has of the files of a partition path.
    - ``of_partition``: gives those of a whole partition path, by column.
    - ``replaced_keys``: gives the record keys of the file groups that it removes from the table, with the partition
      path of each file group.
    - ``replaced_values``: gives the record keys and the values of a column, by its dotted path, of these.
    - ``logged_values``: gives the same of the rows that log files of the action may have changed, a file group at a
      time: before it and after it.
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
    replaced_keys: Callable[[], Iterable[tuple[str, pa.Array]]] = lambda: ()
    replaced_values: Callable[[str], Iterable[pa.Table]] = lambda _column: ()
    logged_values: Callable[[str], Iterable[tuple[pa.Table, pa.Table]]] = lambda _column: ()


@dataclass(frozen=True, slots=True)
class KeyedRecords:
    """The records that a partition is given: encoded ``values`` by ``keys``, both texts and bytes, and keys to drop.

    ``parts`` are those of single partition paths of the table, where these have file groups of their own.
    """

    keys: pa.Array
    values: pa.Array
    dropped: pa.Array
    parts: Mapping[str, KeyedRecords] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Mapping[str, bytes], dropped: Collection[str] = ()) -> KeyedRecords:
        """The records of a mapping."""
        return cls(
            pa.array(records.keys(), pa.string()),
            pa.array(records.values(), pa.binary()),
            pa.array(dropped, pa.string()),
        )

    def __bool__(self) -> bool:
        return len(self.keys) + len(self.dropped) > 0 or bool(self.parts)


class Stored(NamedTuple):
    """An encoded record, and the Avro schema (JSON) that it was written with."""

    value: bytes
    schema: str


class IndexKind(Protocol):
    """A kind of partition of the metadata table: what it is given of an action, and how its records merge."""

    @property
    def name(self) -> str:
        """The partition, a folder of the metadata table."""
        ...

    @property
    def is_plain(self) -> bool:
        """Whether the newest record of a key counts as it is, so that records need not be merged."""
        ...

    def records(self, change: Change) -> KeyedRecords:
        """What *change* gives to the partition."""
        ...

    def hashed(self, keys: pa.Array) -> pa.Array:
        """What of *keys* says which file group they belong to."""
        ...

    def merge(self, key: str, older: Stored, newer: Stored) -> Stored:
        """The record for two with one key."""
        ...

    def compacted(self, key: str, record: Stored) -> bytes:
        """The record as a base file has it."""
        ...
