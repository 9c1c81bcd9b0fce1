"""The numbers come from Hudi 1.2.0's own classes on Java 17."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.errors import OptionError
from hudiformat.naming import bucket_hash as module
from hudiformat.naming.bucket_hash import bucket_numbers, hash_key_values, record_key_buckets

# values of the hash fields, List.hashCode(), bucket of 7, bucket of 256
JAVA: list[tuple[list[str | None], int, int, int]] = [
    (["a"], 128, 2, 128),
    ([""], 31, 3, 31),
    (["key-0026"], 452866833, 6, 17),
    (["日本語"], 25921974, 1, 182),
    (["😀x"], 54960020, 3, 148),
    ([None], 31, 3, 31),
    (["a", "b"], 4066, 6, 226),
    (["", None], 961, 2, 193),
    (["z" * 40], 1577242911, 6, 31),
    (["polygenelubricants"], -2147483617, 3, 31),
    (["😀😁", "é"], 1331787651, 5, 131),
]

# record key, hash fields, what KeyGenUtils.extractRecordKeysByFields gives
EXTRACTED: list[tuple[str, str, list[str | None]]] = [
    ("a:1,b:2", "a", ["1"]),
    ("a:1,b:2", "b", ["2"]),
    ("a:1,b:2", "b,a", ["1", "2"]),
    ("plain", "a", ["plain"]),
    ("x:y", "a", ["x:y"]),
    ("x,y", "a", ["x,y"]),
    ("a:1", "a", ["a:1"]),
    ("a:__null__,b:2", "a,b", [None, "2"]),
    ("a:__empty__,b:2", "a,b", ["", "2"]),
    ("a:2014-10-22 13:50:42,b:x", "a", ["2014-10-22 13:50:42"]),
    ("a:2014-10-22 13:50:42,b:x", "b", ["x"]),
    ("a:1,2,b:3", "a", ["1,2"]),
    ("a:1,2,b:3", "b", ["3"]),
    ("a:1,b:2", "c", ["a:1,b:2"]),
    ("a:1,b:x:y", "b", ["x:y"]),
    ("k:v,", "k", ["v,"]),
    ("k:v,w", "k", ["v,w"]),
    (",:", "a", [",:"]),
    ("a:b:c,d", "a", ["b:c,d"]),
    ("a:1,b:2,c:3:4,5", "c", ["3:4,5"]),
    ("k:a,b:c", "k", ["a"]),
]


@pytest.mark.parametrize(("values", "code", "of_seven", "of_256"), JAVA)
def test_hashes_and_buckets_are_javas(values: list[str | None], code: int, of_seven: int, of_256: int) -> None:
    columns = [pa.array([value], pa.string()) for value in values]
    assert module.list_hashes(columns).astype(np.int32).tolist() == [code]
    assert bucket_numbers(columns, 7).tolist() == [of_seven]
    assert bucket_numbers(columns, 256).tolist() == [of_256]


def test_a_column_is_hashed_like_its_rows_wherever_it_is_cut() -> None:
    texts = [values[0] for values, *_ in JAVA if len(values) == 1]
    codes = [code for values, code, *_ in JAVA if len(values) == 1]
    column = pa.array(["before", *texts, "after"])
    for sliced in (column.slice(1, len(texts)), column.cast(pa.large_string()).slice(1, len(texts))):
        assert module.list_hashes([sliced]).astype(np.int32).tolist() == codes


def test_a_column_longer_than_what_is_hashed_at_once() -> None:
    keys = [f"key-{number}" for number in range(module._ROWS_AT_ONCE + 3)]
    buckets = bucket_numbers([pa.array(keys)], 13)
    assert buckets[-1] == bucket_numbers([pa.array(keys[-1:])], 13)[0]
    assert len(buckets) == len(keys)


@pytest.mark.parametrize("length", [256, 257, 10_000])
def test_long_texts_of_one_length_hash_as_beside_others(length: int) -> None:
    texts = [f"{number}{'ö' * (length - 1)}" for number in range(3)]
    alone = module.list_hashes([pa.array(texts)]).tolist()
    assert module.list_hashes([pa.array([*texts, "short"])]).tolist()[:3] == alone


def test_no_rows_have_no_buckets() -> None:
    assert bucket_numbers([pa.array([], pa.string())], 4).tolist() == []
    assert record_key_buckets(pa.array([], pa.string()), ["a"], 4).tolist() == []


@pytest.mark.parametrize("buckets", [0, -1])
def test_a_number_of_buckets_that_is_not_positive_is_refused(buckets: int) -> None:
    with pytest.raises(OptionError, match="positive number of buckets"):
        bucket_numbers([pa.array(["a"])], buckets)


@pytest.mark.parametrize(("key", "fields", "values"), EXTRACTED)
def test_hash_values_are_taken_out_of_the_record_key(key: str, fields: str, values: list[str | None]) -> None:
    assert hash_key_values(key, fields.split(",")) == values


@pytest.mark.parametrize("fields", [[], [""]])
def test_without_hash_fields_every_value_counts(fields: list[str]) -> None:
    assert hash_key_values("a:1,b:2", fields) == ["1", "2"]


def test_a_colon_in_a_last_value_that_is_no_hash_field_ends_the_key() -> None:
    assert hash_key_values("a:1,b:x:y", ["a"]) == ["1"]


@pytest.mark.parametrize("fields", [["a"], ["b"], ["a", "b"], ["c"], []])
def test_record_keys_in_a_column_have_the_buckets_they_have_alone(fields: list[str]) -> None:
    keys = [key for key, *_ in EXTRACTED] + ["a:1,b:2", "b:2,a:1", "a:__null__,b:é"]
    expected = [
        int(bucket_numbers([pa.array([value], pa.string()) for value in hash_key_values(key, fields)], 97)[0])
        for key in keys
    ]
    assert record_key_buckets(pa.array(keys), fields, 97).tolist() == expected
    # Regular keys first, so that they are what the pattern is made from.
    assert record_key_buckets(pa.array(keys[::-1]), fields, 97).tolist() == expected[::-1]


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]))))
def test_any_text_hashes_as_java_defines_it(texts: list[str | None]) -> None:
    def java(text: str | None) -> int:
        code = 0
        for unit in memoryview((text or "").encode("utf-16-le")).cast("H"):
            code = (31 * code + unit) % 2**32
        return (31 + code) % 2**32

    assert module.list_hashes([pa.array(texts, pa.string())]).tolist() == [java(text) for text in texts]


@given(st.text("ab:,_"), st.lists(st.sampled_from(["a", "b", ""])))
def test_any_key_has_a_bucket(key: str, fields: list[str]) -> None:
    assert record_key_buckets(pa.array([key, "a:1,b:2"]), fields, 5)[0] in range(5)
