"""What is done to a table on an object store while requests fail: every way to write, every service, and reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from hudiformat import Table, create_table, open_table
from hudiformat.errors import HudiFormatError
from hudiformat.sink import FileSink, SinkOptions, TaskWriter
from hudiformat.sink.options import Policy
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.timeline import Action
from tests.tables import SCHEMA, rows

COLUMNS = ("k", "ts", "p", "v")
PARTIAL = '{"type":"record","name":"r","fields":[{"name":"ts","type":["null","long"]}]}'
LOCKED = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.client.num_retries": "20",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "50",
}
ONE_BUCKET = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
ALONE = {"hoodie.write.concurrency.mode": "SINGLE_WRITER"}


def content(table: Table) -> list[tuple[Any, ...]]:
    """The rows of a table, sorted."""
    found = table.snapshot(columns=list(COLUMNS))
    return sorted(zip(*(found[name].to_pylist() for name in COLUMNS), strict=True), key=repr)


@dataclass(frozen=True)
class Case:
    """One operation on a table.

    ``make`` are the arguments of the table, ``options`` those that it is opened with.  The table has the commits of
    ``before`` when ``act`` runs; what it answers is compared, where it reads.
    """

    name: str
    act: Callable[[Table], object]
    make: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    before: int = 3
    reads: bool = False
    goes_on: bool = False
    """Whether the next writer may finish it, once it has begun."""
    repeats: bool = False
    """Whether it is repeated until it answers, and notices that it was done: after an error nobody has to look."""

    def prepare(self, storage: Storage) -> None:
        """Make the table, and its commits."""
        given = {"name": "t", "schema": SCHEMA, "record_key": ["k"], "ordering": ["ts"], "partition_by": ["p"]}
        create_table(storage, **{**given, **self.make}, options=self._others)
        table = open_table(storage, options=self._others)
        if self.before:
            table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), ("c", 1, "y", 1)))
        for ts in range(2, self.before + 1):
            table.upsert(rows(("a", ts, "x", ts), ("c", ts, "y", ts)))

    def run(self, storage: Storage) -> object:
        """Do the operation; what it answers."""
        return self.act(open_table(storage, options=self.options))

    def look(self, storage: Storage) -> object:
        """What is there."""
        return content(open_table(storage))

    def is_sound(self, found: object, before: object, after: object) -> bool:
        """Whether what is there is the table before the operation, or after it."""
        return found in (before, after)

    def recover(self, storage: Storage) -> object:
        """Write once more, as the next writer does; what is there then, without what was added."""
        table = open_table(storage, options=self._others)
        row = rows(("new", 99, "x", 99))
        table.upsert(row)
        pending = {one.action for one in table.timeline.pending}
        if Action.COMPACTION in pending:
            table.compact()
        if Action.LOG_COMPACTION in pending:
            table.log_compact()
        if findings := table.verify():
            raise AssertionError(f"verify: {findings}")
        return [one for one in content(table) if one[0] != "new"]

    @property
    def _others(self) -> dict[str, str]:
        """The options of writes before the operation and after it."""
        kept = {key: value for key, value in self.options.items() if "partial" not in key}
        return {**kept, **ALONE}


class Creation(Case):
    """A table is made."""

    def prepare(self, storage: Storage) -> None:
        """Nothing is there."""

    def run(self, storage: Storage) -> object:
        """Make the table."""
        super().prepare(storage)
        return None

    def look(self, storage: Storage) -> object:
        """Whether there is a table."""
        try:
            open_table(storage)
        except HudiFormatError:
            return False
        return True

    def recover(self, storage: Storage) -> object:
        """Make the table if there is none, and write to it; whether there was one."""
        found = self.look(storage)
        if not found:
            self.run(storage)
        super().recover(storage)
        return found


class PlainFiles(Case):
    """A batch of the file sink, with merged files."""

    OPTIONS = SinkOptions(auto_compaction=True, policies=(Policy.SUCCESS_FILE,))

    def prepare(self, storage: Storage) -> None:
        """A batch is there."""
        self._write(storage, 0)

    def run(self, storage: Storage) -> object:
        """Write the next batch."""
        FileSink(storage, self.OPTIONS).recover()
        self._write(storage, 1)
        return None

    def look(self, storage: Storage) -> object:
        """The ids of all rows that are visible, once; of a batch that is being made visible, some may be."""
        return self._ids(storage)

    def is_sound(self, found: object, before: object, after: object) -> bool:
        """Whether each row is there once at most, and those of finished batches are."""
        ids = cast("list[int]", found)
        return len(set(ids)) == len(ids) and {0, 1, 2, 3} <= set(ids) <= set(range(8))

    def recover(self, storage: Storage) -> object:
        """The same query, started again: it repeats its batch."""
        before = FileSink(storage, self.OPTIONS).recover()
        self._write(storage, 1)
        if (found := self._ids(storage)) != list(range(8)):
            raise AssertionError(f"rows {found} after batch {before} was finished")
        return None

    def _write(self, storage: Storage, batch: int) -> None:
        messages = []
        for task in range(2):
            with TaskWriter(
                storage, SCHEMA, task=task, batch=batch, tasks=2, partition_by=["p"], options=self.OPTIONS
            ) as writer:
                first = 4 * batch + 2 * task
                writer.write(rows(("a", 1, "x", first), ("b", 1, "y", first + 1)).combine_chunks().to_batches()[0])
                messages.append(writer.finish())
        FileSink(storage, self.OPTIONS).commit(messages)

    def _ids(self, storage: Storage) -> list[int]:
        import pyarrow.parquet as pq

        found: list[int] = []
        for partition in ("p=x", "p=y"):
            for entry in storage.list(partition):
                if entry.name.endswith(".parquet"):
                    with storage.open_input(f"{partition}/{entry.name}") as file:
                        found += pq.ParquetFile(file).read()["v"].to_pylist()
        return sorted(found)


def upsert(table: Table) -> object:
    """Rows that are there and rows that are not, in two partitions and a new one."""
    return table.upsert(rows(("a", 9, "x", 9), ("d", 9, "y", 9), ("e", 9, "z", 9)))


def insert(table: Table) -> object:
    """New rows, in a partition that is there and a new one."""
    return table.insert(rows(("d", 9, "x", 9), ("e", 9, "z", 9)))


def newest(table: Table) -> str:
    """The newest write."""
    return table.timeline.completed_writes[-1].time


def first(table: Table) -> str:
    """The oldest write."""
    return table.timeline.completed_writes[0].time


def compacted(table: Table) -> object:
    """A compaction, planned and run."""
    table.schedule_compaction()
    return table.compact()


COW = {"table_type": "COPY_ON_WRITE"}
COMPACT = {"hoodie.compact.inline.max.delta.commits": "1"}
CASES: Sequence[Case] = [
    Creation("create_table", lambda _table: None, before=0, repeats=True),
    Case("insert", insert),
    Case("insert, copy-on-write", insert, COW),
    Case("insert, version 6", insert, {"version": 6}),
    Case("upsert", upsert),
    Case("upsert, copy-on-write", upsert, COW),
    Case("upsert, version 6", upsert, {"version": 6}),
    Case("upsert, version 8, indexed logs", upsert, {"version": 8}, {"hoodie.index.type": "INMEMORY"}),
    Case("upsert, buckets", upsert, options=ONE_BUCKET),
    Case("upsert, global index", lambda table: table.upsert(rows(("a", 9, "y", 9), ("d", 9, "z", 9))),
         options={"hoodie.index.type": "GLOBAL_SIMPLE"}),
    Case("upsert beside other writers", upsert, options=LOCKED),
    Case("upsert without blocking", upsert, options={
        **LOCKED, **ONE_BUCKET, "hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL"}),
    Case("upsert with change data", upsert, {**COW}, {"hoodie.table.cdc.enabled": "true"}),
    Case("partial update", lambda table: table.upsert(rows(("a", 9, "x", 9)).select(["k", "ts", "p"])),
         options={"hoodie.write.partial.update.schema": PARTIAL}, before=1),
    Case("bulk_insert", lambda table: table.bulk_insert(rows(("d", 9, "x", 9), ("e", 9, "z", 9)))),
    Case("delete", lambda table: table.delete(rows(("a", 9, "x", 9)))),
    Case("delete, copy-on-write", lambda table: table.delete(rows(("a", 9, "x", 9))), COW),
    Case("insert_overwrite", lambda table: table.insert_overwrite(rows(("d", 9, "x", 9)))),
    Case("insert_overwrite_table", lambda table: table.insert_overwrite_table(rows(("d", 9, "x", 9)))),
    Case("delete_partitions", lambda table: table.delete_partitions(["x"])),
    Case("schedule_compaction", lambda table: table.schedule_compaction(), options=COMPACT),
    Case("compact", compacted, options=COMPACT),
    Case("compact, version 6", compacted, {"version": 6}, COMPACT),
    Case("log_compact", lambda table: table.log_compact(), options={"hoodie.log.compaction.blocks.threshold": "1"}),
    Case("clean", lambda table: table.clean(), COW, {"hoodie.clean.commits.retained": "1"}),
    Case("write, clean and archive", upsert, COW, {
        "hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}, 5),
    Case("rollback", lambda table: table.rollback(newest(table)), goes_on=True),
    Case("rollback, version 6", lambda table: table.rollback(newest(table)), {"version": 6}, goes_on=True),
    Case("savepoint", lambda table: table.savepoint(newest(table))),
    Case("restore", lambda table: table.restore(first(table)), COW, goes_on=True),
    PlainFiles("file sink", lambda _table: None, repeats=True),
    Case("snapshot", content, reads=True),
    Case("incremental", lambda table: sorted(table.incremental(first(table))["k"].to_pylist()), reads=True),
]  # fmt: skip
