"""Which columns have statistics."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import create_table, open_table
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.upkeep import indexed_columns

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
