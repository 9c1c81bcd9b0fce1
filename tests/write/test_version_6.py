"""Writing to tables of version 6: the names of log files, and what is taken back by command blocks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat import BlockType, CommitError, LogFileName, LogReader, Table, UnsupportedFeatureError, open_table
from hudiformat.codec.log.frame import HeaderKey
from hudiformat.naming.file_names import WriteToken
from hudiformat.storage.local import LocalStorage
from hudiformat.table.options.values import Operation
from hudiformat.timeline.contents import read_content
from hudiformat.timeline.rollbacks import RollbackMetadata, RollbackPlan
from hudiformat.timeline.timeline import Action, Instant, State, instant_path
from hudiformat.write.commit.markers import create_marker
from hudiformat.write.commit.rollback import rollback_requests, run_requests
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.write import WriteTask
from tests.metadata_table.tables import check_listing
from tests.tables import Clock, Row, content, data_files, multiset, new_table, rows, tree

pytestmark = pytest.mark.unmeasured

FIRST = (("a", 1, "x", 1), ("b", 1, "x", 1))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A base file in a partition, and rows that go into its logs."""
    made = new_table(tmp_path / "t", version=6, options={"hoodie.index.type": "INMEMORY"})
    made.bulk_insert(rows(*FIRST))
    return made


def logs(table: Table) -> list[LogFileName]:
    return sorted(
        (LogFileName.parse(path.name) for path in Path(table.path).glob("x/.*.log.*")), key=lambda n: n.sort_key
    )


def blocks(table: Table, name: LogFileName) -> list[tuple[BlockType, str | None]]:
    with LogReader(Path(table.path, "x", str(name))) as reader:
        return [(block.type, block.instant) for block in reader]


def die(table: Table, *values: Row) -> str:
    """A writer that is never heard of again; its instant."""
    write = begin_write(table._context, Operation.UPSERT)
    with WriteTask(write.plan, WriteToken(0, 0, 0)) as task:
        task.write_batch(rows(*values).to_batches()[0])
        task.finish()
    return write.plan.instant


def test_log_files_are_named_by_their_slice_and_counted_over_commits(table: Table) -> None:
    base = table.timeline.completed_writes[0].time
    commits = [table.upsert(rows(("a", ts, "x", ts))) for ts in (2, 3)]
    assert [(name.instant, name.version) for name in logs(table)] == [(base, 1), (base, 2)]
    assert [blocks(table, name) for name in logs(table)] == [
        [(BlockType.AVRO_DATA, commit.instant)] for commit in commits
    ]
    (stat,) = commits[1].stats
    (found,) = table.file_slices()
    assert found.base_file is not None
    assert (stat.prev_commit, stat.base_file) == (base, str(found.base_file.name))
    assert stat.log_files == tuple(str(name) for name in logs(table))
    assert (stat.log_version, stat.log_offset) == (2, 0)
    assert content(table) == [("a", 3, "x", 3), ("b", 1, "x", 1)]


def test_the_timeline_is_that_of_layout_1(table: Table) -> None:
    time = table.timeline.completed_writes[0].time
    names = sorted(path.name for path in Path(table.path, ".hoodie").iterdir() if path.name.startswith(time))
    assert names == [f"{time}.deltacommit", f"{time}.deltacommit.inflight", f"{time}.deltacommit.requested"]
    assert Path(table.path, ".hoodie", names[0]).read_bytes().startswith(b"{")


def test_log_files_after_a_planned_compaction_are_named_by_it(table: Table) -> None:
    table.upsert(rows(("a", 2, "x", 2)))
    planned = table.schedule_compaction()
    assert planned
    for ts in (3, 4):
        table.upsert(rows(("b", ts, "x", ts)))
    assert [(name.instant, name.version) for name in logs(table)][1:] == [(planned.time, 1), (planned.time, 2)]
    expected = [("a", 2, "x", 2), ("b", 4, "x", 4)]
    assert content(table) == expected
    (commit,) = table.compact()
    assert commit.instant == planned.time
    (found,) = table.file_slices()
    assert (found.base_instant, len(found.log_files)) == (planned.time, 2)
    assert content(table) == expected
    assert sorted(table.read_optimized()["v"].to_pylist()) == [1, 2]


def test_nothing_is_planned_while_a_write_is_pending(table: Table) -> None:
    table.upsert(rows(("a", 2, "x", 2)))
    with begin_write(table._context, Operation.UPSERT) as write:
        assert not table.schedule_compaction()
        write.commit([])
    assert table.schedule_compaction()


def test_a_compaction_that_was_begun_leaves_the_log_files_of_its_name_alone(table: Table) -> None:
    table.upsert(rows(("a", 2, "x", 2)))
    planned = table.schedule_compaction()
    assert planned
    table.upsert(rows(("b", 3, "x", 3)))
    Path(table.path, ".hoodie", f"{planned.time}.compaction.inflight").touch()
    assert len(table.compact()) == 1
    assert content(table) == [("a", 2, "x", 2), ("b", 3, "x", 3)]


def test_what_a_dead_writer_appended_is_taken_back_by_a_command_block(table: Table) -> None:
    base = table.timeline.completed_writes[0].time
    dead = die(table, ("a", 9, "x", 9), ("n", 9, "x", 9))
    markers = [path for path in tree(Path(table.path)) if path.startswith(".hoodie/.temp") and not path.endswith("/")]
    assert [path.rpartition(".marker.")[2] for path in markers] == ["APPEND"]
    before = logs(table)
    assert content(table) == list(FIRST)
    table.upsert(rows(("b", 2, "x", 2)))
    assert content(table) == [("a", 1, "x", 1), ("b", 2, "x", 2)]
    (rollback,) = (one for one in table.timeline.completed if one.action is Action.ROLLBACK)
    added = [name for name in logs(table) if name not in before]
    assert [blocks(table, name)[0][0] for name in added] == [BlockType.COMMAND, BlockType.AVRO_DATA]
    assert blocks(table, added[0])[0][1] == rollback.time
    assert [name.version for name in logs(table)] == [1, 2, 3]
    folder = f"{table.path}/x"
    context = table._context
    plan = read_content(context.storage, context.config, Instant(rollback.time, Action.ROLLBACK, State.REQUESTED))
    assert isinstance(plan, RollbackPlan)
    assert plan.rollback_requests is not None
    (request,) = plan.rollback_requests
    assert (request.partition_path, request.latest_base_instant, request.files_to_be_deleted) == ("x", base, ())
    assert set(request.log_blocks_to_be_deleted or {}) == {f"{folder}/{before[0]}"}
    said = read_content(context.storage, context.config, rollback)
    assert isinstance(said, RollbackMetadata)
    assert (said.commits_rollback, said.total_files_deleted) == ((dead,), 0)
    assert set(said.partition_metadata["x"].rollback_log_files or {}) == {f"{folder}/{added[0]}"}
    assert said.partition_metadata["x"].log_files_from_failed_commit == request.log_blocks_to_be_deleted


def test_log_files_that_began_a_group_are_deleted(table: Table) -> None:
    die(table, ("n", 9, "new", 9))
    assert len(data_files(Path(table.path))) == 2
    table.upsert(rows(("b", 2, "x", 2)))
    assert {path.split("/")[0] for path in data_files(Path(table.path))} == {"x"}
    assert not Path(table.path, "new").exists()


def test_a_rollback_that_was_stopped_is_finished(table: Table) -> None:
    dead = die(table, ("a", 9, "x", 9))
    table.upsert(rows(("b", 2, "x", 2)))
    (rollback,) = (one for one in table.timeline.completed if one.action is Action.ROLLBACK)
    storage, config = table._context.storage, table._context.config
    storage.delete(instant_path(config, rollback))
    assert Path(table.path, ".hoodie", f"{rollback.time}.rollback.inflight").exists()
    table.upsert(rows(("b", 3, "x", 3)))
    assert rollback in table.timeline.completed
    assert dead not in {one.time for one in table.timeline.instants}
    assert content(table) == [("a", 1, "x", 1), ("b", 3, "x", 3)]


@pytest.mark.parametrize("kind", ["rollback", "restore"])
def test_the_metadata_table_lists_the_command_blocks_of_one_that_was_stopped(tmp_path: Path, kind: str) -> None:
    """Hudi 1.2.0 stops so where its metadata table has no base file: the command blocks are there by then."""
    table = new_table(
        tmp_path / "t", version=6, options={"hoodie.index.type": "INMEMORY", "hoodie.metadata.enable": "true"}
    )
    kept = table.bulk_insert(rows(*FIRST))
    table.upsert(rows(("b", 2, "x", 2)))
    gone = table.upsert(rows(("a", 9, "x", 9)))
    storage = table._context.storage
    requests = list(rollback_requests(storage, gone.instant))
    (stopped,) = run_requests(storage, requests, target=gone.instant, at="20200101000000000")["x"]
    if kind == "rollback":
        table.rollback(gone.instant)
    else:
        table.restore(kept.instant)
    assert [blocks(table, name)[0][0] for name in logs(table)].count(BlockType.COMMAND) == {
        "rollback": 2,
        "restore": 3,
    }[kind]
    check_listing(tmp_path / "t")
    (done,) = (one for one in table.timeline.completed if one.action in (Action.ROLLBACK, Action.RESTORE))
    assert Path(stopped).name in str(read_content(storage, table._context.config, done))


def test_the_newest_commit_is_rolled_back_and_restored(table: Table) -> None:
    kept = table.upsert(rows(("a", 2, "x", 2)))
    expected = content(table)
    gone = table.upsert(rows(("a", 3, "x", 3), ("n", 1, "y", 1)))
    table.rollback(gone.instant)
    assert content(table) == expected
    table.upsert(rows(("a", 4, "x", 4)))
    table.delete(rows(("b", None, "x")).select(["k", "p"]))
    table.restore(kept.instant)
    assert content(table) == expected
    assert [commands for name in logs(table) for commands, _ in blocks(table, name)].count(BlockType.COMMAND) == 3


def test_a_restore_leaves_a_compaction_that_was_planned_before(table: Table) -> None:
    table.upsert(rows(("a", 2, "x", 2)))
    planned = table.schedule_compaction()
    kept = table.upsert(rows(("b", 3, "x", 3)))
    expected = content(table)
    table.upsert(rows(("b", 4, "x", 4)))
    table.restore(kept.instant)
    assert [pending.time for pending in table.timeline.pending] == [planned.time if planned else None]
    assert content(table) == expected
    table.compact()
    assert content(table) == expected


def test_files_of_failed_attempts_are_gone_before_the_commit_and_others_stay(table: Table) -> None:
    table.upsert(rows(("a", 2, "x", 2)))
    (theirs,) = logs(table)
    with begin_write(table._context, Operation.UPSERT) as write:
        # A writer that finds a file of the name it had chosen has left a marker for it.
        create_marker(table._context.storage, write.plan.instant, f"x/{theirs}", appends=True)
        for attempt in range(2):
            with WriteTask(write.plan, WriteToken(0, 0, attempt)) as task:
                task.write_batch(rows(("a", 3, "x", 3)).to_batches()[0])
                stats = task.finish()
        assert len(logs(table)) == 3
        write.commit(stats)
    assert logs(table)[0] == theirs
    assert [name.write_token for name in logs(table)] == ["0-0-0", "0-0-1"]
    assert content(table) == [("a", 3, "x", 3), ("b", 1, "x", 1)]


def test_a_write_that_is_abandoned_leaves_nothing(table: Table) -> None:
    table.upsert(rows(("a", 2, "x", 2)))
    before = tree(Path(table.path))
    with begin_write(table._context, Operation.UPSERT) as write, WriteTask(write.plan, WriteToken(0, 0, 0)) as task:
        task.write_batch(rows(("a", 3, "x", 3), ("n", 1, "new", 1)).to_batches()[0])
        task.finish()
    assert tree(Path(table.path)) == before


def test_a_commit_is_not_rolled_back_below_a_pending_write(table: Table) -> None:
    commit = table.upsert(rows(("n", 1, "y", 1)))
    dead = die(table, ("n", 2, "y", 2))
    with pytest.raises(CommitError, match=f"cannot be rolled back before the writes after it: {dead}"):
        table.rollback(commit.instant)
    table.rollback(dead)
    table.rollback(commit.instant)
    assert content(table) == list(FIRST)


def test_blocks_that_do_not_count_are_not_compacted_nor_looked_into(table: Table) -> None:
    for ts in (2, 3):
        table.upsert(rows(("a", ts, "x", ts)))
    die(table, ("a", 9, "x", 9), ("n", 9, "x", 9))
    options = {"hoodie.log.compaction.blocks.threshold": "2", "hoodie.datasource.insert.dup.policy": "fail"}
    again = open_table(table.path, options={"hoodie.index.type": "INMEMORY", **options}, clock=table._context.clock)
    again.log_compact()
    assert content(table) == [("a", 3, "x", 3), ("b", 1, "x", 1)]
    again.insert(rows(("n", 1, "x", 1)))
    assert content(table) == [("a", 3, "x", 3), ("b", 1, "x", 1), ("n", 1, "x", 1)]


def test_compacted_logs_stay_in_their_slice(table: Table) -> None:
    for ts in (2, 3):
        table.upsert(rows(("a", ts, "x", ts)))
    often = open_table(table.path, options={"hoodie.log.compaction.blocks.threshold": "2"}, clock=table._context.clock)
    (commit,) = often.log_compact()
    assert [name.version for name in logs(table)] == [1, 2, 3]
    assert [stat.log_version for stat in commit.stats] == [3]
    assert content(table) == [("a", 3, "x", 3), ("b", 1, "x", 1)]


def test_a_failed_write_of_hudis_is_taken_back(own_golden: Callable[[str], Path]) -> None:
    """Its writer left neither markers nor statistics: the blocks say what it wrote."""
    path = own_golden("v6-mor-many-blocks-h0150")
    table = open_table(path)
    *_, before, failed = (done.time for done in table.timeline.completed_writes)
    expected = table.snapshot(as_of=before)
    (path / ".hoodie" / f"{failed}.deltacommit").unlink()
    table.delete(expected.slice(0, 0))
    assert multiset(table.snapshot()) == multiset(expected)
    (rollback,) = (one for one in table.timeline.completed if one.action is Action.ROLLBACK)
    commands = [
        block.header for log in path.rglob(".*.log.*") for block in LogReader(log) if block.type is BlockType.COMMAND
    ]
    assert commands
    assert {(header[HeaderKey.INSTANT_TIME], header[HeaderKey.TARGET_INSTANT_TIME]) for header in commands} == {
        (rollback.time, failed)
    }


def test_the_metadata_table_of_hudis_stays(own_golden: Callable[[str], Path]) -> None:
    path = own_golden("v6-cow-metadata-table-h0150")
    table = open_table(path)
    expected = multiset(table.snapshot())
    table.delete(table.snapshot().slice(0, 0))
    assert multiset(open_table(path).snapshot()) == expected
    assert open_table(path).config.metadata_partitions == ("files",)
    check_listing(path)


def test_commits_are_archived(tmp_path: Path) -> None:
    few = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.automatic": "false"}
    table = new_table(tmp_path / "t", version=6, options={"hoodie.index.type": "BUCKET", **few})
    for ts in range(1, 9):
        table.upsert(rows(("a", ts, "x", ts), ("b", ts, "y", ts)))
    assert len(table.timeline.completed_writes) < 8
    assert list(Path(table.path, ".hoodie", "history").glob(".commits_.archive.*"))
    assert content(table) == [("a", 8, "x", 8), ("b", 8, "y", 8)]


@pytest.mark.parametrize("version", [6, 8])
def test_keys_of_either_form_are_not_written(tmp_path: Path, version: int) -> None:
    path = tmp_path / "t"
    new_table(path, version=version)
    properties = path / ".hoodie" / "hoodie.properties"
    text = properties.read_text().replace("type=SIMPLE", "type=COMPLEX").replace(".SimpleKey", ".ComplexKey")
    properties.write_text(text)
    before = tree(path)
    with pytest.raises(UnsupportedFeatureError, match="the COMPLEX key generator and one record key field"):
        open_table(path).insert(rows(("a", 1, "x", 1)))
    assert tree(path) == before


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_every_version_holds_the_same_rows(
    tmp_path: Path, any_index: dict[str, str], table_type: str, version: int
) -> None:
    table = new_table(tmp_path / "t", version=version, table_type=table_type, options=any_index, clock=Clock())
    table.insert(rows(*FIRST, ("c", 5, "y", 5)))
    table.upsert(rows(("a", 3, "x", 3), ("c", 2, "y", 2), ("d", 1, "y", 1)))  # one is late
    table.delete(rows(("b", None, "x")).select(["k", "p"]))
    table.insert_overwrite(rows(("e", 1, "z", 1)))
    assert content(table) == [("a", 3, "x", 3), ("c", 5, "y", 5), ("d", 1, "y", 1), ("e", 1, "z", 1)]
    table.delete_partitions(["y"])
    assert content(table) == [("a", 3, "x", 3), ("e", 1, "z", 1)]
    assert open_table(table.path).config.version == version
    assert isinstance(table._context.storage, LocalStorage)
