"""The keys of secondary indexes, as tables of Hudi 1.2.0 have them."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.metadata_table.secondary_index import (
    has_secondary_keys,
    prefixes_of,
    prefixes_of_values,
    record_keys_of,
    secondary_keys,
    value_texts,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\\$\0\n"), max_size=6)


def test_what_has_a_meaning_is_escaped_and_null_is_a_null_character() -> None:
    values = pa.array([None, "", "a$b\\c\0d", "t1-1é😀"])
    keys = secondary_keys(values, pa.array(["k001", "k002", "k003", "k$4\\x"]))
    assert keys.to_pylist() == ["\0$k001", "$k002", "a\\$b\\\\c\\\0d$k003", "t1-1é😀$k\\$4\\\\x"]
    assert prefixes_of_values(values).to_pylist() == ["\0$", "$", "a\\$b\\\\c\\\0d$", "t1-1é😀$"]


def test_numbers_dates_and_timestamps_are_the_numbers_that_spark_has() -> None:
    first = dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)
    arrays = (
        pa.array([-6, None], pa.int32()),
        pa.array([6000000000000]),
        pa.array([dt.date(2020, 1, 8)]),
        pa.array([first + dt.timedelta(microseconds=6)], pa.timestamp("us", "UTC")),
    )
    texts = [value_texts(array).to_pylist() for array in arrays]
    assert texts == [["-6", None], ["6000000000000"], ["18269"], ["1577836800000006"]]


@pytest.mark.parametrize("kind", [pa.string(), pa.int32(), pa.int64(), pa.date32(), pa.timestamp("us", "UTC")], ids=str)
def test_types_that_have_secondary_indexes(kind: pa.DataType) -> None:
    assert has_secondary_keys(kind)


@pytest.mark.parametrize(
    "kind",
    [pa.bool_(), pa.float32(), pa.float64(), pa.timestamp("ms", "UTC"), pa.timestamp("us"), pa.decimal128(5, 2)],
    ids=str,
)
def test_types_that_hudi_has_no_secondary_index_of_or_whose_texts_differ(kind: pa.DataType) -> None:
    assert not has_secondary_keys(kind)


@given(st.lists(st.tuples(st.none() | TEXTS, TEXTS), min_size=1))
def test_a_key_gives_back_what_it_is_made_of(pairs: list[tuple[str | None, str]]) -> None:
    values, record_keys = (pa.array(column, pa.string()) for column in zip(*pairs, strict=True))
    keys = secondary_keys(values, record_keys)
    assert record_keys_of(keys).to_pylist() == record_keys.to_pylist()
    assert prefixes_of(keys).to_pylist() == prefixes_of_values(values).to_pylist()
