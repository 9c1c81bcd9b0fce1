"""What a query shows in partition columns, and numbers as Java writes them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hudiformat.table.partition_columns import PartitionColumns, java_float


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (1.5, "1.5"),
        (-120.0, "-120.0"),
        (0.001, "0.001"),
        (0.012, "0.012"),
        (0.0009, "9.0E-4"),
        (1e-5, "1.0E-5"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (123456789.125, "1.23456789125E8"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
    ],
)
def test_doubles_are_written_as_java_writes_them(value: float | None, text: str | None) -> None:
    assert java_float(value) == text


def test_a_float_is_written_with_its_own_digits() -> None:
    value = np.float32(0.1)
    assert java_float(float(value), shortest=str(value)) == "0.1"
    assert java_float(float(np.float32(3e38)), shortest=str(np.float32(3e38))) == "3.0E38"


def test_more_folders_than_partition_fields_say_nothing() -> None:
    none: frozenset[str] = frozenset()
    columns = PartitionColumns(("a", "b"), none, none, whole_path=False, escaped=False, unescapes=True)
    assert columns.texts("x/y/z") == [None, None]
    assert columns.texts("x/b=y") == ["x", "y"]
