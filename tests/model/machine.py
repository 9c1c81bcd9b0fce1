"""Everything that can be done to a table, in any order, against a dictionary and against a second reader.

After every step the table has the rows that it is expected to have, by hudiformat and by the slow reader, ``verify()``
finds nothing but instants that are pending on purpose, and the invariants of the files hold.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hudiformat import Commit, CommitError, FileSlice, Insert, LockError, Table, TableError, Update, open_table
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.values import Operation
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.transaction import Transaction, begin_write
from hudiformat.write.write import prepare, write_keyed
from tests.model.expected import Change, Expected, Key, Row
from tests.model.invariants import check_files, not_listed_yet
from tests.model.kinds import SCHEMA, Kind, kinds
from tests.model.slow_reader import WRITES, SlowTable
from tests.tables import PARTITION_METADATA, Clock

STEPS: Counter[str] = Counter()
"""How often each rule was run."""

KEYS = st.sampled_from("abcdef")
PARTITIONS = st.sampled_from(["x", "q=1"])
_NOT_OF_HIVE = "q=1/.hoodie_partition_metadata"
"""The file of a partition that is written because it is there; a new one would be refused."""
"""From the path of the second one Hudi reads the value 1, so that no write of ours begins it."""
PLACES = st.lists(st.tuples(st.sampled_from("abcdefghijkl"), PARTITIONS), min_size=1, max_size=4)
"""Keys and partitions."""
WISHES = st.lists(
    st.tuples(KEYS, PARTITIONS, st.sampled_from(["new", "new", "late", "delete", "late delete"])),
    min_size=1,
    max_size=5,
)
"""Keys, partitions, and what is to be written there; a late row has a lower ordering value than the one there."""

COLUMNS = ["_hoodie_partition_path", "k", "ts", "v"]
_SHM = Path("/dev/shm")
_LAYOUT_2 = 8
_SPACING = 10
"""Between the ordering values of two steps; late rows lie between."""


@dataclass(frozen=True)
class SlowWriter:
    """A writer that has written its files and has not committed yet."""

    transaction: Transaction
    stats: Sequence[WriteStat]
    change: Change


class Everything(RuleBasedStateMachine):
    """A table of any kind.  ``readable_from`` is the first moment that cleans promise to keep."""

    @initialize(kind=kinds())
    def start(self, kind: Kind) -> None:
        note(repr(kind))
        self.kind = kind
        self.folder = Path(tempfile.mkdtemp(dir=_SHM if _SHM.is_dir() else None))
        self.clock = Clock()
        self.place = self.new_place()
        self.table = kind.create(self.place, self.clock)
        self.expected = Expected(kind.rules)
        self.readable_from = ""
        self.dead: set[str] = set()
        self.slow_writer: SlowWriter | None = None
        self.step = 0
        self.look()

    def new_place(self) -> Storage:
        """Where the table is made; the slow reader reads the folder ``t``."""
        return LocalStorage(self.folder / "t")

    def look(self) -> None:
        """Read the table by the slow reader, and from its cleans what they keep."""
        if self.kind.is_partitioned and not self.place.exists(_NOT_OF_HIVE):
            self.place.create(_NOT_OF_HIVE, PARTITION_METADATA)  # a clean deletes a folder that it has emptied
        self.slow = SlowTable(self.folder / "t")
        writes = sorted(self.slow.writes)
        for clean in (one for one in self.slow.active if one.action == "clean"):
            newest = [time for time in writes if time < clean.time][-1]
            self.readable_from = max(self.readable_from, clean.content["earliestCommitToRetain"] or newest)

    def count(self, what: str) -> None:
        STEPS[what] += 1
        self.step += 1

    def opened(self, **options: str) -> Table:
        """The table with further options; underscores stand for dots."""
        changed = {f"hoodie.{key.replace('_', '.')}": value for key, value in options.items()}
        return open_table(self.place, options={**self.kind.options, **changed}, clock=self.clock)

    # What is written

    def path_of(self, partition: str) -> str:
        return partition if self.kind.is_partitioned else ""

    def row_of(self, key: str, partition: str, wish: str, number: int) -> Row:
        path = self.path_of(partition)
        live = self.expected.rows().live
        there = next((row for place, (row, _) in live.items() if self.is_same(place, (path, key))), None)
        is_late = wish.startswith("late") and there is not None
        ts = there.ts - 1 if is_late and there is not None else self.step * _SPACING
        return Row(key, path, ts, self.step * 100 + number, is_deleted=wish.endswith("delete"))

    def is_same(self, one: Key, other: Key) -> bool:
        return one[1] == other[1] and (self.kind.rules.is_global or one[0] == other[0])

    def rows_of(self, wishes: Iterable[tuple[str, str, str]]) -> tuple[Row, ...]:
        """One row for each key, and none that the slow writer has in hand where nobody would stop the two."""
        found: list[Row] = []
        for number, (key, partition, wish) in enumerate(wishes):
            place = self.path_of(partition), key
            is_taken = any(self.is_same(place, (row.partition, row.key)) for row in (*found, *self.unguarded()))
            if not is_taken:
                found.append(self.row_of(key, partition, wish, number))
        return tuple(found)

    def unguarded(self) -> tuple[Row, ...]:
        """Rows of the slow writer that conflict with nothing: there the order of commits would decide."""
        is_unguarded = self.slow_writer is not None and self.kind.concurrency == "NON_BLOCKING"
        return self.slow_writer.change.rows if is_unguarded and self.slow_writer is not None else ()

    def fresh(self, places: Iterable[tuple[str, str]]) -> tuple[Row, ...]:
        """Rows of keys that were never in their partition, which an insert may write without looking them up."""
        used = self.expected.rows().ever
        if self.slow_writer is not None:
            used |= {(row.partition, row.key) for row in self.slow_writer.change.rows}
        free = [
            (key, partition, "new")
            for key, partition in places
            if not any(self.is_same((self.path_of(partition), key), other) for other in used)
        ]
        return self.rows_of(free)

    def data(self, rows: Iterable[Row]) -> pa.Table:
        found = [
            {
                "k": row.key,
                "ts": row.ts,
                "p": row.partition or "x",
                "v": row.value,
                "_hoodie_is_deleted": row.is_deleted,
            }
            for row in rows
        ]
        return pa.Table.from_pylist(found, SCHEMA)

    def wrote(self, commit: Commit, change: Change) -> None:
        self.expected.write(commit.instant, change)

    # Writes

    @rule(wishes=WISHES)
    def upsert(self, wishes: list[tuple[str, str, str]]) -> None:
        self.count("upsert")
        change = Change(self.rows_of(wishes))
        self.wrote(self.table.upsert(self.data(change.rows)), change)

    @precondition(lambda self: self.expected.rows().live)
    @rule(wishes=st.lists(st.sampled_from(["new", "new", "late", "delete", "late delete"]), min_size=1, max_size=4))
    def update(self, wishes: list[str]) -> None:
        """An upsert of rows that are there."""
        self.count("update")
        places = sorted(self.expected.rows().live)
        chosen = [(key, partition or "x", wish) for (partition, key), wish in zip(places, wishes, strict=False)]
        change = Change(self.rows_of(chosen))
        self.wrote(self.table.upsert(self.data(change.rows)), change)

    @rule(wishes=WISHES)
    def merge(self, wishes: list[tuple[str, str, str]]) -> None:
        """A merge that does what an upsert does."""
        self.count("merge")
        change = Change(self.rows_of(wishes))
        commit = self.table.merge(self.data(change.rows), when_matched=[Update()], when_not_matched=[Insert()])
        self.wrote(commit, change)

    @rule(key=KEYS, deletes=st.booleans())
    def change_where(self, key: str, *, deletes: bool) -> None:
        """An update or a delete of the rows for which a condition is true, in whatever partitions they are."""
        live = [row for row, _ in self.expected.rows().live.values() if row.key == key]
        if any(row.key == key for row in self.unguarded()):
            return
        self.count("delete where" if deletes else "update where")
        where, ts, value = f"k = '{key}'", self.step * _SPACING, self.step * 100
        if deletes:
            change = Change(keys=tuple((row.partition, row.key) for row in live))
            self.wrote(self.table.delete(where=where), change)
        else:
            change = Change(tuple(replace(row, ts=ts, value=value) for row in live))
            self.wrote(self.table.update({"ts": ts, "v": value}, where=where), change)

    @rule(places=PLACES, operation=st.sampled_from(["insert", "bulk_insert"]))
    def insert(self, places: list[tuple[str, str]], operation: str) -> None:
        self.count(operation)
        change = Change(self.fresh(places))
        write = self.table.insert if operation == "insert" else self.table.bulk_insert
        self.wrote(write(self.data(change.rows)), change)

    @precondition(lambda self: self.kind.index != "BUCKET")  # refused by name
    @rule(places=PLACES)
    def insert_without_duplicates(self, places: list[tuple[str, str]]) -> None:
        self.count("insert, dropping duplicates")
        change = Change(self.fresh(places))
        there = [row for row, _ in self.expected.rows().live.values()][:3]
        table = self.opened(datasource_insert_dup_policy="drop")
        self.wrote(table.insert(self.data([*there, *change.rows])), change)

    @rule(places=PLACES)
    def delete(self, places: list[tuple[str, str]]) -> None:
        self.count("delete")
        rows = self.rows_of((key, partition, "new") for key, partition in places)
        commit = self.table.delete(self.data(rows).select(["k", "p"]))
        self.wrote(commit, Change(keys=tuple((row.partition, row.key) for row in rows)))

    @precondition(lambda self: self.kind.concurrency != "NON_BLOCKING")  # refused by name
    @rule(places=PLACES, is_of_table=st.booleans())
    def overwrite(self, places: list[tuple[str, str]], *, is_of_table: bool) -> None:
        self.count("insert_overwrite_table" if is_of_table else "insert_overwrite")
        rows = self.rows_of((key, partition, "new") for key, partition in places)
        emptied = frozenset(row.partition for row in rows)
        if self.kind.rules.is_global and not is_of_table:
            # Nothing is looked up: a key of another partition would be there twice.
            others = {key for partition, key in self.expected.rows().ever if partition not in emptied}
            rows = tuple(row for row in rows if row.key not in others)
            emptied = frozenset(row.partition for row in rows)
        write = self.table.insert_overwrite_table if is_of_table else self.table.insert_overwrite
        change = Change(rows, emptied=frozenset() if is_of_table else emptied, empties_all=is_of_table)
        self.wrote(write(self.data(rows)), change)

    @precondition(lambda self: self.kind.is_partitioned and self.kind.concurrency != "NON_BLOCKING")
    @rule(partitions=st.sets(st.one_of(PARTITIONS, st.just("z")), min_size=1))
    def delete_partitions(self, partitions: set[str]) -> None:
        self.count("delete_partitions")
        commit = self.table.delete_partitions(sorted(partitions))
        self.wrote(commit, Change(emptied=frozenset(partitions)))

    def begun(self, rows: tuple[Row, ...]) -> tuple[Transaction, Sequence[WriteStat]]:
        state = self.table._context.state()
        write = begin_write(self.table._context, Operation.UPSERT, state, in_tasks=False)
        keyed = prepare(state, Operation.UPSERT, self.data(rows))[0]
        return write, write_keyed(write.plan, keyed, storage=self.place)

    @rule(wishes=WISHES)
    def die(self, wishes: list[tuple[str, str, str]]) -> None:
        """A writer that never commits; the next one rolls it back."""
        self.count("die")
        write, _ = self.begun(self.rows_of(wishes))
        write._heartbeat.stop()
        self.dead.add(write.instant.time)

    @precondition(lambda self: self.kind.has_other_writers and self.slow_writer is None)
    @rule(wishes=WISHES)
    def begin_slowly(self, wishes: list[tuple[str, str, str]]) -> None:
        """A writer that commits some steps later, if nothing that others do is in its way."""
        self.count("begin slowly")
        rows = self.rows_of(wishes)
        write, stats = self.begun(rows)
        self.slow_writer = SlowWriter(write, stats, Change(rows))

    @precondition(lambda self: self.slow_writer is not None)
    @rule()
    def commit_at_last(self) -> None:
        assert self.slow_writer is not None
        slow, self.slow_writer = self.slow_writer, None
        try:
            with slow.transaction as write:
                commit = write.commit(slow.stats)
        except CommitError:
            self.count("conflict")
            return
        self.count("commit at last")
        self.wrote(commit, slow.change)

    # Services

    @precondition(lambda self: self.has_log_files())
    @rule()
    def schedule_compaction(self) -> None:
        self.count("schedule_compaction")
        self.table.schedule_compaction()

    @precondition(lambda self: self.has_log_files())
    @rule()
    def compact(self) -> None:
        self.count("compact" if self.table.compact() else "compact nothing")

    @precondition(lambda self: self.has_log_files())
    @rule()
    def log_compact(self) -> None:
        self.count("log_compact" if self.table.log_compact() else "log_compact nothing")

    @precondition(lambda self: self.kind.index != "BUCKET" and self.kind.concurrency != "NON_BLOCKING")
    @rule(columns=st.sampled_from(["", "v", "ts,v"]), layout=st.sampled_from(["linear", "hilbert"]))
    def cluster(self, columns: str, layout: str) -> None:
        table = self.opened(layout_optimize_strategy=layout, clustering_plan_strategy_sort_columns=columns)
        self.count("cluster" if table.cluster() else "cluster nothing")

    @rule(kept=st.integers(1, 3), clusters=st.booleans())
    def maintain(self, kept: int, *, clusters: bool) -> None:
        """All services, each as soon as it can; a pending write of a single writer may be alive."""
        table = self.opened(
            compact_inline_max_delta_commits="1",
            log_compaction_enable="true",
            clustering_async_enabled=str(clusters and self.kind.concurrency != "NON_BLOCKING").lower(),
            clustering_async_max_commits="1",
            clean_automatic="true",
            clean_commits_retained=str(kept),
        )
        try:
            report = table.maintain()
        except LockError:
            assert not self.kind.has_other_writers
            assert self.dead & self.slow.pending.keys()
            self.count("maintain, refused")
            return
        assert report.failed == ()
        self.count("maintain" if any(one.done for one in report.services) else "maintain nothing")

    def has_log_files(self) -> bool:
        return any(one.logs for one in self.slow.slices())

    @precondition(lambda self: len(self.slow.writes) > 1)
    @rule(kept=st.integers(1, 3), by_versions=st.booleans())
    def clean(self, kept: int, *, by_versions: bool) -> None:
        table = self.opened(
            clean_policy="KEEP_LATEST_FILE_VERSIONS" if by_versions else "KEEP_LATEST_COMMITS",
            clean_commits_retained=str(kept),
            clean_fileversions_retained=str(kept),
        )
        self.count("clean" if table.clean() else "clean nothing")

    @precondition(lambda self: sum(not one.is_archived for one in self.slow.writes.values()) > 2)
    @rule(kept=st.integers(1, 3))
    def archive(self, kept: int) -> None:
        limits = ArchiveLimits(max_commits=kept + 1, min_commits=kept, compaction_delta_commits=2)
        state = self.table._context.state()
        self.count("archive" if archive_instants(state.storage, state.config, limits) else "archive nothing")

    # Going back

    def newest_write(self) -> str:
        return max(time for time, one in self.slow.writes.items() if not one.is_archived)

    def has_writes(self) -> bool:
        """Whether a write stays on the active timeline when the newest is rolled back."""
        return sum(not one.is_archived for one in self.slow.writes.values()) > 1

    @precondition(lambda self: self.has_writes())
    @rule()
    def roll_back(self) -> None:
        newest = self.newest_write()
        if newest <= self.readable_from:
            return
        try:
            self.table.rollback(newest)
        except CommitError as error:
            refused = ("is going to read its files", "before the writes after it", "has a savepoint", "archived")
            assert any(reason in str(error) for reason in refused)
            self.count("roll_back, refused")
            return
        self.count("roll_back")
        self.expected.forget([newest])

    def kept(self) -> list[str]:
        """The writes whose rows are known to be there still, saved ones among them, the newest first."""
        saved = self.savepoints()
        active = [
            time for time, one in self.slow.writes.items() if not one.is_archived and time in self.expected.changes
        ]
        return sorted((time for time in active if time >= self.readable_from or time in saved), reverse=True)

    def savepoints(self) -> list[str]:
        return sorted(one.time for one in self.slow.active if one.action == "savepoint")

    @precondition(lambda self: self.kept())
    @rule(back=st.integers(0, 3))
    def restore(self, back: int) -> None:
        kept = self.kept()
        target = kept[min(back, len(kept) - 1)]
        finished = self.finished(target)
        later = [time for time in self.slow.writes if self.finished(time) > finished]
        try:
            self.table.restore(target)
        except CommitError as error:
            is_gone = "may be deleted" in str(error)
            assert is_gone or "has a savepoint" in str(error)
            assert is_gone or set(self.savepoints()) & set(later)
            self.count("restore, refused")
            return
        self.count("restore")
        self.expected.forget(later)

    def finished(self, time: str) -> str:
        return self.slow.writes[time].completion if self.kind.version >= _LAYOUT_2 else time

    @precondition(lambda self: bool(set(self.kept()) - set(self.savepoints())))
    @rule(back=st.integers(0, 3))
    def savepoint(self, back: int) -> None:
        kept = [time for time in self.kept() if time not in self.savepoints()]
        self.count("savepoint")
        self.table.savepoint(kept[min(back, len(kept) - 1)])

    @precondition(lambda self: self.savepoints())
    @rule()
    def delete_savepoint(self) -> None:
        self.count("delete_savepoint")
        self.table.delete_savepoint(self.savepoints()[0])

    # Looking back

    @precondition(lambda self: self.expected.changes)
    @rule()
    def travel(self) -> None:
        """The rows as of each write, or an error that says why they are not known."""
        self.count("travel")
        pending = [time for time, action in self.slow.pending.items() if action in WRITES and not self.is_plan(time)]
        for instant in self.expected.changes:
            wanted = self.expected.rows(instant).values()
            try:
                found = self.rows_of_table(as_of=instant)
            except TableError as error:
                is_unknown = "is not complete" in str(error) and any(time <= instant for time in pending)
                # After a clean by file versions Hudi's rule is that nothing archived can be told.
                is_old = instant < self.readable_from or self.slow.writes[instant].is_archived
                is_gone = "has been cleaned away" in str(error) and is_old
                assert is_unknown or is_gone, error
                continue
            assert found == wanted, f"as of {instant}: {found}, expected {wanted}"

    def is_plan(self, time: str) -> bool:
        return self.slow.pending[time] in ("compaction", "logcompaction")

    @precondition(lambda self: self.expected.changes)
    @rule(number=st.integers(0, 30))
    def incremental(self, number: int) -> None:
        """The rows that were written after a write, as they are now.

        Late rows are left to other tests: without the base file below it, a log file's late row is returned.
        """
        instants = list(self.expected.changes)
        begin = self.finished(instants[number % len(instants)])
        later = [instant for instant in instants if self.finished(instant) > begin]
        is_late = any(row.ts % _SPACING for instant in later for row in self.expected.changes[instant].rows)
        if is_late:
            return
        self.count("incremental")
        try:
            found = self.values_of(self.table.incremental(begin, columns=COLUMNS))
        except TableError as error:
            is_hollow = "is not complete" in str(error) and (self.dead or self.slow_writer)
            assert self.kind.version < _LAYOUT_2, error
            assert is_hollow or "was deleted by the clean" in str(error), error
            return
        wanted = self.expected.rows().written_after(later)
        assert found == wanted, f"after {begin}: {found}, expected {wanted}"

    # After every step

    def rows_of_table(self, as_of: str | None = None) -> dict[Key, tuple[int, int]]:
        return self.values_of(self.table.snapshot(as_of=as_of, columns=COLUMNS))

    def values_of(self, found: pa.Table) -> dict[Key, tuple[int, int]]:
        rows = {(row["_hoodie_partition_path"], row["k"]): (row["ts"], row["v"]) for row in found.to_pylist()}
        assert len(rows) == found.num_rows, found
        return rows

    @invariant()
    def all_is_well(self) -> None:
        if not hasattr(self, "table"):
            return
        self.look()
        expected = self.expected.rows().values()
        found = self.rows_of_table()
        assert found == expected, f"{found}, expected {expected}"
        slow = {(one.partition, one.row["k"]): (one.row["ts"], one.row["v"]) for one in self.slow.rows()}
        assert slow == expected, f"the slow reader: {slow}, expected {expected}"
        assert set(self.expected.changes) <= self.slow.writes.keys()
        self.file_slices_are_the_same()
        check_files(self.slow, is_global=self.kind.rules.is_global)
        self.nothing_is_wrong_by_itself()

    def file_slices_are_the_same(self) -> None:
        slices = {(one.partition_path, one.file_id): sorted(names_of(one)) for one in self.table.file_slices()}
        unlisted = not_listed_yet(self.slow) if self.kind.has_metadata_table else set()
        expected = {(one.partition, one.group): sorted(set(one.names) - unlisted) for one in self.slow.slices()}
        assert slices == expected

    def nothing_is_wrong_by_itself(self) -> None:
        """Nothing is pending but what was left so on purpose, and ``verify()`` finds nothing else."""
        planned = {time for time, action in self.slow.pending.items() if action == "compaction"}
        slow = set() if self.slow_writer is None else {self.slow_writer.transaction.instant.time}
        allowed = planned | self.dead | slow
        assert self.slow.pending.keys() <= allowed, self.slow.pending
        for finding in self.table.verify():
            assert finding.kind.value == "uncommitted", finding
            assert set(finding.instants) <= allowed, finding

    def teardown(self) -> None:
        if not hasattr(self, "table"):
            return
        if self.slow_writer is not None:
            self.slow_writer.transaction.abandon()
        shutil.rmtree(self.folder)


def names_of(file_slice: FileSlice) -> list[str]:
    base = [] if file_slice.base_file is None else [str(file_slice.base_file.name)]
    return base + [str(log.name) for log in file_slice.log_files]
