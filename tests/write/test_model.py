"""Random writes to a table against a dict, after each step and at every earlier instant."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hudiformat import open_table
from hudiformat.naming.file_names import WriteToken
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.write import WriteTask
from tests.effort import examples
from tests.tables import FLAGGED, Clock, Row, content, new_table, rows

KEYS = st.sampled_from("abcdef")
PARTITIONS = st.sampled_from(["x", "y", None])
ROWS = st.lists(st.tuples(KEYS, st.integers(0, 3), PARTITIONS, st.integers(0, 99), st.booleans()), max_size=6)
Key = tuple[str, str | None]

SIZES = {"hoodie.logfile.max.size": "1500", "hoodie.logfile.data.block.max.size": "900"}


class Tables(RuleBasedStateMachine):
    """By event time a late row loses; so does a late delete by column; a delete by key wins, until a later write.

    A later write still has to reach the ordering value in the base file (spec/merging.md), so the model keeps both.
    """

    index: ClassVar[dict[str, str]] = {}

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.clock = Clock()
        self.table = new_table(self.folder / "t", schema=FLAGGED, clock=self.clock, options={**self.index, **SIZES})
        self.base: dict[Key, Row] = {}
        self.log: dict[Key, tuple[int | None, Row | None]] = {}  # ordering value and row; None for a delete
        self.history: list[tuple[str, list[Row]]] = []

    @rule(data=ROWS)
    def upsert(self, data: list[Row]) -> None:
        winners: dict[Key, Row] = {}
        for row in data:
            key = (row[0], row[2])
            if key not in winners or row[1] >= winners[key][1]:
                winners[key] = row
        commit = self.table.upsert(rows(*data, schema=FLAGGED))
        for key, row in winners.items():
            self.write(key, row[:4], deleted=row[4])
        self.remember(commit.instant)

    @rule(data=ROWS)
    def insert_new(self, data: list[Row]) -> None:
        """Inserts of keys that were never there; others would be there twice."""
        fresh = {(row[0], row[2]): row for row in data if (row[0], row[2]) not in {**self.base, **self.log}}
        commit = self.table.insert(rows(*fresh.values(), schema=FLAGGED))
        for key, row in fresh.items():
            self.write(key, row[:4], deleted=row[4])
        self.remember(commit.instant)

    @rule(keys=st.lists(st.tuples(KEYS, PARTITIONS), max_size=4))
    def delete(self, keys: list[Key]) -> None:
        commit = self.table.delete(rows(*((key, None, path) for key, path in keys)).select(["p", "k"]))
        for key in keys:
            if key in self.base or key in self.log:
                self.log[key] = (None, None)
        self.remember(commit.instant)

    @rule(data=ROWS)
    def die(self, data: list[Row]) -> None:
        """A writer that never commits."""
        write = begin_write(self.table._context, Operation.INSERT)
        with WriteTask(write.plan, WriteToken(0, 0, 0)) as task:
            for batch in rows(*data, schema=FLAGGED).to_batches():
                task.write_batch(batch)
            task.finish()

    def write(self, key: Key, row: Row, *, deleted: bool) -> None:
        if key not in self.base and key not in self.log and not self.index:
            if not deleted:
                self.base[key] = row
            return
        ordering, _ = self.log.get(key, (None, None))
        if key not in self.log or ordering is None or row[1] >= ordering:
            self.log[key] = (row[1], None if deleted else row)

    def rows(self) -> list[Row]:
        found = []
        for key in {**self.base, **self.log}:
            base, entry = self.base.get(key), self.log.get(key)
            if entry is None:
                winner = base
            elif base is None or entry[0] is None or entry[0] >= base[1]:
                winner = entry[1]
            else:
                winner = base
            if winner is not None:
                found.append(winner)
        return sorted(found, key=repr)

    def remember(self, instant: str) -> None:
        self.history.append((instant, self.rows()))

    @invariant()
    def the_table_is_the_model(self) -> None:
        assert content(self.table) == self.rows()
        for instant, expected in self.history[-3:]:
            assert content(self.table, as_of=instant) == expected

    def teardown(self) -> None:
        if not hasattr(self, "folder"):
            return
        other = open_table(self.folder / "t")
        for instant, expected in self.history:
            assert content(other, as_of=instant) == expected
        shutil.rmtree(self.folder)


class BucketTables(Tables):
    index: ClassVar[dict[str, str]] = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}


TestTables = Tables.TestCase
TestBucketTables = BucketTables.TestCase
EFFORT = settings(max_examples=examples(8), stateful_step_count=8, deadline=None)
TestTables.settings = TestBucketTables.settings = EFFORT
