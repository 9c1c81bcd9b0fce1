"""Tables that real Hudi grows step by step, drawn at random: after each step our rows are its rows.

``HUDIFORMAT_GROWTH_STEPS`` says how many steps, over all tables; ``HUDIFORMAT_GROWTH_SEED`` where the numbers begin.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hudiformat as hf
from tests.conformance.hudi import RealHudi
from tests.effort import LONG, only_long
from tests.rows import assert_same_rows
from tests.tables import multiset

STEPS = int(os.environ.get("HUDIFORMAT_GROWTH_STEPS", "8" if LONG else "4"))
SEED = int(os.environ.get("HUDIFORMAT_GROWTH_SEED", "1"))
STEPS_PER_TABLE = min(STEPS, 20)

ROW = ("_hoodie_partition_path", "_hoodie_record_key", "_hoodie_commit_seqno")
PAYLOADS = "org.apache.hudi.common.model."
LOG_COMPACTION = {
    "hoodie.log.compaction.inline": "true",
    "hoodie.log.compaction.enable": "true",
    "hoodie.log.compaction.blocks.threshold": "2",
}
CLUSTERING = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}
COMPACTION = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}

pytestmark = pytest.mark.hudi


@dataclass(frozen=True)
class Kind:
    """How records of a table are merged, and what their rows can be."""

    options: dict[str, str]
    ordering: Callable[[int], Any] = int
    flags: bool = True
    nulls: bool = False


def payload(name: str) -> dict[str, str]:
    return {"hoodie.datasource.write.payload.class": PAYLOADS + name}


BY_EVENT_TIME = {"hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING"}
KINDS = {
    "event time": Kind(BY_EVENT_TIME),
    "commit time": Kind({"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}),
    "ordering texts": Kind(BY_EVENT_TIME, ordering=lambda number: f"{number:06d}", flags=False),
    "two ordering fields": Kind({**BY_EVENT_TIME, "hoodie.table.ordering.fields": "n,ts"}, flags=False),
    "defaults ignored by event time": Kind(payload("PartialUpdateAvroPayload"), nulls=True),
    "defaults ignored by commit time": Kind(payload("OverwriteNonDefaultsWithLatestAvroPayload"), nulls=True),
    "marker": Kind(
        {**BY_EVENT_TIME, **{f"hoodie.record.merge.property.hoodie.payload.delete.{k}": v for k, v in
         {"field": "name", "marker": "gone"}.items()}, "hoodie.payload.delete.field": "name",
         "hoodie.payload.delete.marker": "gone"},
        flags=False,
    ),
}  # fmt: skip


@dataclass
class Garden:
    """A table that Hudi grows."""

    hudi: RealHudi
    path: str
    kind: Kind
    chance: random.Random
    version: str
    clock: int = 100
    columns: list[str] = field(default_factory=list)
    wide: bool = False
    names: int = 0
    indexed: bool = False
    """Whether it keeps column statistics and bloom filters, which triples the time of a write."""

    def options(self, operation: str, **more: str) -> dict[str, str]:
        return {
            "hoodie.table.name": "garden",
            "hoodie.datasource.write.table.type": "MERGE_ON_READ",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "p",
            "hoodie.table.ordering.fields": "ts",
            "hoodie.datasource.write.operation": operation,
            "hoodie.write.table.version": self.version,
            "hoodie.write.auto.upgrade": "false",
            "hoodie.metadata.enable": str(self.indexed).lower(),
            "hoodie.metadata.index.column.stats.enable": "true",
            "hoodie.metadata.index.bloom.filter.enable": "true",
            "hoodie.compact.inline": "false",
            "hoodie.clean.automatic": "false",
            "hoodie.embed.timeline.server": "false",
            "hoodie.parquet.small.file.limit": "0",
            **dict.fromkeys(("hoodie.upsert.shuffle.parallelism", "hoodie.insert.shuffle.parallelism"), "2"),
            **self.kind.options,
            **more,
        }

    def rows(self, count: int, *, late: bool = False) -> pa.Table:
        self.clock += 1
        numbers = self.chance.sample(range(40), count)
        columns: dict[str, Any] = {
            "id": [f"k{number:02d}" for number in numbers],
            "p": [f"p{number % 2}" for number in numbers],
            "ts": [self.kind.ordering(self._moment(late=late)) for _ in numbers],
            "n": pa.array([self._maybe(self.chance.randrange(5)) for _ in numbers], self._whole()),
            "name": [self._maybe(self.chance.choice(["ash", "beech", "gone", "elm"])) for _ in numbers],
        }
        for name in self.columns:
            columns[name] = pa.array([self._maybe({"x": number, "y": "é" * number}) for number in numbers])
        if self.kind.flags:
            columns["_hoodie_is_deleted"] = [self.chance.random() < 0.1 for _ in numbers]
        return pa.table(columns)

    def _moment(self, *, late: bool) -> int:
        return self.clock - (self.chance.randrange(20) if late else self.chance.randrange(3))

    def _maybe(self, value: Any) -> Any:
        return None if self.chance.random() < (0.4 if self.kind.nulls else 0.05) else value

    def _whole(self) -> pa.DataType:
        return pa.int64() if self.wide else pa.int32()

    def write(self, operation: str = "upsert", rows: pa.Table | None = None, **more: str) -> None:
        self.hudi.write(self.rows(12) if rows is None else rows, self.path, self.options(operation, **more))

    # Steps

    def upsert(self) -> None:
        self.write()

    def insert(self) -> None:
        self.write("insert")

    def come_late(self) -> None:
        self.write(rows=self.rows(15, late=True))

    def delete(self) -> None:
        self.write("delete", self.rows(6))

    def compact(self) -> None:
        self.write("upsert", None, **COMPACTION)

    def compact_logs(self) -> None:
        self.write("upsert", None, **LOG_COMPACTION)

    def cluster(self) -> None:
        self.write("upsert", None, **CLUSTERING)

    def write_parquet_blocks(self) -> None:
        self.write("upsert", None, **{"hoodie.logfile.data.block.format": "parquet"})

    def write_without_positions(self) -> None:
        self.write("upsert", None, **{"hoodie.write.record.positions": "false"})

    def add_a_column(self) -> None:
        self.columns.append(f"more{len(self.columns)}")
        self.write()

    def widen_a_column(self) -> None:
        self.wide = True
        self.write()

    def roll_back(self) -> None:
        self.write()
        # The procedure would upgrade a table of version 8 first, and asks for a table of SQL, which finds only one
        # ordering field.
        if self.version != "9" or "hoodie.table.ordering.fields" in self.kind.options:
            return
        self.names += 1
        name = f"garden_{abs(hash(self.path))}_{self.names}"
        self.hudi.sql(f"create table {name} using hudi location '{self.path}'")
        newest = max(instant.time for instant in hf.open_table(self.path).timeline.completed_writes)
        self.hudi.sql(f"call rollback_to_instant(table => '{name}', instant_time => '{newest}')")
        self.hudi.sql(f"drop table {name}")

    def check(self) -> None:
        table = hf.open_table(self.path)
        everything = table.snapshot()
        assert_same_rows(everything, self.hudi.read(self.path), key=ROW)
        key = f"k{self.chance.randrange(40):02d}"
        conditions = [pc.field("id") == key, pc.field("id") > key, pc.field("n") > 2, pc.field("name").is_null()]
        for condition in [*conditions, pc.field("name") < "beech"] if self.indexed else conditions[:1]:
            expected = everything.filter(condition)
            assert multiset(table.snapshot(filter=condition)) == multiset(expected), str(condition)


WEIGHTS = {
    Garden.upsert: 4, Garden.insert: 1, Garden.come_late: 4, Garden.delete: 3, Garden.compact: 1,
    Garden.compact_logs: 3, Garden.cluster: 1, Garden.write_parquet_blocks: 1, Garden.write_without_positions: 1,
    Garden.add_a_column: 1, Garden.widen_a_column: 1, Garden.roll_back: 1,
}  # fmt: skip


@only_long
@pytest.mark.parametrize("seed", range(SEED, SEED + max(STEPS // STEPS_PER_TABLE, 1)))
def test_our_rows_are_hudis_after_every_step(hudi: RealHudi, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    kind = sorted(KINDS)[seed % len(KINDS)]
    garden = Garden(hudi, str(tmp_path / "t"), KINDS[kind], chance, chance.choice(["8", "9", "9"]))
    garden.indexed = seed % 4 == 0
    grown = [Garden.upsert]
    for _ in range(STEPS_PER_TABLE):
        try:
            grown[-1](garden)
            garden.check()
        except Exception as error:
            steps = ", ".join(step.__name__ for step in grown)
            raise AssertionError(f"{kind}, version {garden.version}: {steps}: {error}") from error
        grown += chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
