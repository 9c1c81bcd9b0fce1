"""Every row that a footer names is read, or the file is refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.codec.parquet.rows import read_batches
from tests.codec.parquet.support import with_fewer_values

ROWS = pa.table({"k": ["a", "b", "c"], "n": [1, 2, 3]})


def written(**options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(ROWS, sink, **options)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def read(data: bytes, columns: list[str] | None = None, groups: list[int] | None = None) -> pa.Table:
    with pq.ParquetFile(pa.BufferReader(data)) as file:
        return pa.Table.from_batches(read_batches(file, 2, columns=columns, groups=groups))


def test_all_rows_of_some_row_groups_and_columns() -> None:
    data = written(row_group_size=1)
    assert read(data) == ROWS
    assert read(data, ["n"], [0, 2]) == pa.table({"n": [1, 3]})


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("columns", [None, ["k", "n"]])
def test_a_column_that_says_it_has_fewer_values_is_damage(column: int, columns: list[str] | None) -> None:
    with pytest.raises(pa.ArrowInvalid, match="expected 3 rows, as the row groups have, found 0 in the columns"):
        read(with_fewer_values(written(), column), columns)


def test_columns_that_are_not_read_are_not_asked() -> None:
    assert read(with_fewer_values(written(), 0), ["n"]) == ROWS.select(["n"])
