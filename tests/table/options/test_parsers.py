"""Values out of the texts of options, and texts that an option does not take."""

from __future__ import annotations

from enum import Enum

import pytest

from hudiformat import OptionError, UnsupportedFeatureError
from hudiformat.table.options.parsers import (
    Parser,
    member_of,
    one_of,
    parse_any_integer,
    parse_boolean,
    parse_count,
    parse_fields,
    parse_integer,
    parse_share,
    parse_text,
    parser_of_supported,
)

KEY = "hoodie.some.key"


class Fruit(Enum):
    APPLE = "Apple"
    ROSE_HIP = "ROSE_HIP"


TAKEN: list[tuple[Parser, str, object]] = [
    (parse_integer, "1", 1),
    (parse_integer, " 128 ", 128),
    (parse_count, "0", 0),
    (parse_any_integer, "-3", -3),
    (parse_share, "0", 0.0),
    (parse_share, "0.35", 0.35),
    (parse_share, "1e3", 1000.0),
    (parse_boolean, "TRUE", True),
    (parse_boolean, "false", False),
    (parse_fields, " a, b,,c ", ("a", "b", "c")),
    (parse_fields, "", ()),
    (parse_text, " as it is ", " as it is "),
    (one_of("gzip", "zstd"), "ZSTD", "zstd"),
    (member_of(Fruit), "apple", Fruit.APPLE),
    (member_of([Fruit.ROSE_HIP]), "rose_hip", Fruit.ROSE_HIP),
]


@pytest.mark.parametrize(("parse", "text", "value"), TAKEN)
def test_a_text_becomes_a_value(parse: Parser, text: str, value: object) -> None:
    found = parse(KEY, text)
    assert found == value
    assert type(found) is type(value)


REFUSED: list[tuple[Parser, str, str]] = [
    (parse_integer, "0", "expected a positive whole number, found '0'"),
    (parse_integer, "1.0", "expected a positive whole number, found '1.0'"),
    (parse_integer, "", "expected a positive whole number, found ''"),
    (parse_count, "-1", "expected a whole number of 0 or more, found '-1'"),
    (parse_any_integer, "many", "expected a whole number, found 'many'"),
    (parse_share, "-0.1", "expected a number of 0 or more, found '-0.1'"),
    (parse_share, "nan", "expected a number of 0 or more, found 'nan'"),
    (parse_share, "inf", "expected a number of 0 or more, found 'inf'"),
    (parse_boolean, "1", "expected true or false, found '1'"),
    (one_of("gzip", "zstd"), "lzo", "expected one of gzip, zstd, found 'lzo'"),
    (member_of(Fruit), "pear", "expected one of Apple, ROSE_HIP, found 'pear'"),
    (member_of([Fruit.APPLE]), "rose_hip", "expected one of Apple, found 'rose_hip'"),
]


@pytest.mark.parametrize(("parse", "text", "message"), REFUSED)
def test_other_texts_are_refused_by_the_name_of_the_option(parse: Parser, text: str, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse(KEY, text)
    assert (str(caught.value), caught.value.option) == (f"{KEY}: {message}", KEY)


def test_what_hudi_has_beyond_what_is_supported_is_refused_by_name() -> None:
    parse = parser_of_supported(one_of("simple"), supported="simple", others=("consistent_hashing",))
    assert parse(KEY, "SIMPLE") == "simple"
    with pytest.raises(UnsupportedFeatureError, match="expected simple, found Consistent_Hashing; choose") as caught:
        parse(KEY, "Consistent_Hashing")
    assert caught.value.feature == f"{KEY}=consistent_hashing"
    with pytest.raises(OptionError, match="expected one of simple, found 'other'"):
        parse(KEY, "other")


def test_the_feature_of_what_is_not_supported_may_have_a_name() -> None:
    parse = parser_of_supported(one_of("a"), supported="are a", others=("B",), feature="letter")
    with pytest.raises(UnsupportedFeatureError) as caught:
        parse(KEY, "b")
    assert caught.value.feature == "letter B"
