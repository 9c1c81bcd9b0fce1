"""Two writers: between two requests of the one, the other does all that it does, at once or after a long pause.

Each of the two succeeds or raises an error.  The table then has the rows of those that succeeded, as if one had come
after the other.  A pause is longer than any lock and any heartbeat lasts: the one that was stopped is taken for dead.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from hudiformat import HudiFormatError, Table
from tests.faults import FaultyStorage
from tests.fire.crashes import AGING, live_on, ready, without_probe
from tests.fire.memory import MemoryStorage, in_time_of
from tests.fire.scenes import (
    COW,
    EVERYTHING,
    MOR,
    REPLACING,
    SERVICES,
    Kind,
    Operation,
    Rows,
    content,
    first_of,
    last_of,
    rows,
    table_in,
)

T = TypeVar("T")
PAUSE = 600.0
"""Seconds; locks expire after one minute, heartbeats after two."""

KINDS = (
    *(
        Kind(version, table_type, mode="OPTIMISTIC_CONCURRENCY_CONTROL")
        for version, table_type in itertools.product((6, 8, 9), (MOR, COW))
    ),
    Kind(index="GLOBAL_SIMPLE", mode="OPTIMISTIC_CONCURRENCY_CONTROL"),
    Kind(index="BUCKET", mode="OPTIMISTIC_CONCURRENCY_CONTROL"),
    Kind(index="BUCKET", mode="NON_BLOCKING_CONCURRENCY_CONTROL"),
    Kind(8, mode="OPTIMISTIC_CONCURRENCY_CONTROL", appends=False),
    Kind(index="RING", mode="OPTIMISTIC_CONCURRENCY_CONTROL"),
)


def _other_upsert(table: Table) -> None:
    table.upsert(rows(("e", "y", 8), ("served", "z", 8)))


WRITERS = {
    "upsert": Operation(lambda table: table.upsert(rows(("a", "x", 7), ("own", "x", 7), ("own2", "z", 7)))),
    "other upsert": Operation(_other_upsert),
    "insert": Operation(lambda table: table.insert(rows(("mine", "x", 7), ("mine2", "z", 7)))),
    "delete": Operation(lambda table: table.delete(rows(("a", "x", 0), ("e", "y", 0)))),
    "insert_overwrite": Operation(lambda table: table.insert_overwrite(rows(("n1", "x", 9)))),
    "delete_partitions": Operation(lambda table: table.delete_partitions(["y"])),
    "other upsert and services": Operation(_other_upsert, options=SERVICES),
    "compaction": Operation(lambda table: table.compact(), only_mor=True),
    "log_compact": Operation(lambda table: table.log_compact(), only_mor=True),
    "clustering": Operation(lambda table: table.cluster(), regroups=True),
    "clean": Operation(lambda table: table.clean()),
    "maintain": Operation(lambda table: table.maintain(), options=EVERYTHING),  # a service may lose against the other
    "rollback": Operation(lambda table: table.rollback(last_of(table))),
    "restore": Operation(lambda table: table.restore(first_of(table))),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """*first* is stopped before its request number *at*, for so many seconds, and *second* does all that it does."""

    kind: Kind
    first: str
    second: str
    at: int
    pause: float

    def __str__(self) -> str:
        return f"{self.kind}: {self.second} in {self.first} before request {self.at}, pause {self.pause:g} s"


class Interruption:
    """Calls *act* before request number *at*."""

    def __init__(self, at: int, act: Callable[[], None]) -> None:
        self.at = at
        self.act = act
        self.count = 0

    def run(self, what: str, action: Callable[[], T]) -> T:
        self.count += 1
        if self.count == self.at:
            self.act()
        return action()


def _table(storage: MemoryStorage, kind: Kind, name: str, interruption: Interruption | None = None) -> Table:
    seen = storage if interruption is None else FaultyStorage(storage, interruption)
    return table_in(seen, storage.time, kind, **WRITERS[name].options)


@lru_cache(maxsize=512)
def outcome(kind: Kind, names: tuple[str, ...]) -> Rows | None:
    """The rows after *names* were run one after the other; None where one of them is refused."""
    storage = ready(kind, "upsert").copy()
    with in_time_of(storage.time):
        try:
            for name in names:
                WRITERS[name].run(_table(storage, kind, name))
        except HudiFormatError:
            return None
        return content(table_in(storage, storage.time, kind))


@lru_cache(maxsize=128)
def requests(kind: Kind, name: str) -> int:
    """How many requests an undisturbed run makes."""
    storage = ready(kind, "upsert").copy()
    counter = Interruption(0, lambda: None)
    with in_time_of(storage.time):
        WRITERS[name].run(_table(storage, kind, name, counter))
    return counter.count


def names_of(kind: Kind) -> list[str]:
    """The writers that a kind of table can have."""
    possible = [name for name, writer in WRITERS.items() if writer.is_for(kind)]
    refused = (*REPLACING, "other upsert") if kind.keeps_groups else ("other upsert",)
    return [name for name in possible if name not in refused]


def pairs(kind: Kind, first: str) -> Iterator[Pair]:
    """Every second writer in every request of the *first*."""
    for second, pause in itertools.product(names_of(kind), (0.0, PAUSE)):
        for at in range(1, requests(kind, first) + 1):
            yield Pair(kind, first, second, at, pause)


def check(pair: Pair) -> str | None:
    """What is wrong afterwards; None where nothing is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            storage = ready(pair.kind, "upsert").copy()
            with in_time_of(storage.time):
                _check(pair, storage)
    except AssertionError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a violation
        return f"{type(error).__name__}: {error}"
    return None


def _check(pair: Pair, storage: MemoryStorage) -> None:
    done: list[str] = []

    def run(name: str, interruption: Interruption | None = None) -> bool:
        try:
            WRITERS[name].run(_table(storage, pair.kind, name, interruption))
        except HudiFormatError:
            return False
        done.append(name)
        return True

    def interrupt() -> None:
        storage.time.now += pair.pause
        run(pair.second)

    succeeded = run(pair.first, Interruption(pair.at, interrupt))
    # Others finish a rollback or a restore that they find, whatever became of the one that began it.
    may_be_finished = not succeeded and pair.first in ("rollback", "restore")
    sets = [done, [*done, pair.first]] if may_be_finished else [done]
    # What follows a write by itself does not change rows, but may refuse what would come after it.
    sets += [[name.removesuffix(" and services") for name in some] for some in sets]
    expected = {outcome(pair.kind, order) for some in sets for order in itertools.permutations(some)} - {None}
    found = content(table_in(storage, storage.time, pair.kind))
    assert found in expected, f"{done} succeeded, and a reader sees {found}, none of {expected}"
    finished = None
    if may_be_finished:  # in whichever order
        finished = next(filter(None, (outcome(pair.kind, one) for one in itertools.permutations(sets[1]))), None)
    live_on(pair.kind, storage, found, finished=finished, ages=pair.at % AGING == 0)
    assert without_probe(content(table_in(storage, storage.time, pair.kind))) in (found, finished)
