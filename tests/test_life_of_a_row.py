"""The pages that lead through the code name modules, classes and functions that exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("life-of-a-row.md", "where-things-are-decided.md")


def names_on(page: str) -> set[str]:
    return set(re.findall(r"`(hudiformat\.[\w.]+)`", (DOCS / page).read_text("utf-8")))


NAMES = sorted(set().union(*map(names_on, PAGES)))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_a_page_exists(name: str) -> None:
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


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_much(page: str) -> None:
    assert len(names_on(page)) > 40
