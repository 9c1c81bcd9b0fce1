"""The keys come from Hudi 1.2.0's SimpleKeyGenerator and ComplexKeyGenerator."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest

from hudiformat.errors import DataError, SchemaError
from hudiformat.naming import record_keys


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        (pa.array(["a/b c=d%é"]), ["a/b c=d%é"]),
        (pa.array([-5], pa.int32()), ["-5"]),
        (pa.array([1234567890123]), ["1234567890123"]),
        (pa.array([True]), ["true"]),
        (pa.array([date(2024, 2, 29)]), ["2024-02-29"]),
    ],
)
def test_a_simple_key_is_the_values_text(column: pa.Array, keys: list[str]) -> None:
    assert record_keys([column], ["k"], complex_form=False).to_pylist() == keys
    assert record_keys([column], ["k"], complex_form=True).to_pylist() == [f"k:{key}" for key in keys]


def test_a_complex_key_names_its_fields_and_marks_what_is_missing() -> None:
    columns = [pa.array([-5, 6, None]), pa.array([None, "", "x,y:z"])]
    keys = record_keys(columns, ["i", "n"], complex_form=True)
    assert keys.to_pylist() == ["i:-5,n:__null__", "i:6,n:__empty__", "i:__null__,n:x,y:z"]


def test_a_null_or_empty_simple_key_is_refused_with_a_count() -> None:
    with pytest.raises(DataError, match="record key k: null or empty in 2 of 3 rows") as caught:
        record_keys([pa.array(["a", None, ""])], ["k"], complex_form=False)
    assert caught.value.column == "k"


def test_a_complex_key_without_any_value_is_refused_with_a_count() -> None:
    with pytest.raises(DataError, match="record key a, b: null or empty in 1 of 2 rows"):
        record_keys([pa.array(["", "x"]), pa.nulls(2)], ["a", "b"], complex_form=True)


def test_a_key_of_floating_point_numbers_is_refused() -> None:
    with pytest.raises(SchemaError, match="column k of type double"):
        record_keys([pa.array([1.5])], ["k"], complex_form=False)


def test_no_rows_have_no_keys() -> None:
    assert len(record_keys([pa.array([], pa.string())], ["k"], complex_form=True)) == 0
