"""Clustering: what one of the two plans the other runs; both then read, upsert and compact on."""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.file_group.base_file.copying import can_be_copied
from hudiformat.write.handles import clustered, copied_groups
from hudiformat.write.handles.base_files import OpenBaseFile
from tests.conformance.hudi import RealHudi
from tests.effort import LONG, only_long
from tests.metadata_statistics import check_metadata_table, check_record_index, check_statistics
from tests.rows import assert_same_rows

SCHEMA = pa.schema(
    [("id", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("v", pa.int64()), ("w", pa.float64())]
)
KEY = ("_hoodie_partition_path", "_hoodie_record_key")
PLAN = "hoodie.clustering.plan.strategy."
METADATA = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
}
KEPT = {"hoodie.clean.automatic": "false", "hoodie.parquet.small.file.limit": "0", "hoodie.index.type": "SIMPLE"}
LAYOUTS = ("LINEAR", "ZORDER", "HILBERT")
EVERY = list(product((6, 8, 9), ("MERGE_ON_READ", "COPY_ON_WRITE"), LAYOUTS))
NEWEST = [(9, "MERGE_ON_READ", "ZORDER")]


def rows(step: int, ids: range) -> pa.Table:
    made = [{"id": f"k{i}", "ts": step, "p": f"p{i % 2}", "v": i * 37 % 101, "w": i * step % 13 / 4} for i in ids]
    return pa.Table.from_pylist(made, SCHEMA)


@only_long
@pytest.mark.hudi
@pytest.mark.parametrize(("version", "table_type", "layout"), EVERY if LONG else NEWEST)
def test_each_runs_the_clustering_that_the_other_has_planned(
    hudi: RealHudi, tmp_path: Path, version: int, table_type: str, layout: str
) -> None:
    chosen = {f"{PLAN}sort.columns": "v,w", "hoodie.layout.optimize.strategy": layout}
    options = {**KEPT, **chosen, **(METADATA if version == 9 else {})}
    table = hf.create_table(
        tmp_path / "t",
        name="clustered",
        schema=SCHEMA,
        record_key=["id"],
        ordering=["ts"],
        partition_by=["p"],
        table_type=table_type,
        version=version,
        options=options,
    )
    theirs = {
        "hoodie.table.name": "clustered",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.write.table.version": str(version),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.compact.inline": "false",
        "hoodie.metadata.enable": str(version == 9).lower(),
        **KEPT,
    }

    def same(count: int) -> None:
        assert table.verify() == []
        found = table.snapshot()
        assert found.num_rows == count
        assert_same_rows(hudi.read(table.path), found, key=KEY)
        for check in (check_metadata_table, check_statistics, check_record_index):
            check(Path(table.path))

    def run(what: str, **arguments: str) -> None:
        given = "".join(f", {name} => '{value}'" for name, value in arguments.items())
        settings = {**chosen, "hoodie.metadata.enable": theirs["hoodie.metadata.enable"]}
        settings |= {"hoodie.write.auto.upgrade": "false", "hoodie.write.table.version": str(version)}
        text = ",".join(f"{key}={value}" for key, value in settings.items() if "," not in value)
        hudi.sql(
            f"call run_clustering(path => '{table.path}', op => '{what}', options => '{text}', order => 'v,w'{given})"
        )

    for step in range(3):
        table.insert(rows(1, range(step * 20, step * 20 + 20)))
    table.upsert(rows(2, range(10)))
    planned = table.schedule_clustering()
    assert planned
    run("execute", instants=planned.time)
    assert planned.time in {done.time for done in table.timeline.completed_writes}
    assert len(table.file_slices()) == 2
    same(60)
    hudi.write(rows(3, range(55, 75)), table.path, theirs)
    table.upsert(rows(4, range(70, 80)))
    same(80)
    run("schedule")
    (theirs_planned,) = table.timeline.pending
    assert [commit.instant for commit in table.cluster()] == [theirs_planned.time]
    same(80)
    hudi.write(rows(5, range(15)), table.path, theirs)
    table.delete(rows(6, range(5)))
    if table_type == "MERGE_ON_READ":
        assert table.compact()
    same(75)
    if LONG:
        assert table.cluster()
        hudi.write(rows(7, range(3)), table.path, theirs)
        same(78)


@only_long
@pytest.mark.hudi
@pytest.mark.parametrize("maker", ["hudi", *(["ours"] if LONG else [])])
def test_hudi_reads_and_updates_row_groups_that_were_copied(
    hudi: RealHudi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, maker: str
) -> None:
    monkeypatch.setattr(clustered, "can_be_copied", partial(can_be_copied, least_group=1))
    monkeypatch.setattr("hudiformat.write.handles.clustered.ClusteredFiles.write", None)  # no row is decoded
    theirs = {
        "hoodie.table.name": "copied",
        "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.operation": "insert",
        **METADATA,
        **KEPT,
    }
    path = tmp_path / "t"
    hudi.write(rows(1, range(20)), path, theirs)
    ours = {**KEPT, **METADATA, "hoodie.parquet.compression.codec": "gzip"}  # the codec of Hudi's files
    table = hf.open_table(path, options=ours)
    for step in range(1, 3):
        batch = rows(1, range(step * 20, step * 20 + 20))
        hudi.write(batch, path, theirs) if maker == "hudi" else table.insert(batch)
    limit = {f"{PLAN}small.file.limit": "99999999"}
    if maker == "ours":  # files of two writers are not put together
        table.delete_partitions(["p1"])
        table.insert_overwrite(rows(1, range(0, 20, 2)))
        table.insert(rows(1, range(20, 60, 2)))
    (commit,) = hf.open_table(path, options={**ours, **limit}).cluster()
    assert {stat.num_writes for stat in commit.stats} == {30}
    count = 60 if maker == "hudi" else 30
    for more in (0, 1):
        found = table.snapshot()
        assert found.num_rows == count + 5 * more
        assert_same_rows(hudi.read(path), found, key=KEY)
        for check in (check_metadata_table, check_statistics, check_record_index):
            check(path)
        upsert = {"hoodie.datasource.write.operation": "upsert", "hoodie.index.type": "BLOOM"}
        hudi.write(rows(3, range(0, 70, 2)), path, {**theirs, **upsert})


@pytest.mark.hudi
def test_hudi_reads_and_updates_files_some_of_whose_row_groups_an_upsert_has_copied(
    hudi: RealHudi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copied_groups, "LEAST_GROUP", 0)
    copied: list[int] = []
    copy = OpenBaseFile.copy

    def noting(file: OpenBaseFile, group: int) -> None:
        copied.append(group)
        copy(file, group)

    monkeypatch.setattr(OpenBaseFile, "copy", noting)
    small = {"hoodie.parquet.max.file.size": "80000", "hoodie.copyonwrite.record.size.estimate": "10"}
    options = {"hoodie.index.type": "BLOOM", "hoodie.clean.automatic": "false", **small}
    path = tmp_path / "t"
    hf.create_table(
        path,
        name="copied",
        schema=SCHEMA,
        record_key=["id"],
        ordering=["ts"],
        partition_by=["p"],
        table_type="COPY_ON_WRITE",
    )
    table = hf.open_table(path, options=options)
    table.insert(rows(1, range(6000)))
    for change in (table.upsert, table.delete, table.upsert):
        change(rows(2 + len(copied), range(10, 14)))
    assert len(copied) >= 3  # in each of these writes
    assert_same_rows(hudi.read(path), table.snapshot(), key=KEY)
    theirs = {
        "hoodie.table.name": "copied",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.operation": "upsert",
        **options,
    }
    hudi.write(rows(50, range(5990, 6010)), path, theirs)
    table.upsert(rows(51, range(5995, 6000)))
    found = table.snapshot()
    assert found.num_rows == 6010
    assert_same_rows(hudi.read(path), found, key=KEY)
