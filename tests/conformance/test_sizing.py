"""Where new rows go: our plan in Spark's mode, and what Hudi's own partitioner and its real upserts decide.

A table is changed by one real upsert after another.  Before each of them Hudi's partitioner is asked about that state
of the table under several options, and after it the commit is asked what was written; our plan has to say the same.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, permutations, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.naming.bucket_hash import string_hashes
from hudiformat.sizing import GroupVerdict, PartitionPlan
from hudiformat.table.options.values import Operation
from hudiformat.timeline.timeline import Action, read_metadata
from hudiformat.write.commit.plan import sizing_profile
from tests.conformance.hudi import RealHudi
from tests.effort import LONG, only_long

WRITE = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.metadata.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.compact.inline.max.delta.commits": "100",
    "hoodie.parquet.compression.codec": "uncompressed",
    "hoodie.index.bloom.num_entries": "60000",  # Hudi's default, which other tests lower
}
FILTER = 440_000
"""Bytes that the bloom filter of a base file takes, whatever its rows."""
Buckets = list[tuple[str | None, int]]

PARTITIONER = """
from py4j.java_collections import ListConverter
hudi = jvm.org.apache.hudi
def decide(path, kind, options, inserts, updates):
    properties = jvm.java.util.Properties()
    for key, value in options.items():
        properties.put(key, value)
    config = hudi.config.HoodieWriteConfig.newBuilder().withPath(path).withProps(properties).build()
    context = hudi.client.common.HoodieSparkEngineContext(spark._jsc)
    table = hudi.table.HoodieSparkTable.create(config, context)
    stats = jvm.java.util.HashMap()
    for partition, count in inserts.items():
        stat = hudi.table.WorkloadStat()
        stat.addInserts(count)
        for file_id, changed in updates:
            stat.addUpdates(hudi.common.model.HoodieRecordLocation("1", file_id), changed)
        stats.put(partition, stat)
    pair = hudi.common.util.collection.Pair.of(stats, hudi.table.WorkloadStat())
    operation = hudi.common.model.WriteOperationType.UPSERT
    profile = hudi.table.WorkloadProfile(pair, operation, False)
    make = (hudi.table.action.commit.UpsertPartitioner if kind == "COPY_ON_WRITE"
            else hudi.table.action.deltacommit.SparkUpsertDeltaCommitPartitioner)
    found = make(profile, context, table, config, operation)
    infos = found.getBucketInfos()
    decided = {}
    for partition in inserts:
        decided[partition], before = [], 0.0
        for pair in found.getInsertBuckets(partition) or []:
            number = jvm.java.lang.Class.forName("org.apache.hudi.table.action.commit.InsertBucket")
            bucket = number.getDeclaredField("bucketNumber")
            bucket.setAccessible(True)
            info = infos[bucket.get(pair.getLeft())]
            new = info.getBucketType().name() == "INSERT"
            decided[partition].append((None if new else info.getFileIdPrefix(),
                                       round((pair.getRight() - before) * inserts[partition])))
            before = pair.getRight()
    small = list(found.getSmallFileIds()) if kind != "COPY_ON_WRITE" else None
    return decided, small
"""


def rows(keys: Sequence[str], ts: int, partition: str = "x") -> pa.Table:
    """Rows of about 400 bytes."""
    chance = random.Random(str(keys))
    values = [chance.randbytes(200).hex() for _ in keys]
    return pa.table({"id": list(keys), "ts": [ts] * len(keys), "p": [partition] * len(keys), "v": values})


def in_any_order_of_colliding_ids(groups: Sequence[GroupVerdict]) -> Iterator[list[GroupVerdict]]:
    """*groups* in every order that Java may have them in: ids of one bucket of a hash set come as files are listed."""
    capacity = 16 if len(groups) < 12 else 32
    hashes = string_hashes(pa.array([group.file_id for group in groups], pa.string()))
    places = ((hashes ^ (hashes >> np.uint32(16))) & np.uint32(capacity - 1)).tolist()
    runs = [[groups[i] for i in run] for _, run in groupby(range(len(groups)), key=places.__getitem__)]
    for chosen in product(*(permutations(run) for run in runs)):
        yield [group for run in chosen for group in run]


def plans(table: hf.Table, inserts: int, partition: str = "x") -> list[PartitionPlan]:
    """Our plan, and those with colliding ids in other orders."""
    profile = sizing_profile(table._context.state(), Operation.UPSERT)
    groups = profile.small_files(partition, table.file_slices(partition))
    return [profile.plan(partition, inserts, order) for order in in_any_order_of_colliding_ids(groups)]


def planned(plan: PartitionPlan) -> Buckets:
    return [(bucket.file_id, bucket.records) for bucket in plan.buckets]


def decided(
    hudi: RealHudi, table: hf.Table, options: Mapping[str, str], inserts: int, updates: Sequence[tuple[str, int]] = ()
) -> tuple[Buckets, list[str] | None]:
    """What Hudi's partitioner says: its buckets, and the small files that it rewrites updates to."""
    kind = table.config.table_type.value
    given = (table.path, kind, {**WRITE, **options}, {"x": inserts}, list(updates))
    answer = hudi.eval_(f"{PARTITIONER}\nresult = decide(*{given!r})")
    return [(file_id, count) for file_id, count in answer[0]["x"]], answer[1]


def assert_decides_alike(hudi: RealHudi, path: Path, options: Mapping[str, str], inserts: int) -> Buckets:
    table = hf.open_table(path, options=options)
    buckets, small = decided(hudi, table, options, inserts, [(table.file_slices("x")[0].file_id, 3)])
    ours = plans(table, inserts)
    assert buckets in [planned(plan) for plan in ours], ours[0].groups
    if small is not None:
        assert set(small) == ours[0].candidates
    return buckets


def assert_writes_alike(hudi: RealHudi, path: Path, options: Mapping[str, str], data: pa.Table, new: int) -> None:
    """*data*'s last *new* rows are new; the others are updates."""
    table = hf.open_table(path, options=options)
    known = {item.file_id for item in table.file_slices("x")}
    keys = data["id"].combine_chunks().slice(len(data) - new)
    expected = []
    for plan in plans(table, new):
        placed = Counter(plan.assign(keys).tolist())
        expected.append(Counter((plan.buckets[place].file_id, records) for place, records in placed.items()))
    hudi.write(data, path, {**WRITE, "hoodie.datasource.write.table.type": table.config.table_type.value, **options})
    last = next(i for i in reversed(table.timeline.completed_writes) if i.action is not Action.REPLACE_COMMIT)
    stats = read_metadata(table._context.storage, table.config, last).write_stats
    inserted = [stat for stat in stats if stat.num_inserts]
    assert Counter((stat.file_id if stat.file_id in known else None, stat.num_inserts) for stat in inserted) in expected


def sizes(room: int, limit: int, estimate: int = 400) -> dict[str, str]:
    """Options for base files of *room* bytes of rows, small below *limit*."""
    return {
        "hoodie.parquet.max.file.size": str(FILTER + room),
        "hoodie.parquet.small.file.limit": str(FILTER + limit if limit > 0 else limit),
        "hoodie.copyonwrite.record.size.estimate": str(estimate),
        "hoodie.record.size.estimation.threshold": "100",  # no commit is that large: the estimate counts
    }


LIMIT = "hoodie.merge.small.file.group.candidates.limit"
THRESHOLD = "hoodie.record.size.estimation.threshold"
ASKED = [
    sizes(40_000, 30_000),
    sizes(40_000, 30_000, estimate=9_000),
    sizes(60_000, 0),
    {**sizes(30_000, 25_000, estimate=5_000), LIMIT: "3"},
    {**sizes(30_000, 25_000), LIMIT: "0"},
    {**sizes(50_000, 40_000), THRESHOLD: "0.001"},
    {
        **sizes(50_000, 40_000),
        THRESHOLD: "0.000001",
        "hoodie.record.size.estimator.average.metadata.size": str(FILTER),
    },
    {
        **sizes(30_000, 20_000),
        "hoodie.copyonwrite.insert.auto.split": "false",
        "hoodie.copyonwrite.insert.split.size": "30",
    },
]
SEEING = [
    {
        **sizes(30_000, 1),
        "hoodie.index.type": "INMEMORY",
        "hoodie.logfile.to.parquet.compression.ratio": ratio,
    }
    for ratio in ("0.35", "1.5")
]


def begin(hudi: RealHudi, path: Path, kind: str) -> None:
    """A table with some groups in partition x, and one in another."""
    options = {**WRITE, **sizes(1, 0, estimate=18_000), "hoodie.datasource.write.table.type": kind}
    hudi.write(pa.concat_tables([rows(numbered(0, 60), 1), rows(["other"], 1, "y")]), path, options)


def numbered(start: int, end: int) -> list[str]:
    return [f"k{i}" for i in range(start, end)]


WRITTEN = {
    "COPY_ON_WRITE": [
        sizes(10_000, 9_000),
        sizes(20_000, 18_000, estimate=2_000),
        {**sizes(20_000, 16_000), THRESHOLD: "0.001"},
    ],
    "MERGE_ON_READ": [
        sizes(10_000, 9_000),
        {**sizes(20_000, 18_000, estimate=2_000), LIMIT: "3"},
        {**sizes(20_000, 16_000), THRESHOLD: "0.001", LIMIT: "9"},
        sizes(12_000, 0, estimate=9_000),
    ],
}


@only_long
@pytest.mark.parametrize("kind", ["MERGE_ON_READ", *(["COPY_ON_WRITE"] if LONG else [])])
def test_new_rows_go_where_hudi_puts_them(hudi: RealHudi, tmp_path: Path, kind: str) -> None:
    path, count = tmp_path / "t", 60
    begin(hudi, path, kind)
    chosen: list[Buckets] = []
    for step, options in enumerate(WRITTEN[kind]):
        asked = ASKED if kind == "COPY_ON_WRITE" else ASKED + SEEING
        chosen += [
            assert_decides_alike(hudi, path, given, 5 + 37 * step + 3 * place) for place, given in enumerate(asked)
        ]
        new = 25 + 5 * step
        data = rows(numbered(count - 3 * step, count + new), 2 + step)
        assert_writes_alike(hudi, path, options, data, new)
        count += new
    assert len({str(buckets) for buckets in chosen}) > 15  # the situations are not all one
    assert any(len([file_id for file_id, _ in buckets if file_id]) > 2 for buckets in chosen)


@only_long
@pytest.mark.parametrize("kind", ["MERGE_ON_READ", *(["COPY_ON_WRITE"] if LONG else [])])
def test_groups_in_pending_plans_take_no_new_rows(hudi: RealHudi, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    begin(hudi, path, kind)
    if kind == "MERGE_ON_READ":
        hudi.write(rows(numbered(0, 4), 2), path, {**WRITE, "hoodie.datasource.write.table.type": kind})
        now = "hoodie.compact.inline.max.delta.commits=1"
        hudi.sql(f"call run_compaction(op => 'schedule', path => '{path}', options => '{now}')")
        profile = sizing_profile(hf.open_table(path)._context.state(), Operation.UPSERT)
        assert profile.in_compaction
        for options in ASKED + SEEING:
            assert_decides_alike(hudi, path, options, 90)
    few = "hoodie.clustering.plan.strategy.small.file.limit=999999999,hoodie.clustering.plan.strategy.max.num.groups=1"
    few += f",hoodie.clustering.plan.strategy.max.bytes.per.group={FILTER * 2 + 90_000}"
    hudi.sql(f"call run_clustering(op => 'schedule', path => '{path}', options => '{few}')")
    table = hf.open_table(path)
    clustered = sizing_profile(table._context.state(), Operation.UPSERT).in_clustering
    assert clustered
    for options in ASKED:
        buckets = assert_decides_alike(hudi, path, options, 90)
        assert not {file_id for _, file_id in clustered} & {file_id for file_id, _ in buckets}
