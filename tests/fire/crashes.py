"""Operations that fail, die or are torn at each of their requests to the storage, and what is left of the table then.

After each of them, readers see the table as it was before or as it would have been after; the next writer writes; the
operation, tried again, does what it does; and once the timeline has been archived beyond all of it, the rows are still
right and nothing is wrong with the table.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TypeVar

from hudiformat import CorruptTableError, HudiFormatError, StorageError, Table, open_table
from hudiformat.timeline.timeline import Action
from tests.faults import READS, FaultyStorage
from tests.fire.memory import MemoryStorage, in_time_of
from tests.fire.scenes import MOR, OPERATIONS, SERVICES, Kind, Rows, content, fill, rows, save, table_in
from tests.metadata_statistics import check_bloom_filters, check_record_index, check_statistics

T = TypeVar("T")
ALL_INDEXES = {"files", "column_stats", "partition_stats", "bloom_filters", "record_index"}
MOST_WRITES = 30
"""So many writes have the whole timeline archived: a metadata table holds it back until it is compacted."""
AGING = 3
"""After one of so many moments the table lives on until its timeline is archived; after the others, for one write."""
AGING_AFTER_PAIRS = 30


class How(Enum):
    """What happens at a request."""

    FAILS = "fails"
    FAILS_AFTER = "fails after it took effect"
    GOES_DOWN = "fails, as do all after it"
    DIES = "dies before it"
    DIES_AFTER = "dies after it"
    TORN = "dies half-way through a write"
    POWER_CUT = "dies, and what was not synced is lost"


PASSING = (How.FAILS, How.FAILS_AFTER)
"""Failures after which the storage answers again."""


FINISHED_BY_OTHERS = ("clean", "rollback", "restore")
"""Operations that delete files: once they have begun, the next writer finishes them."""


FIRST_RING = "/00000000000000.hashing_meta"
"""The first buckets of a partition, the same for all writers, which may use them by now."""


_SOUND: set[tuple[Kind, str, Rows, bool, int]] = set()
"""What :func:`live_on` has found sound: operations that fail at different requests often leave the same files."""


class Died(BaseException):
    """The process is no more."""


class Moments:
    """Does what *strikes* say at the requests of their numbers; without them it only counts."""

    def __init__(self, storage: MemoryStorage, strikes: Mapping[int, How] = MappingProxyType({})) -> None:
        self.storage = storage
        self.strikes = strikes
        self.count = 0
        self.changes: list[int] = []
        """The requests that change something."""
        self.end: How | None = None
        """How the process or the storage went away."""

    def run(self, what: str, action: Callable[[], T]) -> T:
        if self.end is not None and self.end is not How.GOES_DOWN:
            raise Died
        self.count += 1
        kind = what.partition(" ")[0]
        if kind not in READS:
            self.changes.append(self.count)
        how = self.end or self.strikes.get(self.count)
        return action() if how is None else self._strike(how, what, kind, action)

    def _strike(self, how: How, what: str, kind: str, action: Callable[[], T]) -> T:
        self.end = None if how in PASSING else how
        if how is How.TORN and kind == "write":
            self.storage.tears = True
        if how in (How.FAILS_AFTER, How.DIES_AFTER, How.TORN) and not kind.startswith("open_input"):
            with suppress(StorageError):
                action()
        if how in (*PASSING, How.GOES_DOWN):
            raise StorageError(f"the storage fails at request {self.count}: {what}")
        raise Died


_CLUSTERING = (Action.CLUSTERING, Action.REPLACE_COMMIT)


@dataclass(frozen=True, slots=True)
class Case:
    """One operation on one kind of table, disturbed at some requests."""

    kind: Kind
    operation: str
    strikes: tuple[tuple[int, How], ...]

    @property
    def ages(self) -> bool:
        """Whether the table lives on until its timeline is archived."""
        return sum(at for at, _ in self.strikes) % (AGING if len(self.strikes) == 1 else AGING_AFTER_PAIRS) == 0

    def __str__(self) -> str:
        struck = ", ".join(f"request {at} {how.value}" for at, how in self.strikes)
        return f"{self.kind}: {self.operation}: {struck}"


@cache
def ready(kind: Kind, operation: str) -> MemoryStorage:
    """The table on which the operation is tried."""
    storage = filled(kind).copy()
    run_alone(storage, lambda: OPERATIONS[operation].prepare(table_in(storage, storage.time, kind)))
    return storage


def run_alone(storage: MemoryStorage, act: Callable[[], object]) -> None:
    """Do something to a table that nothing disturbs."""
    with in_time_of(storage.time), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        act()


@cache
def filled(kind: Kind) -> MemoryStorage:
    return fill(kind)


def run(table: Table, operation: str) -> None:
    OPERATIONS[operation].run(table)


def writer(storage: MemoryStorage, kind: Kind, operation: str, moments: Moments | None = None) -> Table:
    """A new process that does *operation*, with *moments* in its way."""
    seen = storage if moments is None else FaultyStorage(storage, moments)
    return table_in(seen, storage.time, kind, **OPERATIONS[operation].options)


@cache
def undisturbed(kind: Kind, operation: str) -> tuple[Rows, Rows, int, tuple[int, ...]]:
    """The rows before and after, the number of requests, and the numbers of those that change something."""
    storage = ready(kind, operation).copy()
    before = content(table_in(storage, storage.time, kind))
    moments = Moments(storage)
    with in_time_of(storage.time):
        run(writer(storage, kind, operation, moments), operation)
    return before, content(table_in(storage, storage.time, kind)), moments.count, tuple(moments.changes)


def cases(kind: Kind, operation: str) -> Iterator[Case]:
    """All moments of an operation: failures at each request, deaths and torn writes at each that changes something."""
    _, _, requests, changes = undisturbed(kind, operation)
    for how in How:
        for at in range(1, requests + 1) if how in (How.FAILS, How.GOES_DOWN) else changes:
            yield Case(kind, operation, ((at, how),))


def check(case: Case) -> str | None:
    """What is wrong after the case; None where nothing is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _check(case)
    except AssertionError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a violation
        return f"{type(error).__name__}: {error}"
    return None


def _check(case: Case) -> None:
    before, after, _, _ = undisturbed(case.kind, case.operation)
    storage = ready(case.kind, case.operation).copy()
    with in_time_of(storage.time):
        _disturb(case, storage, before, after)


def _disturb(case: Case, storage: MemoryStorage, before: Rows, after: Rows) -> None:
    hows = [how for _, how in case.strikes]
    error: HudiFormatError | None = None
    died = False
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            run(writer(storage, case.kind, case.operation, Moments(storage, dict(case.strikes))), case.operation)
    except HudiFormatError as raised:
        assert {*PASSING, How.GOES_DOWN} & set(hows), "a dead process reports an error"
        error = raised
    except Died:
        died = True
    said = [str(error), *(str(one.message) for one in warned)]
    damage = isinstance(error, CorruptTableError) or any("is dropped" in one for one in said)
    assert not damage, f"a sound table is called damaged: {said}"
    if How.POWER_CUT in hows:
        storage.lose_unsynced()
    storage.tears = False
    if len(case.strikes) == 1 and hows[0] in PASSING and error is not None:
        _check_nothing_left(case, storage)
    now = content(table_in(storage, storage.time, case.kind))
    assert now in (before, after), f"a reader sees {now}, neither {before} nor {after}"
    assert error or died or now == after, f"it succeeded, and a reader sees {now} instead of {after}"
    assert now == before or not _says_undone(error), f"a reader sees {now}, and the error says {error}"
    may_be_finished = case.operation.startswith(("restore", "rollback"))
    state = (case.kind, case.operation, now, case.ages, storage.fingerprint())
    if state not in _SOUND:
        live_on(case.kind, storage, now, finished=after if may_be_finished else None, ages=case.ages)
        _SOUND.add(state)


def _check_nothing_left(case: Case, storage: MemoryStorage) -> None:
    """An operation that failed has left no file, unless others finish what it began, or a part of it succeeded."""
    before = ready(case.kind, case.operation)
    if case.operation.startswith(FINISHED_BY_OTHERS):
        return
    timelines = [
        (table_in(one, one.time, case.kind).timeline.completed, _services_of_metadata(one)) for one in (before, storage)
    ]
    if timelines[0] == timelines[1]:
        changed = set(storage.files) ^ set(before.files)
        left = sorted(path for path in changed if not path.endswith(FIRST_RING))
        assert not left, f"it failed, and {left} are there now, or no longer"


def _services_of_metadata(storage: MemoryStorage) -> set[str]:
    """What services of the metadata table, which run before a write, have left on its timeline and in its archive."""
    own = {path for path in storage.files if path.startswith(".hoodie/metadata/.hoodie/timeline/")}
    others = (".deltacommit", ".inflight", ".requested")
    return {path for path in own if "/history/" in path or not path.endswith(others)}


def _says_undone(error: HudiFormatError | None) -> bool:
    said = str(error)
    return any(text in said for text in ("the table is as it was", "nothing was committed", "nothing was written"))


def live_on(kind: Kind, storage: MemoryStorage, now: Rows, *, finished: Rows | None = None, ages: bool = True) -> None:
    """Others come: they write, run what is planned, and where it *ages* go on until the timeline is archived.

    The rows stay *now*; or the next writer finishes what it finds, and they are *finished*.
    """

    def table(**options: str) -> Table:
        return table_in(storage, storage.time, kind, **options)

    storage.time.now += 600
    if kind.index == "RING":
        table().cluster()  # or what is planned would refuse the rows
    table().upsert(rows(("probe", "x", 1)))
    seen = without_probe(content(table()))
    assert seen in (now, finished), f"the next writer sees {seen}, not {now}"
    now = seen
    if kind.has_indexes:
        check_indexes(storage)
    if not ages:
        return
    if kind.table_type == MOR:
        table().compact()
        table().log_compact()
    if any(one.action in _CLUSTERING for one in table().timeline.pending):
        table().cluster()
    for saved in [one for one in table().timeline.completed if one.action.value == "savepoint"]:
        table().delete_savepoint(saved.time)
    archive(table)
    seen = without_probe(content(table()))
    assert seen == now, f"once archived, a reader sees {seen}, not {now}"
    findings = table().verify()
    assert not findings, f"once archived, verify() finds {findings}"
    if kind.has_indexes:
        check_indexes(storage)


def archive(table: Callable[..., Table]) -> None:
    """Write until the timeline is archived beyond all that is on it."""
    last = table().timeline.latest_instant_time or ""
    for ts in range(2, 2 + MOST_WRITES):
        if ts > 5 and (table().timeline.first_active or "") > last:
            return
        table(**SERVICES).upsert(rows(("probe", "x", ts)))
    raise AssertionError(f"the timeline is not archived beyond {last}: {table().timeline.instants}")


def check_indexes(storage: MemoryStorage) -> None:
    """The indexes of the metadata table say what the files contain, and none was dropped.

    A delete that may have lost leaves its key in the record index.
    """
    with TemporaryDirectory() as folder:
        save(storage, Path(folder))
        check_statistics(Path(folder))
        check_bloom_filters(Path(folder))
        check_record_index(Path(folder))
        found = set(open_table(folder).config.metadata_partitions)
    assert found == ALL_INDEXES, f"the metadata table has only {found}"


def without_probe(found: Rows) -> Rows:
    """The rows but the one with which :func:`live_on` tries the table."""
    return tuple(row for row in found if row[0] != "probe")
