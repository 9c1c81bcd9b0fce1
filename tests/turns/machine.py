"""The steps of both sides on one table, chosen by a seed, and what each makes of the expected rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random

import pyarrow as pa

from hudiformat import CommitError, Table
from hudiformat.storage.local import LocalStorage
from hudiformat.table.options.values import Operation
from hudiformat.timeline.config_files import METADATA_FOLDER, load_table_config
from hudiformat.timeline.timeline import Action, Instant, load_timeline
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.write import prepare, write_keyed
from tests.conformance.hudi import RealHudi, RealHudiError
from tests.foreign.make_registered import Registering
from tests.model.expected import Change, Expected, Row, Rules
from tests.turns.checks import check_indexes, check_ours, check_theirs, definitions, indexes, properties
from tests.turns.kinds import OLD, Kind
from tests.turns.rows import Columns
from tests.turns.sides import Ours, Side, Theirs

_KEYS = 80
_SELDOM = 5
"""Of so many steps, Hudi's indexes are looked at after one, where they are not what a kind of table is about."""
_SPACING = 10
"""Between the ordering values of two steps; those of late rows lie between."""


class Machine:
    """A table at *path* that Hudi makes, and the steps on it."""

    def __init__(self, hudi: RealHudi, path: Path, kind: Kind, seed: int) -> None:
        self.seed, self.chance = seed, Random(seed)
        self.kind, self.path = kind, path
        self.columns = Columns(self.chance, kind.layout)
        by_event_time = not kind.layout.are_registered
        self.expected = Expected(Rules(by_event_time=by_event_time, is_global=kind.has_records))
        self.ours = Ours(path, kind)
        self.theirs = Theirs(hudi, path, kind, f"turns_{seed}_{abs(hash(path))}")
        self.shapes: dict[str, dict[str, pa.DataType]] = {}
        self.done: list[str] = []
        self.refused: Counter[str] = Counter()
        self.moment = 0
        self.values = 0

    def create(self) -> None:
        """Have Hudi make the table, and its indexes."""
        if self.kind.layout.are_registered:
            self.registering = Registering(self.theirs.hudi, self.path, self.kind.version, name="turns")
            self.register(self.theirs)
        else:
            self.write(self.theirs, "insert", Change(self.fresh(20)))
        self.theirs.create_table()
        if self.kind.has_records:
            self.theirs.create_index("by_s", "(s)")
        if self.kind.has_expression:
            self.theirs.create_index("by_upper", "using column_stats(s) options(expr='upper')")
        self.properties, self.definitions = properties(self.path), definitions(self.path)
        self.indexes = self.kind.indexes or indexes(self.path)

    def step(self) -> str:
        """Make a step that is possible now; its name."""
        sides: list[Side] = [self.ours, self.theirs]
        side = self.chance.choice(sides)
        steps = [step for step in WEIGHTS if step.__name__ not in ONLY or ONLY[step.__name__](self)]
        [chosen] = self.chance.choices(steps, [WEIGHTS[step] for step in steps])
        if chosen.__name__ in self.kind.layout.hudi_cannot:
            side = self.ours
        self.done.append(f"{chosen.__name__} by {side.name}")
        chosen(self, side)
        return self.done[-1]

    def check(self) -> None:
        """Raise an AssertionError where the table is not what it has to be."""
        live = [row for row, _ in self.expected.rows().live.values()]
        expected = list(map(self.columns.values, live))
        check_ours(self.path, self.columns, expected, self.chance, self.kind.ours)
        check_indexes(self.path, self.indexes, in_folders=self.kind.has_all_in_folders)
        expected = [self.columns.values(row, by_hudi=True) for row in live]
        often = self.kind.layout_name == "plain" or len(self.done) % _SELDOM == 0
        often = often and self.kind.layout.has_statistics
        check_theirs(self.theirs, self.kind, self.columns, expected, self.chance, indexes=often)
        lost = self.properties.items() - properties(self.path).items()
        assert not lost, f"properties {lost}"
        assert definitions(self.path) == self.definitions

    # Rows to write

    def row(self, key: str, partition: str, *, ts: int | None = None, is_deleted: bool = False) -> Row:
        self.values += 1
        return Row(key, partition, self.moment * _SPACING if ts is None else ts, self.values, is_deleted)

    def some(self, count: int = 8, *, also: Sequence[str] = ()) -> tuple[Row, ...]:
        """Rows of some keys, of which some are there: newer, late, or flagged as deleted."""
        self.moment += 1
        live = {name: (path, row) for (path, name), (row, _) in self.expected.rows().live.items()}
        found = []
        keys = dict.fromkeys([*also, *(f"k{number:03d}" for number in self.chance.sample(range(_KEYS), count))])
        for key in keys:
            partition = live[key][0] if key in also else self.chance.choice("xyz")
            is_late = key in live and self.chance.random() < 0.15
            ts = None
            if is_late:
                partition, ts = live[key][0], live[key][1].ts - 1
            # Hudi 0.15.0 lets a late delete in a log file take a newer row of the base file away.
            may_delete = not (is_late and self.kind.hudi == OLD)
            found.append(self.row(key, partition, ts=ts, is_deleted=self.chance.random() < 0.1 and may_delete))
        return tuple(found)

    def fresh(self, count: int) -> tuple[Row, ...]:
        """Rows of keys that were never in their partition, which an insert may write without looking them up."""
        self.moment += 1
        ever = {name for _, name in self.expected.rows().ever}
        free = [key for key in (f"k{number:03d}" for number in range(10 * _KEYS)) if key not in ever]
        chosen = self.chance.sample(free[:_KEYS], count)
        return tuple(self.row(key, self.chance.choice("xyz")) for key in chosen)

    # Writes

    def instants(self) -> dict[str, Instant]:
        return {one.time: one for one in self.table().timeline.completed_writes}

    def table(self) -> Table:
        return self.ours.table()

    def wrote(self, before: Iterable[str], change: Change) -> None:
        """Add a write to those expected: the first new instant that is no compaction."""
        made = [one for time, one in self.instants().items() if time not in set(before)]
        is_mor = self.kind.is_mor
        writes = [one.time for one in made if not (is_mor and one.action is Action.COMMIT)]
        self.expected.write(min(writes), change)
        self.shapes[min(writes)] = dict(self.columns.types)

    def forget(self, instants: Iterable[str]) -> None:
        """Writes that were rolled back: their rows, and what they did to the columns."""
        self.expected.forget(instants)
        self.columns.types = dict(self.shapes[list(self.expected.changes)[-1]])

    def write(self, side: Side, operation: str, change: Change) -> None:
        before = self.instants() if self.done else {}
        side.write(operation, self.data(change.rows), often=self.chance.random() < 0.5)
        self.wrote(before, change)

    def data(self, rows: tuple[Row, ...]) -> pa.Table:
        """The table to write for *rows*; sometimes it lacks the newest column."""
        is_short = bool(self.done) and self.columns.has_more and self.chance.random() < 0.2
        return self.columns.data(rows, without=list(self.columns.types)[-1:] if is_short else ())

    def upsert(self, side: Side) -> None:
        self.write(side, "upsert", Change(self.some()))

    def insert(self, side: Side) -> None:
        self.write(side, "insert", Change(self.fresh(5)))

    def bulk_insert(self, side: Side) -> None:
        self.write(side, "bulk_insert", Change(self.fresh(5)))

    def delete(self, side: Side) -> None:
        # Of a table with an expression index, Hudi 1.2.0 fails in each write that writes no file.
        live = sorted(name for _, name in self.expected.rows().live)
        rows = self.some(6, also=self.chance.sample(live, min(len(live), 1)))
        before = self.instants()
        side.write("delete", self.columns.data(rows), often=self.chance.random() < 0.5)
        self.wrote(before, Change(keys=tuple((row.partition, row.key) for row in rows)))

    def insert_overwrite(self, side: Side) -> None:
        [partition] = self.chance.sample("xyz", 1)
        rows = tuple(self.row(row.key, partition) for row in self.fresh(6))
        self.write(self.replacing(side), "insert_overwrite", Change(rows, emptied=frozenset({partition})))

    def insert_overwrite_table(self, side: Side) -> None:
        self.write(self.replacing(side), "insert_overwrite_table", Change(self.fresh(12), empties_all=True))

    def delete_partitions(self, side: Side) -> None:
        there = sorted({path for path, _ in self.expected.rows().live})
        chosen = self.chance.sample(there, 1)
        before = self.instants()
        self.replacing(side).delete_partitions([self.kind.layout.places[one][1] for one in chosen])
        self.wrote(before, Change(emptied=frozenset(chosen)))

    def register(self, _: Side) -> None:
        """Register a file for each partition, as XTable does; names differ, as Hudi takes two equal ones for one."""
        before, rows = self.instants() if self.done else {}, self.fresh(10)
        parts = {one.partition: tuple(row for row in rows if row.partition == one.partition) for one in rows}
        name = f"part-{self.moment:05d}"
        files = {f"{one}/{name}-{one}.snappy.parquet": self.columns.data(of) for one, of in parts.items()}
        self.registering.register(self.columns.avro, files)
        self.wrote(before, Change(rows))

    def die(self, _: Side) -> None:
        """Leave a write of ours uncommitted; whoever comes next rolls it back."""
        self.by(self.ours)
        state = self.table()._context.state()
        write = begin_write(self.table()._context, Operation.UPSERT, state, in_tasks=False)
        write_keyed(write.plan, prepare(state, Operation.UPSERT, self.columns.data(self.some()))[0])
        write._heartbeat.stop()

    # The schema

    def add_column(self, side: Side) -> None:
        added = self.columns.add()
        self.evolve(side, add=added, widen={})

    def widen_column(self, side: Side) -> None:
        self.evolve(side, add={}, widen=self.columns.widen())

    def evolve(self, side: Side, *, add: Mapping[str, pa.DataType], widen: Mapping[str, pa.DataType]) -> None:
        """By a write, or by an evolution of ours that writes no rows."""
        if side is self.ours and self.chance.random() < 0.5:
            before = self.instants()
            if add or widen:
                self.ours.evolve(add=add, widen=widen)
                self.wrote(before, Change())
            return
        before, change = self.instants(), Change(self.some())
        side.write("upsert", self.columns.data(change.rows), often=False)
        self.wrote(before, change)

    # Services

    def compact(self, side: Side) -> None:
        side.compact()

    def schedule_compaction(self, side: Side) -> None:
        side.schedule_compaction()

    def log_compact(self, side: Side) -> None:
        before, change = self.instants(), Change(self.some())
        side.log_compact(self.columns.data(change.rows))
        self.wrote(before, change)

    def cluster(self, side: Side) -> None:
        side.cluster()

    def clean(self, side: Side) -> None:
        self.but_hudi(side, can=not self.kind.has_expression).clean()

    def roll_back(self, side: Side) -> None:
        newest = max(self.instants().values(), key=lambda one: one.completion_time or one.time)
        # Hudi deletes the files, and then fails where the metadata table was compacted after the write.
        storage = LocalStorage(self.path / METADATA_FOLDER)
        own = load_timeline(storage, load_table_config(storage))
        compacted = max((one.time for one in own.completed if one.action is Action.COMMIT), default="")
        by = self.but_hudi(side, can=(newest.completion_time or newest.time) > compacted)
        if self.allowed(lambda: by.roll_back(newest.time)) or self.was_begun(newest.time):
            self.forget([newest.time])
        self.run_planned_clustering()

    def run_planned_clustering(self) -> None:
        """Run the clustering whose plan stays where the clustering was taken back: both refuse updates meanwhile."""
        if self.table()._context.state().in_clustering:
            self.ours.cluster()

    def was_begun(self, time: str) -> bool:
        """Whether Hudi had begun to roll back this write before it failed: whoever comes next finishes it."""
        if any(one.action in (Action.ROLLBACK, Action.RESTORE) for one in self.table().timeline.pending):
            self.ours.clean()
        return time not in self.instants()

    def savepoint(self, side: Side) -> None:
        newest = max(self.instants())
        if newest not in self.savepoints():
            side.savepoint(newest)

    def delete_savepoint(self, side: Side) -> None:
        side.delete_savepoint(self.savepoints()[0])

    def restore(self, side: Side) -> None:
        target = self.chance.choice(self.savepoints())
        # Hudi 1.2.0 sets the metadata table up again, of some indexes only, and then finds no records of some keys.
        by = self.but_hudi(side, can=not self.kind.has_records)
        later = [time for time in self.instants() if time > target]
        if self.allowed(lambda: by.restore(target)) or (later and self.was_begun(max(later))):
            self.forget([time for time in self.expected.changes if time > target])
            self.theirs.may_archive = False
            self.run_planned_clustering()
            if by is self.theirs:
                self.upsert(by)  # its restore leaves partition_stats out, and its next write sets them up

    def replacing(self, side: Side) -> Side:
        """Who replaces file groups: Hudi refuses it where there is a secondary index."""
        return self.but_hudi(side, can=not self.kind.has_records)

    def but_hudi(self, side: Side, *, can: bool) -> Side:
        """*side*, or hudiformat where Hudi cannot do what comes next."""
        return side if can else self.by(self.ours)

    def by(self, side: Side) -> Side:
        """Say that the present step is by *side*."""
        self.done[-1] = f"{self.done[-1].split()[0]} by {side.name}"
        return side

    def savepoints(self) -> list[str]:
        return sorted(one.time for one in self.table().timeline.completed if one.action is Action.SAVEPOINT)

    def allowed(self, act: Callable[[], object]) -> bool:
        """Whether an act of going back is done; it may be refused, and then has to leave everything as it was."""
        try:
            act()
        except (CommitError, RealHudiError) as error:
            self.refused[f"{self.done[-1]}: {str(error)[:300]}"] += 1
            self.done[-1] += ", refused"
            return False
        return True


WEIGHTS: dict[Callable[[Machine, Side], None], int] = {
    Machine.upsert: 10,
    Machine.insert: 3,
    Machine.bulk_insert: 2,
    Machine.delete: 4,
    Machine.insert_overwrite: 2,
    Machine.insert_overwrite_table: 1,
    Machine.delete_partitions: 1,
    Machine.die: 1,
    Machine.register: 1,
    Machine.add_column: 1,
    Machine.widen_column: 1,
    Machine.compact: 2,
    Machine.schedule_compaction: 2,
    Machine.log_compact: 2,
    Machine.cluster: 2,
    Machine.clean: 2,
    Machine.roll_back: 2,
    Machine.savepoint: 2,
    Machine.delete_savepoint: 1,
    Machine.restore: 1,
}
ONLY: dict[str, Callable[[Machine], object]] = {
    "compact": lambda one: one.kind.is_mor,
    "schedule_compaction": lambda one: one.kind.is_mor,
    "log_compact": lambda one: one.kind.is_mor,
    "delete_partitions": lambda one: one.expected.rows().live,
    "add_column": lambda one: len(one.columns.types) < 14,
    # In version 8 Hudi 1.2.0's conditions fail on statistics of int and long (ClassCastException), in its tables too.
    "widen_column": lambda one: one.kind.version != 8,
    "register": lambda one: one.kind.layout.are_registered,
    # In version 6 Hudi 1.2.0 cannot roll back what a dead write, of its own too, has left in a registered group.
    "die": lambda one: one.kind.version != 6 or one.kind.has_all_in_folders,
    "savepoint": lambda one: one.instants(),
    "delete_savepoint": Machine.savepoints,
    "restore": Machine.savepoints,
}
"""When a step is possible; those that are not here always are."""
