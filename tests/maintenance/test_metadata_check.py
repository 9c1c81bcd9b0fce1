"""A metadata table that lists other files than there are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hudiformat import Table, open_table
from hudiformat.maintenance.metadata_check import findings_of_metadata_table
from tests.tables import new_table, rows, unpack


def messages(table: Table) -> list[str]:
    return [finding.message for finding in findings_of_metadata_table(table.context.state())]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t", options={"hoodie.metadata.enable": "true"})
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    return table


def base_of(table: Table, folder: str) -> Path:
    (found,) = Path(table.path, folder).glob("*.parquet")
    return found


def test_a_table_without_one_and_sound_ones(table: Table, tmp_path: Path) -> None:
    assert messages(new_table(tmp_path / "plain")) == []
    assert messages(table) == []
    for name in ("v6-cow-metadata-table-h0150", "v9-mor-metadata-table-h120"):
        assert messages(open_table(unpack(name, tmp_path).table)) == []


def test_files_that_are_gone_or_new_or_have_another_size(table: Table) -> None:
    gone, other = base_of(table, "x"), base_of(table, "y")
    extra = other.with_name(f"{'0' * 8}{other.name[8:]}")
    shutil.copy(other, extra)
    gone.unlink()
    size = other.stat().st_size
    other.write_bytes(b"123")
    (message,) = messages(table)
    assert message.split("; ") == [
        f"it lists x/{gone.name}, which is not there",
        f"it does not list y/{extra.name}",
        f"it lists y/{other.name} with {size} bytes, which has 3",
    ]


def test_many_differences_are_counted(table: Table) -> None:
    table.bulk_insert(rows(*(("a", 1, f"p{number}", 1) for number in range(5))))
    for number in range(5):
        base_of(table, f"p{number}").unlink()
    (message,) = messages(table)
    assert message.count("which is not there") == 3
    assert message.endswith(", and 2 more")


def test_files_that_a_clean_is_deleting_are_no_contradiction(table: Table) -> None:
    base_of(table, "x").unlink()
    Path(table.path, ".hoodie/timeline/99990101000000000.clean.requested").touch()
    assert messages(table) == []


def test_one_that_cannot_be_read(table: Table) -> None:
    shutil.rmtree(Path(table.path, ".hoodie/metadata/files"))
    assert messages(table)[0].startswith("it cannot be read: ")


def test_a_log_file_of_version_6_that_is_not_listed_or_has_grown(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", version=6, options={"hoodie.metadata.enable": "true"})
    table.bulk_insert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    (log,) = Path(table.path, "x").glob(".*.log.*")
    shutil.copy(log, log.with_name(log.name.replace(".log.1_", ".log.2_")))
    log.write_bytes(log.read_bytes() * 2)
    assert messages(table) == []
