"""Fixtures of base file tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat.storage.local import LocalStorage


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(tmp_path)
