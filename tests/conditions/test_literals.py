"""Prefixes of texts, as ranges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.conditions.literals import prefix_upper_bound

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)


@pytest.mark.parametrize(
    ("prefix", "after"),
    [("a", "b"), ("a\U0010ffff", "b"), ("\U0010ffff", None), ("", None), ("\ud7ff", "\ue000")],
)
def test_the_least_text_after_a_prefix(prefix: str, after: str | None) -> None:
    assert prefix_upper_bound(prefix) == after


@given(TEXTS, TEXTS)
def test_what_begins_with_a_prefix_lies_between_it_and_what_is_after(prefix: str, rest: str) -> None:
    after = prefix_upper_bound(prefix)
    assert prefix.encode() <= (prefix + rest).encode()
    assert after is None or (prefix + rest).encode() < after.encode()
