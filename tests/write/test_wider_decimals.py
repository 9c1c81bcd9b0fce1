"""Rows whose decimals have more digits than the table's column widen it with a warning, or are refused."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.tables import new_table

COLUMNS: dict[str, Any] = {
    "d": lambda kind: kind,
    "s": lambda kind: pa.struct([("x", kind)]),
    "l": pa.list_,
    "m": lambda kind: pa.map_(pa.string(), kind),
}
PATHS = {"d": "d", "s": "s.x", "l": "l.element", "m": "m.value"}
NARROW, WIDE = pa.decimal128(6, 2), pa.decimal128(7, 2)


def schema(column: str, kind: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field("k", pa.string(), nullable=False), ("ts", pa.int64()), (column, COLUMNS[column](kind))])


def row(column: str, text: str, kind: pa.DataType, *, guessed: bool = False) -> pa.Table:
    value: Any = Decimal(text)
    found = {"d": value, "s": {"x": value}, "l": [value], "m": [("a", value)]}[column]
    given = pa.Table.from_pylist([{"k": "a", "ts": 1, column: found}], schema(column, kind))
    return given.replace_schema_metadata({"pandas": "{}"}) if guessed else given


def table_of(path: Path, column: str, **options: str) -> hf.Table:
    return new_table(path, schema=schema(column, NARROW), partition_by=[], options=options)


@pytest.mark.parametrize("column", COLUMNS)
def test_a_wider_decimal_is_a_warning_with_column_and_types(tmp_path: Path, column: str) -> None:
    table = table_of(tmp_path / "t", column)
    table.insert(row(column, "1234.56", NARROW))
    message = rf"the column {PATHS[column]} of type decimal.*\(6, ?2\).* becomes decimal.*\(7, ?2\)"
    with pytest.warns(hf.HudiFormatWarning, match=message):
        table.upsert(row(column, "12345.67", WIDE, guessed=True))
    assert table.schema.field(column).type == COLUMNS[column](WIDE) or column in ("l", "m")
    table.upsert(row(column, "12345.68", WIDE))  # the column is wide now


@pytest.mark.parametrize("column", COLUMNS)
def test_wider_decimals_can_be_forbidden(tmp_path: Path, column: str) -> None:
    table = table_of(tmp_path / "t", column, **{"hudiformat.decimals.widen": "false"})
    table.insert(row(column, "1.50", pa.decimal128(4, 2)))  # fewer digits fit
    with pytest.raises(hf.SchemaError, match=rf"the column {PATHS[column]} .* hudiformat\.decimals\.widen=false"):
        table.upsert(row(column, "12345.67", WIDE))
    assert len(table.timeline.instants) == 1, "nothing was begun"
    table.evolve(widen={PATHS[column]: WIDE})
    table.upsert(row(column, "12345.67", WIDE))
    assert table.count() == 1


def test_a_data_frame_of_pandas_warns_and_one_with_rounded_values_does_not(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = table_of(tmp_path / "t", "d")
    frame = pandas.DataFrame({"k": ["a"], "ts": [1], "d": [Decimal("1234.56")]})
    table.insert(frame)
    with pytest.warns(hf.HudiFormatWarning, match=r"the column d .* hudiformat\.decimals\.widen=false"):
        table.upsert(frame.assign(d=[Decimal("12345.67")]))


def test_types_that_were_not_guessed_widen_without_a_warning(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", "d")
    table.insert(row("d", "1234.56", NARROW))
    table.upsert(row("d", "12345.67", WIDE))
    assert table.schema.field("d").type == WIDE


@pytest.mark.parametrize("column", COLUMNS)
def test_the_most_digits_that_there_are_were_guessed(tmp_path: Path, column: str) -> None:
    table = table_of(tmp_path / "t", column)
    table.insert(row(column, "1.50", NARROW))
    with pytest.warns(hf.HudiFormatWarning, match=rf"the column {PATHS[column]} .* becomes decimal.*\(38, 2\)"):
        table.upsert(row(column, "1.50", pa.decimal128(38, 2)))


def test_decimals_of_polars_warn(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    table = table_of(tmp_path / "t", "d")
    with pytest.warns(hf.HudiFormatWarning, match=r"the column d .* hudiformat\.decimals\.widen=false"):
        table.insert(polars.DataFrame({"k": ["a"], "ts": [1], "d": [Decimal("1.50")]}))
