"""A metadata table that lists other files than there are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hudiformat import Table, open_table
from hudiformat.check.verify.metadata_check import findings_of_metadata_table
from tests.foreign import foreign_tables
from tests.tables import new_table, rows, unpack

pytestmark = pytest.mark.unmeasured


def messages(table: Table) -> list[str]:
    return [finding.message for finding in findings_of_metadata_table(table._context.state())]


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


INDEXES = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.compact.max.delta.commits": "3",
}
GROUPS = "hoodie.metadata.global.record.level.index.min.filegroup.count"


def own_files(table: Table, partition: str) -> list[Path]:
    """The files of a partition of the metadata table, the newest last."""
    files = Path(table.path, ".hoodie/metadata", partition).glob("*record-index-0001*")
    return sorted(files, key=lambda path: path.name.partition("_")[2])


@pytest.fixture
def indexed(tmp_path: Path) -> Table:
    """A table with a record index, whose newest log files have the keys of the last two writes."""
    table = new_table(tmp_path / "t", options=INDEXES)
    for number in range(2):
        table.upsert(rows(*((f"{number}-{key}", 1, "x", 1) for key in range(9))))
    assert messages(table) == []
    return table


@pytest.mark.parametrize("left", [None, 0, 100])
def test_a_file_of_an_index_that_is_gone_or_has_lost_its_end(indexed: Table, left: int | None) -> None:
    """The index would hide rows from queries, and have the next write add them once more."""
    newest = own_files(indexed, "record_index")[-1]
    size = newest.stat().st_size
    if left is None:
        newest.unlink()
    else:
        newest.write_bytes(newest.read_bytes()[:left])
    said = "which a commit names, is not there" if left is None else f"has {left} of {size} bytes"
    for contents in (True, False):
        (finding,) = findings_of_metadata_table(indexed._context.state(), contents=contents)
        assert f"record_index/{newest.name}" in finding.message
        assert said in finding.message
        assert ("cannot be read" in finding.message) == (contents and left == 100)
    indexed.repair(apply=True, dead_after=0)
    assert indexed.verify() == []


def test_a_file_of_an_index_with_other_bytes_is_found_by_reading_it(indexed: Table) -> None:
    indexed.upsert(rows(("a", 1, "x", 1)))  # merges the log files into a base file before it adds one
    (base,) = [path for path in own_files(indexed, "record_index") if path.suffix == ".hfile"]
    data = base.read_bytes()
    base.write_bytes(bytes(20) + data[20:])
    (finding,) = findings_of_metadata_table(indexed._context.state())
    assert f"its file record_index/{base.name} cannot be read: " in finding.message
    assert list(findings_of_metadata_table(indexed._context.state(), contents=False)) == []


def test_an_index_without_files_and_a_commit_that_cannot_be_read(indexed: Table) -> None:
    folder = Path(indexed.path, ".hoodie/metadata/column_stats")
    shutil.rmtree(folder)
    folder.mkdir()
    assert "its partition column_stats has no files" in messages(indexed)[0]
    newest = max(Path(indexed.path, ".hoodie/metadata/.hoodie/timeline").glob("*_*.deltacommit"))
    newest.write_bytes(b"no commit")
    assert "it cannot be read: " in messages(open_table(indexed.path))[0]


def test_a_schema_of_the_metadata_table_that_cannot_be_read(indexed: Table) -> None:
    """Every write would fail when it takes the schema over."""
    newest = max(Path(indexed.path, ".hoodie/metadata/.hoodie/timeline").glob("*_*.deltacommit"))
    newest.write_bytes(newest.read_bytes().replace(b'"HoodieMetadataRecord"', b'"HoodieMetadataRecord#'))
    assert "it cannot be read: the Avro schema is not JSON" in messages(open_table(indexed.path))[0]


def test_files_of_an_index_that_was_dropped_and_built_again_with_fewer_groups(indexed: Table) -> None:
    indexed.drop_index("record_index")
    again = open_table(indexed.path, options={**INDEXES, GROUPS: "1"}, clock=indexed._context.clock)
    again.create_index("record_index")
    assert own_files(again, "record_index") == []
    assert messages(again) == []


@pytest.mark.parametrize("name", foreign_tables.names("rebuilt"))
def test_a_partition_that_hudi_has_built_again_has_lost_nothing(name: str, tmp_path: Path) -> None:
    """Commits with later instants came before, and their files went with the old partition."""
    found = foreign_tables.unpack(name, tmp_path)
    table = open_table(found.path)
    assert table.verify() == []
    assert table.count() == found.rows("snapshot").num_rows
