"""Tables whose schema is in no commit: it is in their data files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import hudiformat as hf
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.config_files import update_table_config
from hudiformat.timeline.contents import encode_content, read_content
from hudiformat.timeline.timeline import instant_path, load_timeline
from tests.check.repair.breaking import own_rows
from tests.effort import sample
from tests.tables import NAMES, Clock, content, new_table, rows, unpack


def without_schema(path: Path) -> hf.Table:
    """The table, after the schema was taken out of its commits and its properties."""
    storage = LocalStorage(path)
    config = update_table_config(storage, {"hoodie.table.create.schema": None}, saved_at=Clock()())
    for done in load_timeline(storage, config).completed:
        metadata = read_content(storage, config, done)
        if isinstance(metadata, CommitMetadata):
            left = {key: value for key, value in metadata.extra_metadata.items() if key != "schema"}
            bare = encode_content(replace(metadata, extra_metadata=left), config)
            storage.create(instant_path(config, done), bare, overwrite=True)
    return hf.open_table(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", sample([name for name in NAMES if "damaged" not in name], of=4))
def test_the_schema_of_hudis_tables_is_in_their_files_too(name: str, tmp_path: Path) -> None:
    path = unpack(name, tmp_path).table
    before = hf.open_table(path)
    rows_before, schema_before = own_rows(before), before.schema
    table = without_schema(path)
    assert table.schema.types == schema_before.types
    assert table.schema.names == schema_before.names
    assert own_rows(table) == rows_before


@pytest.mark.parametrize("version", [6, 9])
def test_a_table_without_schema_is_written_and_then_has_one(tmp_path: Path, version: int) -> None:
    new_table(tmp_path / "t", version=version).upsert(rows(("a", 1, "x", 1)))
    table = without_schema(tmp_path / "t")
    assert table.verify() == []
    table.upsert(rows(("a", 2, "x", 2), ("b", 2, "x", 2)))
    assert content(table) == [("a", 2, "x", 2), ("b", 2, "x", 2)]
    assert table._context.state().commit_with_schema(None) is not None


def test_files_that_are_gone_are_passed_over(tmp_path: Path) -> None:
    made = new_table(tmp_path / "t", options={"hoodie.parquet.small.file.limit": "0"})
    made.upsert(rows(("a", 1, "x", 1)))
    made.upsert(rows(("b", 1, "y", 1)))
    table = without_schema(tmp_path / "t")
    for path in (tmp_path / "t" / "y").glob("*.parquet"):
        path.unlink()
    assert table.schema.names == ["k", "ts", "p", "v"]
    for path in (tmp_path / "t" / "x").glob("*.parquet"):
        path.write_bytes(b"PAR1")
    with pytest.raises(hf.SchemaError, match="no commit and no data file that can be read names a schema"):
        hf.open_table(tmp_path / "t").schema.names  # noqa: B018 - it is read
