"""Queries while others change the table, at once, between any two requests of the query.

The answer is that before the change or that after it.  What cannot be answered any more is an error that says why.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hudiformat import HudiFormatError, StorageError, Table
from tests.faults import FaultyStorage
from tests.fire.crashes import ready, run_alone
from tests.fire.interleavings import Interruption
from tests.fire.memory import MemoryStorage, in_time_of
from tests.fire.scenes import COLUMNS, MOR, OPERATIONS, Kind, content, first_of, last_of, rows, table_in

Answer = Any
_VERSION_OF_LOGS_BY_WRITE = 8


def _rows(found: Any) -> Answer:
    return tuple(sorted(zip(*(found[name].to_pylist() for name in COLUMNS), strict=True)))


def _scanned(table: Table) -> Answer:
    batches = [batch.to_pydict() for batch in table.scan(columns=list(COLUMNS)).batches()]
    return tuple(sorted(row for batch in batches for row in zip(*batch.values(), strict=True)))


def _slices(table: Table) -> Answer:
    """In table version 6 a log file is there before its blocks are committed; queries leave these out."""
    has_logs = table.config.version >= _VERSION_OF_LOGS_BY_WRITE
    return tuple(
        (one.partition_path, one.file_id, one.base_instant, len(one.log_files) if has_logs else 0)
        for one in table.file_slices()
    )


QUERIES: dict[str, Callable[[Table], Answer]] = {
    "snapshot": content,
    "scan": _scanned,
    "read_optimized": lambda table: _rows(table.read_optimized(columns=list(COLUMNS))),
    "incremental": lambda table: _rows(table.incremental("000", columns=list(COLUMNS))),
    "file_slices": _slices,
    "time travel": lambda table: _rows(table.snapshot(columns=list(COLUMNS), as_of=_before_last(table))),
}


def _before_last(table: Table) -> str:
    writes = table.timeline.completed_writes
    return writes[max(len(writes) - 2, 0)].time


def _change_and_clean(table: Table, change: Callable[[int], object]) -> None:
    for ts in (21, 22, 23):
        change(ts)
        if table.config.table_type.value == MOR:
            table.compact()
    table.clean()


def _upsert_and_clean(table: Table) -> None:
    _change_and_clean(table, lambda ts: table.upsert(rows(("a", "x", ts), ("e", "y", ts))))


def _overwrite_and_clean(table: Table) -> None:
    _change_and_clean(table, lambda ts: table.insert_overwrite(rows(("a", "x", ts), ("e", "y", ts))))


def _restore_and_write(table: Table) -> None:
    table.restore(first_of(table))
    table.upsert(rows(("a", "x", 30), ("z", "x", 30)))


def _rollback_and_write(table: Table) -> None:
    table.rollback(last_of(table))
    table.upsert(rows(("a", "x", 30), ("z", "x", 30)))


CHANGES: dict[str, Callable[[Table], object]] = {
    **{name: one.run for name, one in OPERATIONS.items()},
    "upserts and clean": _upsert_and_clean,
    "overwrites and clean": _overwrite_and_clean,
    "restore and upsert": _restore_and_write,
    "rollback and upsert": _rollback_and_write,
}


@dataclass(frozen=True, slots=True)
class Race:
    """*change* happens before request number *at* of *query*."""

    kind: Kind
    change: str
    query: str
    at: int

    def __str__(self) -> str:
        return f"{self.kind}: {self.change} in {self.query} before request {self.at}"


@dataclass(frozen=True, slots=True)
class Sides:
    """A table before and after a change."""

    before: MemoryStorage
    after: MemoryStorage


@lru_cache(maxsize=256)
def sides(kind: Kind, change: str) -> Sides:
    before = ready(kind, change if change in OPERATIONS else "upsert")
    after = before.copy()
    options = OPERATIONS[change].options if change in OPERATIONS else {}
    run_alone(after, lambda: CHANGES[change](table_in(after, after.time, kind, **options)))
    return Sides(before, after)


@lru_cache(maxsize=4096)
def answers(kind: Kind, change: str, query: str) -> tuple[Answer, Answer, int]:
    """The answer before, the one after, and the number of requests."""
    both = sides(kind, change)
    counter = Interruption(0, lambda: None)
    before = _ask(kind, query, FaultyStorage(both.before.copy(), counter), both.before)
    return before, _ask(kind, query, both.after.copy(), both.after), counter.count


def _ask(kind: Kind, query: str, storage: Any, owner: MemoryStorage) -> Answer:
    with in_time_of(owner.time):
        try:
            return QUERIES[query](table_in(storage, owner.time, kind))
        except StorageError:
            raise
        except HudiFormatError as error:
            return type(error)


def races(kind: Kind, change: str) -> Iterator[Race]:
    """Every query, and every request of it."""
    if change in OPERATIONS and not OPERATIONS[change].is_for(kind):
        return
    for query in QUERIES:
        for at in range(1, answers(kind, change, query)[2] + 1):
            yield Race(kind, change, query, at)


def check(race: Race) -> str | None:
    """What is wrong with the answer; None where nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, after, _ = answers(race.kind, race.change, race.query)
        both = sides(race.kind, race.change)
        storage = both.before.copy()

        def change() -> None:
            storage.files = dict(both.after.files)

        try:
            found = _ask(race.kind, race.query, FaultyStorage(storage, Interruption(race.at, change)), storage)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a violation
            return f"{type(error).__name__}: {error}"
    if found in (before, after) or (isinstance(found, type) and issubclass(found, HudiFormatError)):
        return None
    return f"it found {found}, neither {before} nor {after}"
