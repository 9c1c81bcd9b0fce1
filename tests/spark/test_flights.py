"""The main job, on some of a month's flights: no row differs from what plain DataFrames give."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark.sql.datasource")

from examples.flights import pipeline, reports, source

pytestmark = pytest.mark.unmeasured


def test_no_flight_is_lost_doubled_or_late(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "read_flights", lambda: source.read_flights().slice(0, 500))
    flights = reports.load_flights(spark).localCheckpoint()
    path = str(tmp_path / "table")
    pipeline.create(path)
    assert len(pipeline.write_month(path, flights)) == 4
    assert pipeline.count_differing(spark, path, flights) == 0
