"""Changes of a table's properties: those that its files do not depend on."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import CommitError, OptionError, UnsupportedFeatureError, open_table
from hudiformat.timeline.config_files import load_table_config
from tests.tables import SCHEMA, content, new_table, rows

ROW = rows(("a", 1, "x", 1))
TYPE, CDC = "hoodie.table.type", "hoodie.table.cdc.enabled"


def test_properties_are_set_and_taken_out(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(ROW)
    assert table.set_properties({"hoodie.table.name": "other", "owner": "data"}).done == "hoodie.table.name, owner set"
    assert (table.config.name, table.config.properties["owner"]) == ("other", "data")
    assert open_table(table.path).config.name == "other"  # the checksum is of the new name
    assert table.unset_properties("owner").done == "owner taken out"
    assert "owner" not in load_table_config(table._context.storage).properties
    assert not table.set_properties({})
    table.upsert(rows(("a", 2, "x", 2)))
    assert content(table) == [("a", 2, "x", 2)]


def test_change_data_begins_with_the_next_write(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE")
    first = table.insert(ROW)
    table.set_properties({CDC: "true", "hoodie.table.cdc.supplemental.logging.mode": "data_before_after"})
    table.upsert(rows(("a", 2, "x", 2)))
    assert table.cdc(first, columns=["op"])["op"].to_pylist() == ["u"]


def test_a_table_changes_its_type_and_back_without_log_files(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE")
    table.insert(ROW)
    table.set_properties({TYPE: "MERGE_ON_READ"})
    table.upsert(rows(("a", 2, "x", 2)))
    with pytest.raises(CommitError, match="this one has some: compact it first"):
        table.set_properties({TYPE: "COPY_ON_WRITE"})
    table.schedule_compaction()
    with pytest.raises(CommitError, match="the type cannot change while"):
        table.set_properties({TYPE: "COPY_ON_WRITE"})
    table.compact()
    table.set_properties({TYPE: "COPY_ON_WRITE"})
    table.upsert(rows(("a", 3, "x", 3)))
    assert content(table) == [("a", 3, "x", 3)]


@pytest.mark.all_sets
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hoodie.table.version": "8"}, "files depend on; call change_version"),
        ({"hoodie.table.recordkey.fields": "v"}, "files depend on; create another table"),
        ({"hoodie.table.checksum": "1"}, "files depend on"),
        ({"hoodie.index.type": "BUCKET"}, "files depend on"),
        ({"hoodie.clean.commits.retained": "3"}, "found an option of its writers; pass it in options="),
        ({"hoodie.table.nam": "x"}, "did you mean 'hoodie.table.name'"),
        ({"hoodie.unheard.of": "x"}, "see docs/options.md"),
        ({"hoodie.table.name": " "}, "expected a name"),
        ({TYPE: "HEAP"}, "expected one of COPY_ON_WRITE, MERGE_ON_READ"),
        ({CDC: "maybe"}, "expected true or false"),
    ],
)
def test_other_changes_are_refused(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    table = new_table(tmp_path / "t")
    before = dict(table.config.properties)
    with pytest.raises(OptionError, match=message):
        table.set_properties(changes)
    assert dict(load_table_config(table._context.storage).properties) == before


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("hoodie.table.name", "found one that it needs"),
        ("hoodie.table.ordering.fields", "files depend on"),
        ("ownr", "none of that name; name one that it has; did you mean 'owner'"),
        ("nothing", "hudiformat doctor lists them"),
    ],
)
def test_only_properties_that_are_there_and_not_needed_are_taken_out(tmp_path: Path, key: str, message: str) -> None:
    table = new_table(tmp_path / "t")
    table.set_properties({"owner": "data"})
    with pytest.raises(OptionError, match=message):
        table.unset_properties([key])


def test_a_table_that_could_not_be_written_any_more_stays_as_it_is(tmp_path: Path) -> None:
    vectors = SCHEMA.append(pa.field("e", pa.list_(pa.float32(), 2), metadata={"hudi_type": "VECTOR(2)"}))
    table = new_table(tmp_path / "t", schema=vectors)
    with pytest.raises(UnsupportedFeatureError, match="vector"):
        table.set_properties({CDC: "true"})
    assert not open_table(table.path).config.cdc_enabled
