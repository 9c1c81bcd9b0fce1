"""One look at a table: what it keeps, when it is out of date, and the clock."""

from __future__ import annotations

import pickle
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from hudiformat import SchemaError, Table, open_storage, open_table
from hudiformat.naming.instants import next_instant
from hudiformat.table.state import Parsed, TableClock
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.config_files import update_table_config
from hudiformat.timeline.contents import complete_instant, create_requested, transition_inflight
from hudiformat.timeline.plans import CompactionPlan
from hudiformat.timeline.table_config import TimelineZone
from hudiformat.timeline.timeline import Action, Instant, State
from tests.effort import sample
from tests.requests import RecordingStorage, Request
from tests.tables import FLAGGED, NAMES, SCHEMA, Clock, create, edit, new_table, rows, unpack


def test_a_table_without_any_schema_is_refused(tmp_path: Path) -> None:
    create(tmp_path / "t")
    edit(tmp_path / "t", "hoodie.table.create.schema", None)
    with pytest.raises(
        SchemaError, match="there is no commit yet, and the table was created without a schema: write rows first"
    ):
        open_table(tmp_path / "t").snapshot()


def test_the_schema_is_that_of_the_newest_commit(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1)))
    assert open_table(tmp_path / "t", clock=Clock()).schema == SCHEMA


def test_a_newer_commit_that_names_no_schema_is_passed_over(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1)))
    storage, config = table._context.storage, table.config
    later = table._context.state().next_instant
    inflight = transition_inflight(storage, config, create_requested(storage, config, later, Action.DELTA_COMMIT))
    nothing = CommitMetadata(extra_metadata={"schema": ""})
    complete_instant(storage, config, inflight, nothing, completion_time=next_instant(table._context.clock(), later))
    assert table._context.state().schema.arrow == SCHEMA


def test_a_table_without_commits_has_the_schema_it_was_created_with(tmp_path: Path) -> None:
    assert new_table(tmp_path / "t")._context.state().schema.arrow == SCHEMA


@pytest.mark.parametrize("name", sample(NAMES, of=17))
def test_every_golden_table_has_a_schema_with_its_columns(name: str, tmp_path: Path) -> None:
    golden = unpack(name, tmp_path)
    names = set(open_table(golden.table)._context.state().schema.arrow.names)
    assert set(golden.manifest["record_key_fields"]) <= names


def test_a_clock_that_stands_behind_the_timeline_is_waited_for(tmp_path: Path) -> None:
    clock = Clock()
    table = new_table(tmp_path / "t", clock=clock)
    first = table.insert(rows(("a", 1, "x", 1)))
    clock.now -= timedelta(milliseconds=25)  # another writer's clock is ahead of this one
    second = table.insert(rows(("b", 1, "x", 1)))
    assert second.instant > first.instant
    times = [time for instant in table.timeline.completed for time in (instant.time, instant.completion_time)]
    assert times == sorted(set(times), key=str)


def test_without_a_clock_the_machines_is_taken(tmp_path: Path) -> None:
    for zone in ("LOCAL", "UTC"):
        new_table(tmp_path / zone, options={"hoodie.table.timeline.timezone": zone})
        instant = open_table(tmp_path / zone).insert(rows(("a", 1, "x", 1))).instant
        now = datetime.now(timezone.utc if zone == "UTC" else None).replace(tzinfo=None)
        assert abs(datetime.strptime(instant, "%Y%m%d%H%M%S%f") - now) < timedelta(minutes=1)


def recorded(table: Table, **options: str) -> tuple[Table, RecordingStorage]:
    """*table*, opened anew on a storage that records its requests; none so far."""
    storage = RecordingStorage(open_storage(table.path))
    found = open_table(storage, options={"hudiformat.sync": "false", **options}, clock=table._context.clock)
    storage.clear()
    return found, storage


def test_a_look_is_two_requests_and_parses_properties_that_have_not_changed_once(table: Table) -> None:
    found, storage = recorded(table)
    states = [found._context.state() for _ in range(2)]
    assert [request.kind for request in storage.requests] == ["read", "list"] * 2
    assert states[0].config is states[1].config
    assert states[0].timeline == states[1].timeline


def test_properties_are_parsed_again_once_they_have_changed(table: Table) -> None:
    before = table._context.state()
    update_table_config(table._context.storage, {"hoodie.table.name": "other"}, saved_at=datetime.now(timezone.utc))
    assert before.config.name == "t"
    assert table._context.state().config.name == "other"


def test_a_commit_is_read_once_by_all_looks_of_one_table_object(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    found, storage = recorded(table)
    [done] = found._context.state().timeline.completed
    metadata = found._context.state().metadata(done)
    storage.clear()
    assert found._context.state().metadata(done) is metadata
    assert found._context.state().schema.arrow == SCHEMA
    assert [request.kind for request in storage.requests] == ["read", "list"] * 2


def test_the_content_of_a_pending_instant_belongs_to_one_look(table: Table) -> None:
    pending = Instant("20990101000000000", Action.COMPACTION, State.REQUESTED)
    create_requested(table._context.storage, table.config, pending.time, pending.action, CompactionPlan(()))
    found, storage = recorded(table)
    state = found._context.state()
    storage.clear()
    assert state.content(pending) is state.content(pending)
    assert len(storage.requests) == 1
    assert found._context.state().content(pending) is not state.content(pending)


def test_a_partition_is_listed_once_in_a_look(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    found, storage = recorded(table)
    state = found._context.state()
    assert state.schema  # every operation reads the newest write for it
    storage.clear()
    first = state.partition_files("x")
    table.upsert(rows(("a", 2, "x", 2)))
    assert state.partition_files("x") is first
    assert storage.requests == [Request("list", "x")]
    assert len(found._context.state().partition_files("x")) == len(first) + 1


def test_a_look_is_taken_again_only_where_the_timeline_has_changed(table: Table) -> None:
    state = table._context.state()
    assert state.again() is state
    done = table.insert(rows(("a", 1, "x", 1)))
    again = state.again()
    assert again is not state
    assert [one.time for one in again.timeline.completed] == [done.instant]
    assert state.timeline.instants == ()


def test_a_look_that_is_taken_again_reads_the_properties_too(table: Table) -> None:
    state = table._context.state()
    update_table_config(table._context.storage, {"hoodie.table.name": "other"}, saved_at=datetime.now(timezone.utc))
    assert state.again() is state  # whoever changes them writes to the timeline, too
    table.insert(rows(("a", 1, "x", 1)))
    assert state.again().config.name == "other"


def test_an_instant_that_this_process_adds_is_known_without_another_look(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    found, storage = recorded(table)
    state = found._context.state()
    storage.clear()
    added = Instant("20990101000000000", Action.DELTA_COMMIT, State.INFLIGHT)
    with_added = state.with_instant(added)
    assert with_added.timeline.pending == (added,)
    assert with_added.timeline.completed == state.timeline.completed
    assert state.timeline.pending == ()
    assert storage.requests == []


def test_the_schema_of_a_moment_whose_write_was_archived_is_that_of_the_archive(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", schema=FLAGGED, table_type="COPY_ON_WRITE")
    first = table.insert(rows(("a", 1, "x", 1), schema=FLAGGED))
    update_table_config(table._context.storage, {"hoodie.table.create.schema": ""}, saved_at=datetime.now(timezone.utc))
    for number in range(3):
        table.insert(rows((f"k{number}", 1, "x", number), schema=FLAGGED))
    assert archive_instants(table._context.storage, table.config, ArchiveLimits(2, 1))
    state = open_table(table.path)._context.state()
    assert state.timeline.first_active is not None
    assert state.timeline.first_active > first.instant
    assert state.schema_at(first.instant).arrow == FLAGGED


def test_what_was_parsed_stays_behind_where_a_look_travels(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    state = table._context.state()
    assert state.schema.arrow == SCHEMA  # out of the commit
    assert state.context.parsed.commits
    assert state.context.parsed.config is not None
    sent = pickle.loads(pickle.dumps(state))
    assert sent.timeline == state.timeline
    assert sent.config == state.config
    assert (sent.context.parsed.commits, sent.context.parsed.config) == ({}, None)
    assert sent.slices() == state.slices()


def test_commits_of_few_files_are_kept_and_the_oldest_go_first() -> None:
    parsed = Parsed()
    few, many = (CommitMetadata(partition_to_write_stats={"x": (WriteStat("f"),) * count}) for count in (1, 1001))
    instants = [Instant(str(number), Action.COMMIT, State.COMPLETED, str(number + 1)) for number in range(1000, 1100)]
    parsed.keep(instants[0], many)
    parsed.keep(Instant("1", Action.COMMIT, State.INFLIGHT), few)
    assert parsed.commits == {}
    for instant in instants:
        parsed.keep(instant, few)
    assert list(parsed.commits) == instants[-64:]


def test_a_query_reads_a_commit_of_many_files_once(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """No table object keeps it, but the state of one query does, which asks for the newest one several times."""
    monkeypatch.setattr("hudiformat.table.state._MOST_STATS", 1)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.insert(rows(("c", 1, "x", 1), ("d", 1, "y", 1)))
    found, storage = recorded(table)
    assert found.snapshot(filter=[("p", "=", "x")]).num_rows == 2
    assert found._context.parsed.commits == {}
    first, second = (found._context.state().timeline.completed_writes[place].file_name for place in (0, 1))
    read = [request.path.rpartition("/")[2] for request in storage.requests if request.kind == "read"]
    assert (read.count(first), read.count(second)) == (0, 1)


def test_of_commits_of_many_files_a_state_keeps_one(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hudiformat.table.state._MOST_STATS", 0)
    for key in ("a", "b"):
        table.insert(rows((key, 1, "x", 1)))
    state = table._context.state()
    first, second = state.timeline.completed_writes
    before = state.metadata(first)
    assert state.metadata(first) is before
    assert state.metadata(second) is state.metadata(second)
    assert state.metadata(first) is not before


def test_a_clock_is_the_machines_in_the_zone_of_the_table() -> None:
    utc, local = (pickle.loads(pickle.dumps(TableClock(zone))) for zone in (TimelineZone.UTC, TimelineZone.LOCAL))
    now = datetime.now(timezone.utc).replace(tzinfo=None)
    assert abs(utc() - now) < timedelta(seconds=10)
    assert abs(local() - datetime.now()) < timedelta(seconds=10)
