"""Texts that are no conditions."""

from __future__ import annotations

import pytest

from hudiformat.conditions.translation import parse_condition
from hudiformat.errors import FilterError


def test_an_error_has_an_example_and_what_is_wrong() -> None:
    with pytest.raises(
        FilterError,
        match=r"^'v >' is not a condition such as \"p = 'x' and v > 0\": .*from character 3 on$",
    ):
        parse_condition("v >")
    with pytest.raises(FilterError, match=r"expected one condition such as .*, found 2$"):
        parse_condition("v > 0; v > 1")
