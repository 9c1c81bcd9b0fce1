"""Tables with indexes, written by Hudi and hudiformat in turn: no row is lost by what the other has indexed.

`tests/turns` does so with all indexes of a merge-on-read table of version 9, and with services; here are other kinds of
tables, and columns of all types.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import hudiformat.spark
from hudiformat import Table, create_table, open_table
from tests.conformance.hudi import RealHudi
from tests.effort import LONG, only_long, steps
from tests.metadata_statistics import check_bloom_filters, check_record_index, check_secondary_indexes, check_statistics
from tests.metadata_table.tables import check_listing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.hudi

INDEXES = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
    "hoodie.metadata.compact.max.delta.commits": "3",
}
OPTIONS = {
    **INDEXES,
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.index.type": "RECORD_INDEX",
    "hoodie.clean.commits.retained": "2",
    "hoodie.embed.timeline.server": "false",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
}
FILTERS = (
    "i = 3",
    "i > 900",
    "i is null",
    "d > 1.5",
    "s = 'text 7'",
    "s is null",
    "dec = 1.25",
    "day > date'2020-01-10'",
    "at <= timestamp'2020-01-01 00:00:00.000012'",
    "k = 'k007'",
    "_hoodie_record_key in ('k001', 'k013', 'k099')",
    "p = 'p1' and i > 3",
    "nothing is null",
)


def rows(keys: Sequence[int], ts: int) -> pa.Table:
    first = dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)
    columns: dict[str, tuple[pa.DataType, list[Any]]] = {
        "k": (pa.string(), [f"k{key:03d}" for key in keys]),
        "p": (pa.string(), [f"p{key % 3}" for key in keys]),
        "ts": (pa.int64(), [ts] * len(keys)),
        "i": (pa.int32(), [None if key % 7 == 0 else key + ts - 5 for key in keys]),
        "d": (pa.float64(), [float(key - ts) / 3 for key in keys]),
        "s": (pa.string(), [None if key % 5 == 0 else f"text {key}" for key in keys]),
        "dec": (pa.decimal128(10, 3), [Decimal(key - ts) / 4 for key in keys]),
        "day": (pa.date32(), [first.date() + dt.timedelta(days=key) for key in keys]),
        "at": (pa.timestamp("us", "UTC"), [first + dt.timedelta(microseconds=key) for key in keys]),
        "b": (pa.bool_(), [key % 2 == 0 for key in keys]),
        "nothing": (pa.int32(), [None] * len(keys)),
    }
    return pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})


def answers(hudi: RealHudi, path: Path, *, skipping: bool, filters: Sequence[str] = FILTERS) -> list[list[str]]:
    """The keys that Hudi finds for each filter: by a query each, or without *skipping* by one for all."""
    options = {"hoodie.metadata.enable": str(skipping).lower(), "hoodie.enable.data.skipping": str(skipping).lower()}
    found: list[list[str]] = hudi.eval_(
        f"rows = spark.read.format('hudi').options(**{options!r}).load({str(path)!r})\n"
        f"if {skipping}:\n"
        f"    result = [sorted(row[0] for row in rows.where(one).select('k').collect()) for one in {filters!r}]\n"
        f"else:\n"
        f"    kept = [f'collect_list(if({{one}}, k, null))' for one in {filters!r}]\n"
        f"    result = list(map(sorted, rows.selectExpr(*kept).first()))\n"
    )
    return found


def check(hudi: RealHudi, path: Path, partitions: tuple[str, ...]) -> None:
    table = open_table(path)
    assert table.config.metadata_partitions == partitions
    check_listing(path)
    check_statistics(path)
    check_bloom_filters(path)
    check_record_index(path, exact=False)
    check_secondary_indexes(path)
    keys = table.snapshot(columns=["k"])["k"].to_pylist()
    assert len(set(keys)) == len(keys)
    scanned = dict(zip(FILTERS, answers(hudi, path, skipping=False), strict=True))
    # By an index each filter is a query: those of a third of them, and after the next write those of another third.
    asked = FILTERS if LONG else FILTERS[len(table.timeline.completed_writes) % 3 :: 3]
    skipped = dict(zip(asked, answers(hudi, path, skipping=True, filters=asked), strict=True))
    assert skipped == {one: scanned[one] for one in asked}
    assert scanned["nothing is null"] == sorted(keys)
    unique = open_table(path, options={"hoodie.index.type": "GLOBAL_SIMPLE"})
    found = unique.snapshot(columns=["k"], filter=pc.field("s") == "text 7")["k"].to_pylist()
    assert sorted(found) == scanned["s = 'text 7'"]


class Turns:
    """Steps of Hudi and of hudiformat on the table at *path*, chosen by *random*."""

    def __init__(
        self,
        hudi: RealHudi,
        path: Path,
        *,
        table_type: str,
        version: int,
        random: Random,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self._hudi, self._path, self._random = hudi, path, random
        self._is_mor = table_type == "MERGE_ON_READ"
        self.options = {
            **OPTIONS,
            **(options or {}),
            "hoodie.datasource.write.table.type": table_type,
            "hoodie.write.table.version": str(version),
        }
        self._ts = 0

    def some(self) -> pa.Table:
        """Rows of a few keys, newer than all others."""
        self._ts += 1
        return rows(sorted(self._random.sample(range(40), 6)), self._ts)

    def by_hudi(self) -> str:
        operation = self._random.choice(["upsert", "upsert", "delete"])
        inline = str(self._is_mor and self._random.choice([True, False])).lower()
        compaction = {"hoodie.compact.inline": inline, "hoodie.compact.inline.max.delta.commits": "1"}
        options = {**self.options, **compaction, "hoodie.datasource.write.operation": operation}
        self._hudi.write(self.some(), self._path, options)
        return operation

    def by_us(self) -> str:
        table = self._table()
        action = self._random.choice(["upsert", "upsert", "delete", "compact", "rollback", "clean", "overwrite"])
        if action == "delete":
            table.delete(self.some().select(["k", "p"]))
        elif action == "compact" and table.config.table_type.value == "MERGE_ON_READ":
            table.compact()
        elif action == "rollback":
            table.rollback(self._table(often=False).upsert(self.some()).instant)
        elif action == "clean":
            table.clean()
        elif action == "overwrite":
            table.insert_overwrite(self.some())
        else:
            table.upsert(self.some())
        return action

    def _table(self, *, often: bool = True) -> Table:
        has_index = "record_index" in open_table(self._path).config.metadata_partitions
        own = self.options.get("hoodie.index.type", "RECORD_INDEX")
        options = {
            "hoodie.index.type": self._random.choice([own if has_index else "GLOBAL_SIMPLE", "GLOBAL_SIMPLE"]),
            "hoodie.record.index.update.partition.path": "true",
            "hoodie.clean.commits.retained": "2",
            "hoodie.metadata.compact.max.delta.commits": "3" if often else "100",
            "hudiformat.sync": "false",
        }
        return open_table(self._path, options=options)


class TasksTurns(Turns):
    """As :class:`Turns`, with hudiformat's writes by the tasks of a Spark job."""

    def __init__(self, spark: SparkSession, hudi: RealHudi, path: Path, *, table_type: str) -> None:
        super().__init__(hudi, path, table_type=table_type, version=9, random=Random(9))
        self._spark = spark

    def by_tasks(self, operation: str) -> None:
        """Write rows by two tasks."""
        options = {"hoodie.index.type": "RECORD_INDEX", "hudiformat.sync": "false"}
        with TemporaryDirectory() as folder:
            pq.write_table(self.some(), f"{folder}/rows.parquet")
            frame = self._spark.read.parquet(f"{folder}/rows.parquet").repartition(2)
            getattr(hudiformat.spark, operation)(frame, str(self._path), options=options)


@only_long
@pytest.mark.spark
@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_tasks_of_spark_and_hudi_take_turns(
    spark: SparkSession, hudi: RealHudi, tmp_path: Path, table_type: str
) -> None:
    path = tmp_path / "t"
    turns = TasksTurns(spark, hudi, path, table_type=table_type)
    turns.by_hudi()
    partitions = open_table(path).config.metadata_partitions
    for operation in ("upsert", "delete", "insert_overwrite"):
        turns.by_tasks(operation)
    check(hudi, path, partitions)
    turns.by_hudi()
    turns.by_tasks("upsert")
    check(hudi, path, partitions)


OLD = [("MERGE_ON_READ", 6), ("COPY_ON_WRITE", 6)]
KINDS = [("MERGE_ON_READ", 9), ("COPY_ON_WRITE", 8), *OLD, ("MERGE_ON_READ", 8), ("COPY_ON_WRITE", 9)]


@only_long
@pytest.mark.parametrize(("table_type", "version"), KINDS if LONG else KINDS[2:3])
def test_they_take_turns(hudi: RealHudi, tmp_path: Path, table_type: str, version: int) -> None:
    path = tmp_path / "t"
    random = Random(version)
    turns = Turns(hudi, path, table_type=table_type, version=version, random=random)
    if table_type == "COPY_ON_WRITE":
        create_table(
            path,
            name="t",
            schema=rows([], 0).schema,
            record_key=["k"],
            ordering=["ts"],
            partition_by=["p"],
            table_type=table_type,
            version=version,
            options=INDEXES,
        )
    if table_type == "MERGE_ON_READ":
        hudi.write(rows(range(30), 0), path, turns.options)
    else:
        turns.by_us()
    partitions = open_table(path).config.metadata_partitions
    take_turns(hudi, turns, path, partitions)


@pytest.mark.skipif(not LONG, reason="HUDIFORMAT_LONG=1 runs older versions of Hudi")
@pytest.mark.parametrize(("table_type", "version"), OLD)
def test_an_older_hudi_takes_turns(java: Path, tmp_path: Path, table_type: str, version: int) -> None:
    path = tmp_path / "t"
    assert java
    with RealHudi("0.15.0") as hudi:
        random = Random(version)
        turns = Turns(hudi, path, table_type=table_type, version=version, random=random)
        hudi.write(rows(range(30), 0), path, turns.options)
        partitions = open_table(path).config.metadata_partitions
        assert partitions == ("bloom_filters", "column_stats", "files", "record_index")
        take_turns(hudi, turns, path, partitions)


def take_turns(hudi: RealHudi, turns: Turns, path: Path, partitions: tuple[str, ...]) -> None:
    done = []
    for number in range(steps(long=8, short=2)):
        done.append(turns.by_us() if number % 2 == 0 else turns.by_hudi())
        try:
            check(hudi, path, partitions)
        except AssertionError as error:
            raise AssertionError(f"after {done}: {error}") from error


LOCKED = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.metadata.enable": "true",
}
"""What Hudi wants of a session that creates an index."""


def create_index(hudi: RealHudi, path: Path, name: str, what: str, *, version: int) -> None:
    settings = {**LOCKED, "hoodie.write.table.version": str(version)}
    hudi.eval_(
        f"for key, value in {settings!r}.items(): spark.conf.set(key, value)\n"
        f"spark.sql(\"create table {name} using hudi location '{path}'\")\n"
        f"spark.sql('create index {name} on {name} {what}')\n"
        f"spark.sql('drop table {name}')\n"
        f"for key in {settings!r}: spark.conf.unset(key)\n"
    )


# Without a timeline server Hudi 1.2.0 fails in the next write to a table that has an index like these and statistics of
# partitions: it reads from a metadata table that it has closed.
ALWAYS = ("bloom_filters", "column_stats", "files", "partition_stats", "record_index")
SERVED = {"hoodie.embed.timeline.server": "true"}


@only_long
@pytest.mark.parametrize(("table_type", "version"), [one for one in KINDS if one[1] > 6][: None if LONG else 1])
def test_they_take_turns_with_a_secondary_index(hudi: RealHudi, tmp_path: Path, table_type: str, version: int) -> None:
    path = tmp_path / "t"
    random = Random(version)
    turns = Turns(hudi, path, table_type=table_type, version=version, random=random, options=SERVED | LOCKED)
    hudi.write(rows(range(0, 40, 2), 0), path, {**turns.options, "hoodie.datasource.write.operation": "insert"})
    create_index(hudi, path, f"by_s_{version}", "(s)", version=version)
    partitions = (*ALWAYS, f"secondary_index_by_s_{version}")
    done = []
    for number in range(steps(long=6, short=1)):
        done.append(turns.by_us() if number % 2 == 0 else turns.by_hudi())
        try:
            check(hudi, path, partitions)
        except AssertionError as error:
            raise AssertionError(f"after {done}: {error}") from error


PARTITIONED = {
    **SERVED,
    "hoodie.metadata.record.index.enable": "false",
    "hoodie.metadata.record.level.index.enable": "true",
    "hoodie.index.type": "RECORD_LEVEL_INDEX",
}


@only_long
@pytest.mark.parametrize(("table_type", "version"), KINDS if LONG else KINDS[:1])
def test_they_take_turns_with_a_partitioned_record_index(
    hudi: RealHudi, tmp_path: Path, table_type: str, version: int
) -> None:
    path = tmp_path / "t"
    random = Random(version)
    turns = Turns(hudi, path, table_type=table_type, version=version, random=random, options=PARTITIONED)
    hudi.write(rows([1, 4, 7], 0), path, {**turns.options, "hoodie.datasource.write.operation": "insert"})
    partitions = tuple(one for one in ALWAYS if version > 6 or one != "partition_stats")  # as Hudi makes it
    done = []
    for number in range(steps(long=6, short=2)):
        done.append(turns.by_us() if number % 2 == 0 else turns.by_hudi())
        try:
            check(hudi, path, partitions)
        except AssertionError as error:
            raise AssertionError(f"after {done}: {error}") from error


BY_PARTITION = {
    "hoodie.index.type": "RECORD_LEVEL_INDEX",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.level.index.enable": "true",
    "hoodie.metadata.compact.max.delta.commits": "4",
}


@only_long
@pytest.mark.parametrize("maker", ["ours", *(["hudi", "built"] if LONG else [])])
def test_both_look_keys_up_in_the_record_index_of_partitions(hudi: RealHudi, tmp_path: Path, maker: str) -> None:
    path, names = tmp_path / "t", ["k", "p", "ts"]
    # Without its timeline server, Hudi 1.2.0 fails at its own second write to a table with such an index.
    left_out = {*INDEXES, "hoodie.embed.timeline.server"}
    theirs = {**{key: value for key, value in OPTIONS.items() if key not in left_out}, **BY_PARTITION}
    theirs["hoodie.datasource.write.table.type"] = "MERGE_ON_READ"
    first = rows(range(20), 1).select(names)
    if maker == "hudi":
        hudi.write(first, path, theirs)
    else:
        create_table(
            path,
            name="t",
            schema=first.schema,
            record_key=["k"],
            ordering=["ts"],
            partition_by=["p"],
            options=BY_PARTITION if maker == "ours" else {},
        ).upsert(first)
    table = open_table(path, options=BY_PARTITION)
    table.create_index("record_index")
    expected = dict.fromkeys(range(20), 1)
    for ts in range(2, 2 + steps(long=6, short=2)):
        keys = range(ts * 3, ts * 3 + 9)
        batch = rows(keys, ts).select(names)
        hudi.write(batch, path, theirs) if ts % 2 else table.upsert(batch)
        expected |= dict.fromkeys(keys, ts)
        gone = [ts, ts + 9]
        table.delete(rows(gone, ts).select(["k", "p"]))
        expected = {key: value for key, value in expected.items() if key not in gone}
        check_record_index(path)
        for found in (hudi.read(path), open_table(path).snapshot()):
            assert dict(zip(found["k"].to_pylist(), found["ts"].to_pylist(), strict=True)) == {
                f"k{key:03d}": value for key, value in expected.items()
            }
            assert found.num_rows == len(expected)
