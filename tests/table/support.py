"""Tables and rows for the tests of this folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudiformat import Table, create_table, open_table
from hudiformat.options.keys import TABLE_KEYS

SCHEMA = pa.schema(
    [
        pa.field("k", pa.string(), nullable=False),
        pa.field("ts", pa.int64()),
        pa.field("p", pa.string()),
        pa.field("v", pa.int32()),
    ]
)
Row = tuple[Any, ...]


class Clock:
    """A clock that goes on by ten milliseconds whenever somebody looks at it."""

    def __init__(self) -> None:
        self.now = datetime(2024, 2, 29, 12)  # noqa: DTZ001 - instants have no zone

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=10)
        return self.now


def new_table(path: Path, *, clock: Clock | None = None, sync: bool = False, **changes: Any) -> Table:
    """A table of SCHEMA, partitioned by p and ordered by ts unless *changes* say otherwise."""
    options = {"hudiformat.sync": str(sync), **changes.pop("options", {})}
    arguments = {"name": "t", "schema": SCHEMA, "record_key": ["k"], "ordering": ["ts"], "partition_by": ["p"]}
    create_table(path, **{**arguments, **changes}, options=options)
    chosen = {key: value for key, value in options.items() if key not in TABLE_KEYS}
    return open_table(path, options=chosen, clock=clock or Clock())


def rows(*values: Row, schema: pa.Schema = SCHEMA) -> pa.Table:
    """Rows of *schema*; columns that a tuple is too short for are null."""
    width = len(schema.names)
    padded = [(*value, *(None,) * (width - len(value))) for value in values]
    return pa.Table.from_pylist([dict(zip(schema.names, value, strict=True)) for value in padded], schema)


def content(table: Table, columns: Sequence[str] = ("k", "ts", "p", "v"), **query: Any) -> list[Row]:
    """The table's rows, sorted."""
    found = table.snapshot(columns=list(columns), **query)
    return sorted(zip(*(found[name].to_pylist() for name in columns), strict=True), key=repr)


def tree(root: Path) -> dict[str, bytes]:
    """Every file below *root* and its bytes; folders end in ``/``."""
    return {
        str(path.relative_to(root)) + ("/" if path.is_dir() else ""): b"" if path.is_dir() else path.read_bytes()
        for path in sorted(root.rglob("*"))
    }


def data_files(root: Path) -> list[str]:
    return [path for path in tree(root) if not path.startswith(".hoodie") and not path.endswith(("/", "_metadata"))]


def multiset(table: pa.Table) -> Counter[str]:
    """The rows of *table*, whatever the order of rows, columns and struct fields."""
    names = sorted(table.column_names)
    return Counter(repr([_plain(row[name]) for name in names]) for row in table.to_pylist())


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return sorted((key, _plain(item)) for key, item in value.items())
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
