"""Timelines, properties and archives: what real Hudi makes of them equals what hudiformat does, both ways."""

from __future__ import annotations

import os
import random
import shutil
from datetime import datetime, timezone
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.naming.instants import parse_instant
from hudiformat.storage.local import LocalStorage
from hudiformat.table.new_table import new_table_config
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants, read_archived
from hudiformat.timeline.cleans import ActionInstant, CleanerPlan
from hudiformat.timeline.config_files import format_table_config, load_table_config
from hudiformat.timeline.contents import Content, encode_content, read_content
from hudiformat.timeline.plans import CompactionPlan, RequestedReplaceMetadata
from hudiformat.timeline.rollbacks import InstantInfo, RollbackPlan
from hudiformat.timeline.table_config import MergeMode, TableConfig, TableType
from hudiformat.timeline.timeline import Action, Instant, instant_path, list_instants, load_timeline
from tests.conformance.hudi import RealHudi
from tests.conformance.test_both_ways import READ_OPTIMIZED
from tests.effort import LONG, every, only_long, sample
from tests.timeline.conftest import GOLDEN, golden_tables, unpacked_table
from tests.timeline.support import Table, number_of, time

__all__ = ["golden_tables"]

SAVED = datetime(2024, 2, 29, tzinfo=timezone.utc)
FEW = ArchiveLimits(max_commits=2, min_commits=1)
CALL = (
    "call archive_commits(path => '{}', min_commits => 1, max_commits => 2, retain_commits => 0, enable_metadata => {})"
)

ASK = """
storage_conf = jvm.org.apache.hudi.hadoop.fs.HadoopFSUtils.getStorageConf(spark.sparkContext._jsc.hadoopConfiguration())

def client(path):
    builder = jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder()
    return builder.setConf(storage_conf).setBasePath(path).setLoadActiveTimelineOnLoad(True).build()

def listed(timeline):
    instants = timeline.getInstants()
    return [[i.requestedTime(), i.getAction(), i.getState().name(), i.getCompletionTime()] for i in instants]

def value(option):
    return option.get() if option.isPresent() else None

def merge_mode(config):
    mode, version = config.getRecordMergeMode(), config.getTableVersion()
    if version.versionCode() < 9:
        fields = value(config.getOrderingFieldsStr())
        merging = config.inferMergingConfigsForPreV9Table(
            mode, config.getPayloadClass(), config.getRecordMergeStrategyId(), fields, version)
        mode = merging.getLeft()
    return mode.name()

def properties(path):
    config = client(path).getTableConfig()
    return {
        "name": config.getTableName(),
        "version": config.getTableVersion().versionCode(),
        "type": config.getTableType().name(),
        "keys": list(value(config.getRecordKeyFields()) or []),
        "partitions": list(value(config.getPartitionFields()) or []),
        "ordering": list(config.getOrderingFields()),
        "merge mode": merge_mode(config),
        "key generator": config.getKeyGeneratorClassName(),
        "timeline": str(client(path).getTimelinePath()),
        "history": str(client(path).getArchivePath()),
    }

PENDING = {"compaction": "readCompactionPlan", "rollback": "readRollbackPlan", "clean": "readCleanerPlan"}
COMPLETED = {
    "clean": "readCleanMetadata",
    "rollback": "readRollbackMetadata",
    "restore": "readRestoreMetadata",
    "savepoint": "readSavepointMetadata",
    "commit": "readCommitMetadata",
    "deltacommit": "readCommitMetadata",
    "replacecommit": "readReplaceCommitMetadata",
}

def contents(path):
    timeline, found = client(path).getActiveTimeline(), {}
    for i in timeline.getInstants():
        reader = (COMPLETED if i.isCompleted() else PENDING).get(i.getAction())
        if reader:
            read = getattr(timeline, reader)(i)
            text = read.toJsonString() if "Commit" in reader else read.toString()
            found[f"{i.requestedTime()} {i.getAction()}"] = text
    return found

def archived_contents(path):
    timeline = client(path).getArchivedTimeline()
    timeline.loadCompletedInstantDetailsInMemory()
    commits = [i for i in timeline.getInstants() if i.isCompleted() and i.getAction().endswith("commit")]
    return {f"{i.requestedTime()} {i.getAction()}": timeline.readCommitMetadata(i).toJsonString() for i in commits}
"""


@pytest.fixture(scope="module")
def asked(hudi: RealHudi) -> RealHudi:
    hudi.eval_(ASK)
    return hudi


def ask(hudi: RealHudi, question: str, table: Path) -> Any:
    return hudi.eval_(f"result = {question.format(f'client({str(table)!r})', path=repr(str(table)))}")


def active(hudi: RealHudi, table: Path) -> Any:
    return ask(hudi, "listed({}.getActiveTimeline())", table)


def archived(hudi: RealHudi, table: Path) -> Any:
    return ask(hudi, "listed({}.getArchivedTimeline())", table)


def unpacked(name: str, target: Path) -> Path:
    """A golden table whose timeline's files are as old as their instants: in layout 1 Hudi reads that."""
    table = unpacked_table(GOLDEN / f"{name}.zip", target)
    aged(table)
    return table


def aged(table: Path) -> None:
    config = load_table_config(LocalStorage(table))
    for instant in files_of(table):
        is_time = not instant.time.startswith("0000")  # those of bootstraps are none
        seconds = parse_instant(instant.time).replace(tzinfo=timezone.utc).timestamp() if is_time else 0
        seconds += instant.state / 1000
        os.utime(table / instant_path(config, instant), (seconds, seconds))


def described(instant: Instant) -> list[str | None]:
    return [instant.time, instant.action.value, instant.state.name, instant.completion_time]


def class_name(config: TableConfig) -> str | None:
    kind = config.key_generator
    return config.key_generator_class or (kind and f"org.apache.hudi.keygen.{kind.value}")


def test_golden_timelines_and_archives_are_hudis(asked: RealHudi, golden_tables: dict[str, Path]) -> None:
    for folder in golden_tables.values():
        table = folder / "table"
        storage = LocalStorage(table)
        config = load_table_config(storage)
        theirs = active(asked, table)
        if config.layout_version == 1:  # Hudi says when the file was unpacked
            theirs = [[*instant[:3], None] for instant in theirs]
        # Hudi calls the time at which a pending instant's file was written its completion time, too.
        theirs = [[*one[:3], one[3] if one[2] == "COMPLETED" else None] for one in theirs]
        assert [described(one) for one in load_timeline(storage, config).instants] == theirs
        done = [one for one in archived(asked, table) if one[2] == "COMPLETED"]
        assert [described(one.instant) for one in read_archived(storage, config)] == done


def test_golden_properties_are_hudis(asked: RealHudi, golden_tables: dict[str, Path]) -> None:
    for folder in golden_tables.values():
        table = folder / "table"
        assert_same_properties(asked, table, load_table_config(LocalStorage(table)))


def assert_same_properties(hudi: RealHudi, table: Path, config: TableConfig) -> None:
    theirs = ask(hudi, "properties({path})", table)
    assert theirs == {
        "name": config.name,
        "version": config.version,
        "type": config.table_type.value,
        "keys": list(config.record_key_fields),
        "partitions": list(config.partition_fields),
        "ordering": list(config.ordering_fields),
        "merge mode": config.merge_mode.value,
        "key generator": class_name(config),
        "timeline": f"{table}/{config.timeline_folder}",
        "history": f"{table}/{config.history_folder}",
    }


@pytest.mark.parametrize(
    ("version", "mode"),
    sample(product([6, 8, 9], [MergeMode.EVENT_TIME_ORDERING, MergeMode.COMMIT_TIME_ORDERING]), of=2),
)
def test_hudi_writes_to_tables_that_begin_with_our_properties(
    asked: RealHudi, tmp_path: Path, version: int, mode: MergeMode
) -> None:
    storage = begun(tmp_path / "t", version, mode)
    assert_same_properties(asked, tmp_path / "t", load_table_config(storage))
    write(asked, tmp_path / "t", version, mode, ts=5)
    write(asked, tmp_path / "t", version, mode, ts=3)
    later = 5 if mode is MergeMode.EVENT_TIME_ORDERING else 3
    assert asked.read(tmp_path / "t")["ts"].to_pylist() == [later]
    after = load_table_config(storage)
    assert (after.version, after.merge_mode, after.ordering_fields) == (version, mode, ("ts",))
    assert len(load_timeline(storage, after).completed_writes) == 2


def begun(table: Path, version: int, mode: MergeMode) -> LocalStorage:
    """A new table without commits."""
    config = new_table_config(
        name="t",
        record_key_fields=["id"],
        partition_fields=["p"],
        ordering_fields=["ts"],
        merge_mode=mode,
        version=version,
    )
    storage = LocalStorage(table)
    storage.create(".hoodie/hoodie.properties", format_table_config(config, saved_at=SAVED))
    (table / config.history_folder).mkdir(parents=True)
    return storage


def write(hudi: RealHudi, table: Path, version: int, mode: MergeMode, *, ts: int, **options: object) -> None:
    rows = pa.table({"id": ["a"], "ts": [ts], "p": ["x"]})
    hudi.write(
        rows,
        table,
        {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.table.type": "MERGE_ON_READ",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.table.ordering.fields": "ts",
            "hoodie.record.merge.mode": mode.value,
            "hoodie.datasource.write.partitionpath.field": "p",
            "hoodie.datasource.write.operation": "upsert",
            "hoodie.write.table.version": version,
            "hoodie.write.auto.upgrade": "false",
            "hoodie.metadata.enable": "false",
            **options,
        },
    )


CONTENTS = (
    "v6-mor-archived-h0150",
    "v6-mor-replaced-h0150",
    "v6-mor-restore-h0150",
    "v6-mor-rollback-call-h120",
    "v6-mor-compaction-pending-h120",
    "v8-mor-rollback-call-h102",
    "v9-mor-archived-h120",
    "v9-mor-clustered-h120",
    "v9-mor-compaction-pending-h120",
)


@pytest.mark.parametrize("name", CONTENTS)
def test_hudi_reads_files_that_are_written_anew(asked: RealHudi, tmp_path: Path, name: str) -> None:
    table = unpacked(name, tmp_path)
    storage = LocalStorage(table)
    config = load_table_config(storage)
    before, rows = ask(asked, "contents({path})", table), asked.read(table).num_rows
    assert before
    for instant in list_instants(storage, config.timeline_folder, layout=config.layout_version):
        content = read_content(storage, config, instant)
        if content is not None:
            storage.create(instant_path(config, instant), encode_content(content, config), overwrite=True)
    storage.create(".hoodie/hoodie.properties", format_table_config(config, saved_at=SAVED), overwrite=True)
    assert ask(asked, "contents({path})", table) == before
    assert asked.read(table).num_rows == rows
    assert_same_properties(asked, table, config)


def test_archiving_does_what_hudis_does(asked: RealHudi, tmp_path: Path) -> None:
    gone = 0
    # The timelines of damaged tables are those of their sound sisters.
    sound = [path for path in sorted(GOLDEN.glob("*.zip")) if "damaged" not in path.stem]
    for archive_file in sound[:: every(4)]:
        theirs = unpacked(archive_file.stem, tmp_path / archive_file.stem)
        ours = tmp_path / archive_file.stem / "ours"
        shutil.copytree(theirs, ours)
        storage = LocalStorage(ours)
        config = load_table_config(storage)
        went = archive_instants(storage, config, FEW)
        gone += len(went)
        asked.sql(CALL.format(theirs, str(bool(config.metadata_partitions)).lower()))
        assert [one[:3] for one in active(asked, ours)] == [one[:3] for one in active(asked, theirs)], archive_file.stem
        known = 4 if config.layout_version > 1 else 3  # Hudi takes the modification times of layout 1
        found = [[one[:known] for one in archived(asked, table)] for table in (ours, theirs)]
        assert found[0] == found[1], archive_file.stem
        assert read_archived(storage, config) == tuple(
            one for one in read_archived(storage, config) if one.instant.is_completed
        )
        if went:
            assert ask(asked, "archived_contents({path})", ours) == ask(asked, "archived_contents({path})", theirs)
    assert gone > 60 // every(4)


@only_long
@pytest.mark.all_sets
@pytest.mark.parametrize("table_type", TableType if LONG else [TableType.MERGE_ON_READ])
@pytest.mark.parametrize("version", [6, 9])
def test_archiving_any_timeline_does_what_hudis_does(
    asked: RealHudi, tmp_path: Path, version: int, table_type: TableType
) -> None:
    gone = []
    for seed in range(8):
        ours, theirs = tmp_path / f"ours{seed}", tmp_path / f"theirs{seed}"
        made = Table(ours, version, table_type)
        made.storage.create(".hoodie/hoodie.properties", format_table_config(made.config, saved_at=SAVED))
        (ours / made.config.history_folder).mkdir(parents=True)
        happen(made, random.Random(seed))
        aged(ours)
        shutil.copytree(ours, theirs)
        gone.append(len(archive_instants(made.storage, made.config, FEW)))
        asked.sql(CALL.format(theirs, "false"))
        left = [instant.file_name for instant in files_of(ours)]
        assert left == [instant.file_name for instant in files_of(theirs)], seed
    assert len({*gone}) >= 4, gone  # not always all or nothing


def happen(table: Table, chance: random.Random) -> None:
    """Twenty instants of all kinds; cleans say that they went up to some write before them."""
    writes = [Action.COMMIT, Action.REPLACE_COMMIT]
    if table.config.table_type is TableType.MERGE_ON_READ:
        writes = [Action.DELTA_COMMIT, Action.DELTA_COMMIT, Action.COMPACTION, Action.REPLACE_COMMIT]
    plans: dict[Action, Content] = {
        Action.COMPACTION: CompactionPlan(),
        Action.REPLACE_COMMIT: RequestedReplaceMetadata(),
        Action.ROLLBACK: RollbackPlan(InstantInfo(time(0), "commit"), ()),
    }
    for number in range(1, 21):
        kind = chance.choice([*writes, *writes, Action.CLEAN, Action.ROLLBACK])
        if kind is Action.CLEAN and number > 1:
            to = chance.choice([None, ActionInstant(time(chance.randrange(1, number)), "commit", "COMPLETED")])
            table.add(number, kind, CleanerPlan(to))
        elif kind is not Action.CLEAN:
            table.add(number, kind, plans.get(kind))
    if chance.random() < 0.3:
        table.begin(21 if chance.random() < 0.5 else 0, Action.DELTA_COMMIT)
    saved = [
        instant for instant in load_timeline(table.storage, table.config).completed_writes if chance.random() < 0.05
    ]
    for instant in saved:
        table.add(number_of(instant), Action.SAVEPOINT)


def files_of(table: Path) -> list[Instant]:
    config = load_table_config(LocalStorage(table))
    return list_instants(LocalStorage(table), config.timeline_folder, layout=config.layout_version)


@pytest.mark.parametrize("name", ["v6-mor-compacted-h0150", "v9-mor-compacted-h120", "v8-cow-cdc-h102"])
def test_rows_stay_when_instants_are_archived(asked: RealHudi, tmp_path: Path, name: str) -> None:
    table = unpacked(name, tmp_path)
    storage = LocalStorage(table)
    before, base = sorted_rows(asked, table, {}), sorted_rows(asked, table, READ_OPTIMIZED)
    assert archive_instants(storage, load_table_config(storage), FEW)
    assert sorted_rows(asked, table, {}) == before
    assert sorted_rows(asked, table, READ_OPTIMIZED) == base


def sorted_rows(hudi: RealHudi, table: Path, options: dict[str, str]) -> list[Any]:
    return sorted(map(str, hudi.read(table, options).to_pylist()))


@only_long
@pytest.mark.parametrize("version", [9, *([6] if LONG else [])])
def test_hudi_goes_on_archiving_behind_us(asked: RealHudi, tmp_path: Path, version: int) -> None:
    table, mode = tmp_path / "t", MergeMode.COMMIT_TIME_ORDERING
    storage = begun(table, version, mode)
    for ts in range(7):
        write(asked, table, version, mode, ts=ts)
    config = load_table_config(storage)
    limits = ArchiveLimits(max_commits=3, min_commits=2, compaction_delta_commits=1)
    first = archive_instants(storage, config, limits)
    assert len(first) >= 4  # Hudi may have compacted
    more: dict[str, object] = {
        "hoodie.keep.min.commits": 2,
        "hoodie.keep.max.commits": 3,
        "hoodie.clean.commits.retained": 1,
        "hoodie.compact.inline.max.delta.commits": 1,
    }
    for ts in range(7, 10):
        write(asked, table, version, mode, ts=ts, **more)
    found = read_archived(storage, config)
    assert [one.instant.time for one in found][: len(first)] == [one.time for one in first]
    assert len(found) > len(first)
    assert [described(one.instant) for one in found] == [one for one in archived(asked, table) if one[2] == "COMPLETED"]
    assert asked.read(table)["ts"].to_pylist() == [9]


@only_long
def test_hudi_reads_an_archive_whose_files_were_merged_and_goes_on_archiving(asked: RealHudi, tmp_path: Path) -> None:
    path = tmp_path / "table"
    limits = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.cleaner.commits.retained": "1"}
    schema = pa.schema([("id", pa.string()), ("ts", pa.int64())])
    hf.create_table(path, name="t", schema=schema, record_key="id", ordering="ts", table_type="COPY_ON_WRITE")
    table = hf.open_table(path, options=limits)
    for number in range(28):
        table.upsert(pa.table({"id": ["a"], "ts": [number]}, schema=schema))
    storage = LocalStorage(path)
    config = load_table_config(storage)
    assert list((path / config.history_folder).glob("*_1.parquet"))
    for _ in range(2):
        ours = [described(one.instant) for one in read_archived(storage, config)]
        assert len(ours) > 20
        assert ours == [one for one in archived(asked, path) if one[2] == "COMPLETED"]
        asked.sql(CALL.format(path, "false"))
    assert asked.read(path)["ts"].to_pylist() == [27]
