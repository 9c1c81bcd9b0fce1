"""What to do next, and in which order: repairs, what ``advise`` says, and files that belong to no commit."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hudiformat import Advice, Severity, Table
from hudiformat.report.advice import advice_on, is_damaged
from hudiformat.report.facts import Findings, TableFacts
from tests.report.support import empty_facts, facts_of
from tests.tables import new_table, rows

ADVISED = (Advice(severity=Severity.LOW, finding="clean-due", verb="Clean", found="so many commits", reason="x"),)


@pytest.fixture
def facts(tmp_path: Path) -> TableFacts:
    return empty_facts(tmp_path)


def headlines(facts: TableFacts, advised: tuple[Advice, ...] = (), **changes: Any) -> list[str]:
    return [one.headline for one in advice_on(replace(facts, **changes), advised)]


def found(**counts: int) -> Findings:
    return Findings(counts)


def test_without_anything_to_do_there_is_no_advice(facts: TableFacts) -> None:
    assert facts.advice == ()
    assert facts.as_json()["advice"] == [{"headline": "Nothing to do", "command": ""}]


def test_damage_comes_first(facts: TableFacts) -> None:
    counts = found(DAMAGED=2, MISSING=1, DUPLICATE=3, UNCOMMITTED=4)
    assert headlines(facts, ADVISED, findings=counts) == [
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


def test_loose_files_come_last(facts: TableFacts) -> None:
    assert headlines(facts, findings=found(ORPHAN=1)) == ["Tidy up: a file that belongs to no commit"]
    assert headlines(facts, ADVISED, findings=found(ORPHAN=1, LEFTOVER=2)) == [
        "Clean: so many commits",
        "Tidy up: 3 files that belong to no commit",
    ]


def test_the_report_says_what_advise_says(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    for step in range(6):
        table.upsert(rows(("a", step, "x", step)))
    advised = table.advise()
    assert table.report().headline == table.report(verify=False).headline == advised.headline != "Nothing to do"
    assert facts_of(table).advice == tuple(advised)


def test_paths_are_quoted_for_a_shell(hostile: Table) -> None:
    for one in facts_of(hostile).advice:
        assert hostile.path in shlex.split(one.command)


def test_a_table_with_all_that_can_be_wrong(hostile: Table) -> None:
    found = [one.verb for one in facts_of(hostile).advice]
    assert found == ["Repair", "Roll back", "Compact", "Tidy up"]
