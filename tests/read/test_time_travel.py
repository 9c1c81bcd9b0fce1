"""Moments: the texts that Hudi takes, and those that nobody can tell about."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from datetime import date, datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat import BeforeFirstCommitError, Commit, NameFormatError, Table, TableError, create_table, open_table
from hudiformat.read.time_travel import Moment, as_instant
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants
from hudiformat.timeline.cleans import CleanMetadata
from hudiformat.timeline.contents import encode_content
from hudiformat.timeline.plans import ClusteringPlan, RequestedReplaceMetadata
from hudiformat.timeline.table_config import TimelineZone
from hudiformat.timeline.timeline import Action, Instant, State, instant_path
from tests.tables import GoldenTable, content, new_table, rows

pytestmark = pytest.mark.unmeasured


@pytest.mark.parametrize(
    ("moment", "instant"),
    [
        ("20240229120000010", "20240229120000010"),
        ("20240229120000", "20240229120000"),
        ("2024-02-29", "20240229000000000"),
        ("2024-02-29 12:00:01", "20240229120001999"),
        ("2024-02-29T12:00:01", "20240229120001999"),
        ("2024-02-29 12:00:01.250", "20240229120001250"),
        ("2024-02-29T12:00:01.250", "20240229120001250"),
        ("1709208001", "20240229120001000"),
        ("1709208001250", "20240229120001250"),
        ("2024-02-29T12:00:01.250125", "20240229120001250"),
        ("2024-02-29T12:00:01.2", "20240229120001200"),
        ("2024-02-29T12:00:01Z", "20240229120001999"),
        ("2024-02-29T12:00:01.250+01:00", "20240229110001250"),
        ("2024-02-29 12:00:01.250-0530", "20240229173001250"),
        ("2024-02-29T12:00:01.250000+05:30:15", "20240229062946250"),
        ("2024-02-29T12:00", "20240229120000999"),
        ("2024-02-29T12", "20240229120000999"),
        (Instant("20240229120000010", Action.COMMIT, State.COMPLETED, "20240229120000500"), "20240229120000010"),
        (Commit("20240229120000010", "commit", ()), "20240229120000010"),
        (datetime(2024, 2, 29, 12, tzinfo=timezone(dt.timedelta(hours=9))), "20240229030000000"),
        (date(2024, 2, 29), "20240229000000000"),
        (datetime(2024, 2, 29, 12, 0, 1, 250000, tzinfo=timezone.utc), "20240229120001250"),
    ],
    ids=str,
)
def test_a_moment_is_an_instant(moment: Moment, instant: str) -> None:
    assert as_instant(moment, TimelineZone.UTC) == instant


def test_seconds_since_1970_are_shown_by_the_clock_of_the_tables_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        assert as_instant("1709208001", TimelineZone.LOCAL) == "20240229173001000"
        assert as_instant("1709208001", TimelineZone.UTC) == "20240229120001000"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("moment", "message"),
    [
        ("2024-02-30", "expected a time, found .*, which is none"),
        ("2024-02-29 25:00:00", "expected a time, found .*, which is none"),
        ("2024-02-29 12:00:01+25:00", "expected a time, found .*, which is none"),
        ("0001-01-01T00:00:00+01:00", "expected a time, found .*, which is none"),
        ("12:00:00", "expected an instant .*, a date or a datetime .*, or seconds or milliseconds"),
        (
            [1] * 1000,
            r"expected an instant .* found list \[1, 1.{40,60}\.\.\.; columns are given as columns=$",
        ),
        ("20240229", "10 or 13 digits., found '20240229'"),
        ("yesterday", "10 or 13 digits., found 'yesterday'"),
    ],
)
def test_other_texts_are_no_moments(moment: str, message: str) -> None:
    with pytest.raises(NameFormatError, match=message):
        as_instant(moment, TimelineZone.UTC)


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "UTC"])
@pytest.mark.parametrize("kind", ["UTC", "LOCAL"])
def test_a_moment_with_a_zone_is_the_same_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str, kind: str
) -> None:
    """Whatever the zones of the machine, of the timeline, and of the datetime."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        table = create_table(
            tmp_path / "t", name="t", schema=pa.schema([("id", pa.int64())]), record_key="id",
            options={"hoodie.table.timeline.timezone": kind},
        )  # fmt: skip
        before = datetime.now(timezone.utc)
        time.sleep(0.01)
        table.insert(pa.table({"id": [1]}))
        after = datetime.now(timezone.utc)
        time.sleep(0.01)
        table.insert(pa.table({"id": [2]}))
        for moment in (
            after,
            after.astimezone(timezone(dt.timedelta(hours=-3))),
            after.isoformat(),
            after.astimezone(),
        ):
            assert table.snapshot(as_of=moment)["id"].to_pylist() == [1]
            assert table.incremental(moment)["id"].to_pylist() == [2]
        with pytest.raises(BeforeFirstCommitError):
            table.snapshot(as_of=before)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("version", [6, 8, 9])
def test_what_a_write_returned_names_its_moment(tmp_path: Path, version: int) -> None:
    table = new_table(tmp_path / "t", version=version)
    commits = [table.upsert(rows((key, 1, "x", 1))) for key in "abc"]
    assert content(table, as_of=commits[1]) == [("a", 1, "x", 1), ("b", 1, "x", 1)]
    assert table.incremental(commits[0], commits[1])["k"].to_pylist() == ["b"]
    assert table.incremental(table.timeline.completed[1])["k"].to_pylist() == ["c"]
    table.savepoint(commits[1])
    table.restore(commits[1])
    assert content(table) == [("a", 1, "x", 1), ("b", 1, "x", 1)]
    table.delete_savepoint(commits[1])
    table.rollback(commits[1])
    assert content(table) == [("a", 1, "x", 1)]
    with pytest.raises(NameFormatError, match="expected an instant .of digits, an Instant or a Commit"):
        table.rollback(commits)  # type: ignore[arg-type]  # wrong on purpose


def test_before_the_first_commit_there_are_no_rows(table: Table) -> None:
    assert content(table, as_of="2020-01-01") == []  # nobody has written anything
    first = table.insert(rows(("a", 1, "x", 1)))
    with pytest.raises(
        BeforeFirstCommitError, match=f"as of 20200101000000000 is before the first commit, {first.instant}"
    ):
        table.snapshot(as_of="2020-01-01")


def test_the_first_commit_may_be_archived(table: Table) -> None:
    commits = [table.insert(rows((str(number), 1, "x", 1))) for number in range(6)]
    archive_instants(table._context.storage, table.config, ArchiveLimits(3, 2))
    assert len(content(table, as_of=commits[1])) == 2
    with pytest.raises(BeforeFirstCommitError):
        table.snapshot(as_of="2020-01-01")


def put(table: Table, instant: Instant, data: bytes = b"") -> None:
    LocalStorage(table.path).create(instant_path(table.config, instant), data)


def test_a_pending_write_hides_what_comes_after_it(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    put(table, Instant("20240229120000500", Action.DELTA_COMMIT, State.REQUESTED))
    assert content(table, as_of="20240229120000499") == [("a", 1, "x", 1)]
    for later in ("20240229120000500", "2024-03-01"):
        with pytest.raises(TableError, match=r"20240229120000500 deltacommit \(requested\) is not complete") as caught:
            table.snapshot(as_of=later)
        assert caught.value.path == table.path
    assert content(table, as_of=first.instant) == content(table)


@pytest.mark.parametrize(
    ("action", "state"), [(Action.COMPACTION, State.REQUESTED), (Action.CLUSTERING, State.REQUESTED)]
)
def test_a_pending_service_hides_nothing(table: Table, action: Action, state: State) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    put(table, Instant("20240229120000500", action, state))
    assert content(table, as_of="2024-03-01") == [("a", 1, "x", 1)]


@pytest.mark.parametrize("state", [State.REQUESTED, State.INFLIGHT])
def test_a_pending_replace_commit_is_a_clustering_by_its_plan(table: Table, state: State) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    plan = RequestedReplaceMetadata(operation_type="CLUSTER", clustering_plan=ClusteringPlan())
    put(table, Instant("20240229120000500", Action.REPLACE_COMMIT, State.REQUESTED), encode_content(plan, table.config))
    if state is State.INFLIGHT:
        put(table, Instant("20240229120000500", Action.REPLACE_COMMIT, State.INFLIGHT))
    assert content(table, as_of="2024-03-01") == [("a", 1, "x", 1)]
    put(table, Instant("20240229120000600", Action.REPLACE_COMMIT, State.REQUESTED))
    with pytest.raises(TableError, match="20240229120000600 replacecommit"):
        table.snapshot(as_of="2024-03-01")


@pytest.mark.parametrize("says", [True, False])
def test_what_has_been_cleaned_away_cannot_be_told(table: Table, says: bool) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    second = table.insert(rows(("b", 1, "x", 1)))
    kept = second.instant if says else first.instant
    metadata = CleanMetadata(
        start_clean_time="20240229130000000",
        time_taken_in_millis=1,
        total_files_deleted=0,
        earliest_commit_to_retain=second.instant if says else "",
        partition_metadata={},
        last_completed_commit_timestamp=second.instant,
    )
    clean = Instant("20240229130000000", Action.CLEAN, State.COMPLETED, "20240229130000001")
    put(table, clean, encode_content(metadata, table.config))
    expected = f"cleaned away; the earliest that was kept is {kept}" if says else f"before the first commit, {kept}"
    with pytest.raises(TableError, match=expected):
        table.snapshot(as_of=str(int(kept) - 1))
    assert table.snapshot(as_of=kept).num_rows == (2 if says else 1)


def services(table: Table, **options: str) -> Table:
    named = {f"hoodie.{key.replace('_', '.')}": value for key, value in options.items()}
    quiet = {"hudiformat.sync": "false", "hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    return open_table(table.path, options={**quiet, **named}, clock=table._context.clock)


@pytest.fixture(params=[(version, kind) for version in (6, 9) for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")])
def grown(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Table, list[str]]:
    """A table whose rows are overwritten five times, and the instants of these writes."""
    version, table_type = request.param
    table = services(new_table(tmp_path / "grown", version=version, table_type=table_type))
    done = [table.insert_overwrite(rows((f"k{step}", 1, "x", step))).instant for step in range(5)]
    return table, done


def test_what_a_clean_by_file_versions_has_deleted_cannot_be_told(grown: tuple[Table, list[str]]) -> None:
    table, done = grown
    by_versions = {"clean_policy": "KEEP_LATEST_FILE_VERSIONS", "clean_fileversions_retained": "1"}
    assert services(table, **by_versions).clean()
    for instant in done[:-1]:
        with pytest.raises(
            TableError, match=f"as of {instant} has been cleaned away: the clean .* has deleted x/.*parquet"
        ):
            table.snapshot(as_of=instant)
    assert content(table, ["k"], as_of=done[-1]) == content(table, ["k"]) == [("k4",)]
    assert (
        table.snapshot(as_of=done[0], filter=pc.field("p") == "y").num_rows == 0
    )  # of no partition that was asked for


def test_a_clean_that_kept_less_than_a_later_one_counts(table: Table) -> None:
    done = [table.insert(rows((name, 1, "x", 1))).instant for name in "abc"]
    for number, kept in enumerate((done[1], done[0])):
        time = f"2024022913000000{number}"
        metadata = CleanMetadata(
            start_clean_time=time,
            time_taken_in_millis=1,
            total_files_deleted=0,
            earliest_commit_to_retain=kept,
            partition_metadata={},
            last_completed_commit_timestamp=done[2],
        )
        clean = Instant(time, Action.CLEAN, State.COMPLETED, f"{time[:-2]}1{number}")
        put(table, clean, encode_content(metadata, table.config))
    with pytest.raises(TableError, match=f"the earliest that was kept is {done[1]}, by the clean 20240229130000000"):
        table.snapshot(as_of=done[0])
    assert table.snapshot(as_of=done[1]).num_rows == 2


@pytest.mark.slow
def test_a_clean_that_has_been_archived_counts(grown: tuple[Table, list[str]]) -> None:
    table, done = grown
    for step in range(5, 9):
        assert services(table, clean_commits_retained="1").clean()
        table.insert_overwrite(rows((f"k{step}", 1, "x", step)))
    assert services(table, clean_commits_retained="1").clean()
    archive_instants(table._context.storage, table.config, ArchiveLimits(2, 1, compaction_delta_commits=1))
    for one in table.timeline.completed:
        if one.action is Action.CLEAN:  # the archive has the others
            table._context.storage.delete(instant_path(table.config, one))
    with pytest.raises(TableError, match=f"as of {done[0]} has been cleaned away"):
        table.snapshot(as_of=done[0])


def test_a_clean_that_is_at_work_counts(grown: tuple[Table, list[str]]) -> None:
    table, done = grown
    (clean,) = services(table, clean_commits_retained="1").clean()
    table._context.storage.delete(instant_path(table.config, clean))
    with pytest.raises(
        TableError, match=f"as of {done[0]} has been cleaned away; the earliest that was kept is {done[-1]}"
    ):
        table.snapshot(as_of=done[0])


def test_slices_are_listed_for_any_moment(table: Table, tmp_path: Path) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    put(table, Instant("20240229120000500", Action.DELTA_COMMIT, State.REQUESTED))
    assert len(open_table(tmp_path / "table").file_slices(as_of="2024-03-01")) == 1


def test_time_travel_to_every_commit(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    second = table.upsert(rows(("a", 2, "x", 2), ("b", 1, "y", 3)))
    third = table.delete(rows(("a", None, "x")).select(["k", "p"]))
    assert content(table, as_of=first.instant) == [("a", 1, "x", 1)]
    assert content(table, as_of=second.instant) == [("a", 2, "x", 2), ("b", 1, "y", 3)]
    assert content(table, as_of=third.instant) == content(table) == [("b", 1, "y", 3)]
    assert table.read_optimized(as_of=first.instant, columns=["v"]).to_pydict() == {"v": [1]}
    assert content(table, as_of=dt.date(2024, 3, 1)) == content(table)
    assert content(table, as_of=dt.datetime(2024, 3, 1)) == content(table)
    assert content(table, as_of="20240301000000") == content(table)
    with pytest.raises(BeforeFirstCommitError):
        table.snapshot(as_of=dt.date(2024, 2, 29))
    assert [len(table.file_slices(as_of=commit.instant)) for commit in (first, second)] == [1, 2]
    with pytest.raises(NameFormatError, match="yesterday"):
        table.snapshot(as_of="yesterday")


def test_whole_seconds_stand_for_their_last_millisecond_but_in_an_instant(table: Table) -> None:
    commit = table.insert(rows(("a", 1, "x", 1)))
    assert content(table, as_of="2024-02-29 12:00:00") == [("a", 1, "x", 1)]
    with pytest.raises(BeforeFirstCommitError):
        table.snapshot(as_of=commit.instant[:14])


def test_time_travel_past_a_write_in_flight_is_refused(golden: Callable[[str], GoldenTable]) -> None:
    case = golden("v9-mor-inflight-h120")
    table = open_table(case.table)
    for answer in case.manifest["as_of"]:
        if "error" in answer:
            with pytest.raises(TableError, match="20261121055558085 deltacommit .* is not complete"):
                table.snapshot(as_of=answer["instant"])
    assert table.snapshot(as_of="20261121055558084").num_rows == 40


def test_time_travel_to_what_was_cleaned_is_refused(golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(golden("v9-mor-archived-h120").table)
    with pytest.raises(TableError, match="has been cleaned away; the earliest that was kept is 2026112106012"):
        table.snapshot(as_of="20261121060122000")
