"""Which columns have statistics."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import create_table, open_table
from hudiformat.basefile import Indexes
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.upkeep import indexed_columns, indexes_of
from hudiformat.upkeep.kinds import not_kept_up
from tests.metadata_tables import indexed_table
from tests.tables import new_table

SCHEMA = pa.schema(
    [("k", pa.string()), ("s", pa.struct([("x", pa.int32())])), ("l", pa.list_(pa.struct([("y", pa.int32())])))]
)


def columns(path: Path, named: str, *, enabled: bool = True) -> tuple[str, ...]:
    options = {"hoodie.metadata.index.column.stats.column.list": named}
    if enabled:
        options["hoodie.metadata.enable"] = "true"
    create_table(path, name="t", schema=SCHEMA, record_key=["k"], options=options)
    return indexed_columns(open_table(path).context.state())


def test_those_of_the_definition_nested_ones_too(tmp_path: Path) -> None:
    meta = ("_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key")
    assert columns(tmp_path / "some", "k,s.x") == (*meta, "k", "s.x")
    assert columns(tmp_path / "all", "") == (*meta, "k")
    assert columns(tmp_path / "none", "k", enabled=False) == ()


def test_values_in_lists_have_none(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"keeps statistics of l\.list\.element\.y"):
        columns(tmp_path / "t", "l.list.element.y")


def test_a_write_collects_what_the_metadata_table_keeps(tmp_path: Path) -> None:
    chosen = {
        "hoodie.metadata.index.column.stats.enable": "false",
        "hoodie.metadata.index.bloom.filter.enable": "true",
        "hoodie.metadata.record.index.enable": "true",
    }
    state = indexed_table(tmp_path / "t", options=chosen).context.state()
    assert indexes_of(state) == Indexes((), filters=True, keys=True)
    assert not_kept_up(state) == []
    assert indexes_of(new_table(tmp_path / "u").context.state()) is None


def test_a_record_index_of_each_partition_is_not_kept_up(tmp_path: Path) -> None:
    table = indexed_table(tmp_path / "t", options={"hoodie.metadata.record.index.enable": "true"})
    file = tmp_path / "t/.hoodie/.index_defs/index.json"
    file.write_text(file.read_text().replace('"isPartitioned": "false"', '"isPartitioned": "true"'))
    assert not_kept_up(table.context.state()) == ["record_index"]
