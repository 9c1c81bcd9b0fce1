"""Turns on a table shaped like change data, whose rows tests/change_data.py knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any

from hudiformat import open_table
from tests.change_data import KINDS, Model, Row, random_batch, shown, table_of
from tests.conformance.hudi import RealHudi
from tests.turns.kinds import COW, MOR
from tests.turns.sides import Ours, Side, Theirs


@dataclass(frozen=True, slots=True)
class ChangeKind:
    """A table of one of the kinds of tests/change_data.py."""

    name: str
    table_type: str
    version: int
    more: Mapping[str, str]
    settings: Mapping[str, str]
    hudi_cannot: frozenset[str] = frozenset()
    has_records: bool = False
    has_all_in_folders: bool = True

    def __str__(self) -> str:
        return f"{self.name}-{self.table_type}-{self.version}"

    @property
    def in_catalog(self) -> bool:
        """Whether Spark's catalog can have it: of two ordering fields Hudi 1.2.0 makes one name there."""
        return "," not in KINDS[self.name].ordering_in(self.version)

    @property
    def hudis(self) -> dict[str, str]:
        """What Hudi writes with."""
        ordering = KINDS[self.name].ordering_in(self.version)
        return {
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.table.name": "turns",
            "hoodie.datasource.write.partitionpath.field": "",
            "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
            "hoodie.write.auto.upgrade": "false",
            "hoodie.write.table.version": str(self.version),
            "hoodie.datasource.write.table.type": self.table_type,
            "hoodie.table.ordering.fields": ordering,
            "hoodie.datasource.write.precombine.field": ordering,
            # Merges by payload classes depend on what is compacted: only steps compact.
            "hoodie.compact.inline": "false",
            # Hudi 1.2.0's log compactions of version 8 fail in the statistics of columns.
            "hoodie.metadata.enable": "false",
            **KINDS[self.name].options,
            **self.more,
        }

    @property
    def ours(self) -> dict[str, str]:
        """What hudiformat opens the table with."""
        return {"hudiformat.sync": "false"}


REFUSED = {("postgres", MOR, 6), ("postgres", MOR, 8)}
"""What is not written: Hudi shows the placeholders of such tables."""


def kinds_of_change_data(
    more: Mapping[str, str] = {}, settings: Mapping[str, str] = {}, hudi_cannot: frozenset[str] = frozenset()
) -> list[ChangeKind]:
    """All tables that both write; the steps *hudi_cannot* are always ours."""
    return [
        ChangeKind(name, table_type, version, more, settings, hudi_cannot)
        for name in KINDS
        for version in (6, 8, 9)
        for table_type in (MOR, COW)
        if (name, table_type, version) not in REFUSED
    ]


class ChangeDataMachine:
    """A table at *path* that Hudi makes, and the steps on it."""

    def __init__(self, hudi: RealHudi, path: Path, kind: ChangeKind, seed: int) -> None:
        self.seed, self.chance = seed, Random(f"{kind} {seed}")
        self.kind, self.path, self.hudi = kind, path, hudi
        self.ours, self.theirs = Ours(path, kind), Theirs(hudi, path, kind, f"changes_{seed}_{abs(hash(path))}")
        self.model = Model(kind.name, kind.version, kind.table_type == COW)
        self.done: list[str] = []
        self.keys = 0

    def create(self) -> None:
        """Have Hudi make the table."""
        self.insert(self.theirs, count=12)
        self.theirs.create_table()

    def step(self) -> str:
        """Make a step; its name."""
        sides: list[Side] = [self.ours, self.theirs]
        side = self.chance.choice(sides)
        steps = [one for one in WEIGHTS if self.kind.table_type == MOR or one.__name__ not in _OF_LOGS]
        [chosen] = self.chance.choices(steps, [WEIGHTS[one] for one in steps])
        if chosen.__name__ in self.kind.hudi_cannot:
            side = self.ours
        self.done.append(f"{chosen.__name__} by {side.name}")
        chosen(self, side)
        return self.done[-1]

    def check(self) -> None:
        """Raise an AssertionError where the table is not what it has to be."""
        table, name = open_table(self.path), self.kind.name
        for reader, rows in (("hudiformat", table.snapshot()), ("Hudi", self.hudi.read(self.path))):
            found = shown(name, rows)
            wrong = [(left, right) for left, right in zip_longest(found, self.model.rows) if left != right]
            assert not wrong, f"{reader}: found and expected {wrong[:3]}"
        findings = [one for one in table.verify() if one.kind.value != "uncommitted"]
        assert not findings, findings

    def rows(self, count: int) -> list[Row]:
        """Rows of keys that both sides find in the table."""
        known = sorted({*self.model.base, *self.model.log})
        found = random_batch(self.kind.name, self.chance.randrange, count) if known else []
        return [{**row, "id": self.chance.choice(known)} for row in found]

    def upsert(self, side: Side) -> None:
        self.write(side, "upsert", self.rows(8))

    def insert(self, side: Side, count: int = 3) -> None:
        rows = random_batch(self.kind.name, self.chance.randrange, 4 * count)
        marker = KINDS[self.kind.name].marker
        kept = [row for row in rows if marker is None or row[marker[0]] != marker[1]][:count]
        first, self.keys = self.keys, self.keys + len(kept)
        self.write(side, "insert", [{**row, "id": f"k{first + number}"} for number, row in enumerate(kept)])

    def write(self, side: Side, operation: str, rows: list[Row]) -> None:
        side.write(operation, table_of(self.kind.name, rows), often=self.chance.random() < 0.5)
        self.model.upsert(rows)

    def delete(self, side: Side) -> None:
        rows = {row["id"]: row for row in self.rows(2)}
        side.write("delete", table_of(self.kind.name, list(rows.values())), often=self.chance.random() < 0.5)
        self.model.delete(rows)

    def compact(self, side: Side) -> None:
        side.compact()
        self.model.compact()

    def log_compact(self, side: Side) -> None:
        rows = self.rows(4)
        side.log_compact(table_of(self.kind.name, rows))
        self.model.upsert(rows)

    def cluster(self, side: Side) -> None:
        side.cluster()
        self.model.compact()

    def clean(self, side: Side) -> None:
        side.clean()


WEIGHTS: dict[Callable[[ChangeDataMachine, Side], Any], int] = {
    ChangeDataMachine.upsert: 10,
    ChangeDataMachine.insert: 3,
    ChangeDataMachine.delete: 2,
    ChangeDataMachine.compact: 2,
    ChangeDataMachine.log_compact: 2,
    ChangeDataMachine.cluster: 2,
    ChangeDataMachine.clean: 1,
}
_OF_LOGS = ("compact", "log_compact")
