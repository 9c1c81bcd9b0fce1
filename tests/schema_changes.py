"""Changes of a table's schema, each as a batch of rows that brings it: for Hudi and hudiformat alike.

Every change is made to the same table of two rows, by an upsert of one row that is there and one that is new.
``schema_answers.json`` holds what Hudi 1.2.0 does with each; ``tests/conformance/test_schema_changes.py`` asks it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa

Values = list[Any]
Columns = dict[str, tuple[pa.Field, Values]]
"""The columns of a batch, in order: each with its field and a value for each row."""

_UTC = pa.timestamp("us", tz="UTC")
_DECIMAL = pa.decimal128(10, 2)


def _field(name: str, kind: pa.DataType, *, required: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=not required)


def _struct(**kinds: pa.DataType) -> pa.StructType:
    return pa.struct([pa.field(name, kind) for name, kind in kinds.items()])


def _at(hour: int) -> datetime:
    return datetime(2024, 2, 29, hour, tzinfo=timezone.utc)


_N = _struct(a=pa.int32(), b=pa.string(), o=_struct(x=pa.int32()))
_R = pa.list_(_struct(x=pa.int32(), y=pa.string()))
_M = pa.map_(pa.string(), _struct(x=pa.int32()))

# name, type, required, two values in the table, two values in the batch
_COLUMNS: tuple[tuple[str, pa.DataType, bool, Values, Values], ...] = (
    ("id", pa.int32(), True, [1, 2], [1, 3]),
    ("p", pa.int32(), False, [7, 7], [7, 7]),
    ("ts", pa.int32(), False, [10, 10], [20, 20]),
    ("b", pa.bool_(), False, [True, False], [False, True]),
    ("i", pa.int32(), False, [1, 2], [11, 13]),
    ("l", pa.int64(), False, [10**10, 2], [11, 13]),
    ("f", pa.float32(), False, [2.0, 1.1], [11.5, 13.5]),
    ("d", pa.float64(), False, [1.1, 2e10], [11.5, 13.5]),
    ("s", pa.string(), False, ["one", "two"], ["eleven", "thirteen"]),
    ("y", pa.binary(), False, [b"one", b"two"], [b"eleven", b"thirteen"]),
    ("e", pa.date32(), False, [date(2024, 1, 1), date(2024, 1, 2)], [date(2024, 2, 1), date(2024, 2, 2)]),
    ("t", _UTC, False, [_at(1), _at(2)], [_at(11), _at(13)]),
    ("c", _DECIMAL, False, [Decimal("1.10"), Decimal("-2.25")], [Decimal("11.50"), Decimal("13.50")]),
    ("n", _N, False, [{"a": 1, "b": "u", "o": {"x": 1}}, None], [{"a": 11, "b": "w", "o": {"x": 11}}] * 2),
    ("r", _R, False, [[{"x": 1, "y": "u"}], []], [[{"x": 11, "y": "w"}]] * 2),
    ("a", pa.list_(pa.int32()), False, [[1, 4], [2]], [[11], [13]]),
    ("m", _M, False, [[("k", {"x": 1})], []], [[("k", {"x": 11})]] * 2),
    ("w", pa.map_(pa.string(), pa.int32()), False, [[("k", 1)], []], [[("k", 11)]] * 2),
    ("q", pa.int32(), True, [1, 2], [11, 13]),
    ("u", pa.struct([_field("v", pa.int32(), required=True)]), True, [{"v": 1}, {"v": 2}], [{"v": 11}, {"v": 13}]),
)


def first_rows() -> pa.Table:
    """The rows of the table before the change."""
    return table_of({name: (_field(name, kind, required=must), old) for name, kind, must, old, _ in _COLUMNS})


def same_columns() -> Columns:
    """A batch with the table's own columns."""
    return {name: (_field(name, kind, required=must), list(new)) for name, kind, must, _, new in _COLUMNS}


def table_of(columns: Columns) -> pa.Table:
    """The rows of a batch."""
    schema = pa.schema([column for column, _ in columns.values()])
    return pa.Table.from_arrays([pa.array(values, column.type) for column, values in columns.values()], schema=schema)


Edit = Callable[[Columns], Columns]


@dataclass(frozen=True)
class Change:
    """A change: what the batch has instead of the table's columns, and the options of the write.

    ``shown`` are the columns that the rows afterwards are compared by; the others are as they were.
    """

    name: str
    edit: Edit
    shown: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    short: bool = False

    def batch(self) -> pa.Table:
        """The rows that bring the change."""
        return table_of(self.edit(same_columns()))


def _put(name: str, kind: pa.DataType, values: Values, *, before: str | None = None, required: bool = False) -> Edit:
    """The column *name* of *kind*: in the place of the table's, or new, at the end or before another."""

    def edit(columns: Columns) -> Columns:
        column = (_field(name, kind, required=required), values)
        if name in columns or before is None:
            return {**columns, name: column}
        result: Columns = {}
        for other, kept in columns.items():
            if other == before:
                result[name] = column
            result[other] = kept
        return result

    return edit


def _without(*names: str) -> Edit:
    return lambda columns: {name: column for name, column in columns.items() if name not in names}


def _reversed(columns: Columns) -> Columns:
    return dict(reversed(columns.items()))


def _both(*edits: Edit) -> Edit:
    def edit(columns: Columns) -> Columns:
        for one in edits:
            columns = one(columns)
        return columns

    return edit


VALIDATE = {"hoodie.avro.schema.validate": "true"}
RECONCILE = {"hoodie.datasource.write.reconcile.schema": "true"}
SET_NULL = {"hoodie.write.set.null.for.missing.columns": "true"}
MAY_DROP = {"hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true"}

_LONGS = [2**40, 13]
_NEW = _put("z", pa.int32(), [101, 103])
_N_MORE = _struct(a=pa.int32(), b=pa.string(), o=_struct(x=pa.int32()), c=pa.int32())
_N_MIDDLE = _struct(a=pa.int32(), c=pa.int32(), b=pa.string(), o=_struct(x=pa.int32()))
_N_DEEP = _struct(a=pa.int32(), b=pa.string(), o=_struct(x=pa.int32(), y=pa.string()))
_N_FEWER = _struct(a=pa.int32(), o=_struct(x=pa.int32()))
_N_SWAPPED = _struct(o=_struct(x=pa.int32()), b=pa.string(), a=pa.int32())
_N_LONG = _struct(a=pa.int64(), b=pa.string(), o=_struct(x=pa.int32()))
_WHOLE = [{"a": 11, "b": "w", "o": {"x": 11, "y": "new"}, "c": 5}] * 2
_R_MORE = pa.list_(_struct(x=pa.int32(), y=pa.string(), z=pa.float64()))
_R_FEWER = pa.list_(_struct(x=pa.int32()))
_R_LONG = pa.list_(_struct(x=pa.int64(), y=pa.string()))
_ITEMS = [[{"x": 11, "y": "w", "z": 0.5}], []]
_M_MORE = pa.map_(pa.string(), _struct(x=pa.int32(), y=pa.string()))
_M_LONG = pa.map_(pa.string(), _struct(x=pa.int64()))
_ENTRIES = [[("k", {"x": 11, "y": "w"})], []]
_U_NULLABLE = pa.struct([pa.field("v", pa.int32())])
_U_MORE = pa.struct([_field("v", pa.int32(), required=True), _field("x", pa.int32(), required=True)])


_made: list[Change] = []


def _add(name: str, edit: Edit, *shown: str, short: bool = False, options: Mapping[str, str] | None = None) -> None:
    _made.append(Change(name, edit, shown, options or {}, short))


def _widened(name: str, kind: pa.DataType, values: Values, *, short: bool = False) -> None:
    was = next(column for column in _COLUMNS if column[0] == name)[1]
    _add(f"{name}: {was} to {kind}", _put(name, kind, values), name, short=short)


_add("the same columns", _both(), "i")
_add("a new column at the end", _NEW, "i", "z", short=True)
_add("a new column in the middle", _put("z", pa.int32(), [101, 103], before="l"), "i", "l", "z")
_add("a new column at the beginning", _put("z", pa.int32(), [101, 103], before="id"), "i", "z")
_add(
    "two new columns apart",
    _both(_put("z", pa.int32(), [1, None], before="l"), _put("x", pa.string(), ["x", None])),
    "z",
    "x",
)
_add("a new column that is required", _put("z", pa.int32(), [101, 103], required=True), "z", short=True)
_add("a new struct", _put("z", _struct(a=pa.int32()), [{"a": 1}, None]), "z")
_add("a new array", _put("z", pa.list_(pa.int32()), [[1], None]), "z")
_add("a new map", _put("z", pa.map_(pa.string(), pa.int32()), [[("k", 1)], None]), "z")
_add("a new field of a struct", _put("n", _N_MORE, _WHOLE), "n", short=True)
_add("a new field in the middle of a struct", _put("n", _N_MIDDLE, _WHOLE), "n")
_add("a new field deep in a struct", _put("n", _N_DEEP, _WHOLE), "n")
_add("a new field that is required, of a struct", _put("u", _U_MORE, [{"v": 11, "x": 1}] * 2, required=True), "u")
_add("a new field of an array's structs", _put("r", _R_MORE, _ITEMS), "r")
_add("a new field of a map's structs", _put("m", _M_MORE, _ENTRIES), "m")

_TEXTS, _DECIMALS = ["x", "y"], [Decimal("0.5000"), Decimal("1.2500")]
_NUMBERS = [Decimal(11), Decimal(13)]
_widened("i", pa.int64(), _LONGS, short=True)
_widened("i", pa.float32(), [0.5, 1.5])
_widened("i", pa.float64(), [0.5, 1.5])
_widened("i", pa.string(), _TEXTS, short=True)
_widened("i", pa.decimal128(20, 2), _NUMBERS)
_widened("i", _UTC, [_at(11), _at(13)])
_widened("l", pa.float32(), [0.5, 1.5])
_widened("l", pa.float64(), [0.5, 1.5])
_widened("l", pa.string(), _TEXTS)
_widened("l", _UTC, [_at(11), _at(13)])
_widened("f", pa.float64(), [0.5, 1.1])
_widened("f", pa.string(), _TEXTS)
_widened("d", pa.string(), _TEXTS)
_widened("s", pa.binary(), [b"x", b"y"])
_widened("y", pa.string(), _TEXTS)
_widened("c", pa.decimal128(11, 2), _DECIMALS)
_widened("c", pa.decimal128(20, 2), _DECIMALS)
_widened("c", pa.decimal128(12, 4), _DECIMALS)
_widened("c", pa.decimal128(10, 4), _DECIMALS)
_widened("c", pa.float64(), [0.5, 1.5])
_widened("c", pa.string(), ["0.50", "1.25"])
_widened("e", pa.string(), ["2024-02-01", "2024-02-02"])
_widened("e", _UTC, [_at(11), _at(13)])
_widened("t", pa.string(), _TEXTS)
_widened("t", pa.int64(), _LONGS)
_widened("t", pa.timestamp("us"), [_at(11).replace(tzinfo=None), _at(13).replace(tzinfo=None)])
_widened("b", pa.string(), _TEXTS)
_widened("b", pa.int32(), [1, 0])
_widened("s", pa.date32(), [date(2024, 2, 1), date(2024, 2, 2)])
_widened("s", pa.decimal128(10, 2), [Decimal("1.50"), Decimal("2.50")])
_widened("s", pa.float64(), [0.5, 1.5])
_add("int to long in a struct", _put("n", _N_LONG, [{"a": 2**40, "b": "w", "o": {"x": 11}}] * 2), "n")
_add("int to long in an array", _put("a", pa.list_(pa.int64()), [[2**40], []]), "a")
_add("int to string in an array", _put("a", pa.list_(pa.string()), [["x"], []]), "a")
_add("int to long in an array's structs", _put("r", _R_LONG, [[{"x": 2**40, "y": "w"}]] * 2), "r")
_add("int to long in a map", _put("w", pa.map_(pa.string(), pa.int64()), [[("k", 2**40)], []]), "w")
_add("int to double in a map", _put("w", pa.map_(pa.string(), pa.float64()), [[("k", 0.5)], []]), "w")
_add("int to long in a map's structs", _put("m", _M_LONG, [[("k", {"x": 2**40})], []]), "m")

_widened("l", pa.int32(), [11, 13], short=True)
_widened("d", pa.float32(), [11.5, 1.1])
_widened("d", pa.int32(), [11, 13])
_widened("d", pa.int64(), [11, 13])
_widened("f", pa.int32(), [11, 13])
_widened("s", pa.int32(), [11, 13])
_widened("c", pa.decimal128(8, 2), _NUMBERS)
_widened("c", pa.decimal128(10, 1), _NUMBERS)
_widened("c", pa.int32(), [11, 13])
_widened("y", pa.int32(), [11, 13])
_widened("e", pa.int32(), [11, 13])
_widened("i", pa.bool_(), [True, False])
_widened("i", pa.binary(), [b"x", b"y"])
_widened("i", pa.date32(), [date(2024, 2, 1), date(2024, 2, 2)])

_add("required to nullable", _put("q", pa.int32(), [11, None]), "q", short=True)
_add("required to nullable in a struct", _put("u", _U_NULLABLE, [{"v": 11}, {"v": None}], required=True), "u")
_add("nullable to required", _put("i", pa.int32(), [11, 13], required=True), "i", short=True)
_add("reordered columns", _reversed, "i", "s", "n", short=True)
_add("reordered fields of a struct", _put("n", _N_SWAPPED, [{"a": 11, "b": "w", "o": {"x": 11}}] * 2), "n")
_add("a struct for a string", _put("s", _struct(a=pa.int32()), [{"a": 1}] * 2), "s")
_add("a string for a struct", _put("n", pa.string(), _TEXTS), "n")
_add("an array for a map", _put("w", pa.list_(pa.int32()), [[1], [2]]), "w")
_add("an array for an int", _put("i", pa.list_(pa.int32()), [[1], [2]]), "i")

_RENAMED = _both(_without("i"), _put("j", pa.int32(), [11, 13]))
_FEWER = _put("n", _N_FEWER, [{"a": 11, "o": {"x": 11}}] * 2)
_FEWER_ITEMS = _put("r", _R_FEWER, [[{"x": 11}]] * 2)
_add("a missing column", _without("i"), "i", short=True)
_add("two missing columns", _without("i", "s"), "i", "s")
_add("a missing column that is required", _without("q"), "q")
_add("a missing field of a struct", _FEWER, "n")
_add("a missing field of an array's structs", _FEWER_ITEMS, "r")
_add("a renamed column", _RENAMED, "i", "j")
for _word, _options in (
    ("nulls for missing columns", SET_NULL),
    ("columns may be dropped", MAY_DROP),
    ("reconciled", RECONCILE),
    ("validated", VALIDATE),
    ("validated, columns may be dropped", {**VALIDATE, **MAY_DROP}),
):
    _add(f"{_word}: the same columns, one new", _NEW, "i", "z", options=_options)
    _add(f"{_word}: a missing column", _without("i"), "i", short=True, options=_options)
    _add(f"{_word}: a missing column that is required", _without("q"), "q", options=_options)
    _add(f"{_word}: a missing field of a struct", _FEWER, "n", options=_options)
    _add(f"{_word}: a missing field of an array's structs", _FEWER_ITEMS, "r", options=_options)
    _add(f"{_word}: a renamed column", _RENAMED, "i", "j", options=_options)
    _add(f"{_word}: int to long", _put("i", pa.int64(), _LONGS), "i", options=_options)
    _add(f"{_word}: long to int", _put("l", pa.int32(), [11, 13]), "l", options=_options)
    _add(f"{_word}: string to int", _put("s", pa.int32(), [11, 13]), "s", options=_options)
    _add(f"{_word}: int to string", _put("i", pa.string(), _TEXTS), "i", options=_options)
    _middle = _put("z", pa.int32(), [101, 103], before="l")
    _add(f"{_word}: a new column in the middle", _middle, "l", "z", options=_options)
_add("reconciled: a new column and a missing one, nulls", _RENAMED, "i", "j", options={**RECONCILE, **SET_NULL})

_add("the record key from int to long", _put("id", pa.int64(), [1, 3], required=True), "id", short=True)
_add("the record key from int to string", _put("id", pa.string(), ["1", "3"], required=True), "id")
_add("the record key nullable", _put("id", pa.int32(), [1, 3]), "id")
_add("the record key missing", _without("id"), "id")
_add("the ordering column from int to long", _put("ts", pa.int64(), [20, 2**40]), "ts", "i", short=True)
_add("the ordering column from int to double", _put("ts", pa.float64(), [20.5, 20.5]), "ts", "i")
_add("the ordering column from int to string", _put("ts", pa.string(), ["20", "20"]), "ts", "i")
_add("the ordering column missing", _without("ts"), "ts")
_add("the partition column from int to long", _put("p", pa.int64(), [7, 7]), "p", "i")
_add("the partition column from int to string", _put("p", pa.string(), ["7", "7"]), "p", "i")
_add("the partition column missing", _without("p"), "p")


CHANGES = tuple(_made)
VARIANTS = tuple((kind, version) for kind in ("MERGE_ON_READ", "COPY_ON_WRITE") for version in (6, 8, 9))
