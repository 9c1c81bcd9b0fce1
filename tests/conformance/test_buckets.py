"""Bucket indexes other than Hudi's default: rules for the number of buckets, and consistent hashing.

Each side writes, resizes and writes on after the other; a row in a wrong bucket would be there twice.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.effort import LONG, only_long
from tests.rows import assert_same_rows

if TYPE_CHECKING:
    from tests.conformance.hudi import RealHudi

_STRATEGY = "org.apache.hudi.client.clustering.{}.strategy.SparkConsistentBucketClustering{}Strategy"
BASE = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.metadata.enable": "false",
}
RULES = {
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "2",
    "hoodie.bucket.index.partition.expressions": "^x,4;y$,1",
}
RING = {
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
    "hoodie.bucket.index.num.buckets": "2",
}
GROWS = {
    "hoodie.bucket.index.max.num.buckets": "8",
    "hoodie.bucket.index.min.num.buckets": "1",
    "hoodie.parquet.max.file.size": "20000",
    "hoodie.bucket.index.split.threshold": "0.2",
    "hoodie.bucket.index.merge.threshold": "0.01",
}
SHRINKS = GROWS | {"hoodie.bucket.index.split.threshold": "100", "hoodie.bucket.index.merge.threshold": "500"}
CLUSTERS = {
    "hoodie.clustering.inline": "true",
    "hoodie.clustering.inline.max.commits": "1",
    "hoodie.clustering.plan.strategy.class": _STRATEGY.format("plan", "Plan"),
    "hoodie.clustering.execution.strategy.class": _STRATEGY.format("run", "Execution"),
}
SCHEMA = pa.schema([pa.field("k", pa.string()), pa.field("ts", pa.int64()), pa.field("p", pa.string())])


def rows(first: int, last: int, ts: int) -> pa.Table:
    """Rows of three partitions, some of whose keys look like several."""
    numbers = range(first, last)
    keys = [f"a:{number},b:ä{number}" if number % 7 == 0 else f"k{number}" for number in numbers]
    paths = ["xyz"[number % 3] for number in numbers]
    return pa.table({"k": keys, "ts": [ts] * len(keys), "p": paths}, SCHEMA)


def expected(*writes: pa.Table) -> pa.Table:
    found = {row["k"]: row for write in writes for row in write.to_pylist()}
    return pa.Table.from_pylist(list(found.values()), SCHEMA)


def check(hudi: RealHudi, path: Path, options: dict[str, str], rows_of: pa.Table) -> hf.Table:
    """Both read these rows; the table opened."""
    table = hf.open_table(path, options=options)
    assert_same_rows(table.snapshot(columns=SCHEMA.names), rows_of, key=("k",))
    assert_same_rows(hudi.read(path).select(SCHEMA.names), rows_of, key=("k",))
    assert table.verify() == []
    return table


def counts(table: hf.Table) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in table.file_slices():
        found[one.partition_path] = found.get(one.partition_path, 0) + 1
    return found


def created(path: Path, options: dict[str, str]) -> hf.Table:
    return hf.create_table(
        path, name="t", schema=SCHEMA, record_key=["k"], ordering=["ts"], partition_by=["p"], options=options
    )


def prepare(hudi: RealHudi) -> None:
    """Have the rules parsed: Hudi's tasks otherwise put them into one HashMap at once, which may fail."""
    calculator = "jvm.org.apache.hudi.index.bucket.partition.PartitionBucketIndexCalculator"
    hudi.eval_(f"{calculator}.getInstance({RULES['hoodie.bucket.index.partition.expressions']!r}, 'regex', 2)")


@only_long
@pytest.mark.parametrize("maker", ["hudiformat", *(["hudi"] if LONG else [])])
def test_partitions_have_as_many_buckets_as_their_rule_says(hudi: RealHudi, tmp_path: Path, maker: str) -> None:
    prepare(hudi)
    path, writes = tmp_path / "t", [rows(0, 300, 1), rows(0, 30, 2), rows(100, 400, 3)]
    if maker == "hudi":
        hudi.write(writes[0], path, BASE | RULES)
    else:
        created(path, RULES).upsert(writes[0])
    check(hudi, path, RULES, writes[0]).upsert(writes[1])
    check(hudi, path, RULES, expected(*writes[:2]))
    hudi.write(writes[2], path, BASE | RULES)
    table = check(hudi, path, RULES, expected(*writes))
    assert counts(table) == {"x": 4, "y": 1, "z": 2}


def test_hudi_reads_the_rules_of_a_table_of_ours(hudi: RealHudi, tmp_path: Path) -> None:
    created(tmp_path / "t", RULES)
    code = f"""
meta = jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder().setBasePath({str(tmp_path / "t")!r})
conf = jvm.org.apache.hudi.hadoop.fs.HadoopFSUtils.getStorageConf(spark.sparkContext._jsc.hadoopConfiguration())
meta = meta.setConf(conf).build()
found = jvm.org.apache.hudi.index.bucket.partition.NumBucketsFunction.fromMetaClient(meta, 7)
result = [found.getNumBuckets(path) for path in ("x", "xy", "y", "z")]
"""
    assert hudi.eval_(code) == [4, 4, 1, 2]


@only_long
@pytest.mark.parametrize("maker", ["hudi", *(["hudiformat"] if LONG else [])])
def test_buckets_are_split_and_merged_in_turn(hudi: RealHudi, tmp_path: Path, maker: str) -> None:
    path = tmp_path / "t"
    writes = [rows(0, 600, 1), rows(0, 60, 2), rows(500, 700, 3), rows(0, 700, 4), rows(300, 350, 5)]
    if maker == "hudi":
        hudi.write(writes[0], path, BASE | RING)
    else:
        created(path, RING).upsert(writes[0])
    table = check(hudi, path, RING | GROWS, writes[0])
    assert counts(table) == {"x": 2, "y": 2, "z": 2}
    if maker == "hudi":
        table.upsert(writes[1])
        assert table.cluster()
    else:
        hudi.write(writes[1], path, BASE | RING | GROWS | CLUSTERS)
    split = counts(check(hudi, path, RING | GROWS, expected(*writes[:2])))
    assert sum(split.values()) > 6
    hudi.write(writes[2], path, BASE | RING)
    table = check(hudi, path, RING, expected(*writes[:3]))
    assert counts(table) == split
    table.upsert(writes[3])
    assert counts(check(hudi, path, RING, expected(*writes[:4]))) == split
    if maker == "hudi":
        hudi.write(writes[4], path, BASE | RING | SHRINKS | CLUSTERS)
    else:
        hf.open_table(path, options=RING).upsert(writes[4])
        assert hf.open_table(path, options=RING | SHRINKS).cluster()
    table = check(hudi, path, RING, expected(*writes))
    assert counts(table) == {"x": 1, "y": 1, "z": 1}
    last = rows(650, 800, 6)
    table.upsert(last)
    assert counts(check(hudi, path, RING, expected(*writes, last))) == {"x": 1, "y": 1, "z": 1}


@pytest.mark.parametrize("planner", ["hudi", "hudiformat"])
def test_each_resizes_as_the_other_has_planned(hudi: RealHudi, tmp_path: Path, planner: str) -> None:
    path, write = tmp_path / "t", rows(0, 600, 1)
    created(path, RING).upsert(write)
    options = json.dumps(BASE | RING | GROWS | CLUSTERS)
    if planner == "hudi":
        hudi.sql(f"CALL run_clustering(path => '{path}', op => 'schedule', options => '{_pairs(json.loads(options))}')")
        assert hf.open_table(path, options=RING).cluster()
    else:
        assert hf.open_table(path, options=RING | GROWS).schedule_clustering()
        hudi.sql(f"CALL run_clustering(path => '{path}', op => 'execute', options => '{_pairs(json.loads(options))}')")
    table = check(hudi, path, RING, write)
    assert sum(counts(table).values()) > 6
    more = rows(500, 700, 2)
    hudi.write(more, path, BASE | RING)
    check(hudi, path, RING, expected(write, more))


def _pairs(options: dict[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in options.items() if "inline" not in key)
