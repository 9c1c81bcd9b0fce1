"""Which columns have statistics."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import create_table, open_table
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.base_file.file_indexes import Indexes
from hudiformat.metadata_table.definitions import IndexDefinition
from hudiformat.write.metadata.indexes import indexed_columns, indexes_of, is_of_records, unsupported_partitions
from tests.metadata_tables import (
    PARTITIONS,
    add_expression_index,
    add_index,
    add_secondary_index,
    indexed_table,
    set_properties,
)
from tests.tables import new_table

SCHEMA = pa.schema(
    [("k", pa.string()), ("s", pa.struct([("x", pa.int32())])), ("l", pa.list_(pa.struct([("y", pa.int32())])))]
)
RECORDS = {"hoodie.metadata.record.index.enable": "true"}


def columns(path: Path, named: str, *, enabled: bool = True) -> tuple[str, ...]:
    options = {"hoodie.metadata.index.column.stats.column.list": named}
    if enabled:
        options["hoodie.metadata.enable"] = "true"
    create_table(path, name="t", schema=SCHEMA, record_key=["k"], options=options)
    return indexed_columns(open_table(path)._context.state())


def test_those_of_the_definition_nested_ones_too(tmp_path: Path) -> None:
    meta = ("_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key")
    assert columns(tmp_path / "some", "k,s.x") == (*meta, "k", "s.x")
    assert columns(tmp_path / "all", "") == (*meta, "k")
    assert columns(tmp_path / "none", "k", enabled=False) == ()


def test_values_in_lists_have_none(tmp_path: Path) -> None:
    with pytest.raises(
        UnsupportedFeatureError, match=r"found those of l\.list\.element\.y, which hudiformat does not compute"
    ):
        columns(tmp_path / "t", "l.list.element.y")


def test_a_write_collects_what_the_metadata_table_keeps(tmp_path: Path) -> None:
    chosen = {
        "hoodie.metadata.index.column.stats.enable": "false",
        "hoodie.metadata.index.bloom.filter.enable": "true",
        "hoodie.metadata.record.index.enable": "true",
    }
    state = indexed_table(tmp_path / "t", options=chosen)._context.state()
    assert indexes_of(state) == Indexes((), filters=True, keys=True)
    assert unsupported_partitions(state) == []
    assert indexes_of(new_table(tmp_path / "u")._context.state()) is None


def test_secondary_indexes_of_some_types_are_not_kept_up(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), ("s", pa.struct([("x", pa.int32())])), ("f", pa.float32())])
    indexed_table(tmp_path / "t", schema=schema, partition_by=[], ordering=[], options=RECORDS)
    for column in ("k", "s.x", "f"):
        add_secondary_index(tmp_path / "t", column)
    state = open_table(tmp_path / "t")._context.state()
    assert unsupported_partitions(state) == ["secondary_index_f"]
    found = indexes_of(state)
    assert found is not None
    assert found.values == ("k", "s.x")


def test_expression_indexes_of_some_functions_are_not_kept_up(tmp_path: Path) -> None:
    table = indexed_table(tmp_path / "t")
    for function in ("upper", "split"):
        add_expression_index(tmp_path / "t", "p", function)
    filters = IndexDefinition("expr_index_filters", "bloom_filters", "upper", ("p",))
    add_index(tmp_path / "t", filters, groups=1)
    state = open_table(table.path)._context.state()
    assert unsupported_partitions(state) == ["expr_index_split_p", "expr_index_filters"]
    found = indexes_of(state)
    assert found is not None
    assert [one.name for one in found.expressions] == ["expr_index_upper_p"]


def test_without_its_definition_an_index_is_not_kept_up(tmp_path: Path) -> None:
    table = indexed_table(tmp_path / "t", options=RECORDS)
    set_properties(tmp_path / "t", {PARTITIONS: ",".join([*table.config.metadata_partitions, "secondary_index_v"])})
    state = open_table(tmp_path / "t")._context.state()
    assert unsupported_partitions(state) == ["secondary_index_v"]
    assert is_of_records("secondary_index_v")
