"""The page about the life of a row names modules, classes and functions that exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "life-of-a-row.md"
NAMES = sorted(set(re.findall(r"`(hudiformat\.[\w.]+)`", PAGE.read_text("utf-8"))))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_page_exists(name: str) -> None:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return
    raise AssertionError(name)


def test_the_page_names_what_a_row_passes() -> None:
    assert len(NAMES) > 40
