"""Are two tables the same rows, in whatever order?"""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def assert_same_rows(found: pa.Table, expected: pa.Table, *, key: tuple[str, ...] = ()) -> None:
    """Fail when the tables differ in columns or rows; *key* are columns that tell rows apart, to sort by."""
    assert sorted(found.column_names) == sorted(expected.column_names)
    found = found.select(expected.column_names).cast(expected.schema)
    assert found.num_rows == expected.num_rows
    keys = key or tuple(field.name for field in expected.schema if not pa.types.is_nested(field.type))
    order = [(name, "ascending") for name in keys]
    left, right = (table.sort_by(order).combine_chunks() for table in (found, expected))
    for name in expected.column_names:
        if not left[name].equals(right[name]):
            pairs = zip(left[name].to_pylist(), right[name].to_pylist(), strict=True)
            differing = [(one, other) for one, other in pairs if _value(one) != _value(other)]
            assert not differing, f"column {name}: {len(differing)} rows differ, the first is {differing[0]}"


def _value(value: Any) -> Any:
    """*value* so that equal ones compare equal: NaN with itself, and maps, which come as pairs, in any order."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return {key: _value(item) for key, item in value.items()}
    if isinstance(value, list):
        items = [_value(item) for item in value]
        return sorted(items, key=repr) if items and all(isinstance(item, tuple) for item in value) else items
    return tuple(map(_value, value)) if isinstance(value, tuple) else value
