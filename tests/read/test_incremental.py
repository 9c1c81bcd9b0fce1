"""Spans of time, and the writes within them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from hudiformat import NameFormatError, Table, UnsupportedFeatureError, open_table
from hudiformat.read.incremental import Span, completion_times, writes_within
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants
from tests.tables import GoldenTable, new_table, rows


def test_without_meta_fields_there_is_no_incremental_query(golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(golden("v6-cow-no-metafields-h0150").table)
    with pytest.raises(UnsupportedFeatureError, match="expected a table with meta fields, .*; read it by snapshot"):
        table.incremental("000")


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        ("000", None, Span("000", None)),
        ("earliest", None, Span("", None)),
        ("20240229120000000", "20240301000000000", Span("20240229120000000", "20240301000000000")),
        (date(2024, 2, 29), "2024-03-01", Span("20240229000000000", "20240301000000000")),
    ],
)
def test_a_span_lies_between_two_moments(
    table: Table, begin: str | date, end: str | date | None, expected: Span
) -> None:
    assert Span.of(table.config, begin, end) == expected


def test_a_span_leaves_its_begin_out_and_takes_its_end_in() -> None:
    span = Span("20240229", "20240301")
    assert [span.holds(moment) for moment in ("20240228", "20240229", "20240229000000001", "20240301", "20240302")] == [
        False,
        False,
        True,
        True,
        False,
    ]
    assert Span("", None).holds("0")
    assert Span("20240229", None).holds("99")


@pytest.mark.parametrize(("begin", "end"), [("yesterday", None), ("000", "now")])
def test_a_text_that_is_no_moment_is_refused(table: Table, begin: str, end: str | None) -> None:
    with pytest.raises(NameFormatError):
        Span.of(table.config, begin, end)


def test_writes_are_within_a_span_by_their_completion_and_in_the_order_of_their_instants(table: Table) -> None:
    commits = [table.upsert(rows(("a", number, "x", number))) for number in range(3)]
    ends = [str(done.completion_time) for done in table.timeline.by_completion_time]
    state = table._context.state()

    def times(span: Span) -> list[str]:
        return [instant.time for instant, _ in writes_within(state, span)]

    assert times(Span("", None)) == [commit.instant for commit in commits]
    assert times(Span(ends[0], ends[1])) == [commits[1].instant]
    assert times(Span(commits[1].instant, None)) == [commit.instant for commit in commits[1:]]  # it completed later
    assert completion_times(state, after=ends[0]) == ends[1:]


def test_archived_writes_are_within_a_span_too(table: Table) -> None:
    commits = [table.insert(rows((f"k{number}", 1, "x", number))) for number in range(6)]
    archive_instants(table._context.storage, table.config, ArchiveLimits(3, 2, compaction_delta_commits=1))
    state = table._context.state()
    assert len(state.timeline.completed_writes) < 6
    assert [one.time for one, _ in writes_within(state, Span("", None))] == [commit.instant for commit in commits]
    assert len(completion_times(state, after="")) == 6


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_rows_of_archived_writes_are_read_in_version_6_too(tmp_path: Path, table_type: str) -> None:
    options = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    table = new_table(tmp_path / "old", version=6, table_type=table_type, options=options)
    commits = [table.bulk_insert(rows((f"k{number}", 1, "x", number))) for number in range(6)]
    archive_instants(table._context.storage, table.config, ArchiveLimits(3, 2, compaction_delta_commits=1))
    assert len(table.timeline.completed_writes) < 5
    assert sorted(table.incremental(commits[0].instant)["k"].to_pylist()) == ["k1", "k2", "k3", "k4", "k5"]
    assert sorted(table.incremental("000", commits[1].instant)["k"].to_pylist()) == ["k0", "k1"]
