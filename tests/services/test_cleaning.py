"""Which files a clean deletes, and which it keeps."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hudiformat import Table, open_table
from hudiformat.services.cleaning import clean, plan_clean
from hudiformat.services.savepoints import savepoint
from hudiformat.storage.opening import open_storage
from hudiformat.table.options.values import CleanPolicy, Operation
from hudiformat.timeline.cleans import CleanMetadata
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.contents import encode_content, read_content
from hudiformat.timeline.table_config import TableType
from hudiformat.timeline.timeline import Action, Instant, instant_path
from hudiformat.write.commit.transaction import begin_write
from tests.effort import examples
from tests.requests import RecordingStorage
from tests.services.support import served
from tests.tables import Clock, content, data_files, new_table, rows, unpack
from tests.write.commit.support import begun


def test_cleaning_keeps_the_newest_slice_and_those_of_the_window(table: Table) -> None:
    table = served(table, clean_commits=2)
    commits = [table.insert(rows((f"k{step}", step, "x", step))) for step in range(5)]  # each rewrites the small file
    bases = [file for file in data_files(Path(table.path)) if file.endswith(".parquet")]
    assert len(bases) == 5
    done = clean(table._context)
    assert done
    kept = [file for file in data_files(Path(table.path)) if file.endswith(".parquet")]
    assert sorted(kept) == sorted(file for file in bases if any(one.instant in file for one in commits[2:]))
    assert len(content(table)) == 5
    assert len(content(table, as_of=commits[3].instant)) == 4
    assert not clean(table._context)


@pytest.mark.parametrize(("policy", "left"), [(CleanPolicy.BY_HOURS, 5), (CleanPolicy.BY_VERSIONS, 2)])
def test_other_policies(table: Table, policy: str, left: int) -> None:
    table = served(table, clean_policy=policy, clean_versions=2)
    for step in range(5):
        table.insert(rows((f"k{step}", step, "x", step)))
    assert (not clean(table._context)) is (left == 5)
    assert len([file for file in data_files(Path(table.path)) if file.endswith(".parquet")]) == left
    assert len(content(table)) == 5


def test_what_a_savepoint_keeps_is_not_cleaned(table: Table) -> None:
    table = served(table, clean_policy=CleanPolicy.BY_VERSIONS, clean_versions=1)
    commits = [table.insert(rows((f"k{step}", step, "x", step))) for step in range(3)]
    savepoint(table._context, commits[0].instant)
    assert clean(table._context)
    assert len(content(table, as_of=commits[0].instant)) == 1


def test_replaced_file_groups_are_cleaned(tmp_path: Path) -> None:
    table = served(open_table(unpack("v9-cow-replaced-h120", tmp_path).table), clean_commits=1)
    before = content(table, columns=["_hoodie_record_key"])
    files = data_files(Path(table.path))
    plan = plan_clean(table._context.state())
    assert plan is not None
    (done,) = clean(table._context)
    said = read_content(table._context.storage, table.config, done)
    assert isinstance(said, CleanMetadata)
    assert said.total_files_deleted == len(files) - len(data_files(Path(table.path))) > 0
    assert content(table, columns=["_hoodie_record_key"]) == before
    assert not clean(table._context)


@pytest.mark.parametrize("synced", [True, False])
def test_a_clean_is_completed_once_its_deletions_are_on_disk(tmp_path: Path, synced: bool) -> None:
    new_table(tmp_path / "t")
    storage = RecordingStorage(open_storage(tmp_path / "t"))
    options = {"hoodie.clean.automatic": "false", "hoodie.clean.commits.retained": "1"}
    table = open_table(storage, options={**options, "hudiformat.sync": str(synced).lower()}, clock=Clock())
    for step in range(4):
        table.insert(rows((f"k{step}", step, "x", step)))
    storage.clear()
    assert table.clean()
    requests = [str(one) for one in storage.requests]
    assert ("sync_deletions x" in requests) is synced
    if synced:
        deleted = max(number for number, one in enumerate(requests) if one.startswith("delete x/"))
        completed = next(number for number, one in enumerate(requests) if one.endswith(".clean"))
        assert deleted < requests.index("sync_deletions x") < completed


STEPS = ("update", "insert", "schedule", "compact", "log compact", "cluster", "empty", "save", "forget", "roll back")
OF_ANOTHER = ("another update", "another insert")


def of_kind(folder: Path, table_type: str, commits: int) -> Table:
    """A table whose writes clean, with two partitions; the index of merge-on-read sees log files."""
    return new_table(folder, clock=Clock(), options=retaining(commits), table_type=table_type)


def retaining(commits: int) -> dict[str, str]:
    return {"hoodie.index.type": "INMEMORY", "hoodie.clean.commits.retained": str(commits)}


def savepoints(table: Table) -> list[Instant]:
    return [one for one in table.timeline.completed if one.action is Action.SAVEPOINT]


def take(step: str, table: Table, number: int) -> None:
    """One step of a table's life; those of another are made by an object of its own."""
    writer = open_table(table.path, options={"hoodie.clean.automatic": "false"}) if "another" in step else table
    newest = table.timeline.completed_writes[-1]
    if "update" in step:
        writer.upsert(rows(("a", number, "x", number), ("b", number, "y", number)))
    elif "insert" in step:
        writer.insert(rows((f"k{number}", number, "xy"[number % 2], number)))
    elif step in ("schedule", "compact", "log compact") and table.config.table_type is TableType.MERGE_ON_READ:
        {"schedule": table.schedule_compaction, "compact": table.compact, "log compact": table.log_compact}[step]()
    elif step == "cluster":
        table.cluster()
    elif step == "empty":
        table.delete_partitions(["y"])
    elif step == "save" and not savepoints(table):
        table.savepoint(newest.time)
    elif step == "forget":
        for one in savepoints(table):
            table.delete_savepoint(one)
    elif step == "roll back" and newest.action is Action.DELTA_COMMIT and not savepoints(table):
        table.rollback(newest.time)


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(
    steps=st.lists(st.sampled_from(STEPS + OF_ANOTHER), max_size=14),
    table_type=st.sampled_from(("MERGE_ON_READ", "COPY_ON_WRITE")),
    commits=st.integers(1, 3),
)
@example(steps=["schedule", "update", "update", "compact"], table_type="MERGE_ON_READ", commits=1)
@example(steps=["save", "compact", "update", "forget"], table_type="MERGE_ON_READ", commits=1)
@example(steps=["empty", "update"], table_type="MERGE_ON_READ", commits=2)
@example(steps=["compact", "update"], table_type="MERGE_ON_READ", commits=2)
@example(steps=["schedule", "empty", "compact"], table_type="MERGE_ON_READ", commits=1)
def test_what_a_table_object_remembers_leaves_nothing_to_clean(steps: list[str], table_type: str, commits: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = of_kind(Path(folder, "t"), table_type, commits)
        table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
        for number, step in enumerate(steps, 2):
            take(step, table, number)
            table.upsert(rows(("a", number, "x", number)))
            assert plan_clean(open_table(table.path, options=retaining(commits))._context.state()) is None


def test_partitions_are_not_listed_to_find_nothing_to_clean_again(tmp_path: Path) -> None:
    of_kind(tmp_path / "t", "MERGE_ON_READ", 2)
    storage = RecordingStorage(open_storage(tmp_path / "t"))
    table = open_table(storage, options=retaining(2), clock=Clock())
    listed = []
    for step in range(6):
        storage.clear()
        table.upsert(rows(("a", step, "x", step)))
        listed.append([str(one) for one in storage.requests].count("list x"))
    assert listed[1:] == [1, 2, 1, 1, 1]  # the third has a commit more than is retained


@pytest.mark.parametrize("metadata", ["true", "false"])
@pytest.mark.all_sets
def test_a_partition_that_a_clean_empties_goes_with_its_folder(tmp_path: Path, clock: Clock, metadata: str) -> None:
    """Hudi deletes the folder too, and leaves those above it; a sync to a catalog goes by the folders."""
    options = {"hoodie.metadata.enable": metadata, "hoodie.clean.commits.retained": "1"}
    table = new_table(tmp_path / "t", options=options, clock=clock)
    table.insert(rows(("a", 1, "x/1", 1), ("b", 1, "y", 1)))
    table.delete_partitions("x/1")
    assert (tmp_path / "t" / "x/1" / ".hoodie_partition_metadata").exists()
    for step in range(3):
        table.upsert(rows(("b", step + 2, "y", step)))
    assert not (tmp_path / "t" / "x/1").exists()
    assert (tmp_path / "t" / "x").exists()
    assert [path for path, _ in table._context.state().files()] == ["y"]
    cleans = [one for one in table.timeline.completed if one.action is Action.CLEAN]
    found = [read_content(open_storage(table.path), table.config, one) for one in cleans]
    deleted = [
        one.partition_metadata["x/1"].is_partition_deleted
        for one in found
        if isinstance(one, CleanMetadata) and "x/1" in one.partition_metadata
    ]
    assert deleted == [True]
    assert table.verify() == []
    table.insert(rows(("c", 1, "x/1", 1)))
    assert sorted(table.snapshot()["k"].to_pylist()) == ["b", "c"]
    assert table.verify() == []


def without_x(folder: Path, clock: Clock, **more: str) -> Table:
    """A table whose next clean deletes all files of the partition x."""
    options = {
        "hoodie.clean.commits.retained": "1",
        "hoodie.clean.automatic": "false",
        "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    }
    table = new_table(folder, options={**options, **more}, clock=clock)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.delete_partitions("x")
    for step in range(3):
        table.upsert(rows(("b", step + 2, "y", step)))
    return table


def test_a_partition_that_no_pending_write_has_a_file_in_goes_and_comes_back_with_its_commit(
    tmp_path: Path, clock: Clock
) -> None:
    """Otherwise a stream beside the cleans, which is always pending, would keep the folder for ever."""
    table = without_x(tmp_path / "t", clock)
    pending = begin_write(table._context, Operation.UPSERT)
    assert table.clean()
    assert not (tmp_path / "t" / "x").exists()
    pending.abandon()
    table.insert(rows(("c", 1, "x", 1)))
    assert sorted(table.snapshot()["k"].to_pylist()) == ["b", "c"]
    assert table.verify() == []


@pytest.mark.parametrize("metadata", ["true", "false"])
@pytest.mark.all_sets
def test_a_partition_stays_while_a_pending_write_has_a_file_in_it(tmp_path: Path, clock: Clock, metadata: str) -> None:
    table = without_x(tmp_path / "t", clock, **{"hoodie.metadata.enable": metadata})
    write, stats = begun(table, ("c", 1, "x", 1))
    assert table.clean()
    assert (tmp_path / "t" / "x" / ".hoodie_partition_metadata").exists()
    write.commit(stats)
    assert sorted(table.snapshot()["k"].to_pylist()) == ["b", "c"]
    assert table.verify() == []


def test_a_partition_stays_while_a_pending_write_has_announced_it(tmp_path: Path, clock: Clock) -> None:
    """Hudi's upserts and inserts write the partitions into the inflight file before the first data file."""
    table = without_x(tmp_path / "t", clock)
    pending = begin_write(table._context, Operation.UPSERT)
    announced = CommitMetadata(partition_to_write_stats={"x": (WriteStat("", None),)})
    path = instant_path(table.config, pending.plan.inflight)
    table._context.storage.create(path, encode_content(announced, table.config), overwrite=True)
    assert table.clean()
    assert (tmp_path / "t" / "x" / ".hoodie_partition_metadata").exists()
    pending.abandon()


def test_a_plan_for_another_partition_keeps_no_folder(tmp_path: Path, clock: Clock) -> None:
    options = {"hoodie.clean.commits.retained": "1", "hoodie.clean.automatic": "false"}
    table = new_table(tmp_path / "t", table_type="MERGE_ON_READ", options=options, clock=clock)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.delete_partitions("x")
    for step in range(3):
        table.upsert(rows(("b", step + 2, "y", step)))
    assert table.schedule_compaction()
    assert table.clean()
    assert not (tmp_path / "t" / "x").exists()
    assert table.compact()
    assert table.verify() == []


def test_a_partition_goes_with_the_checksums_of_hadoop(tmp_path: Path, clock: Clock) -> None:
    """Hadoop's local file system puts a file with checksums beside each file, also beside the metadata file."""
    table = without_x(tmp_path / "t", clock)
    folder = tmp_path / "t" / "x"
    for path in list(folder.iterdir()):
        (folder / f".{path.name}.crc").write_bytes(b"crc")
    assert table.clean()
    assert not folder.exists()


def test_files_of_others_stay_in_the_folder_of_a_partition_that_goes(tmp_path: Path, clock: Clock) -> None:
    table = without_x(tmp_path / "t", clock)
    (tmp_path / "t" / "x" / "notes.txt").write_text("not Hudi's")
    assert table.clean()
    assert [path.name for path in (tmp_path / "t" / "x").iterdir()] == ["notes.txt"]
    assert table.partitions() == ["y"]
    assert table.verify() == []
