"""Numbers as the texts that Java writes."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.codec.avro.java_text import java_float, java_floats


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


@given(st.lists(st.none() | st.floats()))
def test_a_column_has_the_texts_of_its_values(values: list[float | None]) -> None:
    assert java_floats(pa.array(values, pa.float64())).to_pylist() == [java_float(value) for value in values]


@given(st.lists(st.none() | st.floats(width=32)))
def test_floats_have_the_fewest_digits_that_give_them_back(values: list[float | None]) -> None:
    texts = java_floats(pa.array(values, pa.float32())).to_pylist()
    for value, text in zip(values, texts, strict=True):
        if value is None or math.isnan(value):
            assert text == (None if value is None else "NaN")
        else:
            assert np.float32(text.replace("Infinity", "inf")) == np.float32(value)
