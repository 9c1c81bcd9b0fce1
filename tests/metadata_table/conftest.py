"""Fixtures of metadata table tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.metadata_table.tables import ALL, FIRST, T1, MadeTable


@pytest.fixture
def table(tmp_path: Path) -> MadeTable:
    """A table whose metadata table is initialized and lists the file of one write."""
    made = MadeTable(tmp_path)
    made.base(FIRST, {ALL: {}})
    made.commit(T1, {ALL: {"p": 0}, "p": {"a": 1}})
    return made
