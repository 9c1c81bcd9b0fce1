"""Which files a clean deletes, and which it keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import Table, open_table
from hudiformat.options.values import CleanPolicy
from hudiformat.services import clean, plan_clean, savepoint
from hudiformat.storage import open_storage
from hudiformat.timeline import CleanMetadata, read_content
from tests.requests import RecordingStorage
from tests.services.support import served
from tests.tables import Clock, content, data_files, new_table, rows, unpack


def test_cleaning_keeps_the_newest_slice_and_those_of_the_window(table: Table) -> None:
    table = served(table, clean_commits=2)
    commits = [table.insert(rows((f"k{step}", step, "x", step))) for step in range(5)]  # each rewrites the small file
    bases = [file for file in data_files(Path(table.path)) if file.endswith(".parquet")]
    assert len(bases) == 5
    done = clean(table.context)
    assert done is not None
    kept = [file for file in data_files(Path(table.path)) if file.endswith(".parquet")]
    assert sorted(kept) == sorted(file for file in bases if any(one.instant in file for one in commits[2:]))
    assert len(content(table)) == 5
    assert len(content(table, as_of=commits[3].instant)) == 4
    assert clean(table.context) is None


@pytest.mark.parametrize(("policy", "left"), [(CleanPolicy.BY_HOURS, 5), (CleanPolicy.BY_VERSIONS, 2)])
def test_other_policies(table: Table, policy: str, left: int) -> None:
    table = served(table, clean_policy=policy, clean_versions=2)
    for step in range(5):
        table.insert(rows((f"k{step}", step, "x", step)))
    assert (clean(table.context) is None) is (left == 5)
    assert len([file for file in data_files(Path(table.path)) if file.endswith(".parquet")]) == left
    assert len(content(table)) == 5


def test_what_a_savepoint_keeps_is_not_cleaned(table: Table) -> None:
    table = served(table, clean_policy=CleanPolicy.BY_VERSIONS, clean_versions=1)
    commits = [table.insert(rows((f"k{step}", step, "x", step))) for step in range(3)]
    savepoint(table.context, commits[0].instant)
    assert clean(table.context) is not None
    assert len(content(table, as_of=commits[0].instant)) == 1


def test_replaced_file_groups_are_cleaned(tmp_path: Path) -> None:
    table = served(open_table(unpack("v9-cow-replaced-h120", tmp_path).table), clean_commits=1)
    before = content(table, columns=["_hoodie_record_key"])
    files = data_files(Path(table.path))
    plan = plan_clean(table.context.state())
    assert plan is not None
    done = clean(table.context)
    assert done is not None
    said = read_content(table.context.storage, table.config, done)
    assert isinstance(said, CleanMetadata)
    assert said.total_files_deleted == len(files) - len(data_files(Path(table.path))) > 0
    assert content(table, columns=["_hoodie_record_key"]) == before
    assert clean(table.context) is None


@pytest.mark.parametrize("synced", [True, False])
def test_a_clean_is_completed_once_its_deletions_are_on_disk(tmp_path: Path, synced: bool) -> None:
    new_table(tmp_path / "t")
    storage = RecordingStorage(open_storage(tmp_path / "t"))
    options = {"hoodie.clean.automatic": "false", "hoodie.clean.commits.retained": "1"}
    table = open_table(storage, options={**options, "hudiformat.sync": str(synced).lower()}, clock=Clock())
    for step in range(4):
        table.insert(rows((f"k{step}", step, "x", step)))
    storage.clear()
    assert table.clean() is not None
    requests = [str(one) for one in storage.requests]
    assert ("sync_deletions x" in requests) is synced
    if synced:
        deleted = max(number for number, one in enumerate(requests) if one.startswith("delete x/"))
        completed = next(number for number, one in enumerate(requests) if one.endswith(".clean"))
        assert deleted < requests.index("sync_deletions x") < completed
