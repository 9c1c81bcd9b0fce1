"""Compaction, cleaning and restoring: what one of the two plans or does, the other runs and reads."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.timeline.timeline import Action
from tests.conformance.hudi import RealHudi
from tests.rows import assert_same_rows

SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("v", pa.int64())])
KEY = ("_hoodie_partition_path", "_hoodie_record_key")
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2", "hoodie.metadata.enable": "false"}
HUDI = {
    "hoodie.table.name": "kept",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.operation": "upsert",
    **BUCKETS,
    "hoodie.clean.automatic": "false",
    "hoodie.compact.inline": "false",  # or a write runs what is planned
}
NOW = "hoodie.compact.inline.max.delta.commits=1,hoodie.metadata.enable=false,hoodie.write.auto.upgrade=false"
OLDER_TOO = pytest.mark.parametrize("table", [9, 6], indirect=True)
"""Tables of the newest version and of the oldest; 8 differs from 9 in its properties alone."""


def rows(step: int, *, ids: range = range(20)) -> pa.Table:
    made = [{"id": f"k{i}", "ts": step, "p": f"p{i % 2}", "v": step * 100 + i} for i in ids]
    return pa.Table.from_pylist(made, SCHEMA)


@pytest.fixture
def table(tmp_path: Path, request: pytest.FixtureRequest) -> hf.Table:
    """A table of ours, of version 9 where the test asks for no other: log files with rows, updates and deletes."""
    made = hf.create_table(
        tmp_path / "kept",
        name="kept",
        schema=SCHEMA,
        record_key=["id"],
        ordering=["ts"],
        partition_by=["p"],
        version=getattr(request, "param", 9),
        options=BUCKETS,
    )
    made.bulk_insert(rows(1))
    made.upsert(rows(2, ids=range(10)))
    made.delete(rows(3, ids=range(5, 8)))
    return made


def theirs(table: hf.Table, **more: str) -> dict[str, str]:
    """The options of a write of Hudi's that leaves the table at its version."""
    version = {"hoodie.write.table.version": str(table.config.version), "hoodie.write.auto.upgrade": "false"}
    return {**HUDI, **version, **more}


def same(hudi: RealHudi, table: hf.Table) -> pa.Table:
    assert hf.open_table(table.path).config.version == table.config.version
    found = table.snapshot()
    assert_same_rows(hudi.read(table.path), found, key=KEY)
    return found


@pytest.mark.hudi
def test_hudi_reads_and_goes_on_with_what_was_compacted_here(hudi: RealHudi, table: hf.Table) -> None:
    before = table.snapshot()
    (commit,) = table.compact()
    assert len(commit.stats) == 4
    assert not any(found.log_files for found in table.file_slices())
    after = same(hudi, table)
    assert_same_rows(before.drop(["_hoodie_file_name"]), after.drop(["_hoodie_file_name"]), key=KEY)
    hudi.write(rows(4, ids=range(3, 12)), table.path, theirs(table))
    same(hudi, table)
    hudi.sql(f"call run_compaction(op => 'scheduleAndExecute', path => '{table.path}', options => '{NOW}')")
    same(hudi, table)
    assert table.timeline.completed_writes[-1].time > commit.instant


@pytest.mark.hudi
@OLDER_TOO
def test_each_runs_what_the_other_has_planned(hudi: RealHudi, table: hf.Table) -> None:
    planned = table.schedule_compaction()
    assert planned
    table.upsert(rows(4, ids=range(3)))
    same(hudi, table)
    hudi.sql(
        f"call run_compaction(op => 'run', path => '{table.path}', timestamp => {planned.time}, options => '{NOW}')"
    )
    assert planned.time in {done.time for done in table.timeline.completed_writes}
    same(hudi, table)
    hudi.sql(f"call run_compaction(op => 'schedule', path => '{table.path}', options => '{NOW}')")
    (theirs_planned,) = [one for one in table.timeline.pending if one.action is Action.COMPACTION]
    hudi.write(rows(5, ids=range(2)), table.path, theirs(table))
    assert [commit.instant for commit in table.compact()] == [theirs_planned.time]
    same(hudi, table)


@pytest.mark.hudi
@OLDER_TOO
def test_hudi_reads_what_was_cleaned_and_restored_here(hudi: RealHudi, table: hf.Table) -> None:
    saved = table.timeline.completed_writes[-1].time
    table.savepoint(saved, user="me")
    points = hudi.sql(f"call show_savepoints(path => '{table.path}')").to_pylist()
    assert [point["savepoint_time"] for point in points] == [saved]
    expected = table.snapshot()
    keep_one = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"}
    cleaner = hf.open_table(table.path, options={**BUCKETS, **keep_one})
    cleaner.compact()
    cleaner.upsert(rows(6))
    cleaner.compact()
    assert cleaner.clean()
    same(hudi, table)
    table.restore(saved)
    assert_same_rows(same(hudi, table), expected, key=KEY)
    hudi.write(rows(7, ids=range(4)), table.path, theirs(table, **{"hoodie.metadata.enable": "true"}))
    same(hudi, table)


@pytest.mark.hudi
def test_hudi_reads_and_goes_on_with_what_was_overwritten_here(hudi: RealHudi, tmp_path: Path) -> None:
    keys = {"record_key": ["id"], "ordering": ["ts"], "partition_by": ["p"]}
    options = {"hoodie.index.type": "SIMPLE", "hoodie.metadata.enable": "false"}
    table = hf.create_table(tmp_path / "kept", name="kept", schema=SCHEMA, options=options, **keys)  # type: ignore[arg-type]  # options of several types
    table.insert(rows(1))
    table.insert_overwrite(rows(2, ids=range(0, 6, 2)))
    assert same(hudi, table).num_rows == 13
    table.delete_partitions(["p1"])
    assert same(hudi, table).num_rows == 3
    blind = {key: value for key, value in HUDI.items() if "bucket" not in key} | options
    hudi.write(rows(3, ids=range(4)), table.path, blind)
    assert same(hudi, table).num_rows == 5
    table.insert_overwrite_table(rows(4, ids=range(2)))
    assert same(hudi, table).num_rows == 2


@pytest.mark.hudi
@pytest.mark.parametrize("metadata", ["true", "false"])
@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
@pytest.mark.parametrize("fields", ["p", "p,id"])
def test_folders_of_dropped_partitions_go_as_in_hudi(
    hudi: RealHudi, tmp_path: Path, fields: str, table_type: str, metadata: str
) -> None:
    """Hudi has written the table, so that there are checksums beside its files, also beside those of partitions."""
    keys = {"hoodie.datasource.write.table.type": table_type, "hoodie.datasource.write.partitionpath.field": fields}
    kept = {"hoodie.clean.commits.retained": "1", "hoodie.metadata.enable": metadata}
    options = {key: value for key, value in HUDI.items() if key not in BUCKETS} | keys | kept
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    operation = "hoodie.datasource.write.operation"
    hudi.write(rows(1, ids=range(3)), theirs, options)
    dropped = {"p": "p1", "p,id": "p1/k1"}[fields]
    gone = {operation: "delete_partition", "hoodie.datasource.write.partitions.to.delete": dropped}
    hudi.write(rows(2, ids=range(1)), theirs, {**options, **gone})
    for step in range(3):
        hudi.write(rows(step, ids=range(1)), theirs, options)
    shutil.copytree(theirs, ours)
    assert (ours / dropped).exists()
    hudi.sql(f"CREATE TABLE IF NOT EXISTS folders USING hudi LOCATION '{theirs}'")
    try:
        hudi.sql("call run_clean(table => 'folders', retain_commits => 1)")
    finally:
        hudi.sql("DROP TABLE folders")
    assert hf.open_table(ours, options=kept).clean()
    assert folders(ours) == folders(theirs)
    assert not (ours / dropped).exists()
    assert hf.open_table(ours).verify() == []
    assert_same_rows(hudi.read(ours), hudi.read(theirs), key=KEY)
    hudi.write(rows(6, ids=range(2)), ours, options)
    same(hudi, hf.open_table(ours))


def folders(table: Path) -> list[str]:
    """The folders of the data of *table*."""
    found = (str(path.relative_to(table)) for path in table.rglob("*") if path.is_dir())
    return sorted(path for path in found if not path.startswith(".hoodie"))


@pytest.mark.hudi
def test_hudi_reads_and_goes_on_with_compacted_logs(hudi: RealHudi, table: hf.Table) -> None:
    often = {"hoodie.log.compaction.blocks.threshold": "2"}
    (commit,) = hf.open_table(table.path, options=often).log_compact()
    assert len(commit.stats) == 2
    same(hudi, table)
    hudi.write(rows(4, ids=range(3, 12)), table.path, theirs(table))
    table.delete(rows(5, ids=range(3)))
    (again,) = hf.open_table(table.path, options=often).log_compact()
    found = same(hudi, table)
    (done,) = [one for one in table.timeline.completed if one.time == again.instant]
    assert done.action is Action.DELTA_COMMIT
    hudi.sql(f"call run_compaction(op => 'scheduleAndExecute', path => '{table.path}', options => '{NOW}')")
    assert not any(one.log_files for one in table.file_slices())
    assert_same_rows(same(hudi, table).drop(["_hoodie_file_name"]), found.drop(["_hoodie_file_name"]), key=KEY)
