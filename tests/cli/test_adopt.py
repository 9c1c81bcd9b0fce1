"""``hudiformat adopt``."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from tests.cli.support import Command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two Parquet files in Hive's folders."""
    for day in (1, 2):
        path = tmp_path / "rides" / f"day={day}"
        path.mkdir(parents=True)
        pq.write_table(pa.table({"id": [day, day + 10], "v": [1.5, 2.5]}), path / "a.parquet")
    return tmp_path / "rides"


def test_a_dry_run_writes_nothing(command: Command, folder: Path) -> None:
    result = command("adopt", folder, "--record-key", "id", "--partition-by", "day", "--dry-run")
    assert result.code == 0
    assert "2 Parquet files in 2 folders, 4 rows" in result.out
    assert "stay where they are" in result.out
    assert f"the table would be {folder}/_hudi" in result.out
    assert not (folder / "_hudi").exists()


def test_the_rows_are_those_of_the_files(command: Command, folder: Path) -> None:
    result = command("adopt", folder, "--record-key", "id", "--partition-by", "day", "--json")
    facts = json.loads(result.out)
    assert facts["copied_because"] is None
    assert (facts["files"], facts["rows"], facts["partitions"]) == (2, 4, ["day=1", "day=2"])
    read = command("read", facts["path"], "--option", f"hoodie.bootstrap.base.path={folder}", "--columns", "id,day")
    assert read.code == 0, read
    assert hf.open_table(facts["path"], options={"hoodie.bootstrap.base.path": str(folder)}).count() == 4


def test_a_copy_is_a_table_like_any_other(command: Command, folder: Path, tmp_path: Path) -> None:
    into = tmp_path / "table"
    given = ["--record-key", "id", "--partition-by", "day", "--into", into, "--copy", "--type", "MERGE_ON_READ"]
    result = command("adopt", folder, *given, "--name", "rides")
    assert "are copied: it was asked for" in result.out
    table = hf.open_table(into)
    assert (table.count(), table.config.table_type.value, table.config.name) == (4, "MERGE_ON_READ", "rides")


def test_repeated_keys_are_an_error_of_the_command(command: Command, folder: Path) -> None:
    result = command("adopt", folder, "--record-key", "v", "--partition-by", "day")
    assert result.code == 0
    pq.write_table(pa.table({"id": [1], "v": [1.5]}), folder / "day=1" / "b.parquet")
    result = command("adopt", folder, "--record-key", "id", "--partition-by", "day", "--into", folder / "_other")
    assert result.code == 2
    assert "expected each key once in a partition, found 1 keys" in result.err
