"""Tests of what tasks write: their data frames are small, and the driver would write them by itself."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _by_tasks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave small writes to tasks too, but in the tests of the driver's."""
    if request.node.path.name == "test_by_driver.py":
        return
    pytest.importorskip("pyspark.sql")
    from hudiformat.spark.write import by_driver  # noqa: PLC0415 - there may be no PySpark

    monkeypatch.setattr(by_driver, "few_rows", lambda *_: None)
