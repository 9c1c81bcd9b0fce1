"""The archived timeline is read: that of tables that Hudi archived, and of tables without one."""

from __future__ import annotations

from pathlib import Path

from hudiformat.archive import read_archived
from hudiformat.storage import LocalStorage
from hudiformat.timeline import Action, CompactionPlan, load_table_config
from tests.timeline.support import Table


def test_golden_archives_are_read_completely(golden_tables: dict[str, Path]) -> None:
    for name, count in (("v6-mor-archived-h0150", 10), ("v9-mor-archived-h120", 12)):
        storage = LocalStorage(golden_tables[name] / "table")
        found = read_archived(storage, load_table_config(storage))
        assert len(found) == count
        compactions = [one for one in found if one.instant.action is Action.COMMIT]
        assert all(isinstance(one.plan, CompactionPlan) for one in compactions)
        assert all(one.metadata and one.instant.completion_time for one in found)


def test_a_table_without_an_archive_has_no_archived_instants(newest: Table, oldest: Table) -> None:
    assert newest.archived() == oldest.archived() == ()
