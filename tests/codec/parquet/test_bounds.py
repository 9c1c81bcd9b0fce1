"""Where there is a NaN, infinity is the upper bound of a row group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.codec.parquet.rows import columns_with_nan, set_infinite_bounds
from tests.tables import SCHEMA, data_files, new_table, rows

NAN, INFINITY = float("nan"), float("inf")
DEEP = pa.struct([("x", pa.float32()), ("n", pa.int32())])


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.float32(), NAN),
        (pa.float64(), NAN),
        (DEEP, {"x": NAN, "n": 1}),
        (pa.list_(pa.float64()), [1.0, NAN]),
        (pa.large_list(pa.float64()), [NAN]),
        (pa.list_(pa.float64(), 2), [1.0, NAN]),
        (pa.map_(pa.string(), DEEP), [("a", {"x": NAN, "n": 1})]),
    ],
)
def test_a_nan_is_found_at_any_depth(kind: pa.DataType, value: Any) -> None:
    found = pa.array([None, value], kind)
    table = pa.table({"a": found, "b": [1.0, 2.0], "c": pa.array(["NaN", None])})
    assert columns_with_nan(table) == {"a"}
    assert columns_with_nan(pa.table({"d": pa.array([1.0, NAN]).dictionary_encode()})) == {"d"}


def bounds(data: Any) -> list[dict[str, tuple[Any, int] | None]]:
    """Of each row group, by column, the upper bound, if there is one, and the number of nulls."""
    footer, found = pq.read_metadata(data), []
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        chunks = (group.column(column) for column in range(footer.num_columns))
        found.append({one.path_in_schema: _of(one.statistics) for one in chunks})
    return found


def _of(statistics: Any) -> tuple[Any, int] | None:
    if statistics is None:
        return None
    return statistics.max if statistics.has_min_max else None, statistics.null_count


def test_infinity_is_a_bound_in_the_row_groups_and_columns_that_are_named() -> None:
    sink = pa.BufferOutputStream()
    table = pa.table({"f": [1.0, None, 3.0, 4.0], "n": [1, 2, 3, 4], "s": pa.array([{"x": 1.0, "n": 1}] * 4, DEEP)})
    pq.write_table(table, sink, row_group_size=2)
    before = sink.getvalue().to_pybytes()
    after = set_infinite_bounds(before, [frozenset(["f", "n"]), frozenset(["s"])])
    assert bounds(pa.BufferReader(after)) == [
        {"f": (INFINITY, 1), "n": (2, 0), "s.x": (1.0, 0), "s.n": (1, 0)},
        {"f": (4.0, 0), "n": (4, 0), "s.x": (INFINITY, 0), "s.n": (1, 0)},
    ]
    assert pq.read_table(pa.BufferReader(after)) == table
    assert set_infinite_bounds(before, [frozenset()] * 2) == before


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_where_all_numbers_are_nan_infinity_is_the_lower_bound_too(kind: pa.DataType) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"f": pa.array([NAN, None], kind)}), sink)
    after = set_infinite_bounds(sink.getvalue().to_pybytes(), [frozenset(["f"])])
    statistics = pq.read_metadata(pa.BufferReader(after)).row_group(0).column(0).statistics
    assert (statistics.min, statistics.max, statistics.null_count) == (INFINITY, INFINITY, 1)


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_base_files_have_infinity_as_a_bound_where_there_is_a_nan(tmp_path: Path, table_type: str) -> None:
    schema = SCHEMA.append(pa.field("f", pa.float64())).append(pa.field("g", pa.float64()))
    table = new_table(tmp_path / "t", schema=schema, table_type=table_type, partition_by=[])
    some = rows(("a", 1, "x", 1), ("b", 1, "x", 2))
    table.insert(some.append_column("f", pa.array([1.0, NAN])).append_column("g", pa.array([1.0, 2.0])))
    [file] = data_files(tmp_path / "t")
    [group] = bounds(tmp_path / "t" / file)
    assert (group["f"], group["g"], group["v"]) == ((INFINITY, 0), (2.0, 0), (2, 0))
    assert table.snapshot(filter="g = 2.0", columns="k").to_pydict() == {"k": ["b"]}
    assert table.verify() == []
