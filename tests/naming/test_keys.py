"""Record keys and partition paths, made from columns."""

from __future__ import annotations

import contextlib
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.errors import DataError, NameFormatError, SchemaError
from hudiformat.naming.keys import (
    DEFAULT_PARTITION,
    escape_file_name,
    escape_path_name,
    format_partition_path,
    format_row,
    parse_partition_path,
    partition_paths,
    record_keys,
    refuse_unreadable_path,
    unescape_path_name,
)
from hudiformat.schema.partition_columns import PartitionColumns


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        (pa.array(["a/b c=d%é"]), ["a/b c=d%é"]),
        (pa.array([-5], pa.int32()), ["-5"]),
        (pa.array([1234567890123]), ["1234567890123"]),
        (pa.array([True]), ["true"]),
        (pa.array([date(2024, 2, 29)]), ["2024-02-29"]),
        # As Hudi 0.15.0 and 1.2.0 write them, in upserts and in bulk inserts by rows and by Avro.
        (pa.array([Decimal("1.50"), Decimal("-0.01"), Decimal(0)], pa.decimal128(10, 2)), ["1.50", "-0.01", "0.00"]),
        (pa.array([Decimal("1E-10"), Decimal(0)], pa.decimal128(38, 10)), ["1E-10", "0E-10"]),
        (pa.array([1.0, 1e7, 1e-4, 0.1]), ["1.0", "1.0E7", "1.0E-4", "0.1"]),
        (pa.array([1234567.5, 123456789.5, 1e100]), ["1234567.5", "1.234567895E8", "1.0E100"]),
        (pa.array([-0.0, float("nan"), float("inf")]), ["-0.0", "NaN", "Infinity"]),
        (pa.array([1.0, 1e7, 0.1, 3.4e38, 16777216.0], pa.float32()), ["1.0", "1.0E7", "0.1", "3.4E38", "1.6777216E7"]),
        (pa.array([-0.0, float("nan"), float("-inf")], pa.float32()), ["-0.0", "NaN", "-Infinity"]),
        (pa.array([1.5, 2.5]).dictionary_encode(), ["1.5", "2.5"]),
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


def test_a_row_is_shown_by_its_first_columns() -> None:
    rows = pa.table({"k": [None, "x" * 400], "t": pa.array([0, 2**62], pa.timestamp("us"))})
    assert format_row(rows, 0) == "{'k': None, 't': datetime.datetime(1970, 1, 1, 0, 0)}"
    assert format_row(rows, 1) == "row 1, with a date or time that Python's own types cannot hold"
    assert len(format_row(rows.select(["k"]), 1)) == 300


@pytest.mark.parametrize(
    "column", [pa.array([8.41e21]), pa.array([5e-324]), pa.array([1.0, 2e11], pa.float32()), pa.array([-(2.0**54)])]
)
def test_a_number_whose_text_differs_between_releases_of_java_is_refused(column: pa.Array) -> None:
    with pytest.raises(DataError, match="record key k: 1 values such as .* have a text that depends on the release of"):
        record_keys([column], ["k"], complex_form=False)


def test_missing_numbers_are_missing_keys() -> None:
    columns = [pa.array([1.5, None]), pa.array([None, Decimal("1.5")], pa.decimal128(3, 1))]
    assert record_keys(columns, ["a", "b"], complex_form=True).to_pylist() == ["a:1.5,b:__null__", "a:__null__,b:1.5"]
    with pytest.raises(DataError, match="null or empty in 1 of 2 rows"):
        record_keys(columns[:1], ["a"], complex_form=False)


@pytest.mark.parametrize("kind", [pa.timestamp("us", "UTC"), pa.binary(), pa.list_(pa.int8()), pa.uint64()])
def test_a_key_of_another_type_is_refused(kind: pa.DataType) -> None:
    with pytest.raises(SchemaError, match="expected string, int, long, boolean, date, decimal, float or double"):
        record_keys([pa.nulls(1, kind)], ["k"], complex_form=False)


def test_no_rows_have_no_keys() -> None:
    assert len(record_keys([pa.array([], pa.string())], ["k"], complex_form=True)) == 0


ODD = "a/b c=d%é"


PARTITION_VALUES = (
    *(f"a{chr(code)}b" for code in range(1, 128)),
    *(chr(code) for code in range(1, 128)),
    *("\xe9", "\u65e5\u672c", "\U0001f600", " a", "a ", "%41", "a%41", "a%4", "%zz", "a/%41", "a/b=c", "a/12:30"),
    *("..", ".hoodie", "a//b", "/a", "a/", "a/..", "../a", "a/./b", "a/b/c", "12:30:00", "p=b", DEFAULT_PARTITION),
)
"""Partition values with every character, in the middle and alone."""

# values, fields, Hive's style, URL-encoded, path
HUDI: list[tuple[list[str | None], list[str], bool, bool, str]] = [
    ([ODD], ["s"], False, False, ODD),
    ([ODD], ["s"], False, True, "a%2Fb c%3Dd%25é"),
    ([ODD], ["s"], True, False, f"s={ODD}"),
    ([ODD], ["s"], True, True, "s=a%2Fb c%3Dd%25é"),
    ([None], ["n"], False, True, "__HIVE_DEFAULT_PARTITION__"),
    ([""], ["e"], True, False, "e=__HIVE_DEFAULT_PARTITION__"),
    ([ODD, None], ["s", "n"], True, True, "s=a%2Fb c%3Dd%25é/n=__HIVE_DEFAULT_PARTITION__"),
    (["", "-5"], ["e", "i"], False, False, "__HIVE_DEFAULT_PARTITION__/-5"),
    ([], [], True, True, ""),
]


@pytest.mark.parametrize(("values", "fields", "hive", "encode", "path"), HUDI)
def test_paths_are_hudis(values: list[str | None], fields: list[str], hive: bool, encode: bool, path: str) -> None:
    assert format_partition_path(values, fields, hive_style=hive, url_encode=encode) == path
    parsed = parse_partition_path(path, fields, hive_style=hive, url_encode=encode)
    assert parsed == [value or None for value in values]


def test_exactly_hives_characters_are_escaped() -> None:
    ascii_text = "".join(map(chr, range(128)))
    kept = "".join(char for char in ascii_text if escape_path_name(char) == char)
    assert kept == " !$&()+,-.0123456789;<>@ABCDEFGHIJKLMNOPQRSTUVWXYZ_`abcdefghijklmnopqrstuvwxyz|}~"
    assert escape_path_name("\x01\x7f") == "%01%7F"
    assert unescape_path_name("%2f%zz%4") == "/%zz%4"


def test_a_path_of_another_shape_than_the_fields_is_refused() -> None:
    with pytest.raises(NameFormatError, match="of 2 parts for a, b"):
        parse_partition_path("1", ["a", "b"], hive_style=False, url_encode=False)
    with pytest.raises(NameFormatError, match="for no fields"):
        parse_partition_path("1", [], hive_style=False, url_encode=False)
    with pytest.raises(NameFormatError, match="expected b=<value>"):
        parse_partition_path("a=1/c=2", ["a", "b"], hive_style=True, url_encode=False)


@pytest.mark.parametrize("value", ["..", ".", "../x", "a//b", "/a", "a/", ".hoodie", ".hoodie/timeline", "/", "a\0"])
def test_a_value_that_leads_out_of_the_tables_data_is_refused(value: str) -> None:
    with pytest.raises(DataError, match="no folder of the table's data"):
        format_partition_path([value], ["p"], hive_style=False, url_encode=False)


def test_columns_give_the_paths_of_their_rows() -> None:
    columns = [
        pa.array(["x", None, "x", ""]),
        pa.array([1, -2, 1, None], pa.int32()),
        pa.array([True, False, True, None]),
        pa.array([date(2024, 2, 29), date(1, 1, 1), date(2024, 2, 29), None]),
    ]
    paths = partition_paths(columns, ["s", "i", "b", "d"], hive_style=True, url_encode=False)
    default = DEFAULT_PARTITION
    assert paths.type == pa.string()
    assert paths.to_pylist() == [
        "s=x/i=1/b=true/d=2024-02-29",
        f"s={default}/i=-2/b=false/d=0001-01-01",
        "s=x/i=1/b=true/d=2024-02-29",
        f"s={default}/i={default}/b={default}/d={default}",
    ]


def test_dictionaries_and_large_strings_count_as_their_values() -> None:
    text = pa.array(["b", "a", "b"])
    for column in (text.dictionary_encode(), text.cast(pa.large_string()), text.cast(pa.string_view())):
        assert partition_paths([column], ["s"], hive_style=False, url_encode=False).to_pylist() == ["b", "a", "b"]


def test_a_column_of_nulls_and_one_without_rows() -> None:
    assert partition_paths([pa.nulls(1)], ["n"], hive_style=False, url_encode=False).to_pylist() == [DEFAULT_PARTITION]
    for kind in (pa.string(), pa.date32()):
        assert len(partition_paths([pa.array([], kind)], ["n"], hive_style=False, url_encode=False)) == 0


@pytest.mark.parametrize(
    "kind",
    [
        pa.float64(),
        pa.float32(),
        pa.timestamp("us", "UTC"),
        pa.decimal128(5, 2),
        pa.binary(),
        pa.list_(pa.int8()),
        pa.uint64(),
    ],
)
def test_a_type_whose_text_hudis_writers_disagree_about_is_refused(kind: pa.DataType) -> None:
    with pytest.raises(SchemaError, match="column x of type") as caught:
        partition_paths([pa.nulls(1, kind)], ["x"], hive_style=False, url_encode=False)
    assert caught.value.column == "x"


def test_a_date_that_java_writes_with_a_sign_is_refused() -> None:
    for day in (-719163, 2932897):
        with pytest.raises(DataError, match="years 1 to 9999"):
            partition_paths([pa.array([day], pa.int32()).cast(pa.date32())], ["d"], hive_style=False, url_encode=False)


VALUES = st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: text not in {".", "..", ".hoodie", DEFAULT_PARTITION}
)


@given(st.lists(VALUES, min_size=1, max_size=3), st.booleans())
def test_values_survive_their_encoded_path(values: list[str | None], hive: bool) -> None:
    fields = ["a", "b", "c"][: len(values)]
    path = format_partition_path(values, fields, hive_style=hive, url_encode=True)
    assert parse_partition_path(path, fields, hive_style=hive, url_encode=True) == values


@given(st.text())
def test_any_path_parses_or_is_refused(path: str) -> None:
    for fields in (["a"], ["a", "b"]):
        for hive in (False, True):
            with contextlib.suppress(NameFormatError):
                assert len(parse_partition_path(path, fields, hive_style=hive, url_encode=True)) == len(fields)


@pytest.mark.parametrize("value", ["1,b:2", ",b:", "x,c:y", "__null__", "__empty__", "1\n,b:2"])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_values_that_would_give_two_rows_one_key_are_refused(value: str, at: int) -> None:
    columns = [pa.array(["0", value if at == number else "1", None]) for number in range(3)]
    columns[2] = columns[2].fill_null("2")
    with pytest.raises(DataError, match=f"record key a, b, c: 1 values of {'abc'[at]} would make the key") as caught:
        record_keys(columns, ["a", "b", "c"], complex_form=True)
    assert caught.value.column == "abc"[at]


def test_commas_and_colons_that_are_no_separators_are_kept_in_a_key() -> None:
    values = ["1,b", "b:2", "1, b:2", "1,a:2", "12:30:00", ",", "a:1,bb:2", "__null", "x__null__"]
    keys = record_keys([pa.array(values), pa.array(["x"] * len(values))], ["a", "b"], complex_form=True)
    assert keys.to_pylist() == [f"a:{value},b:x" for value in values]
    assert record_keys([pa.array(["1,a:2"])], ["a"], complex_form=True).to_pylist() == ["a:1,a:2"]


@given(st.lists(st.tuples(*[st.sampled_from(["1", ",b:", "1,b:2", "", None, ":", ",", "__null__"])] * 2), unique=True))
def test_rows_with_other_values_have_other_keys_or_are_refused(pairs: list[tuple[str | None, str | None]]) -> None:
    columns = [pa.array(column, pa.string()) for column in zip(*pairs, strict=True)] or [pa.array([], pa.string())] * 2
    with contextlib.suppress(DataError):
        keys = record_keys(columns, ["a", "b"], complex_form=True).to_pylist()
        assert len(set(keys)) == len(pairs)


def test_a_path_in_the_name_of_a_file_has_no_separators_of_it() -> None:
    assert escape_file_name("a/b-c_d e") == "a%2Fb%2Dc%5Fd e"
    assert unescape_path_name(escape_file_name("day=2024-02-29/x_1")) == "day=2024-02-29/x_1"


def path_of(value: str, *, hive: bool, encode: bool) -> str | DataError:
    """The path of a value, or the error that refuses it."""
    try:
        [path] = partition_paths([pa.array([value])], ["p"], hive_style=hive, url_encode=encode).to_pylist()
        refuse_unreadable_path(path, ["p"], hive_style=hive, url_encode=encode)
    except DataError as error:
        return error
    return str(path)


@pytest.mark.parametrize("encode", [False, True])
@pytest.mark.parametrize("hive", [False, True])
def test_a_value_comes_back_from_its_path_or_is_refused(hive: bool, encode: bool) -> None:
    columns = PartitionColumns(("p",), frozenset(), escaped=encode, dropped=False)
    paths = {value: path_of(value, hive=hive, encode=encode) for value in PARTITION_VALUES}
    refused = {value: str(path) for value, path in paths.items() if isinstance(path, DataError)}
    for value, path in paths.items():
        if isinstance(path, str):
            assert columns.value(pa.field("p", pa.string()), path).as_py() == value
            assert ":" not in path.partition("/")[0], "Hudi cannot open such a table"
    for message in refused.values():
        assert "change the value" in message
        assert "urlencode=true" not in message or not encode
    nowhere = {".", "..", ".hoodie"}
    if encode:
        assert set(refused) == {DEFAULT_PARTITION} | (set() if hive else nowhere)
        return
    first = {value: value.partition("/")[0] for value in PARTITION_VALUES}
    colons = {value for value in PARTITION_VALUES if ":" in first[value]}
    others = {DEFAULT_PARTITION, "%41", "a%41", "/", "a//b", "a/", "a/..", "a/./b"}
    equals = {value for value in PARTITION_VALUES if "=" in value and "/" not in value}
    assert set(refused) == colons | others | (set() if hive else equals | nowhere | {"../a", "/a"})


def test_a_slash_in_one_of_several_values_is_refused() -> None:
    with pytest.raises(DataError, match=r"'a/b/c', whose 3 folders are not one for each field.*urlencode=true"):
        refuse_unreadable_path("a/b/c", ["p", "q"], hive_style=False, url_encode=False)
    refuse_unreadable_path("a%2Fb/c", ["p", "q"], hive_style=False, url_encode=True)
    with pytest.raises(DataError, match=r"from which Hudi reads \['A', 'c'\]"):
        refuse_unreadable_path("%41/c", ["p", "q"], hive_style=False, url_encode=False)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("12:30:00", r"whose first folder has a colon, so that Hudi could not open the table; .*urlencode=true"),
        ("%41", r"the values give the path '%41', from which Hudi reads 'A'"),
        ("a=b", r"the values give the path 'a=b', from which Hudi reads 'b'"),
        (DEFAULT_PARTITION, "it would be read as null; change the value, or write null"),
    ],
)
def test_a_refusal_says_what_would_become_of_the_value(value: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        raise AssertionError if isinstance(found := path_of(value, hive=False, encode=False), str) else found
