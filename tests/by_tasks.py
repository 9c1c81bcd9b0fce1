"""Small data frames are written by tasks too: the tests of what tasks do need no large ones."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def by_tasks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave small writes to tasks, but in the tests of the driver's."""
    if request.node.path.name == "test_by_driver.py":
        return
    pytest.importorskip("pyspark.sql")
    from hudiformat.spark.write import by_driver

    monkeypatch.setattr(by_driver, "few_rows", lambda *_: None)
