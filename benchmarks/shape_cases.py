"""Six shapes of tables that people have: their columns, their rows, and what is done to each, step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

BASE = [("id", pa.string()), ("ts", pa.int64()), ("v", pa.int64())]
"""The columns of every shape: the record key, the ordering field, and a number that tells the row."""

Condition = tuple[str, str, Any]
"""A column, ``=`` and a value."""


class ShapeTable(Protocol):
    """A table by any of the contenders; each call opens it anew."""

    @property
    def writes(self) -> bool:
        """Whether the contender writes it; otherwise hudiformat does, and the time of writes does not count."""

    def create(self) -> None:
        """Create the table without rows."""

    def insert(self, rows: pa.Table) -> None:
        """Write rows whose keys are new, which is not checked."""

    def upsert(self, rows: pa.Table) -> None:
        """Write rows whose keys may be there."""

    def delete(self, rows: pa.Table) -> None:
        """Delete the keys of *rows*."""

    def count(self) -> int:
        """Count all rows."""

    def files(self) -> int:
        """Plan a read of all rows; return how many data files it has."""

    def read(self, columns: Sequence[str] | None = None, condition: Condition | None = None) -> pa.Table:
        """Read some columns, or all, of the rows for which *condition* is true."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is done to a table; what it returns has to be the same for all contenders."""

    name: str
    run: Callable[[ShapeTable], pa.Table | int | None]


@dataclass(frozen=True, slots=True)
class Shape:
    """A table and its steps, in their order: the later ones find what the earlier ones left."""

    schema: pa.Schema
    partition_by: Sequence[str]
    steps: Sequence[Step]


def partitions(size: float) -> Shape:
    """Return the shape of 1,000 partitions with ten rows each."""
    count = max(int(1000 * size), 2)
    schema = pa.schema([*BASE, ("p", pa.string())])

    def rows(folders: int, ts: int) -> pa.Table:
        names = [f"p{number:06}" for number in range(folders) for _ in range(10)]
        return pa.table({**_base(np.arange(folders * 10), ts), "p": names}, schema=schema)

    first, changed = rows(count, 1), rows(min(count, 10), 2)
    steps = [
        Step(f"insert {count:,} partitions", lambda table: table.insert(first)),
        Step("upsert 10 partitions", lambda table: table.upsert(changed)),
        Step("count", lambda table: table.count()),
        Step("one partition", lambda table: table.read(condition=("p", "=", "p000001"))),
        Step("one value", lambda table: table.read(condition=("v", "=", 5))),
        Step("all", lambda table: table.read()),
    ]
    return Shape(schema, ["p"], steps)


def columns(size: float) -> Shape:
    """Return the shape of 1,000 columns besides those of ``BASE``."""
    count = max(int(1000 * size), 8)
    kinds = (pa.float64(), pa.string(), pa.int32(), pa.timestamp("us", "UTC"))
    schema = pa.schema([*BASE, *((f"c{number}", kinds[number % len(kinds)]) for number in range(count))])
    chosen = np.random.default_rng(1)

    def values(kind: pa.DataType, rows: int) -> pa.Array:
        if kind == pa.float64():
            return pa.array(chosen.random(rows))
        if kind == pa.string():
            return pa.array([f"t{number}" for number in chosen.integers(0, 1000, rows)])
        return pa.array(chosen.integers(0, 9 if kind == pa.int32() else 10**15, rows)).cast(kind)

    def rows(count: int, ts: int) -> pa.Table:
        made = {field.name: values(field.type, count) for field in list(schema)[len(BASE) :]}
        return pa.table({**_base(np.arange(count), ts), **made}, schema=schema)

    first, changed = rows(5000, 1), rows(200, 2)
    steps = [
        Step("insert 5,000 rows", lambda table: table.insert(first)),
        Step("upsert 200 rows", lambda table: table.upsert(changed)),
        Step("two columns", lambda table: table.read(columns=["id", "c7"])),
        Step("all", lambda table: table.read()),
    ]
    return Shape(schema, [], steps)


def commits(size: float) -> Shape:
    """Return the shape of 200 commits of 100 rows each."""
    count = max(int(200 * size), 2)
    schema = pa.schema(BASE)
    parts = [pa.table(_base(np.arange(100) + 100 * number, 1), schema=schema) for number in range(count)]
    changed = pa.table(_base(np.arange(50, 150), 2), schema=schema)

    def insert_all(table: ShapeTable) -> None:
        for part in parts:
            table.insert(part)

    steps = [
        Step(f"{count:,} inserts of 100 rows", insert_all),
        Step("upsert 100 rows", lambda table: table.upsert(changed)),
        Step("all", lambda table: table.read()),
        Step("one value", lambda table: table.read(condition=("v", "=", 50))),
    ]
    return Shape(schema, [], steps)


def texts(size: float) -> Shape:
    """Return the shape of 200 texts of a megabyte each."""
    count = max(int(200 * size), 5)
    schema = pa.schema([*BASE, ("text", pa.large_string())])
    chosen = np.random.default_rng(2)
    made = [chosen.integers(97, 122, 1 << 20, dtype="uint8").tobytes().decode() for _ in range(count)]
    rows = pa.table({**_base(np.arange(count), 1), "text": pa.array(made, pa.large_string())}, schema=schema)
    changed = rows.slice(0, 5).set_column(1, "ts", pa.array([2] * 5))
    steps = [
        Step(f"insert {count:,} texts", lambda table: table.insert(rows)),
        Step("upsert 5", lambda table: table.upsert(changed)),
        Step("all", lambda table: table.read()),
        Step("two columns", lambda table: table.read(columns=["id", "v"])),
    ]
    return Shape(schema, [], steps)


def nested(size: float) -> Shape:
    """Return the shape of 50,000 rows with a list of twenty structs each."""
    count, items = max(int(50_000 * size), 100), 20
    kind = pa.list_(pa.struct([("a", pa.int64()), ("b", pa.string())]))
    schema = pa.schema([*BASE, ("items", kind)])
    chosen = np.random.default_rng(3)

    def rows(count: int, ts: int) -> pa.Table:
        numbers = pa.array(chosen.integers(0, 99, count * items))
        names = pa.array(chosen.integers(0, 9999, count * items).astype(str))
        inner = pa.StructArray.from_arrays([numbers, names], names=["a", "b"])
        lists = pa.ListArray.from_arrays(pa.array(np.arange(count + 1) * items, pa.int32()), inner)
        return pa.table({**_base(np.arange(count), ts), "items": lists.cast(kind)}, schema=schema)

    first, changed = rows(count, 1), rows(count // 100, 2)
    steps = [
        Step(f"insert {count:,} rows", lambda table: table.insert(first)),
        Step("upsert 1 %", lambda table: table.upsert(changed)),
        Step("all", lambda table: table.read()),
    ]
    return Shape(schema, [], steps)


def rows(size: float) -> Shape:
    """Return the shape of 2,000,000 narrow rows in ten partitions."""
    count = max(int(2_000_000 * size), 1000)
    schema = pa.schema([*BASE, ("x", pa.float64()), ("name", pa.string()), ("p", pa.string())])
    chosen = np.random.default_rng(4)

    def made(numbers: npt.NDArray[np.int64], ts: int) -> pa.Table:
        others = {
            "x": chosen.random(len(numbers)),
            "name": chosen.integers(0, 5000, len(numbers)).astype(str),
            "p": np.char.add("p", (numbers % 10).astype(str)),
        }
        return pa.table({**_base(numbers, ts), **others}, schema=schema)

    first = made(np.arange(count), 1)
    changed = made(chosen.choice(count, count // 100, replace=False), 2)
    deleted = made(chosen.choice(count, count // 1000, replace=False), 3)
    steps = [
        Step("insert", lambda table: table.insert(first)),
        Step("upsert 1 %", lambda table: table.upsert(changed)),
        Step("delete 0.1 %", lambda table: table.delete(deleted)),
        Step("count", lambda table: table.count()),
        Step("all", lambda table: table.read()),
        Step("one column", lambda table: table.read(columns=["x"])),
        Step("one value", lambda table: table.read(condition=("v", "=", count // 2))),
        Step("one partition", lambda table: table.read(condition=("p", "=", "p3"))),
    ]
    return Shape(schema, ["p"], steps)


def merge(size: float) -> Shape:
    """Return LHBench's merges: 7 million rows in 1,000 partitions, of which ever more are updated; queries in between.

    Source: "Analyzing and Comparing Lakehouse Storage Systems", CIDR 2023, section 3.4.
    """
    count, folders = max(int(7_000_000 * size), 2000), max(int(1000 * size), 2)
    schema = pa.schema([*BASE, ("value", pa.int64()), ("value2", pa.int64()), ("p", pa.string())])
    chosen = np.random.default_rng(5)

    def made(numbers: npt.NDArray[np.int64], ts: int) -> pa.Table:
        values = {name: chosen.integers(0, 1000, len(numbers)) for name in ("value", "value2")}
        folder = np.char.add("p", (numbers % folders).astype(str))
        return pa.table({**_base(numbers, ts), **values, "p": folder}, schema=schema)

    def updated(share: float, ts: int) -> pa.Table:
        return made(chosen.choice(count, max(int(count * share), 1), replace=False), ts)

    def queries(when: str) -> list[Step]:
        return [
            Step(f"count {when}", lambda table: table.count()),
            Step(f"count of a key {when}", lambda table: table.read(["id"], ("v", "=", count // 2)).num_rows),
            Step(f"sums {when}", lambda table: _sum(table.read(["value", "value2"]))),
        ]

    first = made(np.arange(count), 1)
    steps = [Step(f"insert {count:,} rows", lambda table: table.insert(first)), *queries("before")]
    for ts, share in enumerate((1e-6, 1e-4, 1e-2, 1e-1), 2):
        changed = updated(share, ts)
        steps.append(Step(f"upsert {share:.4%}", lambda table, changed=changed: table.upsert(changed)))  # type: ignore[misc]
    return Shape(schema, ["p"], [*steps, *queries("after")])


def refresh(size: float) -> Shape:
    """Return LHBench's refresh: five queries of two million rows, ten merges of 3 %, and the queries again."""
    count, folders = max(int(2_000_000 * size), 1000), 10
    schema = pa.schema([*BASE, ("x", pa.float64()), ("p", pa.string())])
    chosen = np.random.default_rng(6)

    def made(numbers: npt.NDArray[np.int64], ts: int) -> pa.Table:
        folder = np.char.add("p", (numbers % folders).astype(str))
        return pa.table({**_base(numbers, ts), "x": chosen.random(len(numbers)), "p": folder}, schema=schema)

    def queries(when: str) -> list[Step]:
        return [
            Step(f"count {when}", lambda table: table.count()),
            Step(f"sums {when}", lambda table: _sum(table.read(["ts", "v"]))),
            Step(f"sums by partition {when}", lambda table: _sum_by(table.read(["p", "v"]), "p", "v")),
            Step(f"a key {when}", lambda table: table.read(condition=("v", "=", count // 2))),
            Step(f"a partition {when}", lambda table: table.read(condition=("p", "=", "p3"))),
        ]

    first = made(np.arange(count), 1)
    parts = [made(chosen.choice(count, max(count * 3 // 100, 1), replace=False), ts) for ts in range(2, 12)]

    def merge_all(table: ShapeTable) -> None:
        for part in parts:
            table.upsert(part)

    steps = [Step(f"insert {count:,} rows", lambda table: table.insert(first)), *queries("before")]
    return Shape(schema, ["p"], [*steps, Step("ten upserts of 3 %", merge_all), *queries("after")])


def files(size: float) -> Shape:
    """Return LHBench's many files: 10,000 partitions with a file of one row each, and the planning of a read."""
    count = max(int(10_000 * size), 3)
    schema = pa.schema([*BASE, ("p", pa.string())])
    rows = pa.table({**_base(np.arange(count), 1), "p": [f"p{number:06}" for number in range(count)]}, schema=schema)
    steps = [
        Step(f"insert {count:,} files", lambda table: table.insert(rows)),
        Step("plan", lambda table: table.files()),
        Step("count", lambda table: table.count()),
        Step("one partition", lambda table: table.read(condition=("p", "=", "p000001"))),
    ]
    return Shape(schema, ["p"], steps)


def _sum(rows: pa.Table) -> int:
    return sum(int(pc.sum(column).as_py()) for column in rows.columns)


def _sum_by(rows: pa.Table, key: str, value: str) -> int:
    """Return a number that depends on the sum of *value* for each *key*."""
    found = rows.group_by(key).aggregate([(value, "sum")]).sort_by(key)
    return sum(place * total for place, total in enumerate(found[f"{value}_sum"].to_pylist(), 1))


def _base(numbers: npt.NDArray[np.int64], ts: int) -> dict[str, pa.Array]:
    """Return the columns of ``BASE`` for rows with these numbers."""
    keys = pc.binary_join_element_wise("k", pc.utf8_lpad(pa.array(numbers.astype(str)), 11, "0"), "")
    return {"id": keys, "ts": pa.array(np.full(len(numbers), ts)), "v": pa.array(numbers)}


SHAPES: Mapping[str, Callable[[float], Shape]] = {
    "partitions": partitions,
    "columns": columns,
    "commits": commits,
    "texts": texts,
    "nested": nested,
    "rows": rows,
    "merge": merge,
    "refresh": refresh,
    "files": files,
}
PUBLISHED = ("merge", "refresh", "files")
"""The shapes that others have published, of which some take minutes: they are played if they are asked for."""
