"""What a query shows in partition columns."""

from __future__ import annotations

from hudiformat.schema.partition_columns import PartitionColumns


def test_more_folders_than_partition_fields_say_nothing() -> None:
    none: frozenset[str] = frozenset()
    columns = PartitionColumns(("a", "b"), none, none, whole_path=False, escaped=False, unescapes=True)
    assert columns.texts("x/y/z") == [None, None]
    assert columns.texts("x/b=y") == ["x", "y"]
