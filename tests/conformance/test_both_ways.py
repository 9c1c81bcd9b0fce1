"""Each reads, and goes on with, what the other wrote."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.naming.file_names import WriteToken
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.write import WriteTask
from tests.conformance.hudi import ROOT, RealHudi
from tests.effort import LONG, every, only_long
from tests.rows import assert_same_rows

ROW = ("_hoodie_partition_path", "_hoodie_record_key")
READ_OPTIMIZED = {"hoodie.datasource.query.type": "read_optimized"}
NO_STATISTICS = {"hoodie.metadata.index.column.stats.enable": "false"}
"""Keeping statistics of columns up takes Hudi half of a write; ``tests/turns`` and ``test_growth`` do so."""
OF_SERVICES = "hoodie.write.auto.upgrade=false,hoodie.metadata.index.column.stats.enable=false"
COMPACT_NOW = f"hoodie.compact.inline.max.delta.commits=1,{OF_SERVICES}"

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("ts", pa.int64()),
        pa.field("p", pa.string()),
        pa.field("flag", pa.bool_()),
        pa.field("small", pa.int32()),
        pa.field("ratio", pa.float32()),
        pa.field("value", pa.float64()),
        pa.field("data", pa.binary()),
        pa.field("on", pa.date32()),
        pa.field("at", pa.timestamp("us", tz="UTC")),
        pa.field("price", pa.decimal128(18, 4)),
        pa.field("tags", pa.list_(pa.field("element", pa.string()))),
        pa.field("counts", pa.map_(pa.string(), pa.int64())),
        pa.field(
            "inner", pa.struct([pa.field("a", pa.int32()), pa.field("b", pa.struct([pa.field("c", pa.string())]))])
        ),
    ]
)

WRITE = {
    "hoodie.table.name": "things",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.operation": "upsert",
    **NO_STATISTICS,
}


def kept_at(version: int) -> dict[str, str]:
    """What keeps Hudi from writing a table as one of a newer version."""
    return {"hoodie.write.table.version": str(version), "hoodie.write.auto.upgrade": "false"}


def things(numbers: range, *, ts: int, partition: str | None = "") -> pa.Table:
    """Rows with a value or a null in every column."""
    rows = [
        {
            "id": f"key {i} ü" if i % 5 == 0 else f"k{i}",
            "ts": ts,
            "p": f"p{i % 3}" if partition == "" else partition,
            "flag": None if i % 4 == 0 else i % 2 == 0,
            "small": None if i % 7 == 0 else -i,
            "ratio": i / 2,
            "value": None if i % 3 == 0 else i * 1e300,
            "data": bytes(range(i % 40)),
            "on": i * 1000,
            "at": (-1) ** i * 10**13 * i + i,
            "price": None if i % 6 == 0 else f"{i * 1000}.25",
            "tags": None if i % 3 == 1 else ["x" * (i % 17)] * (i % 4),
            "counts": None if i % 4 == 3 else [(f"c{i}", 2**62 - i), ("n", None)],
            "inner": None if i % 5 == 4 else {"a": i, "b": None if i % 2 else {"c": "✓"}},
        }
        for i in numbers
    ]
    strings = pa.Table.from_pylist([{"price": row.pop("price")} for row in rows], pa.schema([("price", pa.string())]))
    table = pa.Table.from_pylist(rows, pa.schema([field for field in SCHEMA if field.name != "price"]))
    return table.append_column("price", strings["price"].cast(pa.decimal128(18, 4))).select(SCHEMA.names).cast(SCHEMA)


def create(
    path: Path,
    options: dict[str, str],
    *,
    key: Sequence[str] = ("id",),
    partition_by: Sequence[str] = ("p",),
    table_type: str = "MERGE_ON_READ",
    version: int = 9,
) -> hf.Table:
    """An empty table of ours."""
    return hf.create_table(
        path,
        name="things",
        schema=SCHEMA,
        record_key=key,
        ordering=["ts"],
        partition_by=partition_by,
        table_type=table_type,
        version=version,
        options=options,
    )


def assert_reads_alike(hudi: RealHudi, table: hf.Table) -> pa.Table:
    """The snapshot, which Hudi reads too, as it does the base files alone."""
    snapshot = table.snapshot()
    assert_same_rows(snapshot, hudi.read(table.path), key=ROW)
    assert_same_rows(table.read_optimized(), hudi.read(table.path, READ_OPTIMIZED))
    return snapshot


def assert_history_reads_alike(hudi: RealHudi, table: hf.Table) -> pa.Table:
    """As :func:`assert_reads_alike`; Hudi reads the table as of some of the commits so far, too."""
    for instant in table.timeline.completed_writes[:: 3 * every(3)]:
        then = hudi.read(table.path, {"as.of.instant": instant.time})
        assert_same_rows(table.snapshot(as_of=instant.time), then)
    return assert_reads_alike(hudi, table)


def block_types(table: hf.Table) -> set[hf.BlockType]:
    """What the log files of the newest slices hold."""
    paths = [
        Path(table.path, item.partition_path, str(log.name)) for item in table.file_slices() for log in item.log_files
    ]
    return {block.type for path in paths for block in hf.LogReader(path)}


def dropped_metadata_table(version: int) -> AbstractContextManager[object]:
    """What a write warns of: the metadata table that Hudi has made is dropped in version 6, and kept up above."""
    return pytest.warns(hf.HudiFormatWarning, match="metadata table") if version < 8 else nullcontext()


def write_ours(table: hf.Table) -> None:
    """Commits of every kind, late rows and rows that are deletes among them."""
    table.insert(things(range(40), ts=5))
    table.upsert(things(range(20, 60), ts=7))
    table.upsert(things(range(10), ts=3).set_column(4, "small", pa.array([99] * 10, pa.int32())))  # late
    table.delete(things(range(0, 60, 7), ts=0).select(["p", "id"]))


@pytest.mark.parametrize(("index", "version"), [("BUCKET", 9), *([("SIMPLE", 6), ("SIMPLE", 9)] if LONG else [])])
def test_hudi_goes_on_with_a_table_of_ours(hudi: RealHudi, tmp_path: Path, index: str, version: int) -> None:
    theirs = {**WRITE, **kept_at(version)}
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2", "hoodie.logfile.max.size": "4096"}
    table = create(tmp_path / "t", {**options, "hoodie.logfile.data.block.max.size": "1500"}, version=version)
    write_ours(table)
    expected = {f"k{i}" if i % 5 else f"key {i} ü" for i in range(60) if i % 7}
    assert set(assert_reads_alike(hudi, table)["id"].to_pylist()) == expected
    # Hudi is not told which index the table has: it has to find that in the properties.
    hudi.write(things(range(50, 70), ts=9), table.path, theirs)
    hudi.write(things(range(50, 55), ts=1), table.path, theirs)  # late
    table = hf.open_table(table.path)
    assert assert_reads_alike(hudi, table).num_rows == len(
        expected | {f"k{i}" if i % 5 else f"key {i} ü" for i in range(50, 70)}
    )
    hudi.sql(f"call run_compaction(op => 'schedule', path => '{table.path}', options => '{COMPACT_NOW}')")
    hudi.sql(f"call run_compaction(op => 'run', path => '{table.path}', options => '{COMPACT_NOW}')")
    assert table.timeline.completed[-1].action.value == "commit"
    compacted = assert_reads_alike(hudi, table)
    assert table.read_optimized().num_rows == compacted.num_rows
    with dropped_metadata_table(version):
        table.upsert(things(range(60, 80), ts=11))
    hf.open_table(table.path).delete(things(range(61, 64), ts=0).select(["p", "id"]))
    assert_history_reads_alike(hudi, table := hf.open_table(table.path))
    assert table.config.version == version


@only_long
@pytest.mark.parametrize("version", [9, *([6] if LONG else [])])
def test_hudi_goes_on_with_a_copy_on_write_table_of_ours(hudi: RealHudi, tmp_path: Path, version: int) -> None:
    table = create(tmp_path / "t", {"hoodie.index.type": "BLOOM"}, table_type="COPY_ON_WRITE", version=version)
    write_ours(table)
    expected = {f"k{i}" if i % 5 else f"key {i} ü" for i in range(60) if i % 7}
    assert set(assert_reads_alike(hudi, table)["id"].to_pylist()) == expected
    assert {item.partition_path: len(item.log_files) for item in table.file_slices()} == {"p0": 0, "p1": 0, "p2": 0}
    theirs = {**WRITE, **kept_at(version), "hoodie.index.type": "BLOOM"}
    theirs["hoodie.datasource.write.table.type"] = "COPY_ON_WRITE"
    hudi.write(things(range(50, 70), ts=9), table.path, theirs)
    hudi.write(things(range(50, 55), ts=1), table.path, {**theirs, "hoodie.datasource.write.operation": "delete"})
    expected |= {f"k{i}" if i % 5 else f"key {i} ü" for i in range(55, 70)}
    expected -= {f"k{i}" if i % 5 else f"key {i} ü" for i in range(50, 55)}
    table = hf.open_table(table.path)
    assert set(assert_reads_alike(hudi, table)["id"].to_pylist()) == expected
    small = f"hoodie.clustering.plan.strategy.small.file.limit=999999999,{OF_SERVICES}"
    hudi.sql(f"call run_clustering(path => '{table.path}', options => '{small}')")
    assert table.timeline.completed_writes[-1].action.value == "replacecommit"
    with dropped_metadata_table(version):
        table.upsert(things(range(40, 80), ts=11))
    keys = assert_reads_alike(hudi, hf.open_table(table.path))["id"].to_pylist()
    assert len(keys) == len(set(keys))
    assert len(keys) == len(expected | {f"k{i}" if i % 5 else f"key {i} ü" for i in range(40, 80)})
    fresh = [stat for stat in table.bulk_insert(things(range(100, 120), ts=1)).stats if stat.num_inserts]
    assert len(fresh) == 3
    assert_reads_alike(hudi, hf.open_table(table.path))


@only_long
def test_hudi_finds_the_rows_that_fill_small_files(hudi: RealHudi, tmp_path: Path) -> None:
    """Merge-on-read: new rows rewrite a small base file, or go to its log where the index sees logs."""
    table = create(tmp_path / "t", {})
    table.insert(things(range(30), ts=5))
    commit = table.upsert(things(range(20, 50), ts=6))  # updates of rewritten groups among them
    assert {Path(stat.path or "").suffix for stat in commit.stats} == {".parquet"}
    assert len(table.file_slices()) == 3
    assert assert_reads_alike(hudi, table).num_rows == 50
    seeing = hf.open_table(table.path, options={"hoodie.index.type": "INMEMORY"})
    logs = seeing.upsert(things(range(45, 60), ts=7))
    assert {(stat.log_version, stat.num_inserts > 0) for stat in logs.stats} == {(1, True)}
    assert len(table.file_slices()) == 3
    assert assert_reads_alike(hudi, table).num_rows == 60
    hudi.write(things(range(40), ts=9), table.path, {**WRITE, "hoodie.compact.inline.max.delta.commits": "1"})
    assert assert_reads_alike(hudi, hf.open_table(table.path)).num_rows == 60


@only_long
def test_avro_and_parquet_blocks_in_turn_are_the_same_rows_to_hudi(hudi: RealHudi, tmp_path: Path) -> None:
    create(tmp_path / "t", {"hoodie.index.type": "SIMPLE"}).insert(things(range(40), ts=5))
    for number, block_format in enumerate(["avro", "parquet"] * 2):
        table = hf.open_table(tmp_path / "t", options={"hoodie.logfile.data.block.format": block_format})
        table.upsert(things(range(10 * number, 10 * number + 30), ts=7 - number % 3))
        if number % 2:
            table.delete(things(range(number, 60, 7), ts=0).select(["p", "id"]))
    assert block_types(table) == {hf.BlockType.AVRO_DATA, hf.BlockType.PARQUET_DATA, hf.BlockType.DELETE}
    assert_same_rows(table.snapshot(), hudi.read(table.path), key=ROW)
    hudi.write(things(range(50, 80), ts=9), table.path, {**WRITE, "hoodie.logfile.data.block.format": "parquet"})
    table = hf.open_table(table.path)
    assert_same_rows(table.snapshot(), hudi.read(table.path), key=ROW)
    for step in ("schedule", "run"):
        hudi.sql(f"call run_compaction(op => '{step}', path => '{table.path}', options => '{COMPACT_NOW}')")
    assert table.timeline.completed[-1].action.value == "commit"
    assert_same_rows(table.snapshot(), hudi.read(table.path), key=ROW)
    assert_same_rows(table.snapshot(), table.read_optimized(), key=ROW)


@pytest.mark.all_sets
@pytest.mark.parametrize(
    ("index", "metadata_table", "version"),
    [
        ("SIMPLE", "false", 6),
        *([("BUCKET", "true", 9), ("BLOOM", "true", 8), ("SIMPLE", "true", 9)] if LONG else []),
    ],
)
def test_we_go_on_with_a_table_of_hudis(
    hudi: RealHudi, tmp_path: Path, index: str, metadata_table: str, version: int
) -> None:
    path = str(tmp_path / "t")
    buckets = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2"}
    options = {**WRITE, **buckets, **kept_at(version), "hoodie.metadata.enable": metadata_table}
    del options["hoodie.metadata.index.column.stats.enable"]
    hudi.write(things(range(30), ts=5), path, options)
    hudi.write(things(range(20, 40), ts=6), path, options)
    table = hf.open_table(path, options=buckets)
    assert_reads_alike(hudi, table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hf.HudiFormatWarning)
        table.upsert(things(range(35, 50), ts=8))
    table = hf.open_table(path, options=buckets)
    table.upsert(things(range(5), ts=1))  # late
    table.delete(things(range(0, 50, 9), ts=0).select(["p", "id"]))
    assert set(assert_reads_alike(hudi, table)["id"].to_pylist()) == {
        f"k{i}" if i % 5 else f"key {i} ü" for i in range(50) if i % 9
    }
    hudi.write(things(range(45, 55), ts=20), path, options)
    keys = assert_history_reads_alike(hudi, hf.open_table(path, options=buckets))["id"].to_pylist()
    assert len(keys) == len(set(keys)), "Hudi found its way to the keys that we wrote"


@pytest.mark.parametrize("version", [9, *([6] if LONG else [])])
def test_hudi_takes_away_what_a_write_of_ours_left_behind(hudi: RealHudi, tmp_path: Path, version: int) -> None:
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    table = create(tmp_path / "t", options, version=version)
    table.insert(things(range(5), ts=1))
    write = begin_write(table._context, Operation.UPSERT)
    abandoned = write.plan
    with WriteTask(abandoned, WriteToken(0, 0, 0)) as task:
        task.write_batch(things(range(9), ts=9).to_batches()[0])
        task.finish()
    assert assert_reads_alike(hudi, table).num_rows == 5
    hudi.write(things(range(3), ts=2), table.path, {**WRITE, **kept_at(version)})
    assert assert_reads_alike(hudi, hf.open_table(table.path)).num_rows == 5
    write._heartbeat.stop()
    left = [path.name for path in Path(table.path).rglob("*") if abandoned.instant in path.name]
    assert [name for name in left if "log" in name or "deltacommit" in name] == []


def test_failed_writes_of_either_are_taken_back_by_command_blocks(hudi: RealHudi, tmp_path: Path) -> None:
    """In version 6, where the log files of a write that failed may hold blocks of others."""
    table = create(tmp_path / "t", {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}, version=6)
    table.insert(things(range(5), ts=1))
    dead = begin_write(table._context, Operation.UPSERT)
    with WriteTask(dead.plan, WriteToken(0, 0, 0)) as task:
        task.write_batch(things(range(9), ts=9).to_batches()[0])
        task.finish()
    table.upsert(things(range(2), ts=2))
    dead._heartbeat.stop()
    expected = assert_reads_alike(hudi, table)
    assert expected["ts"].to_pylist().count(1) == 3
    theirs = {**WRITE, **kept_at(6), "hoodie.metadata.enable": "false"}
    hudi.write(things(range(3), ts=9), table.path, theirs)
    failed = table.timeline.completed_writes[-1]
    Path(table.path, ".hoodie", failed.file_name).unlink()
    Path(table.path, ".hoodie", f".{failed.file_name}.crc").unlink(missing_ok=True)
    table.upsert(things(range(1, 2), ts=3))
    assert block_types(table) == {hf.BlockType.AVRO_DATA, hf.BlockType.COMMAND}
    assert sorted(assert_reads_alike(hudi, table)["ts"].to_pylist()) == [1, 1, 1, 2, 3]
    hudi.write(things(range(4), ts=4), table.path, theirs)
    assert sorted(assert_reads_alike(hudi, table)["ts"].to_pylist()) == [1, 4, 4, 4, 4]


@pytest.mark.parametrize("hive_style", ["true", "false"])
def test_null_partition_values_go_where_hudi_puts_them(hudi: RealHudi, tmp_path: Path, hive_style: str) -> None:
    style = {"hoodie.datasource.write.hive_style_partitioning": hive_style}
    rows = things(range(4), ts=1, partition=None)
    table = create(tmp_path / "ours", style)
    table.insert(rows)
    hudi.write(rows, str(tmp_path / "theirs"), {**WRITE, **style})
    theirs = hf.open_table(tmp_path / "theirs")
    assert {item.partition_path for item in table.file_slices()} == {
        item.partition_path for item in theirs.file_slices()
    }
    assert_same_rows(
        table.snapshot(columns=["_hoodie_partition_path", "id", "p"]),
        theirs.snapshot(columns=["_hoodie_partition_path", "id", "p"]),
    )


@only_long
def test_several_key_and_partition_columns_make_the_keys_that_hudi_makes(hudi: RealHudi, tmp_path: Path) -> None:
    rows = things(range(20), ts=1)
    table = create(tmp_path / "ours", {}, key=["id", "small"], partition_by=["p", "flag"])
    table.insert(rows)
    keys = {
        "hoodie.datasource.write.recordkey.field": "id,small",
        "hoodie.datasource.write.partitionpath.field": "p,flag",
    }
    hudi.write(rows, str(tmp_path / "theirs"), {**WRITE, **keys})
    meta = ["_hoodie_record_key", "_hoodie_partition_path", "id"]
    assert_same_rows(table.snapshot(columns=meta), hf.open_table(tmp_path / "theirs").snapshot(columns=meta))
    hudi.write(rows, table.path, {**WRITE, **keys})
    assert hf.open_table(table.path).snapshot().num_rows == 20


PYSPARK_3_JOB = """
import sys
sys.path.append({root!r})
spark.sparkContext.environment["PYTHONPATH"] = {root!r}  # of the processes of tasks
from tests.conformance.pyspark3_job import main
main(spark, {path!r}, everything={everything})
"""
"""Runs in the session of real Hudi, which is one of PySpark 3.5."""


@only_long
def test_the_functions_write_on_pyspark_3_too(hudi: RealHudi, tmp_path: Path) -> None:
    path = tmp_path / "t"
    hf.create_table(
        path,
        name="numbers",
        schema=pa.schema([("id", pa.int64()), ("ts", pa.int64()), ("p", pa.string())]),
        record_key=["id"],
        ordering=["ts"],
        partition_by=["p"],
        options={"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"},
    )
    hudi.eval_(PYSPARK_3_JOB.format(root=str(ROOT), path=str(path), everything=LONG))
    left = [0, *range(5, 50), *range(51, 90), *range(92, 107)] if LONG else list(range(100))
    assert sorted(row["id"] for row in hudi.read(str(path)).to_pylist()) == left
    assert hf.open_table(path).snapshot().num_rows == len(left)


@only_long
def test_a_global_index_moves_rows_as_hudis_does(hudi: RealHudi, tmp_path: Path) -> None:
    """The same writes by both, and what Hudi reads of them: rows that move, that are older, that come back, deletes."""
    index = {"hoodie.index.type": "GLOBAL_BLOOM"}
    options = {**WRITE, **index, "hoodie.metadata.enable": "false"}

    def batch(*rows: tuple[str, int, str, int]) -> pa.Table:
        return pa.Table.from_pylist([dict(zip(("id", "ts", "p", "n"), row, strict=True)) for row in rows])

    first = batch(("a", 1, "x", 1), ("b", 5, "x", 1), ("c", 1, "y", 1), ("d", 1, "y", 1), ("e", 9, "z", 1))
    upserts = (
        batch(("a", 2, "y", 2), ("b", 3, "y", 2), ("c", 2, "y", 2), ("f", 1, "z", 2), ("e", 9, "x", 2)),
        batch(("a", 3, "x", 3), ("f", 0, "x", 3), ("d", 5, "x", 3), ("g", 1, "x", 3)),
    )
    gone = batch(("c", 9, "q", 0), ("a", 0, "y", 0))
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    hudi.write(first, theirs, options)
    shutil.copytree(theirs, ours)
    for rows in upserts:
        hudi.write(rows, theirs, options)
        hf.open_table(ours, options=index).upsert(rows)
    hudi.write(gone, theirs, {**options, "hoodie.datasource.write.operation": "delete"})
    hf.open_table(ours, options=index).delete(gone)
    columns = ["_hoodie_partition_path", "id", "ts", "n"]
    expected = hudi.read(theirs).select(columns)
    assert expected.num_rows == 5
    assert_same_rows(hudi.read(ours).select(columns), expected)
    assert_same_rows(hf.open_table(ours).snapshot(columns=columns), expected)


@only_long
def test_hudi_goes_on_with_buckets_of_base_files_and_with_overwritten_ones(hudi: RealHudi, tmp_path: Path) -> None:
    index = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
    table_type = {"hoodie.datasource.write.table.type": "COPY_ON_WRITE", "hoodie.metadata.enable": "false"}

    def hudi_upserts(rows: pa.Table) -> None:
        hudi.write(rows, tmp_path / "t", {**WRITE, **index, **table_type})
        assert_same_rows(hudi.read(tmp_path / "t"), table.snapshot(), key=ROW)

    columns: dict[str, Any] = {"schema": SCHEMA, "record_key": ["id"], "ordering": ["ts"], "partition_by": ["p"]}
    table = hf.create_table(tmp_path / "t", name="things", table_type="COPY_ON_WRITE", options=index, **columns)
    table.upsert(things(range(12), ts=1))
    table.upsert(things(range(5), ts=2))
    hudi_upserts(things(range(3, 9), ts=3))
    table.delete(things(range(2), ts=0))
    table.insert_overwrite(things(range(20, 26), ts=4, partition="p1"))
    hudi_upserts(things(range(22, 30), ts=5, partition="p1"))
    table.upsert(things(range(24, 32), ts=6, partition="p1"))
    assert_same_rows(hudi.read(tmp_path / "t"), table.snapshot(), key=ROW)


def test_hudi_reads_the_changes_that_were_logged_here(hudi: RealHudi, tmp_path: Path) -> None:
    options = {"hoodie.table.cdc.enabled": "true", "hoodie.table.cdc.supplemental.logging.mode": "OP_KEY_ONLY"}
    columns: dict[str, Any] = {"schema": SCHEMA, "record_key": ["id"], "ordering": ["ts"], "partition_by": ["p"]}
    table = hf.create_table(tmp_path / "t", name="things", table_type="COPY_ON_WRITE", options=options, **columns)
    table.upsert(things(range(9), ts=2))
    table.upsert(things(range(6, 12), ts=3))
    table.delete(things(range(2), ts=0))
    query = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.query.incremental.format": "cdc",
        "hoodie.datasource.read.begin.instanttime": "000",
    }
    changes = table.cdc("000")
    assert sorted(changes["op"].to_pylist()) == ["d"] * 2 + ["i"] * 12 + ["u"] * 3
    expected = hudi.read(tmp_path / "t", query)
    for name in ("op", "ts_ms"):
        assert sorted(changes[name].to_pylist()) == sorted(expected[name].to_pylist())
