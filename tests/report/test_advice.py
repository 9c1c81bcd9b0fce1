"""What to do next, and in which order."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hudiformat import Table
from hudiformat.report.advice import advice_on, is_damaged
from hudiformat.report.facts import Event, Findings, Prospect, ServiceState, TableFacts
from tests.report.support import empty_facts, facts_of, layout, slice_of

LOGS = layout([slice_of("a", "a-0", 1000, 400), slice_of("a", "b-0", 1000)])
FEW_LOGS = layout([slice_of("a", "a-0", 1000, 100), slice_of("a", "b-0", 1000)])
COMPACTABLE = Prospect("compaction", 1, 1, 2, 1, 1400, 1000)


@pytest.fixture
def facts(tmp_path: Path) -> TableFacts:
    return empty_facts(tmp_path)


def headlines(facts: TableFacts, **changes: Any) -> list[str]:
    return [one.headline for one in advice_on(replace(facts, **changes))]


def found(**counts: int) -> Findings:
    return Findings(counts)


def due(service: str) -> tuple[ServiceState, ...]:
    return (ServiceState(service, is_due=True, why="so many commits"),)


def test_nothing_to_do_has_no_command(facts: TableFacts) -> None:
    (one,) = advice_on(facts)
    assert (one.headline, one.command) == ("Nothing to do", "")
    assert headlines(facts, findings=None) == ["Nothing to do: files were not verified"]


def test_damage_comes_first(facts: TableFacts) -> None:
    counts = found(DAMAGED=2, MISSING=1, DUPLICATE=3, UNCOMMITTED=4)
    assert headlines(facts, findings=counts, services=due("clean")) == [
        "Repair: 2 damaged files, 1 missing file, 3 duplicates",
        "Clean: so many commits",
    ]


def test_what_cannot_be_read_is_to_be_repaired(facts: TableFacts) -> None:
    assert headlines(facts, problems=("x is no Avro",)) == ["Repair: a part of the table cannot be read: x is no Avro"]


def test_damage_is_what_readers_do_not_skip(facts: TableFacts) -> None:
    assert is_damaged(replace(facts, findings=found(MISSING=1)))
    assert is_damaged(replace(facts, findings=None, problems=("x",)))
    assert not is_damaged(replace(facts, findings=found(ORPHAN=1, UNCOMMITTED=1, LEFTOVER=1)))
    assert not is_damaged(replace(facts, findings=None))


def test_dead_writes_are_rolled_back(facts: TableFacts) -> None:
    events = (Event("1", "commit", "failed"), Event("2", "commit", "completed"), Event("3", "commit", "failed"))
    (one,) = advice_on(replace(facts, events=events, services=due("rollback")))
    assert one.headline == "Roll back: 2 writes show no sign of life, the newest of 3; if nobody is writing"
    assert one.command == f"hudiformat rollback {facts.identity.path} 3"


def test_a_compaction_that_is_due_says_how_much_there_is(facts: TableFacts) -> None:
    assert headlines(facts, layout=FEW_LOGS, services=due("compaction")) == [
        "Compact: 1 of 2 file groups carries log files, 100 B of logs against 2.0 kB of base files"
    ]


def test_large_logs_are_compacted_before_it_is_due(facts: TableFacts) -> None:
    prospects = {"services": (ServiceState("compaction", is_due=False, why=""),), "prospects": (COMPACTABLE,)}
    many = layout([slice_of("a", "a-0", 1000, 400), slice_of("a", "b-0", 1000, 400)])
    assert headlines(facts, layout=many, **prospects) == [
        "Compact: 2 of 2 file groups carry log files, 800 B of logs against 2.0 kB of base files"
    ]
    assert headlines(facts, layout=FEW_LOGS, **prospects) == ["Nothing to do"]
    nothing = (Prospect("compaction", why_not="all planned"),)
    assert headlines(facts, layout=many, **{**prospects, "prospects": nothing}) == ["Nothing to do"]


def test_without_log_files_there_is_nothing_to_compact(facts: TableFacts) -> None:
    assert headlines(facts, services=due("compaction")) == ["Nothing to do"]


@pytest.mark.parametrize(
    ("service", "headline"),
    [
        ("metadata", "Serve the metadata table: so many commits"),
        ("ttl", "Expire partitions: so many commits"),
        ("log-compaction", "Compact log files: so many commits"),
        ("clean", "Clean: so many commits"),
        ("archive", "Archive: so many commits"),
    ],
)
def test_each_service_that_is_due_has_its_command(facts: TableFacts, service: str, headline: str) -> None:
    (one,) = advice_on(replace(facts, services=due(service)))
    assert (one.headline, one.command.split()[:4]) == (headline, ["hudiformat", "maintain", "--only", service])


def test_a_service_that_cannot_say_is_not_advised(facts: TableFacts) -> None:
    unknown = (ServiceState("clean", is_due=False, why="damaged", error=True),)
    assert headlines(facts, services=unknown) == ["Nothing to do"]


def test_clustering_is_advised_when_due_or_where_it_leaves_far_fewer_groups(facts: TableFacts) -> None:
    assert headlines(facts, services=due("clustering")) == ["Cluster: so many commits"]
    off = (ServiceState("clustering", is_due=False, why="it is off"),)
    many, few = Prospect("clustering", 20, 10), Prospect("clustering", 20, 11)
    (headline,) = headlines(facts, services=off, prospects=(many,))
    assert headline == "Cluster: 20 small file groups would become about 10, of 0 file groups in all"
    assert headlines(facts, services=off, prospects=(few,)) == ["Nothing to do"]
    assert headlines(facts, services=off, prospects=(Prospect("clustering", 7, 1),)) == ["Nothing to do"]
    assert headlines(facts, services=off, prospects=()) == ["Nothing to do"]


def test_loose_files_come_last(facts: TableFacts) -> None:
    assert headlines(facts, findings=found(ORPHAN=1)) == ["Tidy up: a file that belongs to no commit"]
    assert headlines(facts, findings=found(ORPHAN=1, LEFTOVER=2), services=due("clean")) == [
        "Clean: so many commits",
        "Tidy up: 3 files that belong to no commit",
    ]


def test_paths_are_quoted_for_a_shell(hostile: Table) -> None:
    for one in facts_of(hostile).advice:
        assert hostile.path in shlex.split(one.command)


def test_a_table_with_all_that_can_be_wrong(hostile: Table) -> None:
    found = [one.verb for one in facts_of(hostile).advice]
    assert found == ["Repair", "Roll back", "Compact", "Tidy up"]
