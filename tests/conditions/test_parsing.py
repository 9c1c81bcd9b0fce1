"""Texts that are no conditions, and what to do without sqlglot."""

from __future__ import annotations

import sys

import pytest

from hudiformat.conditions.translation import parse_condition
from hudiformat.errors import FilterError, UnsupportedFeatureError


def test_an_error_has_an_example_and_what_is_wrong() -> None:
    pytest.importorskip("sqlglot")
    with pytest.raises(
        FilterError,
        match=r"^'v >' is not a condition such as \"p = 'x' and v > 0\": .*from character 3 on$",
    ):
        parse_condition("v >")
    with pytest.raises(FilterError, match=r"expected one condition such as .*, found 2$"):
        parse_condition("v > 0; v > 1")


def test_without_sqlglot_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(UnsupportedFeatureError, match=r"pip install 'hudiformat\[sql\]'"):
        parse_condition("v > 0")
