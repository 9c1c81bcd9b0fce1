"""A table whose properties name a metadata table: a write drops it, as Hudi's writers without one do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat import HudiFormatWarning, Table, open_table
from hudiformat.timeline import parse_properties
from tests.table.support import multiset

PARTITIONS = "hoodie.table.metadata.partitions"
NAME = "v9-mor-metadata-table-h120"


@pytest.fixture
def path(own_golden: Callable[[str], Path]) -> Path:
    return own_golden(NAME)


def properties(path: Path) -> dict[str, str]:
    return dict(parse_properties((path / ".hoodie" / "hoodie.properties").read_bytes()))


def some_keys(table: Table, count: int) -> object:
    names = [*table.config.record_key_fields, *table.config.partition_fields]
    return table.snapshot(columns=names).slice(0, count)


def test_reading_leaves_the_metadata_table_alone(path: Path) -> None:
    before = properties(path)
    open_table(path).snapshot()
    assert properties(path) == before
    assert (path / ".hoodie" / "metadata").is_dir()


def test_a_write_drops_it_with_a_warning_and_keeps_every_other_property(path: Path) -> None:
    before = properties(path)
    assert before[PARTITIONS]
    table = open_table(path)
    rows = table.snapshot()
    with pytest.warns(HudiFormatWarning, match="the metadata table cannot be kept up yet and is dropped"):
        commit = table.delete(some_keys(table, 3))
    assert not (path / ".hoodie" / "metadata").exists()
    assert properties(path) == {**before, PARTITIONS: "", f"{PARTITIONS}.inflight": ""}
    assert commit.num_deletes == 3
    assert table.snapshot().num_rows == rows.num_rows - 3
    assert open_table(path).config.metadata_partitions == ()


def test_the_second_write_has_nothing_to_drop(path: Path) -> None:
    table = open_table(path)
    with pytest.warns(HudiFormatWarning):
        table.delete(some_keys(table, 1))
    before = (path / ".hoodie" / "hoodie.properties").read_bytes()
    table.delete(some_keys(table, 1))  # a warning would be an error
    assert (path / ".hoodie" / "hoodie.properties").read_bytes() == before


def test_a_write_that_is_refused_drops_nothing(path: Path) -> None:
    before = properties(path)
    table = open_table(path)
    rows = table.snapshot()
    with pytest.raises(ValueError, match="is missing"):
        table.delete(rows.drop_columns(list(table.config.record_key_fields)))
    assert properties(path) == before
    assert multiset(table.snapshot()) == multiset(rows)


def test_a_writer_that_says_so_drops_it_without_a_warning(path: Path) -> None:
    table = open_table(path, options={"hoodie.metadata.enable": "false"})
    table.delete(some_keys(table, 1))
    assert open_table(path).config.metadata_partitions == ()
    assert not (path / ".hoodie" / "metadata").exists()
