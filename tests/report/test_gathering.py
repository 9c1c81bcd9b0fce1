"""The facts of a table, from one look at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from hudiformat import StorageError, Table, open_table
from hudiformat.report.gathering import gather
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.local import LocalStorage
from hudiformat.table.state import TableState
from hudiformat.timeline.timeline import instant_path
from tests.report.support import facts_of
from tests.tables import GoldenTable, new_table, rows, tree

MODULE = "hudiformat.report.gathering"


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    return table


def test_what_the_table_is(golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(golden("v9-mor-metadata-table-h120").table)
    facts = facts_of(table)
    assert facts.identity.path == table.path
    assert (facts.identity.table_type, facts.identity.version) == ("MERGE_ON_READ", 9)
    assert facts.identity.partition_by == ("p",)
    assert "files" in facts.identity.indexes
    assert (facts.limits.target, facts.limits.small) == (125829120, 104857600)
    slices = table.file_slices()
    assert facts.layout.totals.file_groups == len(slices)
    assert facts.layout.stored_bytes >= sum(one.size for one in slices)
    assert facts.last_commit is not None
    assert facts.last_commit.time == table.timeline.completed_writes[-1].time
    assert [len(one.files) for one in facts.blocks] == [4, 4, 3]


def test_limits_are_those_of_the_options(table: Table) -> None:
    opened = open_table(table.path, options={"hoodie.parquet.small.file.limit": "7"})
    facts = facts_of(opened)
    assert (facts.limits.small, facts.layout.totals.small_base_files) == (7, 0)


def test_nothing_is_changed(table: Table) -> None:
    before = tree(Path(table.path))
    facts_of(table)
    assert tree(Path(table.path)) == before


def test_files_are_read_only_to_be_verified(table: Table) -> None:
    (base,) = Path(table.path, "y").glob("*.parquet")
    base.write_bytes(b"PAR1 no longer")
    found = facts_of(table).findings
    assert found is not None
    assert (dict(found.counts), found.first[0].kind) == ({"DAMAGED": 1}, "damaged")
    assert facts_of(table, verify=False).findings is None


def test_a_bar_gets_the_bytes_that_were_verified(table: Table) -> None:
    told: list[int] = []

    @contextmanager
    def bar(size: int) -> Iterator[Callable[[int], None]]:
        told.append(size)
        yield told.append

    gather(table._context, bar=bar)
    first, second = [one.size for one in table.file_slices()]
    assert told == [first + second, first, first + second]


def test_elsewhere_than_on_this_machine_nothing_is_counted(table: Table) -> None:
    folder = Path(table.path)
    storage = FolderStorage(LocalStorage(folder.parent), folder.name)
    facts = gather(replace(table._context, storage=storage))
    assert (facts.findings is not None, facts.problems) == (True, ())


def test_a_commit_that_cannot_be_read_is_a_problem_and_the_rest_is_there(table: Table) -> None:
    done = table.timeline.completed_writes[0]
    Path(table.path, instant_path(table.config, done)).write_bytes(b"no Avro")
    facts = facts_of(open_table(table.path))
    assert len(facts.problems) == 1
    assert done.time in facts.problems[0]
    assert facts.layout.totals.file_groups == 2
    assert len(facts.growth.times) == 2
    assert facts.advice[0].verb == "Repair"


def test_without_its_replace_commits_the_files_of_a_table_are_not_known(table: Table) -> None:
    replaced = table.insert_overwrite(rows(("c", 1, "x", 1)))
    done = next(one for one in table.timeline.completed if one.time == replaced.instant)
    Path(table.path, instant_path(table.config, done)).write_bytes(b"no Avro")
    facts = facts_of(open_table(table.path))
    assert facts.layout.totals.file_groups == 0
    assert facts.problems
    assert len(facts.events) == 3


def test_a_table_with_damaged_definitions_of_indexes(own_golden: Callable[[str], Path]) -> None:
    folder = own_golden("v9-mor-metadata-table-h120")
    (folder / ".hoodie" / ".index_defs" / "index.json").write_text("{")
    facts = facts_of(open_table(folder, options={"hoodie.index.type": "RECORD_LEVEL_INDEX"}), verify=False)
    assert facts.identity.index_type == "RECORD_LEVEL_INDEX"
    assert "index.json" in facts.problems[0]
    assert facts.advice[0].verb == "Repair"


def test_a_problem_of_a_state_that_was_overtaken_is_looked_at_again(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[TableState] = []

    def fails_once(state: TableState) -> list[object]:
        asked.append(state)
        if len(asked) == 1:
            table.upsert(rows(("a", 3, "x", 3)))
            raise StorageError("archived meanwhile")
        return []

    monkeypatch.setattr(f"{MODULE}.dead_writes", fails_once)
    facts = facts_of(table)
    assert (facts.problems, len(asked), len(facts.growth.times)) == ((), 2, 3)


def test_a_table_that_others_change_all_the_time_has_a_report_with_problems(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = iter(range(3, 99))

    def fails(_state: TableState) -> list[object]:
        table.upsert(rows(("a", next(step), "x", 3)))
        raise StorageError("archived meanwhile")

    monkeypatch.setattr(f"{MODULE}.dead_writes", fails)
    assert facts_of(table, verify=False).problems == ("archived meanwhile",)


def test_verifying_that_cannot_go_on_is_a_problem(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_arguments: object, **_more: object) -> Iterator[object]:
        raise StorageError("the disk is gone")

    monkeypatch.setattr(f"{MODULE}.verify_table", fails)
    facts = facts_of(table)
    assert facts.problems == ("the disk is gone",)
    assert facts.findings is not None


def test_of_many_findings_and_instants_some_are_listed(hostile: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{MODULE}.MOST_FINDINGS", 1)
    monkeypatch.setattr(f"{MODULE}.MOST_EVENTS", 2)
    facts = facts_of(hostile)
    assert facts.findings is not None
    assert (len(facts.findings.first), sum(facts.findings.counts.values()) > 1) == (1, True)
    assert (len(facts.events), facts.events_left_off > 0) == (2, True)


def test_a_table_without_a_commit(tmp_path: Path) -> None:
    facts = facts_of(new_table(tmp_path / "t"))
    assert (facts.last_commit, facts.growth.times, facts.blocks, facts.problems) == (None, (), (), ())
    assert facts.advice == ()


def test_without_an_installed_package_there_is_no_version(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_name: str) -> str:
        raise PackageNotFoundError

    monkeypatch.setattr(f"{MODULE}.version", missing)
    assert gather(table._context, verify=False).made_by == "hudiformat "
