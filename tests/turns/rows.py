"""Rows whose columns grow in number and width; what a row was written with is kept by the value of ``v``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from random import Random
from typing import Any

import pyarrow as pa

from hudiformat.codec.avro.schema import arrow_to_avro
from tests.model.expected import Row
from tests.turns.kinds import Layout

_WIDER = {pa.int32(): pa.int64(), pa.float32(): pa.float64()}
_FIRST_DAY = dt.date(2020, 1, 1)
_FIXED = ("k", "p", "ts", "v", "s", "st", "_hoodie_is_deleted")

Values = tuple[Any, ...]


class Columns:
    """The columns of the table at present, and the values of all rows that were ever written."""

    def __init__(self, chance: Random, layout: Layout) -> None:
        self._chance, self._layout = chance, layout
        structs = {"st": pa.struct([("k", pa.string()), ("p", pa.string())])} if layout.has_structs else {}
        self.types: dict[str, pa.DataType] = {
            "k": pa.string(),
            "p": layout.type,
            "ts": pa.int64(),
            "v": pa.int32(),
            "s": pa.string(),
            "n": pa.int32(),
            "d": pa.float32(),
            **({"day": pa.date32()} if layout.has_dates else {}),
            **structs,
            "_hoodie_is_deleted": pa.bool_(),
        }
        self._first = len(self.types)
        self._written: dict[int, dict[str, Any]] = {}

    @property
    def has_more(self) -> bool:
        """Whether columns were added."""
        return len(self.types) > self._first

    @property
    def avro(self) -> str:
        """The Avro schema of a table with these columns."""
        return arrow_to_avro(pa.schema(self.types.items()), name="turns_record", namespace="hoodie.turns")

    @property
    def place(self) -> Any:
        """The value of the partition column in the partition x."""
        return self._layout.places["x"][0]

    def add(self) -> dict[str, pa.DataType]:
        """A new column, which is the last one."""
        kind = self._chance.choice(
            [pa.int32(), pa.float32(), pa.string(), pa.date32()][: 4 if self._layout.has_dates else 3]
        )
        added = {f"c{len(self.types)}": kind}
        self.types |= added
        return added

    def widen(self) -> dict[str, pa.DataType]:
        """A column that has a wider type from now on, if there is one left to widen."""
        narrow = [name for name, kind in self.types.items() if kind in _WIDER]
        widened = {name: _WIDER[self.types[name]] for name in self._chance.sample(narrow, min(len(narrow), 1))}
        self.types |= widened
        return widened

    def data(self, rows: Sequence[Row], *, without: Sequence[str] = ()) -> pa.Table:
        """The table to write for *rows*, whose values are drawn now."""
        for row in rows:
            drawn = {name: self._draw(kind) for name, kind in self.types.items() if name not in (*_FIXED, *without)}
            fixed = {
                "k": row.key,
                "p": self._layout.places[row.partition][0],
                "ts": row.ts,
                "v": row.value,
                "st": {"k": row.key, "p": row.partition},
            }
            self._written[row.value] = {
                **drawn, **fixed, "s": self._text(), "_hoodie_is_deleted": row.is_deleted,
            }  # fmt: skip
        columns = {
            name: pa.array([self._written[row.value][name] for row in rows], kind)
            for name, kind in self.types.items()
            if name not in without
        }
        return pa.table(columns)

    def values(self, row: Row, *, by_hudi: bool = False) -> Values:
        """What a reader has to find of *row*: null in columns that came after it."""
        written = self._written[row.value]
        if by_hudi and not self._layout.has_hudis_values:
            written = {**written, "p": None}
        return tuple(written.get(name) for name in self.types)

    def _text(self) -> str | None:
        return None if self._chance.random() < 0.1 else f"text {self._chance.randrange(12)}"

    def _draw(self, kind: pa.DataType) -> Any:
        if self._chance.random() < 0.1:
            return None
        number = self._chance.randrange(50)
        if pa.types.is_floating(kind):
            return number / 4
        if pa.types.is_date(kind):
            return _FIRST_DAY + dt.timedelta(days=number)
        return f"é{number}" if pa.types.is_string(kind) else number
