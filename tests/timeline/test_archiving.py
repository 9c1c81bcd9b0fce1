"""Archiving: what goes, in which order, where it can be read then, and what is damaged."""

from __future__ import annotations

import json
import struct
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.blocks import BlockHeader, BlockType, HeaderKey, LogBlock, encode_block
from hudiformat.errors import CorruptTableError, OptionError, StorageError
from hudiformat.storage import LocalStorage
from hudiformat.timeline import (
    Action,
    ActionInstant,
    ArchivedInstant,
    ArchiveLimits,
    CleanerPlan,
    CleanMetadata,
    CommitMetadata,
    CompactionPlan,
    Content,
    Instant,
    Metadata,
    RequestedReplaceMetadata,
    RollbackMetadata,
    SavepointMetadata,
    State,
    TableConfig,
    TableType,
    archive,
    complete,
    create_requested,
    instants_to_archive,
    load_table_config,
    load_timeline,
    new_table_config,
    read_archived,
    transition_inflight,
)
from tests.effort import examples

FEW = ArchiveLimits(max_commits=2, min_commits=1, compaction_delta_commits=1)
COMMIT = CommitMetadata("UPSERT", extra_metadata={"schema": "{}"})
REPLACE = CommitMetadata("INSERT_OVERWRITE", partition_to_replace_file_ids={"p": ("a-0",)})

METADATA: dict[Action, Metadata] = {
    Action.CLEAN: CleanMetadata("1", 1, 0, "1", "1", {}),
    Action.ROLLBACK: RollbackMetadata("1", 1, 0, ("0",), {}),
    Action.SAVEPOINT: SavepointMetadata("me", 1, "", {}),
    Action.REPLACE_COMMIT: REPLACE,
    Action.CLUSTERING: REPLACE,
}


def time(number: int, millis: int = 0) -> str:
    return f"202402291200{number:02d}{millis:03d}"


def number_of(instant: Instant) -> int:
    return int(instant.time[12:14])


class Table:
    """A table whose instants are numbered: requested at the second of their number, completed half a second later."""

    def __init__(self, folder: Path, version: int, table_type: TableType) -> None:
        self.storage = LocalStorage(folder)
        self.config: TableConfig = new_table_config(
            name="t", record_key_fields=["k"], table_type=table_type, version=version
        )

    def begin(self, number: int, action: Action, plan: Content | None = None) -> Instant:
        requested = create_requested(self.storage, self.config, time(number), action, plan)
        savepoint = requested.state is State.INFLIGHT
        return requested if savepoint else transition_inflight(self.storage, self.config, requested)

    def add(self, number: int, action: Action, plan: Content | None = None) -> Instant:
        inflight = self.begin(number, action, plan)
        metadata = METADATA.get(action, COMMIT)
        return complete(self.storage, self.config, inflight, metadata, completion_time=time(number, 500))

    def add_all(self, *numbers: int, action: Action = Action.DELTA_COMMIT) -> list[Instant]:
        return [self.add(number, action) for number in numbers]

    def chosen(self, limits: ArchiveLimits = FEW) -> list[int]:
        return [number_of(instant) for instant in instants_to_archive(self.storage, self.config, limits)]

    def archive(self, limits: ArchiveLimits = FEW) -> list[int]:
        return [number_of(instant) for instant in archive(self.storage, self.config, limits)]

    def archived(self) -> tuple[ArchivedInstant, ...]:
        return read_archived(self.storage, self.config)

    def active(self) -> list[int]:
        return [number_of(instant) for instant in load_timeline(self.storage, self.config).instants]


@pytest.fixture(params=[6, 8, 9])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def table(tmp_path: Path, version: int) -> Table:
    return Table(tmp_path, version, TableType.COPY_ON_WRITE)


@pytest.fixture
def merge_on_read(tmp_path: Path, version: int) -> Table:
    return Table(tmp_path, version, TableType.MERGE_ON_READ)


@pytest.fixture
def newest(tmp_path: Path) -> Table:
    return Table(tmp_path, 9, TableType.COPY_ON_WRITE)


@pytest.fixture
def oldest(tmp_path: Path) -> Table:
    return Table(tmp_path, 6, TableType.COPY_ON_WRITE)


# What goes


def test_the_oldest_go_until_the_least_number_is_left(table: Table) -> None:
    table.add_all(1, 2, action=Action.COMMIT)
    assert table.chosen() == []
    table.add_all(3, 4, action=Action.COMMIT)
    assert table.chosen() == [1, 2, 3]
    assert table.chosen(ArchiveLimits(max_commits=3, min_commits=2)) == [1, 2]
    assert table.chosen(ArchiveLimits(max_commits=4, min_commits=1)) == []
    assert table.chosen(ArchiveLimits(max_commits=2, min_commits=1, retain_from=time(2))) == [1]


@pytest.mark.parametrize(("most", "least"), [(1, 1), (3, 0), (2, 3)])
def test_limits_that_contradict_each_other_are_refused(most: int, least: int) -> None:
    with pytest.raises(OptionError, match=f"found {least} and {most}") as caught:
        ArchiveLimits(max_commits=most, min_commits=least)
    assert caught.value.option == "hoodie.keep.min.commits"


def test_the_commit_before_a_pending_one_stays(table: Table) -> None:
    table.add_all(1, 2, 5, 6, action=Action.COMMIT)
    table.begin(3, Action.COMMIT)
    assert table.chosen() == [1]


def test_nothing_goes_when_the_oldest_is_pending(table: Table) -> None:
    table.begin(1, Action.COMMIT)
    table.add_all(2, 3, 4, action=Action.COMMIT)
    assert table.chosen() == []


def test_a_pending_clean_holds_nothing_back(table: Table) -> None:
    table.begin(1, Action.CLEAN)
    table.add_all(2, 3, 4, action=Action.COMMIT)
    assert table.chosen() == [2, 3]


def test_what_a_savepoint_is_on_stays_and_all_behind_it(table: Table) -> None:
    table.add_all(1, 2, 3, 4, action=Action.COMMIT)
    table.add(2, Action.SAVEPOINT)
    assert table.chosen() == [1]
    assert table.chosen(ArchiveLimits(max_commits=2, min_commits=1, beyond_savepoint=True)) == [1, 3, 4]


def test_delta_commits_stay_until_a_compaction_is_due(merge_on_read: Table) -> None:
    merge_on_read.add_all(1, 2, 3, 4)
    assert merge_on_read.chosen() == [1, 2, 3]
    assert merge_on_read.chosen(ArchiveLimits(max_commits=2, min_commits=1, compaction_delta_commits=3)) == [1]
    assert merge_on_read.chosen(ArchiveLimits(max_commits=2, min_commits=1)) == []


def test_the_last_compaction_stays_until_another_is_due(merge_on_read: Table) -> None:
    merge_on_read.add_all(1, 2)
    merge_on_read.add(3, Action.COMPACTION, CompactionPlan())
    merge_on_read.add_all(4, 5)
    assert merge_on_read.chosen(ArchiveLimits(max_commits=2, min_commits=1, compaction_delta_commits=3)) == [1, 2]
    assert merge_on_read.chosen(ArchiveLimits(max_commits=2, min_commits=1, compaction_delta_commits=2)) == [1, 2, 3]


def test_a_table_of_commits_alone_has_no_delta_commits_to_keep(merge_on_read: Table) -> None:
    merge_on_read.add_all(1, 2, 3, action=Action.REPLACE_COMMIT)
    merge_on_read.add(4, Action.CLEAN, CleanerPlan(ActionInstant(time(3), "replacecommit", "COMPLETED")))
    assert merge_on_read.chosen() == [1, 2]


def test_replace_commits_stay_until_their_files_are_cleaned(table: Table) -> None:
    table.add_all(1, 4, 5, 7, action=Action.COMMIT)
    table.add_all(2, 3, action=Action.REPLACE_COMMIT)
    assert table.chosen() == [1]
    table.add(6, Action.CLEAN, CleanerPlan(ActionInstant(time(3), "replacecommit", "COMPLETED")))
    assert table.chosen() == [1, 2]


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (None, [1, 2, 3, 4]),  # a clean that says nothing stands for all before it
        (CleanerPlan(policy="KEEP_LATEST_FILE_VERSIONS"), [1, 2, 3, 4]),
        (CleanerPlan(ActionInstant(time(4), "commit", "COMPLETED")), [1, 2, 3, 4]),
        (
            CleanerPlan(
                ActionInstant(time(4), "commit", "COMPLETED"),
                extra_metadata={"savepointed_timestamps": f"{time(3)},{time(1)}"},
            ),
            [1],
        ),
        (
            CleanerPlan(
                ActionInstant(time(4), "commit", "COMPLETED"), extra_metadata={"savepointed_timestamps": time(3)}
            ),
            [1, 2, 3, 4],
        ),
    ],
    ids=["empty", "file versions", "commits", "savepoint before", "savepoint behind"],
)
def test_a_clean_tells_how_far_replaced_files_are_gone(
    newest: Table, plan: CleanerPlan | None, expected: list[int]
) -> None:
    newest.add_all(1, 3, 4, 6, action=Action.COMMIT)
    newest.add(2, Action.REPLACE_COMMIT, RequestedReplaceMetadata())
    newest.add(5, Action.CLEAN, plan)
    assert newest.chosen() == expected


def test_cleans_and_rollbacks_go_with_the_commits_around_them(newest: Table) -> None:
    newest.add_all(1, 4, 6, 8, action=Action.COMMIT)
    newest.add_all(2, 7, action=Action.CLEAN)
    newest.add_all(3, 5, action=Action.ROLLBACK)
    assert newest.chosen() == [1, 2, 3, 4, 5, 6]


def test_in_layout_1_cleans_and_rollbacks_go_by_their_own_numbers(oldest: Table) -> None:
    oldest.add_all(1, 2, 3, action=Action.CLEAN)
    oldest.add_all(4, 5, action=Action.ROLLBACK)
    oldest.add(6, Action.COMMIT)
    assert oldest.chosen() == [1, 2]


def test_what_the_metadata_table_has_not_compacted_stays(table: Table) -> None:
    table.add_all(1, 2, 3, 4, action=Action.COMMIT)
    properties = {**table.config.properties, "hoodie.table.metadata.partitions": "files"}
    table.config = new_table_config(
        name="t", record_key_fields=["k"], version=table.config.version, table_type=TableType.COPY_ON_WRITE,
        extra=properties,
    )  # fmt: skip
    assert table.chosen() == []
    old = table.config.layout_version == 1
    name = f"{time(3)}.commit" if old else f"{time(3)}_{time(3, 700)}.commit"
    table.storage.create(f".hoodie/metadata/{table.config.timeline_folder}/{name}", b"")
    assert table.chosen() == [1, 2]


# Where it goes


def test_archived_instants_leave_the_active_timeline_and_can_be_read(merge_on_read: Table) -> None:
    first, second = merge_on_read.add_all(1, 2)
    plan = CompactionPlan(version=2)
    compaction = merge_on_read.add(3, Action.COMPACTION, plan)
    merge_on_read.add_all(4)
    merge_on_read.storage.create(f".hoodie/.temp/{time(1)}/MARKERS.type", b"")
    assert merge_on_read.archive() == [1, 2, 3]
    assert merge_on_read.active() == [4]
    assert not merge_on_read.storage.exists(f".hoodie/.temp/{time(1)}")
    found = merge_on_read.archived()
    assert [one.instant.action for one in found] == [first.action, second.action, Action.COMMIT]
    assert [one.metadata for one in found] == [COMMIT, COMMIT, COMMIT]
    assert [one.plan for one in found] == [None, None, plan]
    assert [one.instant.completion_time for one in found] == [
        one.completion_time or one.time for one in (first, second, compaction)
    ]
    instants = read_archived(merge_on_read.storage, merge_on_read.config, contents=False)
    assert [one.instant for one in instants] == [one.instant for one in found]


def test_the_archive_grows(table: Table) -> None:
    for number in range(1, 9):
        table.add(number, Action.COMMIT)
        table.archive()
    assert [number_of(one.instant) for one in table.archived()] == [1, 2, 3, 4, 5, 6]
    assert table.active() == [7, 8]
    names = [info.name for info in table.storage.list(table.config.history_folder)]
    if table.config.layout_version == 1:
        assert names == [f".commits_.archive.{number}_1-0-1" for number in (1, 2, 3)]
    else:
        manifests = [f"manifest_{number}" for number in (1, 2, 3)]
        assert names == [
            *(f"{time(first)}_{time(first + 1)}_0.parquet" for first in (1, 3, 5)),
            "_version_",
            *manifests,
        ]


def test_old_manifests_are_deleted(newest: Table) -> None:
    for number in range(1, 13):
        newest.add(number, Action.COMMIT)
        newest.archive()
    names = {info.name for info in newest.storage.list(newest.config.history_folder)}
    assert {name for name in names if "manifest" in name} == {"manifest_3", "manifest_4", "manifest_5"}
    assert len(newest.archived()) == 10


def test_every_kind_of_content_is_archived(table: Table) -> None:
    clean = CleanerPlan(ActionInstant(time(6), "commit", "COMPLETED"))
    replace = RequestedReplaceMetadata("CLUSTER")
    table.add(1, Action.CLEAN, clean)
    table.add(2, Action.CLEAN, clean)
    table.add(3, Action.ROLLBACK)
    table.add(4, Action.ROLLBACK)
    table.add(5, Action.REPLACE_COMMIT, replace)
    table.add(6, Action.COMMIT)
    table.add(7, Action.CLEAN, clean)
    table.add(8, Action.ROLLBACK)
    table.add_all(9, 10, action=Action.COMMIT)
    table.archive()
    found = {one.instant.action: (one.metadata, one.plan) for one in table.archived()}
    assert found == {
        Action.CLEAN: (METADATA[Action.CLEAN], clean),
        Action.ROLLBACK: (METADATA[Action.ROLLBACK], None),
        Action.REPLACE_COMMIT: (REPLACE, replace),
        Action.COMMIT: (COMMIT, None),
    }


def test_an_inflight_file_takes_the_plans_place(table: Table) -> None:
    requested = create_requested(table.storage, table.config, time(1), Action.REPLACE_COMMIT, None)
    inflight = transition_inflight(table.storage, table.config, requested, COMMIT)
    complete(table.storage, table.config, inflight, REPLACE, completion_time=time(2))
    table.add(3, Action.CLEAN, CleanerPlan(ActionInstant(time(2), "commit", "COMPLETED")))
    table.add_all(4, 5, action=Action.COMMIT)
    assert table.archive() == ([1, 4] if table.config.layout_version == 1 else [1, 3, 4])
    (first, *_) = table.archived()
    assert (first.metadata, first.plan) == (REPLACE, None)


def test_empty_files_say_nothing(table: Table) -> None:
    instants = table.add_all(1, 2, 3, action=Action.COMMIT)
    table.storage.create(f"{table.config.timeline_folder}/{instants[0].file_name}", b"", overwrite=True)
    assert table.archive() == [1, 2]
    assert [one.metadata for one in table.archived()] == [None, COMMIT]


class DyingStorage(LocalStorage):
    """A storage on which nothing can be deleted."""

    def delete(self, path: str) -> bool:
        raise StorageError("dead", path=path)


def test_a_writer_that_dies_before_it_deletes_archives_nothing_twice(table: Table) -> None:
    table.add_all(1, 2, 3, action=Action.COMMIT)
    with pytest.raises(StorageError, match="dead"):
        archive(DyingStorage(table.storage.root), table.config, FEW)
    assert table.active() == [1, 2, 3]
    assert table.archive() == [1, 2]
    assert [number_of(one.instant) for one in table.archived()] == [1, 2]
    assert table.active() == [3]


def test_pending_states_are_deleted_first_and_completed_ones_from_the_oldest(newest: Table) -> None:
    deleted: list[str] = []

    class Watched(LocalStorage):
        def delete(self, path: str) -> bool:
            deleted.append(path.rpartition("/")[2])
            return super().delete(path)

    newest.add_all(1, 2, 3, action=Action.COMMIT)
    archive(Watched(newest.storage.root), newest.config, FEW)
    names = [name for name in deleted if "." in name]
    pending = [f"{time(number)}.{state}" for number in (1, 2) for state in ("commit.requested", "inflight")]
    assert names == [*pending, f"{time(1)}_{time(1, 500)}.commit", f"{time(2)}_{time(2, 500)}.commit"]


def test_a_damaged_instant_is_not_archived_and_nothing_is_deleted(oldest: Table) -> None:
    oldest.add_all(1, 2, 3, action=Action.COMMIT)
    oldest.storage.create(f".hoodie/{time(1)}.commit", b"{", overwrite=True)
    with pytest.raises(CorruptTableError, match=f"{time(1)}.commit: expected commit metadata in JSON"):
        oldest.archive()
    assert oldest.active() == [1, 2, 3]


# What Hudi archived


def test_golden_archives_are_read_whole(golden_tables: dict[str, Path]) -> None:
    for name, count in (("v6-mor-archived-h0150", 10), ("v9-mor-archived-h120", 12)):
        storage = LocalStorage(golden_tables[name] / "table")
        found = read_archived(storage, load_table_config(storage))
        assert len(found) == count
        compactions = [one for one in found if one.instant.action is Action.COMMIT]
        assert all(isinstance(one.plan, CompactionPlan) for one in compactions)
        assert all(one.metadata and one.instant.completion_time for one in found)


def test_a_table_without_an_archive_has_no_archived_instants(table: Table) -> None:
    assert table.archived() == ()


def test_without_a_version_file_the_greatest_manifest_counts(newest: Table) -> None:
    newest.add_all(1, 2, 3, action=Action.COMMIT)
    newest.archive()
    history = newest.config.history_folder
    newest.storage.delete(f"{history}/_version_")
    newest.storage.create(f"{history}/manifest_x", b"")
    assert len(newest.archived()) == 2
    newest.storage.create(f"{history}/_version_", b"soon")
    assert len(newest.archived()) == 2


# Damage


def lsm_row(**changes: Any) -> bytes:
    row = {"instantTime": "1", "completionTime": "2", "action": "commit", "metadata": None, "plan": None} | changes
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([row]), sink)
    return bytes(sink.getvalue())


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, "cannot read the archived timeline"),
        (b"PAR1", "cannot read the archived timeline"),
        (lsm_row(action="magic"), "expected archived instants: .*'magic' is not a valid Action"),
        (lsm_row(metadata=b"Obj\x01"), "expected an Avro file"),
        (lsm_row(plan=b"x"), "expected an Avro file"),
    ],
    ids=["missing", "cut off", "action", "metadata", "plan"],
)
def test_a_damaged_file_of_the_archive_is_named(newest: Table, data: bytes | None, expected: str) -> None:
    history = newest.config.history_folder
    newest.storage.create(f"{history}/manifest_1", json.dumps({"files": [{"fileName": "f", "fileLen": 1}]}).encode())
    if data is not None:
        newest.storage.create(f"{history}/f", data)
    with pytest.raises(CorruptTableError, match=expected) as caught:
        newest.archived()
    assert caught.value.path == f"{newest.storage.root}/{history}/f"


@pytest.mark.parametrize("manifest", [b"{", b"[]", b'{"files": [{}]}', b'{"files": 1}'])
def test_a_damaged_manifest_is_named(newest: Table, manifest: bytes) -> None:
    newest.storage.create(f"{newest.config.history_folder}/manifest_7", manifest)
    with pytest.raises(CorruptTableError, match="manifest_7: expected the archived timeline's manifest"):
        newest.archived()


def archive_block(schema: object, content: bytes) -> bytes:
    header = BlockHeader({HeaderKey.SCHEMA: json.dumps(schema)})
    return encode_block(LogBlock(BlockType.AVRO_DATA, header, content))


ENTRY = {
    "type": "record",
    "name": "HoodieArchivedMetaEntry",
    "fields": [{"name": name, "type": "string"} for name in ("commitTime", "actionType")],
}


def framed(record: bytes) -> bytes:
    return struct.pack(">iii", 3, 1, len(record)) + record


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (archive_block(ENTRY, framed(b"\x021\x0amagic")), "expected archived instants: .*'magic' is not a valid"),
        (archive_block({**ENTRY, "fields": []}, framed(b"")), "expected archived instants: KeyError"),
        (archive_block(ENTRY, framed(b"\x021")), "cannot read the archived timeline"),
        (archive_block(ENTRY, framed(b"")[:-1]), "cannot read the archived timeline"),
        (archive_block("nothing", framed(b"")), "cannot read the archived timeline"),
    ],
    ids=["action", "no fields", "cut off", "no length", "schema"],
)
def test_a_damaged_archive_log_is_named(oldest: Table, block: bytes, expected: str) -> None:
    path = f"{oldest.config.history_folder}/.commits_.archive.1_1-0-1"
    oldest.storage.create(path, block)
    with pytest.raises(CorruptTableError, match=expected) as caught:
        oldest.archived()
    assert caught.value.path == f"{oldest.storage.root}/{path}"


def test_very_old_archives_say_neither_state_nor_completion(oldest: Table) -> None:
    block = archive_block(ENTRY, framed(b"\x021\x0ccommit"))
    oldest.storage.create(f"{oldest.config.history_folder}/.commits_.archive.12", block + b"junk")
    oldest.storage.create(f"{oldest.config.history_folder}/notes", b"")
    assert oldest.archived() == (ArchivedInstant(Instant("1", Action.COMMIT, State.COMPLETED)),)


def test_blocks_that_cannot_be_read_are_passed_over(oldest: Table) -> None:
    sound = archive_block(ENTRY, framed(b"\x021\x0ccommit"))
    path = f"{oldest.config.history_folder}/.commits_.archive.1_1-0-1"
    oldest.storage.create(path, sound[:40] + sound)
    assert [one.instant.time for one in oldest.archived()] == ["1"]


ACTIONS = (Action.COMMIT, Action.DELTA_COMMIT, Action.COMPACTION, Action.REPLACE_COMMIT, Action.CLEAN, Action.ROLLBACK)
STEPS = st.lists(st.sampled_from((*ACTIONS, "pending", "savepoint", "archive")), min_size=8, max_size=25)


@settings(max_examples=examples(15), deadline=None)  # of many files each
@given(steps=STEPS, version=st.sampled_from([6, 9]), kind=st.sampled_from(TableType))
def test_nothing_is_lost_and_what_is_written_last_stays(steps: list[Any], version: int, kind: TableType) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = Table(Path(folder), version, kind)
        done, pending = [], []
        for number, step in enumerate((*steps, "archive"), start=1):
            if step == "archive":
                before = load_timeline(table.storage, table.config)
                went = set(archive(table.storage, table.config, FEW)) & set(before.completed_writes)
                writes = load_timeline(table.storage, table.config).completed_writes
                assert before.completed_writes[: len(went)] == tuple(sorted(went, key=lambda one: one.sort_key))
                assert before.completed_writes[len(went) :] == writes
                assert len(writes) >= min(len(before.completed_writes), FEW.min_commits)
            elif step == "pending":
                pending.append(table.begin(number, Action.DELTA_COMMIT))
            elif step == "savepoint":
                done.append(table.add(number, Action.SAVEPOINT))
            else:
                done.append(table.add(number, step))
        active = load_timeline(table.storage, table.config)
        found = [one.instant for one in table.archived()] + list(active.completed)
        assert sorted((one.time, one.action) for one in found) == [(one.time, one.action) for one in done]
        assert active.pending == tuple(pending)
