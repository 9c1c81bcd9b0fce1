"""Are two tables the same rows, in whatever order?"""

from __future__ import annotations

import pyarrow as pa


def assert_same_rows(found: pa.Table, expected: pa.Table, *, key: tuple[str, ...] = ()) -> None:
    """Fail when the tables differ in columns or rows; *key* are columns that tell rows apart, to sort by."""
    assert sorted(found.column_names) == sorted(expected.column_names)
    found = found.select(expected.column_names).cast(expected.schema)
    assert found.num_rows == expected.num_rows
    keys = [(name, "ascending") for name in (key or tuple(expected.column_names))]
    left, right = (table.sort_by(keys).combine_chunks() for table in (found, expected))
    for name in expected.column_names:
        if not left[name].equals(right[name]):
            both = zip(left[name].to_pylist(), right[name].to_pylist(), strict=True)
            first = next(i for i, (one, other) in enumerate(both) if one != other)
            raise AssertionError(f"column {name}, row {first}: {left.slice(first, 1)} is not {right.slice(first, 1)}")
