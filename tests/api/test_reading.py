"""What a table object is asked: columns, filters, file slices."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow.compute as pc
import pytest

from hudiformat import SchemaError, Table, open_table
from tests.tables import GoldenTable, multiset, rows


def test_columns_and_filters(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1), ("b", 2, "y", 2)))
    table.upsert(rows(("a", 2, "x", 3)))
    assert table.snapshot(columns=["v", "k"], filter=pc.field("v") > 2).to_pydict() == {"v": [3], "k": ["a"]}
    assert table.snapshot(columns=[]).num_rows == 2
    assert table.read_optimized(columns=["_hoodie_record_key"], filter=None).num_rows == 2
    batches = list(table.scan(columns=["k"]))
    assert sum(batch.num_rows for batch in batches) == 2
    with pytest.raises(SchemaError, match="no column 'q'; the columns are _hoodie_commit_time"):
        table.snapshot(columns=["k", "q"])
    with pytest.raises(SchemaError, match="asked for twice: k, k"):
        table.snapshot(columns=["k", "k"])
    for bad in (pc.field("q") > 2, pc.field("k") > 2):
        with pytest.raises(SchemaError, match="the filter .* does not fit the columns"):
            table.snapshot(filter=bad)


@pytest.mark.parametrize("name", ["v8-mor-avro-h102", "v9-mor-avro-h120", "v9-mor-multilevel-hive-h120"])
def test_one_column_is_the_same_column(name: str, golden: Callable[[str], GoldenTable]) -> None:
    case = golden(name)
    table = open_table(case.table)
    expected = case.answer("expected/snapshot.parquet")
    for column in expected.column_names:
        found = table.snapshot(columns=[column])
        assert multiset(found) == multiset(expected.select([column])), column


def test_slices_of_one_partition_and_of_all(golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(golden("v9-mor-multilevel-hive-h120").table)
    slices = table.file_slices()
    paths = sorted({item.partition_path for item in slices})
    assert len(paths) > 1
    assert [item for path in paths for item in table.file_slices(path)] == sorted(
        slices, key=lambda item: (item.partition_path, item.file_id)
    )
    assert table.file_slices("no/such/partition") == []
