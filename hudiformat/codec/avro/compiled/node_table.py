"""Flatten an Avro schema into a table of numbers, which compiled code walks through.

Each node of the schema is a row, and the fields of a record are next to each other:

    {"id": string, "tags": nullable array of long}

    0   RECORD                first 1, count 2
    1   TEXT
    2   LIST    null is 0     first 3, count 1
    3   LONG
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache

import numpy as np
import pyarrow.types as pat

from hudiformat.codec.avro.arrays import Longs
from hudiformat.codec.avro.compiled.encoding import (
    BOOLEAN,
    BRANCH,
    COLUMNS,
    COUNT,
    DECIMAL,
    DECIMAL_BYTES,
    DOUBLE,
    FIRST,
    FIXED,
    FLOAT,
    INT,
    KIND,
    LIST,
    LONG,
    NONE,
    RECORD,
    SHARED,
    TEXT,
    UNION,
)
from hudiformat.codec.avro.nodes import Array, Fixed, Map, Node, Nullable, Primitive, Record, Union, parse_schema

_ONE_BYTE = 64  # numbers of branches below this take one byte
_KINDS = {
    "string": TEXT,
    "bytes": TEXT,
    "long": LONG,
    "int": INT,
    "double": DOUBLE,
    "float": FLOAT,
    "boolean": BOOLEAN,
}


@lru_cache(maxsize=256)
def table_of(schema_json: str, shared: tuple[int, ...] = ()) -> Longs | None:
    """Return the table of nodes; None if the schema has an enum, or a union of very many types: kernels lack them.

    The fields *shared* are columns with one text for all rows.
    """
    rows: list[list[int]] = [[0] * COLUMNS]
    waiting: deque[tuple[int, Node]] = deque([(0, parse_schema(schema_json))])
    while waiting:
        index, node = waiting.popleft()
        if (children := _fill(rows[index], node)) is None:
            return None
        if children:
            rows[index][FIRST], rows[index][COUNT] = len(rows), len(children)
            waiting.extend((len(rows) + place, child) for place, child in enumerate(children))
            rows += [[0] * COLUMNS for _ in children]
    for field in shared:
        rows[1 + field][KIND] = SHARED
    return np.array(rows, np.int64)


def _fill(row: list[int], node: Node) -> list[Node] | None:
    """Fill the row of *node*; return its children, or None if kernels do not know the type."""
    row[BRANCH] = NONE
    if isinstance(node, Nullable):
        row[BRANCH], node = node.null_branch, node.inner
    if isinstance(node, Union):
        row[KIND] = UNION
        row[BRANCH] = node.branches.index(None) if None in node.branches else NONE
        return [branch for branch in node.branches if branch] if len(node.branches) < _ONE_BYTE else None
    if isinstance(node, Record):
        row[KIND] = RECORD
        return [child for _, child in node.fields]
    if isinstance(node, (Array, Map)):
        row[KIND] = LIST
        return [node.items if isinstance(node, Array) else node.entries]
    if isinstance(node, Primitive):
        row[KIND] = DECIMAL_BYTES if pat.is_decimal(node.arrow) else _KINDS[node.kind]
        return []
    if isinstance(node, Fixed):
        row[KIND], row[COUNT] = DECIMAL if pat.is_decimal(node.arrow) else FIXED, node.size
        return []
    return None
