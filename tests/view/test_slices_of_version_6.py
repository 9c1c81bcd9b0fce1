"""File slices of table version 6, where a log file's name carries the instant of its slice."""

from __future__ import annotations

import pytest

from hudiformat.timeline import Action, Instant, State, Timeline
from hudiformat.view import Visibility, build_slices, latest_slices
from tests.view.test_slices import files, shown

C, D = Action.COMMIT, Action.DELTA_COMMIT


def visible(*done: str, compaction: str | None = None, first_active: str | None = None) -> Visibility:
    pending = frozenset({compaction} if compaction else ())
    return Visibility(
        dict.fromkeys(done, "99"),  # completion times, which here mean nothing
        first_active=first_active,
        pending=pending,
        pending_compactions=pending,
        logs_name_slices=True,
    )


def test_a_log_belongs_to_the_slice_that_it_names_whenever_it_was_completed() -> None:
    listing = files("f_0-0-0_10.parquet", "f_0-0-0_30.parquet", ".f_10.log.1_0-0-0", ".f_30.log.1_0-0-0")
    assert shown(build_slices("", listing, visible("10", "30"))) == [
        ("f", "10", "f_0-0-0_10.parquet", [".f_10.log.1_0-0-0"]),
        ("f", "30", "f_0-0-0_30.parquet", [".f_30.log.1_0-0-0"]),
    ]


def test_versions_rise_over_commits_and_tokens_are_several() -> None:
    listing = files(
        ".f_10.log.2_1-0-0", ".f_10.log.10_0-0-0", ".f_10.log.2_0-0-0", "f_0-0-0_10.parquet", ".f_10.log.1_0-0-0.cdc"
    )
    (found,) = shown(build_slices("", listing, visible("10")))
    assert found[3] == [".f_10.log.2_0-0-0", ".f_10.log.2_1-0-0", ".f_10.log.10_0-0-0"]


def test_logs_after_a_scheduled_compaction_are_read_with_the_slice_before_it() -> None:
    listing = files("f_0-0-0_10.parquet", ".f_10.log.1_0-0-0", ".f_30.log.1_0-0-0", "f_0-0-0_30.parquet")
    assert shown(build_slices("", listing, visible("10", compaction="30"))) == [
        ("f", "10", "f_0-0-0_10.parquet", [".f_10.log.1_0-0-0", ".f_30.log.1_0-0-0"])
    ]
    done = latest_slices(build_slices("", listing, visible("10", "30")))
    assert shown(done) == [("f", "30", "f_0-0-0_30.parquet", [".f_30.log.1_0-0-0"])]


def test_before_the_compaction_was_scheduled_its_logs_are_not_there() -> None:
    listing = files("f_0-0-0_10.parquet", ".f_10.log.1_0-0-0", ".f_30.log.1_0-0-0")
    assert shown(build_slices("", listing, visible("10", compaction="30"), as_of="29")) == [
        ("f", "10", "f_0-0-0_10.parquet", [".f_10.log.1_0-0-0"])
    ]


def test_a_pending_compaction_of_a_group_of_logs_alone() -> None:
    listing = files(".f_10.log.1_0-0-0", ".f_30.log.1_0-0-0")
    assert shown(build_slices("", listing, visible("10", compaction="30"))) == [
        ("f", "10", None, [".f_10.log.1_0-0-0", ".f_30.log.1_0-0-0"])
    ]
    assert shown(build_slices("", files(".f_30.log.1_0-0-0"), visible("10", compaction="30"))) == [
        ("f", "30", None, [".f_30.log.1_0-0-0"])
    ]


@pytest.mark.parametrize(("instant", "there"), [("05", True), ("10", True), ("20", False)])
def test_what_was_archived_counts_as_completed(instant: str, there: bool) -> None:
    found = build_slices("", files(f".f_{instant}.log.1_0-0-0"), visible("10", first_active="10"))
    assert bool(found) is there


def test_a_timeline_says_which_compactions_are_pending() -> None:
    timeline = Timeline(
        (
            Instant("10", D, State.COMPLETED),
            Instant("20", Action.COMPACTION, State.REQUESTED),
            Instant("30", Action.COMPACTION, State.INFLIGHT),
            Instant("40", D, State.INFLIGHT),
            Instant("50", C, State.COMPLETED),
        )
    )
    found = Visibility.of(timeline, logs_name_slices=True)
    assert found.pending_compactions == {"20", "30"}
    assert [found.shows_log(instant) for instant in ("10", "20", "30", "40", "50")] == [True, True, True, False, True]
    assert not Visibility.of(timeline).shows_log("20"), "from version 8 on names carry the delta commits' instants"
