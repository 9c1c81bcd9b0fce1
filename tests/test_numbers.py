"""Numbers as people read them."""

from __future__ import annotations

import pytest

from hudiformat.numbers import count_text, format_count, size_text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (99_949, "99.9 kB"),
        (99_951, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (1_234_567_890, "1.2 GB"),
        (10**22, "10000 EB"),
    ],
)
def test_sizes_have_units_of_thousands(count: int, text: str) -> None:
    assert size_text(count) == text


def test_counts_have_commas() -> None:
    assert count_text(999) == "999"
    assert count_text(1234567) == "1,234,567"


def test_nouns_follow_their_number() -> None:
    assert [format_count(number, "file") for number in (0, 1, 2)] == ["0 files", "1 file", "2 files"]
