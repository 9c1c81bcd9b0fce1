"""What real Hudi does to a table that it makes: writes, and its procedures."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudiformat import open_table
from tests.conformance.hudi import RealHudi

SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("p", pa.string()),
        ("q", pa.int32()),
        ("ts", pa.int64()),
        ("v", pa.int32()),
        ("s", pa.string()),
        ("amount", pa.decimal128(12, 2)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("inner", pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))])),
    ]
)
_BEGIN = dt.datetime(2024, 1, 31, 23, tzinfo=dt.timezone.utc)
COMMON = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.embed.timeline.server": "false",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.insert.shuffle.parallelism": "1",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
}


def rows(numbers: Sequence[int], *, moment: int, schema: pa.Schema = SCHEMA) -> pa.Table:
    """Rows of the keys *numbers*; their values tell *moment* too."""
    values = [
        {
            "k": f"k{number:02d}",
            "p": "xy"[number % 2],
            "q": number % 3,
            "ts": moment,
            "v": 100 * moment + number,
            "s": None if number % 5 == 0 else f"s{(number + moment) % 4}",
            "amount": Decimal(number * 101 + moment) / 100,
            "day": (_BEGIN + dt.timedelta(days=number - 4)).date(),
            "at": _BEGIN + dt.timedelta(hours=number % 3, microseconds=moment),
            "inner": None if number % 7 == 0 else {"a": number, "b": ["b"] * (number % 3)},
            "new": None if number % 2 else moment / 2,
        }
        for number in numbers
    ]
    return pa.Table.from_pylist(values, schema)


class Maker:
    """Makes the table *name* at *path*, by *options*; an empty one is not set."""

    def __init__(self, hudi: RealHudi, path: Path, name: str, options: Mapping[str, str]) -> None:
        self.hudi, self.path, self.name = hudi, path, name
        self.options = {key: value for key, value in {**COMMON, **options}.items() if value}
        self.schema = SCHEMA
        self._moment = 0
        self._is_known = False

    # Writes

    def write(self, operation: str, numbers: Sequence[int], **more: str) -> None:
        """Write rows of the keys *numbers*; ``__`` in a name of *more* is a dot."""
        self._moment += 1
        named = {key.replace("__", "."): value for key, value in more.items()}
        data = rows(numbers, moment=self._moment, schema=self.schema)
        self.hudi.write(data, self.path, {**self.options, "hoodie.datasource.write.operation": operation, **named})

    def upsert(self) -> None:
        self.write("upsert", range(4, 14))

    def delete(self) -> None:
        self.write("delete", range(2, 5))

    def write_often(self) -> None:
        """Write one key more in each of seven writes, so that there is something to clean, and to archive."""
        for number in range(7):
            self.write("upsert", (number, 20 + number))

    def delete_partition(self) -> None:
        self.write("delete_partition", (), hoodie__datasource__write__partitions__to__delete="x")

    # The schema

    def add_column(self) -> None:
        self.schema = self.schema.append(pa.field("new", pa.float64()))

    def widen_column(self) -> None:
        self.schema = self.schema.set(self.schema.get_field_index("v"), pa.field("v", pa.int64()))

    def alter(self, change: str) -> None:
        """Change columns by Spark SQL, with Hudi's schema on read."""
        settings = {
            "hoodie.schema.on.read.enable": "true",
            "hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true",
        }
        self._settings(settings, f"alter table {self._known()} {change}")

    # Services

    def call(self, procedure: str, settings: Mapping[str, str] | None = None, **arguments: Any) -> None:
        given = {"table": self._known(), **arguments}
        listed = ", ".join(f"{name} => {value!r}" for name, value in given.items())
        self._settings({**self.options, **(settings or {})}, f"call {procedure}({listed})")

    def sql(self, text: str) -> None:
        """Run a statement of Spark SQL, with ``{t}`` for the table."""
        self._settings(self.options, text.format(t=self._known()))

    def compact(self, op: str = "scheduleAndExecute") -> None:
        self.call("run_compaction", {"hoodie.compact.inline.max.delta.commits": "1"}, op=op)

    def cluster(self, op: str = "scheduleAndExecute") -> None:
        settings = {
            "hoodie.clustering.plan.strategy.small.file.limit": "999999999",
            "hoodie.clustering.inline.max.commits": "1",
            "hoodie.clustering.async.max.commits": "1",
        }
        self.call("run_clustering", settings, op=op)

    def clean(self) -> None:
        self.call("run_clean", retain_commits=1)

    def savepoint(self) -> None:
        self.call("create_savepoint", commit_time=self._newest())

    def roll_back(self) -> None:
        self.call("rollback_to_instant", instant_time=self._newest())

    def restore(self) -> None:
        """Go back to the savepoint."""
        timeline = open_table(self.path).timeline
        [saved] = [one.time for one in timeline.completed if one.action.value == "savepoint"]
        self.call("rollback_to_savepoint", instant_time=saved)

    def forget(self) -> None:
        """Take the table out of Spark's catalog; its files stay."""
        if self._is_known:
            self.hudi.eval_(
                "from pyspark.sql.utils import AnalysisException\n"
                f"spark._jsparkSession.sessionState().catalog().externalCatalog().dropTable('default', {self.name!r}, "
                "True, False)\nresult = None"
            )

    def _newest(self) -> str:
        return max(one.time for one in open_table(self.path).timeline.completed_writes)

    def _known(self) -> str:
        if not self._is_known:
            self.hudi.sql(f"create table {self.name} using hudi location '{self.path}'")
            self._is_known = True
        return self.name

    def _settings(self, settings: Mapping[str, str], statement: str) -> None:
        self.hudi.eval_(
            f"for key, value in {dict(settings)!r}.items(): spark.conf.set(key, value)\n"
            "try:\n"
            f"    spark.sql({statement!r}).collect()\n"
            "finally:\n"
            f"    for key in {list(settings)!r}: spark.conf.unset(key)\n"
            "result = None"
        )
