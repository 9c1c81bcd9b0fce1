"""Tables with all indexes, written by Hudi and hudiformat in turn: no row is lost by what the other has indexed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import Table, create_table, open_table
from tests.conformance.hudi import RealHudi
from tests.effort import LONG, steps
from tests.metadata.tables import check_listing
from tests.metadata_statistics import check_bloom_filters, check_record_index, check_statistics

pytestmark = pytest.mark.hudi

INDEXES = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
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


def answers(hudi: RealHudi, path: Path, *, skipping: bool) -> list[list[str]]:
    """The keys that Hudi finds for each filter."""
    options = {"hoodie.metadata.enable": str(skipping).lower(), "hoodie.enable.data.skipping": str(skipping).lower()}
    found: list[list[str]] = hudi.eval_(
        f"rows = spark.read.format('hudi').options(**{options!r}).load({str(path)!r})\n"
        f"result = [sorted(row[0] for row in rows.where(one).select('k').collect()) for one in {FILTERS!r}]\n"
    )
    return found


def check(hudi: RealHudi, path: Path, partitions: tuple[str, ...]) -> None:
    table = open_table(path)
    assert table.config.metadata_partitions == partitions
    check_listing(path)
    check_statistics(path)
    check_bloom_filters(path)
    check_record_index(path, exact=False)
    keys = table.snapshot(columns=["k"])["k"].to_pylist()
    assert len(set(keys)) == len(keys)
    scanned, skipped = (answers(hudi, path, skipping=on) for on in (False, True))
    differing = [one for one, left, right in zip(FILTERS, scanned, skipped, strict=True) if left != right]
    assert differing == []
    assert scanned[FILTERS.index("nothing is null")] == sorted(keys)


class Turns:
    """Steps of Hudi and of hudiformat on the table at *path*, chosen by *random*."""

    def __init__(self, hudi: RealHudi, path: Path, *, table_type: str, version: int, random: Random) -> None:
        self._hudi, self._path, self._random = hudi, path, random
        self.options = {
            **OPTIONS,
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
        is_mor = self.options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ"
        inline = self._random.choice(["true", "false"]) if is_mor else "false"
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
        options = {
            "hoodie.index.type": "GLOBAL_SIMPLE",
            "hoodie.clean.commits.retained": "2",
            "hoodie.metadata.compact.max.delta.commits": "3" if often else "100",
            "hudiformat.sync": "false",
        }
        return open_table(self._path, options=options)


OLD = [("MERGE_ON_READ", 6), ("COPY_ON_WRITE", 6)]
KINDS = [("MERGE_ON_READ", 9), ("COPY_ON_WRITE", 8), *OLD, ("MERGE_ON_READ", 8), ("COPY_ON_WRITE", 9)]


@pytest.mark.parametrize(("table_type", "version"), KINDS if LONG else KINDS[:3])
def test_they_take_turns(hudi: RealHudi, tmp_path: Path, table_type: str, version: int) -> None:
    path = tmp_path / "t"
    random = Random(version)  # noqa: S311 - steps of a test
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
        random = Random(version)  # noqa: S311 - steps of a test
        turns = Turns(hudi, path, table_type=table_type, version=version, random=random)
        hudi.write(rows(range(30), 0), path, turns.options)
        partitions = open_table(path).config.metadata_partitions
        assert partitions == ("bloom_filters", "column_stats", "files", "record_index")
        take_turns(hudi, turns, path, partitions)


def take_turns(hudi: RealHudi, turns: Turns, path: Path, partitions: tuple[str, ...]) -> None:
    done = []
    for number in range(steps(long=50, thorough=2, short=2)):
        done.append(turns.by_us() if number % 2 == 0 else turns.by_hudi())
        try:
            check(hudi, path, partitions)
        except AssertionError as error:
            raise AssertionError(f"after {done}: {error}") from error
