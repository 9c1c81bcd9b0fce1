"""A text where names belong is one name."""

from __future__ import annotations

import pytest

from hudiformat.naming import one_or_more


@pytest.mark.parametrize(
    ("given", "names"), [("id", ["id"]), (["a", "b"], ["a", "b"]), (("a",), ["a"]), ((), []), ("", [""])]
)
def test_a_text_is_one_name(given: str | list[str] | tuple[str, ...], names: list[str]) -> None:
    assert one_or_more(given) == names
