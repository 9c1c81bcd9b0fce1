"""The values of Java objects in delete blocks as Python values, and deletes with such values as columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from hudiformat.errors import CorruptBlockError

Delete = tuple[str | None, str | None, Any]
"""Record key, partition path, and the ordering value: None, or Python's counterpart of the Java value.

The values of several ordering fields are a list.
"""


class Long(int):
    """A Java long, not an int: the int 0 is Hudi's placeholder for no ordering value, the long 0 is a value."""


class Float(float):
    """A Java float, not a double."""


_ARROW: Mapping[type, pa.DataType] = {int: pa.int32(), Long: pa.int64(), Float: pa.float32()}


def to_batch(deletes: list[Delete]) -> pa.RecordBatch:
    """Return the deletes as columns; if the ordering values are not all ints, an int 0 among them becomes null.

    Raises:
        CorruptBlockError: the types of the ordering values cannot be in one column.
    """
    values = [value for _, _, value in deletes]
    if {type(value) for value in values} - {int, type(None)}:
        values = [None if type(value) is int and value == 0 else value for value in values]
    columns = [pa.array([delete[i] for delete in deletes], pa.string()) for i in (0, 1)]
    names = ["record_key", "partition_path", "ordering"]
    return pa.RecordBatch.from_arrays([*columns, _column(values)], names=names)


def _column(values: list[Any]) -> pa.Array:
    """Return ordering values as an array; lists, which are the values of several ordering fields, become a struct.

    ``[[1, "a"], None, [2, "b"]]`` becomes a struct of ``field0`` = ``[1, null, 2]`` and ``field1`` = ``["a", null,
    "b"]``.
    """
    present = [value for value in values if value is not None]
    if any(isinstance(value, list) for value in present):
        if len({len(value) if isinstance(value, list) else 0 for value in present}) > 1:
            raise CorruptBlockError("the deletes have different numbers of ordering fields; expected the same in all")
        width = len(present[0])
        fields = [_column([None if value is None else value[index] for value in values]) for index in range(width)]
        mask = pa.array([value is None for value in values])
        return pa.StructArray.from_arrays(fields, names=[f"field{index}" for index in range(width)], mask=mask)
    kinds = {type(value) for value in present} or {int}
    try:
        return pa.array(values, _ARROW.get(kinds.pop()) if len(kinds) == 1 else None)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise CorruptBlockError(f"the ordering values have types that do not fit into one column: {error}") from error
