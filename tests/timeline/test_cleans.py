"""The files of cleans that Hudi wrote."""

from __future__ import annotations

from pathlib import Path

from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.cleans import ActionInstant, CleanerPlan, CleanFileInfo
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.contents import read_content
from hudiformat.timeline.timeline import Action, Instant, State


def test_a_clean_of_hudis_says_how_far_it_went(golden_tables: dict[str, Path]) -> None:
    storage = LocalStorage(golden_tables["v6-mor-archived-h0150"] / "table")
    plan = read_content(
        storage, load_table_config(storage), Instant("20261121060654627", Action.CLEAN, State.REQUESTED)
    )
    assert isinstance(plan, CleanerPlan)
    assert plan.earliest_instant_to_retain == ActionInstant("20261121060653393", "deltacommit", "COMPLETED")
    assert plan.policy == "KEEP_LATEST_COMMITS"
    files = (plan.file_paths_to_be_deleted_per_partition or {})[""]
    assert len(files) == 2
    assert isinstance(files[0], CleanFileInfo)
