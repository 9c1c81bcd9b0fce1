"""The archived timeline is read: that of tables that Hudi archived, and of tables without one."""

from __future__ import annotations

from pathlib import Path

from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.archive.archiving import read_archived
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.plans import CompactionPlan
from hudiformat.timeline.timeline import Action
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
