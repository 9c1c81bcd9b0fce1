"""Parse the texts of options into values; a text that an option does not accept is an OptionError.  Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

from hudiformat.errors import OptionError, UnsupportedFeatureError

Parser = Callable[[str, str], Any]
"""A function from an option's key and its text to its value."""

Keys = Mapping[str, tuple[str, Parser]]
"""For each key, the field that it sets and the parser of its text."""


def parse_integer(key: str, value: str) -> int:
    """Parse a positive whole number."""
    return _whole_number(key, value, least=1, expected="a positive whole number")


def parse_count(key: str, value: str) -> int:
    """Parse a whole number of 0 or more."""
    return _whole_number(key, value, least=0, expected="a whole number of 0 or more")


def parse_any_integer(key: str, value: str) -> int:
    """Parse a whole number, which may be negative."""
    return _whole_number(key, value, least=-math.inf, expected="a whole number")


def parse_share(key: str, value: str) -> float:
    """Parse a number of 0 or more."""
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number < math.inf:
        raise OptionError(f"{key}: expected a number of 0 or more, found {value!r}", option=key)
    return number


def parse_boolean(key: str, value: str) -> bool:
    """Parse ``true`` or ``false``, in any case."""
    if value.lower() not in ("true", "false"):
        raise OptionError(f"{key}: expected true or false, found {value!r}", option=key)
    return value.lower() == "true"


def parse_fields(_key: str, value: str) -> tuple[str, ...]:
    """Parse names separated by commas."""
    return tuple(part.strip() for part in value.split(",") if part.strip())


def parse_text(_key: str, value: str) -> str:
    """Return the text unchanged."""
    return value


def one_of(*allowed: str) -> Parser:
    """Return a parser of one of a few lower-case words, in any case."""

    def parse(key: str, value: str) -> str:
        if value.lower() not in allowed:
            raise _no_such_word(key, value, allowed)
        return value.lower()

    return parse


def member_of(allowed: Iterable[Enum]) -> Parser:
    """Return a parser of the values of an enumeration's members, in any case."""
    members = {str(member.value).lower(): member for member in allowed}

    def parse(key: str, value: str) -> Enum:
        if value.lower() not in members:
            raise _no_such_word(key, value, [str(member.value) for member in members.values()])
        return members[value.lower()]

    return parse


def parser_of_supported(
    parse: Parser, *, supported: str, others: tuple[str, ...], feature: str | None = None
) -> Parser:
    """Return a parser like *parse* that raises an UnsupportedFeatureError for *others*, values that only Hudi supports.

    The error lists *supported*; its feature is *feature* and the value, or without *feature*, the key and the value.
    """

    def refusing(key: str, value: str) -> Any:
        found = next((other for other in others if other.lower() == value.lower()), None)
        if found is None:
            return parse(key, value)
        named = f"{key}={found}" if feature is None else f"{feature} {found}"
        raise UnsupportedFeatureError(
            f"{key}: expected {supported}, found {value}; choose another value", feature=named
        )

    return refusing


def _no_such_word(key: str, value: str, allowed: Iterable[str]) -> OptionError:
    return OptionError(f"{key}: expected one of {', '.join(allowed)}, found {value!r}", option=key)


def _whole_number(key: str, value: str, *, least: float, expected: str) -> int:
    try:
        number = int(value)
    except ValueError:
        number = None
    if number is None or number < least:
        raise OptionError(f"{key}: expected {expected}, found {value!r}", option=key)
    return number
