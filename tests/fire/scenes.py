"""What the harness does to a table: kinds of tables, and every operation that changes one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from hudiformat import CommitError, Table, create_table, open_table
from hudiformat.storage.protocol import Storage
from tests.fire.memory import FakeTime, MemoryStorage
from tests.metadata_table.tables import add_metadata_table

REPLACING = (
    "insert_overwrite",
    "insert_overwrite_table",
    "delete_partitions",
    "overwrites and clean",
    "maintain, with ttl",
)
MOR, COW = "MERGE_ON_READ", "COPY_ON_WRITE"
SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("ts", pa.int64()),
        ("p", pa.string()),
        ("v", pa.int64()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
)
COLUMNS = ("k", "ts", "p", "v")
Rows = tuple[tuple[Any, ...], ...]

ALONE = {
    "hudiformat.sync": "true",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.log.compaction.blocks.threshold": "2",
    "hoodie.clean.commits.retained": "1",
}
BESIDE_OTHERS = {
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    "hoodie.write.lock.filesystem.expire": "1",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "50",
    "hoodie.write.lock.client.num_retries": "2",
}
SERVICES = {
    "hoodie.clean.automatic": "true",
    "hoodie.archive.automatic": "true",
    "hoodie.keep.max.commits": "3",
    "hoodie.keep.min.commits": "2",
    "hoodie.clean.commits.retained": "1",
}
"""Everything that follows a write by itself, as soon as it can."""
EVERYTHING = {
    **SERVICES,
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.log.compaction.enable": "true",
    "hoodie.clustering.async.enabled": "true",
    "hoodie.clustering.async.max.commits": "1",
}
"""What maintenance does as soon as it can."""


RING = {
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
    "hoodie.bucket.index.max.num.buckets": "4",
    "hoodie.bucket.index.split.threshold": "0",
    "hoodie.bucket.index.merge.threshold": "0",
}
"""Consistent hashing, where clustering splits each bucket once."""
INDEXES = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
    "hoodie.metadata.compact.max.delta.commits": "3",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of table, and how it is written."""

    version: int = 9
    table_type: str = MOR
    index: str = "SIMPLE"
    mode: str = "SINGLE_WRITER"
    appends: bool = True
    has_metadata_table: bool = False
    has_indexes: bool = False  # a metadata table of hudiformat's own, with all indexes that it makes

    @property
    def is_non_blocking(self) -> bool:
        """Whether writers do not wait for each other."""
        return self.mode == "NON_BLOCKING_CONCURRENCY_CONTROL"

    @property
    def keeps_groups(self) -> bool:
        """Whether operations that replace file groups are refused."""
        return self.is_non_blocking or self.index == "RING"

    @property
    def of_index(self) -> dict[str, str]:
        """The options of the index."""
        return RING if self.index == "RING" else {"hoodie.index.type": self.index}

    @property
    def options(self) -> dict[str, str]:
        others = {} if self.mode == "SINGLE_WRITER" else {"hoodie.write.concurrency.mode": self.mode, **BESIDE_OTHERS}
        return {**ALONE, **others, **(INDEXES if self.has_indexes else {}), **self.of_index}

    def __str__(self) -> str:
        kind = "MOR" if self.table_type == MOR else "COW"
        mode = {"SINGLE_WRITER": "alone", "OPTIMISTIC_CONCURRENCY_CONTROL": "optimistic"}.get(self.mode, "non-blocking")
        more = "" if self.appends else ", object store"
        metadata = ", metadata table" if self.has_metadata_table else ", all indexes" if self.has_indexes else ""
        return f"{self.version} {kind} {self.index} {mode}{more}{metadata}"


def rows(*values: tuple[Any, ...]) -> pa.Table:
    """Rows, each from its key, its partition, its ordering value, and True where the row is a delete."""
    named = [{"k": k, "p": p, "ts": ts, "v": 10 * ts, "_hoodie_is_deleted": bool(gone)} for k, p, ts, *gone in values]
    return pa.Table.from_pylist(named, SCHEMA)


class SceneClock:
    """The clock of all writers of a storage in memory: each look takes ten milliseconds."""

    def __init__(self, time: FakeTime) -> None:
        self.time = time

    def __call__(self) -> datetime:
        self.time.now += 0.01
        return datetime(2024, 1, 1) + timedelta(seconds=self.time.now - 1_700_000_000)


def table_in(storage: Storage, time: FakeTime, kind: Kind, **options: str) -> Table:
    """The table in *storage*, for one writer."""
    return open_table(storage, options={**kind.options, **options}, clock=SceneClock(time))


def content(table: Table) -> Rows:
    """The rows of the table, sorted."""
    found = table.snapshot(columns=list(COLUMNS))
    return tuple(sorted(zip(*(found[name].to_pylist() for name in COLUMNS), strict=True)))


def new_table(storage: MemoryStorage, kind: Kind) -> Table:
    create_table(
        storage,
        name="t",
        schema=SCHEMA,
        record_key=["k"],
        ordering=["ts"],
        partition_by=["p"],
        table_type=kind.table_type,
        version=kind.version,
        options={
            **(INDEXES if kind.has_indexes else {}),
            **kind.of_index,
            "hoodie.bucket.index.num.buckets": "2",
        },
        clock=SceneClock(storage.time),
    )
    return table_in(storage, storage.time, kind)


def fill(kind: Kind) -> MemoryStorage:
    """A table of two partitions with four writes; on merge-on-read the second is compacted."""
    storage = MemoryStorage({}, FakeTime(), appends=kind.appends)
    table = new_table(storage, kind)
    table.insert(rows(("a", "x", 1), ("b", "x", 1), ("c", "x", 1), ("d", "y", 1), ("e", "y", 1), ("f", "y", 1)))
    table.upsert(rows(("a", "x", 2), ("d", "y", 2), ("c", "x", 2, True)))
    if kind.table_type == MOR:
        table.compact()
    table.upsert(rows(("a", "x", 3), ("g", "x", 3), ("e", "y", 3)))
    table.upsert(rows(("a", "x", 4), ("b", "x", 4, True), ("e", "y", 4)))
    return with_metadata_table(storage) if kind.has_metadata_table else storage


def with_metadata_table(storage: MemoryStorage) -> MemoryStorage:
    """The table with a metadata table, which the tests' builder makes in a folder."""
    with TemporaryDirectory() as folder:
        save(storage, Path(folder))
        add_metadata_table(Path(folder))
        return load(Path(folder), storage.time)


def _nothing(table: Table) -> None:
    """The table is ready."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: ``prepare`` makes ready what it needs, and is not disturbed; ``run`` is.

    ``options`` are those with which it runs.  It is for merge-on-read tables alone where ``only_mor``, and not for
    tables with hash buckets where ``regroups``.  Where it ``waits``, a clustering stays planned, and others write: not
    for tables with consistent hashing, whose new rows go to the file groups of the plan.
    """

    run: Callable[[Table], object]
    prepare: Callable[[Table], object] = _nothing
    options: Mapping[str, str] = field(default_factory=dict)
    only_mor: bool = False
    regroups: bool = False
    waits: bool = False

    def is_for(self, kind: Kind) -> bool:
        """Whether tables of a kind have it."""
        if kind.index == "RING" and self.waits:
            return False
        return (kind.table_type == MOR or not self.only_mor) and (kind.index != "BUCKET" or not self.regroups)


NEW = rows(("a", "x", 9), ("new", "x", 9), ("e", "y", 9), ("newer", "z", 9))


def first_of(table: Table) -> str:
    """The oldest commit on the timeline."""
    return table.timeline.completed_writes[0].time


def last_of(table: Table) -> str:
    """The newest commit."""
    return table.timeline.completed_writes[-1].time


def _begin_compaction(table: Table) -> None:
    """A compaction that is planned, and writes beside it."""
    assert table.schedule_compaction()
    table.upsert(rows(("a", "x", 5), ("d", "y", 5)))


def _more_groups(table: Table) -> None:
    """Small file groups, which a clustering joins."""
    table.bulk_insert(rows(("g1", "x", 3), ("g2", "y", 3), ("g3", "x", 3)))


def _begin_clustering(table: Table) -> None:
    """A clustering that is planned, and a write beside it."""
    _more_groups(table)
    assert table.schedule_clustering()
    table.bulk_insert(rows(("g4", "x", 3)))


def _many(table: Table) -> None:
    for ts in (5, 6):
        table.upsert(rows(("a", "x", ts), ("e", "y", ts)))
        if table.config.table_type.value == MOR:
            table.compact()


def _restore(table: Table) -> None:
    table.restore(first_of(table))


def _maintain(table: Table, only: Sequence[str] = ()) -> None:
    """All services that are due, or some; the error of one that failed, which the report only names."""
    failed = table.maintain(only=only).failed
    if failed:
        raise CommitError(f"{failed[0].service}: {failed[0].error}")


def _neglect(table: Table) -> None:
    """Old versions, small file groups and log files."""
    _many(table)
    _more_groups(table)
    table.upsert(rows(("a", "x", 7), ("e", "y", 7)))


def _wait(table: Table) -> None:
    """The same, two days ago."""
    _neglect(table)
    clock = table._context.clock
    assert isinstance(clock, SceneClock)
    clock.time.now += 2 * 24 * 3600


OPERATIONS = {
    "insert": Operation(lambda table: table.insert(rows(("n1", "x", 9), ("n2", "z", 9)))),
    "upsert": Operation(lambda table: table.upsert(NEW)),
    "delete": Operation(lambda table: table.delete(rows(("a", "x", 0), ("e", "y", 0)))),
    "bulk_insert": Operation(lambda table: table.bulk_insert(rows(("n1", "x", 9), ("n2", "z", 9)))),
    "insert_overwrite": Operation(lambda table: table.insert_overwrite(rows(("n1", "x", 9), ("n2", "z", 9)))),
    "insert_overwrite_table": Operation(lambda table: table.insert_overwrite_table(rows(("n1", "x", 9)))),
    "delete_partitions": Operation(lambda table: table.delete_partitions(["y"])),
    "upsert and services": Operation(lambda table: table.upsert(NEW), options=SERVICES),
    "upsert and inline compaction": Operation(
        lambda table: table.upsert(NEW),
        options={**SERVICES, "hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"},
        only_mor=True,
    ),
    "schedule_compaction": Operation(lambda table: table.schedule_compaction(), only_mor=True),
    "compaction": Operation(lambda table: table.compact(), only_mor=True),
    "planned compaction": Operation(lambda table: table.compact(), _begin_compaction, only_mor=True),
    "log_compact": Operation(lambda table: table.log_compact(), only_mor=True),
    "schedule_clustering": Operation(
        lambda table: table.schedule_clustering(), _more_groups, regroups=True, waits=True
    ),
    "clustering": Operation(
        lambda table: table.cluster(),
        _more_groups,
        options={"hoodie.clustering.plan.strategy.sort.columns": "v,k"},
        regroups=True,
    ),
    "planned clustering": Operation(lambda table: table.cluster(), _begin_clustering, regroups=True, waits=True),
    "upsert and inline clustering": Operation(
        lambda table: table.upsert(NEW),
        _more_groups,
        options={**SERVICES, "hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"},
        regroups=True,
    ),
    "restore beside a planned clustering": Operation(_restore, _begin_clustering, regroups=True, waits=True),
    "clean": Operation(lambda table: table.clean(), _many),
    "maintain": Operation(_maintain, _neglect, options=EVERYTHING),
    "maintain, with ttl": Operation(
        lambda table: _maintain(table, ["ttl", "clean", "archive"]),
        _wait,
        options={
            **EVERYTHING,
            "hoodie.partition.ttl.strategy.days.retain": "1",
            "hoodie.partition.ttl.strategy.partition.selected": "y",
        },
    ),
    "rollback": Operation(lambda table: table.rollback(last_of(table))),
    "restore": Operation(_restore),
    "restore beside a planned compaction": Operation(_restore, _begin_compaction, only_mor=True),
    "savepoint": Operation(lambda table: table.savepoint(last_of(table))),
    "delete_savepoint": Operation(
        lambda table: table.delete_savepoint(last_of(table)), lambda table: table.savepoint(last_of(table))
    ),
}


def kinds() -> Iterator[Kind]:
    """Every kind of table that the harness tries."""
    yield Kind()
    yield Kind(6)
    yield Kind(table_type=COW)
    for version, table_type in itertools.product((6, 8, 9), (MOR, COW)):
        yield Kind(version, table_type, mode="OPTIMISTIC_CONCURRENCY_CONTROL")
    yield Kind(index="BUCKET")
    yield Kind(6, index="BUCKET")
    yield Kind(index="RING", mode="OPTIMISTIC_CONCURRENCY_CONTROL")
    yield Kind(6, index="RING", appends=False)
    yield Kind(index="INMEMORY", mode="OPTIMISTIC_CONCURRENCY_CONTROL")
    yield Kind(6, index="GLOBAL_SIMPLE")
    yield Kind(index="BUCKET", mode="NON_BLOCKING_CONCURRENCY_CONTROL")
    yield Kind(8, mode="OPTIMISTIC_CONCURRENCY_CONTROL", appends=False)
    yield Kind(6, COW, appends=False)
    yield Kind(has_metadata_table=True)
    yield Kind(table_type=COW, mode="OPTIMISTIC_CONCURRENCY_CONTROL", has_metadata_table=True)
    yield Kind(has_indexes=True)
    yield Kind(8, COW, index="GLOBAL_SIMPLE", mode="OPTIMISTIC_CONCURRENCY_CONTROL", has_indexes=True)


def save(storage: MemoryStorage, folder: Path) -> None:
    """The files of a storage in memory as files of a folder."""
    for path, file in storage.files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.data)


def load(folder: Path, time: FakeTime) -> MemoryStorage:
    """The files of a folder as a storage in memory."""
    storage = MemoryStorage({}, time)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            storage.create(path.relative_to(folder).as_posix(), path.read_bytes())
    return storage
